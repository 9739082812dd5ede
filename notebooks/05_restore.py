# Databricks notebook source
# MAGIC %md
# MAGIC # Restore
# MAGIC
# MAGIC You will learn what a store forgets when it is restored, what it gets back, and what is lost for ever. A store breaks and is restored
# MAGIC from a backup. What it knows is then older than what the others know of it. Three things could go wrong:
# MAGIC it could give numbers a second time that others already have; it could bring deleted folders back; and content could be lost without
# MAGIC anybody noticing. This notebook shows why the first two do not happen, and what is said of the third.

# COMMAND ----------

# MAGIC %pip install -q '..[pictures]'

# COMMAND ----------

# MAGIC %restart_python

# COMMAND ----------

import pandas as pd

from pfspark import cntext
from pfspark.edge.config import conf_folder
from pfspark.edge.pictures import picture, show
from pfspark.edge.session import open_session
from pfspark.sim.player import play
from pfspark.sim.scenario import parse
from pfspark.words import MessageType

spark = open_session()
STORY = """
name = "PFS2 is restored"
profile = "exchange_2007"
start = 2026-01-05T08:00:00Z
end = "12h"
interval = "15m"

[stores.PFS1]
site = "Redmond"
[stores.PFS2]
site = "Redmond"

[folders."/Sales"]
replicas = ["PFS1", "PFS2"]
[folders."/Old"]
replicas = ["PFS1", "PFS2"]
holds = "PFS1:1-3"

[[steps]]
at = "0m"
post = { store = "PFS2", folder = "/Sales", count = 2 }      # PFS2:1-2; at 1h a backup is made

[[steps]]
at = "2h"
post = { store = "PFS2", folder = "/Sales", count = 3 }      # PFS2:3-5 reach PFS1
[[steps]]
at = "2h"
delete_folder = { store = "PFS1", folder = "/Old" }

[[steps]]
at = "3h"
cut = ["PFS2"]
[[steps]]
at = "3h"
post = { store = "PFS2", folder = "/Sales", count = 2 }      # PFS2:6-7 reach nobody
[[steps]]
at = "3h30m"
heal = ["PFS2"]
[[steps]]
at = "3h30m"
post = { store = "PFS2", folder = "/Sales" }                 # PFS2:8 tells PFS1 of them
[[steps]]
at = "3h45m"
show = ["state", "folders"]

[[steps]]
at = "4h"
restore = { store = "PFS2", to = "1h" }
[[steps]]
at = "4h"
show = ["state", "folders"]
[[steps]]
at = "4h30m"
show = ["state"]
[[steps]]
at = "5h"
post = { store = "PFS2", folder = "/Sales" }
[[steps]]
at = "12h"
show = ["state", "folders", "items"]
"""
MOMENTS = {"05T11:45": "before", "05T12:00": "restored", "05T12:30": "has asked", "05T20:00": "in the end"}

# COMMAND ----------

lines = list(play([parse(STORY, "restore", conf_folder())], spark))
states = [line for line in lines if line["kind"] == "state"]
sales = pd.DataFrame(
    {"moment": MOMENTS[line["at"][8:16]], **{key: line[key] for key in ("store", "life", "applied", "missing", "lost")}}
    for line in states
    if line["folder"] == "/Sales"
)
sales

# COMMAND ----------
# MAGIC %md
# MAGIC ## A new life
# MAGIC
# MAGIC The restored store knows that it has given the numbers 1 and 2. The next would be 3, but PFS1 already has a `PFS2:3`, another item. So
# MAGIC every replica of a restored store begins a new *life* and numbers from 1 in it: what PFS2 posts now is `PFS2~2:1`. Exchange gives the
# MAGIC restored store a new replica identity for the same reason.

# COMMAND ----------

posted = [(line["at"][11:16], line["carries"]) for line in lines if line.get("type") == "0x4" and line["from"] == "PFS2"]
pd.DataFrame(posted, columns=["at", "PFS2 posts"])

# COMMAND ----------
# MAGIC %md
# MAGIC ## What others have comes back
# MAGIC
# MAGIC At once PFS2 asks for the status of the hierarchy and of every folder. PFS1 answers where it has more; what PFS2 lacks, its own old items
# MAGIC among it, goes into the array and is asked for six hours later, like any hole.

# COMMAND ----------

told = pd.DataFrame(
    {
        "at": line["at"][11:16],
        "message": MessageType(line["type"]).name.lower().replace("_", " "),
        "from": line["from"],
        "to": ", ".join(line["to"]),
        "folder": line["folder"],
        "carries or asks for": line["carries"] or line["asks"],
    }
    for line in lines
    if line["kind"] == "message" and line["at"] >= "2026-01-05T12"
)
told

# COMMAND ----------
# MAGIC %md
# MAGIC The same as pictures; the other colour is what a store knows it misses.

# COMMAND ----------

pictures = []
for moment in MOMENTS.values():
    grid = sales[sales["moment"] == moment]
    held = {row.store: cntext.parse(row.applied) for row in grid.itertuples()}
    holes = {row.store: cntext.parse(row.missing) for row in grid.itertuples()}
    pictures.append(picture(held, holes, title=moment))
show(*pictures)

# COMMAND ----------
# MAGIC %md
# MAGIC ## Deleted stays deleted
# MAGIC
# MAGIC The backup is from before `/Old` was deleted, so PFS2 shows it again. But the deletion is a change of the hierarchy with a number of its own:
# MAGIC PFS2 lacks it, asks for it, and the folder goes. A deleted folder never comes back; to rescue one, copy it under a new name while the
# MAGIC restored store still shows it: a copy is a new folder, and late mail for the old one does not touch it.

# COMMAND ----------

folders = pd.DataFrame(
    {"moment": MOMENTS[line["at"][8:16]], "store": line["store"], "path": line["path"]}
    for line in lines
    if line["kind"] == "folder"
)
shown = folders.groupby(["store", "moment"])["path"].agg(", ".join).unstack()[["before", "restored", "in the end"]]
shown

# COMMAND ----------
# MAGIC %md
# MAGIC ## What is lost is said
# MAGIC
# MAGIC `PFS2:6-7` were lost on the way, and PFS2 alone held them. PFS1 had heard of them and would have asked. Since the holder's new life does
# MAGIC not claim them, nobody does: they are *lost*, PFS1 says so in its state, and asks for them no more.

# COMMAND ----------

lost = {line["at"][11:16]: line["lost"] for line in states if line["store"] == "PFS1" and line["folder"] == "/Sales"}
pd.Series(lost, name="lost, as PFS1 says")

# COMMAND ----------
# MAGIC %md
# MAGIC Both hold the same at the end, in two lives of PFS2, and the replay has converged.

# COMMAND ----------

held_at_the_end = {
    line["store"]: line["applied"] for line in states if line["at"] == states[-1]["at"] and line["folder"] == "/Sales"
}
held_at_the_end, lines[-1]["converged"]

# COMMAND ----------
# MAGIC %md
# MAGIC In a lake, `Lake.losses(store, to)` says beforehand what a restore would lose for ever, and `Lake.restore(store, to, again=True)` restores and
# MAGIC takes those items in again, in the new life, from the edits that people once made.

# COMMAND ----------
# MAGIC %md
# MAGIC ## Two exercises
# MAGIC
# MAGIC 1. Let the lost letters arrive before the restore. What is lost now, and why does the new life still count from 1?
# MAGIC 2. Restore the same store twice, to the same moment. How many lives does it have, and who still claims the numbers of the second?
