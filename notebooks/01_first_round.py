# Databricks notebook source
# MAGIC %md
# MAGIC # The first round
# MAGIC
# MAGIC You will learn how stores become equal again after one of them was cut off, and to ask a lake what is where. Three stores hold
# MAGIC copies of one folder: PFS1 and PFS2 in Redmond, PFS3 in Paris. Anybody may write at any store. We import a day's mail, cut Paris
# MAGIC off for an evening, and watch it find out what it missed and catch up. The hours are virtual: they pass as fast as they can be
# MAGIC played.

# COMMAND ----------

# MAGIC %pip install -q '..[pictures]'

# COMMAND ----------

# MAGIC %restart_python

# COMMAND ----------

import shutil
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pfspark import cntext
from pfspark.edge.config import conf_folder
from pfspark.edge.pictures import picture, show
from pfspark.edge.session import open_session
from pfspark.lake import Lake

spark = open_session()
morning = datetime(2026, 1, 5, 8, tzinfo=UTC)
if "dbutils" in globals():  # on a workspace: a schema of a catalog, made anew
    dbutils.widgets.text("course", "main.pfspark_course")
    place = dbutils.widgets.get("course") + "_first_round"
    spark.sql(f"DROP SCHEMA IF EXISTS {place} CASCADE")
else:
    place = str(Path(tempfile.mkdtemp()) / "lake")
lake = Lake.create(place, spark)
lake.organization(profile="exchange_2007", start=morning)
lake.store("PFS1", "Redmond")
lake.store("PFS2", "Redmond")
lake.store("PFS3", "Paris")
lake.link("Redmond", "Paris", cost=10)

# COMMAND ----------
# MAGIC %md
# MAGIC ## A folder, and mail in it
# MAGIC
# MAGIC Edits are written at any time; a round takes them in. A folder is created at one store and reaches the others by a
# MAGIC hierarchy message; its content follows.

# COMMAND ----------

lake.folder_create("PFS1", "/Launch", ["PFS1", "PFS2", "PFS3"], at=morning)
lake.run(until=morning + timedelta(minutes=30))
mails = conf_folder() / "demo.mbox"
if "dbutils" in globals():  # there mail is read from a volume
    spark.sql(f"CREATE VOLUME {place}.mail")
    mails = shutil.copy(mails, f"/Volumes/{place.replace('.', '/')}/mail")
lake.import_mail([mails], "PFS1", "/Launch", at=morning + timedelta(hours=1))

# COMMAND ----------
# MAGIC %md
# MAGIC ## Paris is cut off
# MAGIC
# MAGIC PFS1 sends the mail once, to both others. What is for PFS3 is lost on the way, and nobody knows: mail is not acknowledged.
# MAGIC
# MAGIC The picture shows the sets of change numbers after each round that changed any: one bar is one range, and 1-24 are the mails.

# COMMAND ----------

latest, kept, pictures = {}, {}, []


def keep(played) -> None:
    """Keeps what each store has of the folder after a round, and what it knows it lacks, if the round has changed it."""
    lines = {line["store"]: line for line in lake.lines("state") if line["folder"] == "/Launch"}
    sets = {store: (cntext.parse(line["applied"]), cntext.parse(line["missing"])) for store, line in lines.items()}
    if sets != latest:
        latest.update(sets)
        [at] = played.turns.values()
        kept[f"{at:%d %b %H:%M}"] = sets


def draw(title: str) -> None:
    """A picture of what was kept since the last one."""
    rows = {f"{at}  {store}": both for at, stores in kept.items() for store, both in stores.items()}
    held, holes = ({name: both[which] for name, both in rows.items()} for which in (0, 1))
    pictures.append(picture(held, holes, title))
    kept.clear()
    show(pictures[-1])


lake.run(until=morning + timedelta(hours=2), cut=["PFS3"], progress=keep)
before_the_heal = lake.rounds().orderBy("round", ascending=False).first()["round"]
draw("Paris is cut off: what each store holds after each round")

# COMMAND ----------
# MAGIC %md
# MAGIC ## The hole
# MAGIC
# MAGIC One more item is posted. Its message tells what PFS1 holds; PFS3 sees what it never received, and notes it in its backfill array:
# MAGIC the other colour.

# COMMAND ----------

lake.post("PFS1", "/Launch", b"Subject: see you on Thursday\r\n\r\nBring the boxes.\r\n", at=morning + timedelta(hours=3))
lake.run(until=morning + timedelta(hours=4), progress=keep)
draw("One more item: what each store holds, and what it knows it misses")

# COMMAND ----------

lake.gaps().select("store", "origin", "cn_min", "cn_max", "heard", "due").toPandas()

# COMMAND ----------
# MAGIC %md
# MAGIC ## The answer
# MAGIC
# MAGIC Nobody asks at once: the missing mail may still be on its way. From another site PFS3 waits twelve hours, then asks; the source
# MAGIC answers, and all stores are equal.

# COMMAND ----------

lake.run(until=morning + timedelta(hours=20), progress=keep)
draw("Asked and answered")
sets = {line["store"]: line["applied"] for line in lake.lines("state") if line["folder"] == "/Launch"}
equal = len(set(sets.values())) == 1
sets

# COMMAND ----------
# MAGIC %md
# MAGIC ## As it was
# MAGIC
# MAGIC Every round records the version of every table: the same organization, read as of the round before Paris was back.

# COMMAND ----------

then = {line["store"]: line["applied"] for line in lake.lines("state", as_of=before_the_heal) if line["folder"] == "/Launch"}
lake.close()
then

# COMMAND ----------
# MAGIC %md
# MAGIC ## What a round is made of
# MAGIC
# MAGIC Each part is some rules, functions of Spark frames; `pfspark.round.picture()` draws them as they follow from one another.
# MAGIC
# MAGIC ```mermaid
# MAGIC flowchart TD
# MAGIC     arrive --> sift_hierarchy
# MAGIC     sift_hierarchy --> accept
# MAGIC     calendar --> follow_lists
# MAGIC     take_in_folders --> follow_lists
# MAGIC     advance --> take_in_folders
# MAGIC     accept --> advance
# MAGIC     follow_lists --> take_in
# MAGIC     take_in --> look_at
# MAGIC     look_at --> learn
# MAGIC     learn --> note_and_ask
# MAGIC     note_and_ask --> check
# MAGIC     note_and_ask --> inquire
# MAGIC     keep_cycle --> tell_unasked
# MAGIC     inquire --> remind
# MAGIC     tell_unasked --> remind
# MAGIC     expire --> remind
# MAGIC     learn --> expire
# MAGIC     learn --> keep_cycle
# MAGIC     expire --> record
# MAGIC     keep_cycle --> record
# MAGIC     take_in --> account_for
# MAGIC     inquire --> address
# MAGIC     tell_unasked --> address
# MAGIC     pack --> address
# MAGIC     keep_cycle --> answer
# MAGIC     answer --> pack
# MAGIC ```

# COMMAND ----------
# MAGIC %md
# MAGIC ## Two exercises
# MAGIC
# MAGIC 1. Cut PFS2 off as well, so that nobody but PFS1 has the mail. Who is asked, and after how long, by a store next door and by one
# MAGIC    in another site?
# MAGIC 2. Post nothing after Paris is back. How does PFS3 learn of what it missed all the same, and when? (Ask `lake.why` before you play.)
