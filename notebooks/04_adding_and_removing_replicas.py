# Databricks notebook source
# MAGIC %md
# MAGIC # Adding and removing replicas
# MAGIC
# MAGIC You will learn in which steps a replica comes and goes, and why its content cannot be lost on the way. A folder moves from one server
# MAGIC to another: the new server is given a replica, fills itself, and the old one gives its replica up.
# MAGIC No content is lost on the way, even when the administrator is in a hurry: a replica goes only when another has proven that it holds
# MAGIC everything.

# COMMAND ----------

# MAGIC %pip install -q '..[pictures]'

# COMMAND ----------

# MAGIC %restart_python

# COMMAND ----------

from pathlib import Path

import pandas as pd

from pfspark import cntext
from pfspark.edge.config import conf_folder
from pfspark.edge.pictures import picture, show
from pfspark.edge.session import open_session
from pfspark.sim.player import play
from pfspark.sim.scenario import parse, read
from pfspark.words import MessageType

spark = open_session()
MOVE = """
name = "A folder moves"
profile = "exchange_2007"
start = 2026-01-05T08:00:00Z
end = "19h"
interval = "15m"

[stores.PFS1]
site = "Redmond"
[stores.PFS2]
site = "Redmond"

[folders."/Sales"]
replicas = ["PFS1"]
holds = "PFS1:1-40"

[[steps]]
at = "0m"
post = { store = "PFS2", folder = "/Sales" }                     # refused: no replica here
[[steps]]
at = "0m"
add_replica = { store = "PFS2", folder = "/Sales", replica = "PFS2" }
[[steps]]
at = "30m"
show = ["state"]
[[steps]]
at = "7h"
show = ["state"]

[[steps]]
at = "8h"
cut = ["PFS2"]
[[steps]]
at = "8h"
post = { store = "PFS1", folder = "/Sales", count = 3 }          # lost on the way: only PFS1 has them
[[steps]]
at = "9h"
heal = ["PFS2"]
[[steps]]
at = "9h"
remove_replica = { store = "PFS1", folder = "/Sales", replica = "PFS1" }
[[steps]]
at = "9h15m"
post = { store = "PFS1", folder = "/Sales" }                     # refused: it is delete pending
[[steps]]
at = "9h15m"
show = ["state"]
[[steps]]
at = "10h15m"
show = ["state"]
[[steps]]
at = "10h15m"
remove_replica = { store = "PFS2", folder = "/Sales", replica = "PFS2" }   # refused: the last one
[[steps]]
at = "18h15m"
show = ["state", "folders"]
"""

# COMMAND ----------
# MAGIC %md
# MAGIC Three organizations are played together, in the same rounds: the move, and two files that ship with the project, of two replicas that
# MAGIC leave at once and of one that leaves and comes back.

# COMMAND ----------

shipped = [Path(conf_folder()) / "scenarios" / f"{name}.toml" for name in ("two_leave_at_once", "leaves_and_comes_back")]
scenarios = [parse(MOVE, "move", conf_folder()), *read(shipped, conf_folder())]
move, two_leave, comes_back = (scenario.name for scenario in scenarios)
lines = list(play(scenarios, spark))


def messages(org: str, since: str = "", until: str = "~") -> pd.DataFrame:
    """Who told whom what, in order of time."""
    return pd.DataFrame(
        {
            "at": line["at"][8:16],
            "message": MessageType(line["type"]).name.lower().replace("_", " "),
            "from": line["from"],
            "to": ", ".join(line["to"]),
            "folder": line["folder"],
            "carries or asks for": line["carries"] or line["asks"],
        }
        for line in lines
        if line["org"] == org and line["kind"] == "message" and since <= line["at"] < until
    )


def states(org: str, folder: str, *keys: str) -> pd.DataFrame:
    """What the stores held of a folder, each time it was shown."""
    found = [line for line in lines if line["org"] == org and line["kind"] == "state" and line["folder"] == folder]
    return pd.DataFrame({"at": line["at"][8:16], "store": line["store"], **{key: line[key] for key in keys}} for line in found)


# COMMAND ----------
# MAGIC %md
# MAGIC ## A replica is added
# MAGIC
# MAGIC The replica list is a property of the folder, so adding PFS2 is a change of the *hierarchy*, which every store has. PFS2 sees itself
# MAGIC on the list and asks all holders for their status; PFS1 answers with the set of numbers it holds; PFS2 notes all forty as missing.
# MAGIC Then it waits, as for any hole, six hours, asks, and is filled.

# COMMAND ----------

messages(move, until="2026-01-05T16")

# COMMAND ----------
# MAGIC %md
# MAGIC ## A replica is removed
# MAGIC
# MAGIC At 17:00 PFS1 gives up its replica, with three items that only it has. It is now *delete pending*: no client may use it, and it asks
# MAGIC PFS2 whether that holds everything. It does not; so PFS2 asks for what it lacks, here after five minutes and not after six hours,
# MAGIC for not losing content comes first. PFS1 sends, asks again, and is told yes. Now it is *delete now*, and the nightly maintenance
# MAGIC erases it.

# COMMAND ----------

messages(move, since="2026-01-05T16", until="2026-01-06")

# COMMAND ----------

sales = states(move, "/Sales", "standing", "applied", "missing")
sales

# COMMAND ----------
# MAGIC %md
# MAGIC The same as pictures: one bar is one range of numbers, the other colour is what a store knows it misses. At the end there is no line for
# MAGIC PFS1: its replica is erased.

# COMMAND ----------

pictures = []
for at, grid in sales.groupby("at"):
    held = {row.store: cntext.parse(row.applied) for row in grid.itertuples()}
    holes = {row.store: cntext.parse(row.missing) for row in grid.itertuples()}
    pictures.append(picture(held, holes, title=f"Day and time {at}"))
show(*pictures)

# COMMAND ----------
# MAGIC %md
# MAGIC ## What is refused
# MAGIC
# MAGIC A post where no replica is, a post at a replica that is leaving, and the removal of the last replica: only deleting the folder, which is a
# MAGIC different promise, may take the last one away.

# COMMAND ----------

refusals = [
    (line["at"][8:16], line["store"], line["reason"]) for line in lines if line["kind"] == "refused" and line["org"] == move
]
pd.DataFrame(refusals, columns=["at", "store", "reason"])

# COMMAND ----------
# MAGIC %md
# MAGIC ## Two leave at once
# MAGIC
# MAGIC If two replicas leave in one round, each might take the other for the one that stays. So a leaver asks only those that are still on the
# MAGIC list, and the word of a replica that is itself leaving does not count: both wait for PFS3.

# COMMAND ----------

messages(two_leave).query("message == 'status request'")

# COMMAND ----------

states(two_leave, "/Sales", "standing", "applied")

# COMMAND ----------
# MAGIC %md
# MAGIC ## One comes back
# MAGIC
# MAGIC PFS1 left two folders. `/Plans` is given back to it before the night: nothing was erased, and it goes on in the same life with number 4.
# MAGIC `/Sales` is given back after the erasure: a new life begins, written `PFS1~2`, and counts from 1 again, so no number is ever given twice.
# MAGIC What it had posted in its first life comes back from PFS2, under the old numbers.

# COMMAND ----------

plans, sales_again = (states(comes_back, folder, "life", "standing", "applied", "missing") for folder in ("/Plans", "/Sales"))
pd.concat({"/Plans": plans, "/Sales": sales_again}, names=["folder", None])

# COMMAND ----------
# MAGIC %md
# MAGIC All three organizations have converged.

# COMMAND ----------

ends = {line["org"]: line["converged"] for line in lines if line["kind"] == "end"}
ends

# COMMAND ----------
# MAGIC %md
# MAGIC ## Two exercises
# MAGIC
# MAGIC 1. Take the last replica but one off the list while the new one is cut off. What does the leaver wait for, and for how long?
# MAGIC 2. Ask `pfspark drain PFS1` of a lake in that state, before and after PFS2 is filled. What does it say would be lost?
