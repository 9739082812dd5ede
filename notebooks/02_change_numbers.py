# Databricks notebook source
# MAGIC %md
# MAGIC # Change numbers
# MAGIC
# MAGIC You will learn to read sets of change numbers: what a store has, what it believes of others, and what it lacks. Three stores, PFS1,
# MAGIC PFS2 and PFS3, each hold a copy of one folder. Every change gets a number at the store where it is made, and
# MAGIC every message tells, besides the changes, which numbers its sender holds. This is the walk-through of the article
# MAGIC "recovering public folders", part 2: seven moments, T0 to T6, and what each store knows of each other at each of them.

# COMMAND ----------

# MAGIC %pip install -q '..[pictures]'

# COMMAND ----------

# MAGIC %restart_python

# COMMAND ----------

from pathlib import Path

from pfspark import cntext
from pfspark.edge.config import conf_folder
from pfspark.edge.pictures import picture, show
from pfspark.edge.session import open_session
from pfspark.sim.player import play
from pfspark.sim.scenario import read

spark = open_session()
scenario = Path(conf_folder()) / "scenarios" / "walk_through.toml"

# COMMAND ----------
# MAGIC %md
# MAGIC The scenario is a file: the stores, what they hold, and what happens when. Playing it gives lines; `show` steps give the
# MAGIC state of every store at that moment.

# COMMAND ----------

lines = list(play(read([scenario], conf_folder()), spark))
states = [line for line in lines if line["kind"] == "state" and line["folder"] != "1-1"]
moments = sorted({line["at"] for line in states})[:7]
grids = [{line["store"]: line for line in states if line["at"] == at} for at in moments]


def known(grid: dict[str, dict], viewer: str, about: str) -> str:
    """What `viewer` has recorded about `about`; of itself, what it holds."""
    return grid[viewer]["applied"] if viewer == about else grid[viewer]["reported"].get(about, "")


# COMMAND ----------
# MAGIC %md
# MAGIC ## The table of the article
# MAGIC
# MAGIC Row: details from whom. Column: the copy of the table kept at whom. Nobody updates an entry by sending: only what arrives changes
# MAGIC what a store believes.

# COMMAND ----------

import pandas as pd

STORES = ["PFS1", "PFS2", "PFS3"]
tables = {
    f"T{step}": pd.DataFrame({viewer: {about: known(grid, viewer, about) for about in STORES} for viewer in STORES})
    for step, grid in enumerate(grids)
}
pd.concat(tables, names=["at", "from whom"])

# COMMAND ----------
# MAGIC %md
# MAGIC ## The same as a picture
# MAGIC
# MAGIC One bar is one range. At T6, PFS3 is back from an outage and has received number 17 of PFS1: the holes are what it has
# MAGIC to ask for, `PFS1:12-16` and `PFS2:21-28`.

# COMMAND ----------

pictures = []
for step, grid in enumerate(grids):
    held = {store: cntext.parse(grid[store]["applied"]) for store in STORES}
    holes = {store: cntext.parse(grid[store]["missing"]) for store in STORES}
    pictures.append(picture(held, holes, title=f"T{step}: what each store holds, and what it knows it misses"))
show(*pictures)

# COMMAND ----------
# MAGIC %md
# MAGIC ## From whom
# MAGIC
# MAGIC PFS3 may ask any store that it believes to have the numbers. PFS1's message told what PFS1 holds and, relayed, what it believes of
# MAGIC PFS2; so both can be asked. Without relaying PFS3 would believe that PFS2 has none of it, and only PFS1 could be asked.

# COMMAND ----------

requests = [line for line in lines if line["kind"] == "message" and line["type"] == "0x8"]
pd.DataFrame({"at": line["at"], "asks": line["from"], "of": ", ".join(line["to"]), "for": line["asks"]} for line in requests)

# COMMAND ----------
# MAGIC %md
# MAGIC In the end all stores hold the same, and nothing is missing anywhere.

# COMMAND ----------

end = lines[-1]
end["converged"], end["missing"]

# COMMAND ----------
# MAGIC %md
# MAGIC ## Two exercises
# MAGIC
# MAGIC 1. Compute the holes of T6 yourself: `cntext.subtract` of what PFS3 has heard of and of what it holds. `pfspark set subtract` does the same.
# MAGIC 2. Play the file without relaying (`[policy]`, `relay_status = false`). Whom can PFS3 ask now, and what becomes of the last table?
