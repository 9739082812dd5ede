# Databricks notebook source
# MAGIC %md
# MAGIC # Why is it not here?
# MAGIC
# MAGIC You will learn to ask a lake why a mail is not at a store, since when, and what happens next if nobody does anything. An
# MAGIC administrator of 2003 read event logs for that; here the engine says it, by the very rules that decide. Then we let time
# MAGIC pass, and see whether what it said comes true.

# COMMAND ----------

# MAGIC %pip install -q '..[pictures]'

# COMMAND ----------

# MAGIC %restart_python

# COMMAND ----------

import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pandas as pd

from pfspark.ask.reasons import counted
from pfspark.edge.pictures import show, timeline
from pfspark.edge.session import open_session
from pfspark.lake import Lake

spark = open_session()
morning = datetime(2026, 1, 5, 8, tzinfo=UTC)
if "dbutils" in globals():  # on a workspace: a schema of a catalog, made anew
    dbutils.widgets.text("course", "main.pfspark_course")
    place = dbutils.widgets.get("course") + "_why"
    spark.sql(f"DROP SCHEMA IF EXISTS {place} CASCADE")
else:
    place = str(Path(tempfile.mkdtemp()) / "lake")
lake = Lake.create(place, spark)
lake.organization(profile="exchange_2007", start=morning)
for store in ("PFS1", "PFS2"):
    lake.store(store, "Redmond")
lake.folder_create("PFS1", "/Sales", ["PFS1", "PFS2"], at=morning)
lake.run(until=morning + timedelta(minutes=30))

# COMMAND ----------
# MAGIC %md
# MAGIC ## A mail that nobody has heard of
# MAGIC
# MAGIC The offer is posted at PFS1, and PFS2 is cut off while it goes out. PFS2 does not know that there is anything to know.

# COMMAND ----------

lake.post("PFS1", "/Sales", b"the offer", name="offer", at=morning + timedelta(hours=1))
lake.run(until=morning + timedelta(hours=1, minutes=15), cut=["PFS2"])


def why() -> dict:
    """What the lake says of the offer at PFS2 now."""
    [line] = lake.why_lines("offer", folder="/Sales", store="PFS2")
    return line


unheard = why()
unheard["says"]

# COMMAND ----------
# MAGIC %md
# MAGIC ## The next mail tells of it
# MAGIC
# MAGIC Every message says what its sender holds. The second mail arrives, PFS2 compares, and waits six hours before it asks: the
# MAGIC offer may only be late.

# COMMAND ----------

lake.post("PFS1", "/Sales", b"one more", name="reminder", at=morning + timedelta(hours=2))
lake.run(until=morning + timedelta(hours=2, minutes=30))
waiting = why()
waiting["says"]

# COMMAND ----------
# MAGIC %md
# MAGIC Of a whole lake, every cause for which something is missing anywhere:

# COMMAND ----------

pd.DataFrame(counted(lake.why_lines()))[["cause", "numbers", "since"]]

# COMMAND ----------
# MAGIC %md
# MAGIC ## What it said comes true
# MAGIC
# MAGIC `next.at` is the round in which that happens, and not before: played up to the round before, nothing has changed; in that
# MAGIC round PFS2 asks. A little later the answer has come.

# COMMAND ----------

foretold = datetime.fromisoformat(waiting["next"]["at"])
lake.run(until=foretold - timedelta(minutes=15))
before = why()
lake.run(until=foretold)
then = why()
lake.run(until=foretold + timedelta(hours=1))
afterwards = why()
lines = (unheard, waiting, before, then, afterwards)
story = pd.DataFrame([{name: each[name] for name in ("at", "cause", "says")} for each in lines])
story

# COMMAND ----------
# MAGIC %md
# MAGIC ## How it came
# MAGIC
# MAGIC The way of the offer, hop by hop: lost, heard of, asked for, answered. A line is a letter; between two marks of PFS2 it waits.

# COMMAND ----------

hops = lake.trace("offer", folder="/Sales").toPandas()
way = timeline(hops.to_dict("records"), "How the offer came to PFS2")
show(way)

# COMMAND ----------
# MAGIC %md
# MAGIC Half of an administrator's day of logs is this table.

# COMMAND ----------

hops[["at", "store", "says", "waited", "rule"]]

# COMMAND ----------
# MAGIC %md
# MAGIC ## As it was
# MAGIC
# MAGIC The same question as of an earlier round, with the rules and rows that decided then.

# COMMAND ----------

asked_again = lake.why("offer", folder="/Sales", store="PFS2", as_of=morning + timedelta(hours=2, minutes=30)).toPandas()
lake.close()
asked_again[["says", "because"]]

# COMMAND ----------
# MAGIC %md
# MAGIC ## Two exercises
# MAGIC
# MAGIC 1. Suspend the organization's content replication (`lake.organization(suspended=True)`) before the second mail. Which cause is told, and
# MAGIC    what ends it?
# MAGIC 2. Let the store that alone has a mail leave the list of the folder. What does `why` say at the store that stays, hour by hour?
