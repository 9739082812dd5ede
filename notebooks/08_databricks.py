# Databricks notebook source
# MAGIC %md
# MAGIC # On Databricks
# MAGIC
# MAGIC You will learn to keep a lake in a schema of a catalog, to have a job play its rounds, and to read its tables by SQL as of any past
# MAGIC round. It runs on a workspace, where the catalog is yours, and as it stands on any Spark with Delta, in Spark's own catalog.

# COMMAND ----------

# MAGIC %pip install -q '..[pictures]'

# COMMAND ----------

# MAGIC %restart_python

# COMMAND ----------

from datetime import UTC, datetime, timedelta

import pandas as pd

from pfspark import cntext
from pfspark.edge.pictures import picture, show
from pfspark.edge.session import open_session
from pfspark.lake import Lake

spark = open_session()
course = "spark_catalog.pfspark_course"
if "dbutils" in globals():
    dbutils.widgets.text("course", "main.pfspark_course")
    course = dbutils.widgets.get("course")
schema = course + "_databricks"
spark.sql(f"DROP SCHEMA IF EXISTS {schema} CASCADE")
lake = Lake.create(schema, spark)

# COMMAND ----------
# MAGIC %md
# MAGIC ## A lake in a schema
# MAGIC
# MAGIC The tables are managed tables of that schema; whoever may read it may ask the lake, whoever may append to `content` and
# MAGIC `edits` may write at its stores, and one writer plays the rounds.

# COMMAND ----------

morning = datetime(2026, 1, 5, 8, tzinfo=UTC)
lake.organization(profile="modern", start=morning)
for store in ("PFS1", "PFS2"):
    lake.store(store, "Redmond")
lake.folder_create("PFS1", "/Sales", ["PFS1", "PFS2"], at=morning)
lake.post("PFS1", "/Sales", "the offer", name="offer", at=morning + timedelta(minutes=5))
lake.run(until=morning + timedelta(minutes=30))
lake.post("PFS2", "/Sales", "the answer", name="answer", at=morning + timedelta(hours=1))
lake.run(until=morning + timedelta(hours=2))
lake

# COMMAND ----------
# MAGIC %md
# MAGIC ## The tables by SQL
# MAGIC
# MAGIC Facts are rows that rounds append, each with its `round`. The ledger says which round was when, and at which version of each table:
# MAGIC so any past round is a version of the tables, and Delta's time travel reads it.

# COMMAND ----------

rounds = spark.sql(f"SELECT round, turns[0].now AS played, versions FROM {schema}.rounds WHERE kind = 'played' ORDER BY round")
first, *_, last = rounds.collect()


def numbers_of(row) -> dict[str, int]:
    """How many numbers of content each store had written down by the end of that round."""
    told = spark.sql(f"""
        SELECT store, sum(cn_max - cn_min + 1) AS numbers
        FROM {schema}.state VERSION AS OF {row["versions"]["state"]}
        WHERE entry = 'applied' AND folder <> '1-1' AND startswith(about, store)
        GROUP BY store""")
    return {each["store"]: each["numbers"] for each in told.collect()}


then, now = numbers_of(first), numbers_of(last)
pd.DataFrame({"after the first round": then, "after the last": now}).fillna(0)

# COMMAND ----------
# MAGIC %md
# MAGIC Each row says in which round it was written, so one question gives the sets of change numbers after every round.

# COMMAND ----------

written = spark.sql(f"""
    SELECT round, store, origin, cn_min, cn_max FROM {schema}.state
    WHERE entry = 'applied' AND folder <> '1-1' AND startswith(about, store)
    ORDER BY round""").toPandas()
held = {}
for number in sorted(written["round"].unique()):
    so_far = written[written["round"] <= number]
    for store in ("PFS1", "PFS2"):
        by_origin = so_far[so_far["store"] == store].groupby("origin")
        ranges = {origin: cntext.canonical(zip(of["cn_min"], of["cn_max"], strict=True)) for origin, of in by_origin}
        held[f"round {number}  {store}"] = ranges
sets = picture(held, title="What each store holds after each round that brought something")
show(sets)

# COMMAND ----------
# MAGIC %md
# MAGIC ## The same by the lake
# MAGIC
# MAGIC `as_of` does that for every answer, and leaves out the rounds that were begun and never ended.

# COMMAND ----------

states = lake.state(as_of=first["round"]).where("folder = '/Sales'")
states.select("store", "folder", "applied").toPandas()

# COMMAND ----------

diff = [(line["store"], line["what"], line["after"]) for line in lake.diff_lines(first["round"], folder="/Sales")]
pd.DataFrame(diff, columns=["store", "what", "after"])

# COMMAND ----------
# MAGIC %md
# MAGIC ## A job that plays the rounds
# MAGIC
# MAGIC `conf/databricks.yml` is an asset bundle: the wheel, a job that plays what is due every quarter of an hour and checks what is late, and
# MAGIC one that maintains and audits at night, on serverless or classic compute; a third plays these notebooks. What a task of it does is this; a second writer is refused.

# COMMAND ----------

played = lake.round()
late = lake.overdue(timedelta(hours=6), as_of=played.round)
audit = {line["id"]: line["rows"] for line in lake.audit() if line["kind"] == "check"}
lake.close()
{"round": played.round, "late": late, "broken": {id: rows for id, rows in audit.items() if rows}}

# COMMAND ----------
# MAGIC %md
# MAGIC ## Two exercises
# MAGIC
# MAGIC 1. Write a SQL view over `messages` that tells, for each pair of stores and day, how many letters went and how many of them `receipts`
# MAGIC    calls lost.
# MAGIC 2. Give a colleague the right to read the schema and to append to `content` and `edits`, and nothing else. Which of `post`, `round`
# MAGIC    and `why` can he do?
