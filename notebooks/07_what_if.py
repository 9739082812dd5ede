# Databricks notebook source
# MAGIC %md
# MAGIC # What if?
# MAGIC
# MAGIC You will learn to ask a lake what an outage, a new replica or another option would do, before anybody does it. The lake's own
# MAGIC world is played on in memory, once as it is and once for each change, all in the same rounds; the tables stay as they are.

# COMMAND ----------

# MAGIC %pip install -q '..[pictures]'

# COMMAND ----------

# MAGIC %restart_python

# COMMAND ----------

import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pandas as pd
from plotly.graph_objects import Bar, Figure

from pfspark.edge.pictures import show
from pfspark.edge.session import open_session
from pfspark.lake import Lake

spark = open_session()
morning = datetime(2026, 1, 5, 8, tzinfo=UTC)
if "dbutils" in globals():  # on a workspace: a schema of a catalog, made anew
    dbutils.widgets.text("course", "main.pfspark_course")
    place = dbutils.widgets.get("course") + "_what_if"
    spark.sql(f"DROP SCHEMA IF EXISTS {place} CASCADE")
else:
    place = str(Path(tempfile.mkdtemp()) / "lake")
lake = Lake.create(place, spark)
lake.organization(profile="exchange_2007", start=morning)
lake.store("PFS1", "Redmond")
lake.store("PFS2", "Redmond")
lake.store("PFS3", "Paris")
lake.link("Redmond", "Paris", cost=10)
lake.folder_create("PFS1", "/Sales", ["PFS1", "PFS2"], at=morning)
lake.run(until=morning + timedelta(minutes=30))
lake.post("PFS1", "/Sales", b"lost on its way", name="lost", at=morning + timedelta(minutes=35))
lake.run(until=morning + timedelta(minutes=60), cut=["PFS2"])

# COMMAND ----------
# MAGIC %md
# MAGIC ## Three worlds beside the one that comes
# MAGIC
# MAGIC A mail has just been lost on its way to PFS2. What if somebody posts one more now, so that PFS2 hears of it? What if PFS1 then
# MAGIC is down for half a day? What if first requests went out after an hour, not after six? Steps are those of scenario files; their
# MAGIC times count from the last round.

# COMMAND ----------

post = {"at": "15m", "post": {"store": "PFS1", "folder": "/Sales", "size": 2000}}
outage = [{"at": "1h", "down": ["PFS1"]}, {"at": "13h", "up": ["PFS1"]}]
variants = {
    "one more mail": {"steps": [post]},
    "and PFS1 down": {"steps": [post, *outage]},
    "and asked sooner": {"steps": [post], "policy": {"backfill_timeouts_local": ["1h", "2h", "4h"]}},
}
worlds = lake.whatif(variants=variants, until=timedelta(days=2)).toPandas()
worlds["variant"] = worlds["variant"].fillna("as it is")
worlds["hours"] = (worlds["equal"] - pd.Timestamp(morning.replace(tzinfo=None))).dt.total_seconds() / 3600
worlds[["variant", "equal", "most", "messages", "letters", "bytes"]]

# COMMAND ----------
# MAGIC %md
# MAGIC ## What differs first
# MAGIC
# MAGIC Each world says what it does first that the world as it comes does not, and by which rule.

# COMMAND ----------

firsts = {
    variant: {"at": f"{first['at']:%d %b %H:%M}", "says": first["says"], "rule": first["rule"]}
    for variant, first in zip(worlds["variant"], worlds["difference"], strict=True)
    if first
}
pd.DataFrame(firsts).T

# COMMAND ----------
# MAGIC %md
# MAGIC ## Until all is equal

# COMMAND ----------

figure = Figure(Bar(x=worlds["hours"], y=worlds["variant"], orientation="h"))
figure.update_layout(title="Hours until all is equal", height=280)
figure.update_yaxes(autorange="reversed")
show(figure)

# COMMAND ----------
# MAGIC %md
# MAGIC ## Before a store is switched off
# MAGIC
# MAGIC What must happen before PFS1 can go, how long that takes, and what would be lost if somebody pulled its plug now.

# COMMAND ----------

drained = lake.drain("PFS1")
lake.close()
drained["empty"], drained["lost_now"]

# COMMAND ----------
# MAGIC %md
# MAGIC ## Two exercises
# MAGIC
# MAGIC 1. Put PFS3 on the folder's list (`add_replica`) in one world, and with a link of `delay = "2h"` in another. How much later is all equal?
# MAGIC 2. Do one of the changes in earnest, on a copy of the lake, and compare: is it line for line what was foreseen?
