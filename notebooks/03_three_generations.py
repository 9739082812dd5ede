# Databricks notebook source
# MAGIC %md
# MAGIC # Three generations
# MAGIC
# MAGIC You will learn which options make a generation, and what each of them costs in hours. Exchange 2000, 2003 and 2007 replicate by the
# MAGIC same rules and differ in a few options: when a store tells what it holds, how long
# MAGIC it waits before it asks for what it misses, and whom it asks. Here one organization is played in all three, and in a modern
# MAGIC profile, side by side: who asks whom, why, and how long until all stores are equal.

# COMMAND ----------

# MAGIC %pip install -q '..[pictures]'

# COMMAND ----------

# MAGIC %restart_python

# COMMAND ----------

from datetime import datetime, timedelta
from pathlib import Path

import pandas as pd
from pyspark.sql import functions as F

from pfspark.edge.config import conf_folder
from pfspark.edge.pictures import show
from pfspark.edge.session import open_session
from pfspark.settings import text_of
from pfspark.sim.player import play
from pfspark.sim.scenario import read
from pfspark.units import show_duration

spark = open_session()
GENERATIONS = ["2000", "2003", "2007", "modern"]
files = [Path(conf_folder()) / "scenarios" / f"generations_{generation}.toml" for generation in GENERATIONS]
scenarios = dict(zip(GENERATIONS, read(files, conf_folder()), strict=True))

# COMMAND ----------
# MAGIC %md
# MAGIC ## The organization
# MAGIC
# MAGIC Four stores hold one folder. ASKER and NEAR stand in Paris; NEAR is an old server. FAR and PREF are in other sites; PREF is the
# MAGIC *preferred source*, a choice of the administrator.
# MAGIC
# MAGIC NEAR posts five items while ASKER is cut off. The first three reach PREF, then PREF is cut off too; FAR gets all five. Mail is
# MAGIC not acknowledged, so nobody knows that anything was lost, and nobody posts again.

# COMMAND ----------

one = scenarios["2007"]
costs = {link.to_site: link.cost for link in one.links if link.from_site == "Paris"}
stores = pd.DataFrame(
    {
        "site": [store.site for store in one.stores],
        "version": [store.version for store in one.stores],
        "preferred": [store.preferred for store in one.stores],
        "cost from Paris": [costs.get(store.site, 0) for store in one.stores],
        "has of NEAR:1-5": ["", "NEAR:1-5", "NEAR:1-5", "NEAR:1-3"],
    },
    index=[store.name for store in one.stores],
)
stores

# COMMAND ----------
# MAGIC %md
# MAGIC ## What the generations do differently
# MAGIC
# MAGIC A generation is a table of option values, nothing else. These are the options in which the four differ.

# COMMAND ----------

options = pd.DataFrame(
    {
        generation: {name: text_of(value) for name, value in scenario.policy.texts().items()}
        for generation, scenario in scenarios.items()
    }
)
options = options[options.nunique(axis="columns") > 1]
options

# COMMAND ----------
# MAGIC %md
# MAGIC The order in which sources are asked is data too: a list of sort keys. In Exchange 2000 six groups come one after the other, and
# MAGIC within a group one key decides; later there are five keys for everybody, and the store's name makes the order total.

# COMMAND ----------

orders = {generation: scenarios[generation].policy.source_keys for generation in ("2000", "2007")}
pd.DataFrame({generation: pd.Series(map(str, keys), range(1, len(keys) + 1)) for generation, keys in orders.items()}).fillna("")

# COMMAND ----------
# MAGIC %md
# MAGIC ## Played together
# MAGIC
# MAGIC All four organizations are played in the same rounds. Every message is a line; the lines are a frame like any other.

# COMMAND ----------

lines = list(play(list(scenarios.values()), spark))
generation_of = {scenario.name: generation for generation, scenario in scenarios.items()}
messages = spark.createDataFrame(
    pd.DataFrame(
        {
            "generation": generation_of[line["org"]],
            "minute": (datetime.fromisoformat(line["at"]) - one.start) // timedelta(minutes=1),
            "type": line["type"],
            "sender": line["from"],
            "to": ",".join(line["to"]),
            "numbers": line["carries"] or line["asks"],
        }
        for line in lines
        if line["kind"] == "message"
    )
)
messages.where("type = '0x8'").orderBy("generation", "minute", "to").toPandas()

# COMMAND ----------
# MAGIC %md
# MAGIC ## Whom ASKER asks, and why
# MAGIC
# MAGIC * **2000** wants one server that has everything it misses. FAR is of its own kind, so it comes before NEAR, which is older,
# MAGIC   although NEAR stands in the same room. PREF has only a part, and nobody is preferred yet: FAR is asked for all five.
# MAGIC * **2003, 2007 and modern** take what each can give, in order: the preferred source first, so PREF is asked for its three; then the
# MAGIC   lowest cost, so NEAR is asked for the two that are left. Age counts only between stores of equal cost.
# MAGIC * **PREF** itself misses two. It stands alone in its site, waits the longer time-out of remote sources, and asks FAR, at cost 20.

# COMMAND ----------

asked = messages.where("type = '0x8' AND sender = 'ASKER'")
requests = asked.groupBy("to").pivot("generation", GENERATIONS).agg(F.max("numbers")).toPandas().set_index("to").fillna("")
requests

# COMMAND ----------
# MAGIC %md
# MAGIC ## How long it takes
# MAGIC
# MAGIC Three waits follow each other. *Nobody knows*: until a status is told unasked, in 2007 a day after the last change, in 2000 and
# MAGIC 2003 at the first 00:15 or 12:15 after that day, in the modern profile after an hour. *ASKER waits*: the missing items may still be
# MAGIC on their way, so it asks six hours after it has heard, or five minutes. *PREF waits*: twelve hours, or fifteen minutes, for it
# MAGIC has remote sources only.

# COMMAND ----------


def when(kind: str, sender: str):
    """The minutes in which a store tells that; null elsewhere."""
    return F.when((F.col("type") == kind) & (F.col("sender") == sender), F.col("minute"))


ROUND = one.interval // timedelta(minutes=1)  # what is sent in a round is received in the next
moments = (
    messages.groupBy("generation")
    .agg(
        F.max(when("0x4", "NEAR")).alias("lost"),
        F.min(when("0x10", "NEAR")).alias("told"),
        F.min(when("0x8", "ASKER")).alias("ASKER asks"),
        F.min(when("0x8", "PREF")).alias("PREF asks"),
        (F.max(F.when(F.col("type") == "0x80000004", F.col("minute"))) + ROUND).alias("equal"),
    )
    .toPandas()
    .set_index("generation")
    .sort_index()
)
moments.map(lambda minute: show_duration(timedelta(minutes=minute)))

# COMMAND ----------

from plotly.graph_objects import Bar, Figure

figure = Figure()
for name, begins, ends, colour in (
    ("nobody knows", "lost", "told", "#b8b8b8"),
    ("ASKER waits", "told", "ASKER asks", "#d9823b"),
    ("PREF waits", "ASKER asks", "equal", "#2f6f8f"),
):
    hours = (moments[ends] - moments[begins]) / 60
    figure.add_trace(Bar(y=moments.index, x=hours, base=moments[begins] / 60, orientation="h", name=name, marker_color=colour))
figure.update_layout(barmode="overlay", title="Hours from the start until all stores are equal", height=280)
figure.update_yaxes(autorange="reversed", type="category")
show(figure)

# COMMAND ----------
# MAGIC %md
# MAGIC In the end all four organizations hold the same: replication is lazy, and it converges.

# COMMAND ----------

ends = {generation_of[line["org"]]: line for line in lines if line["kind"] == "end"}
pd.DataFrame({generation: {key: line[key] for key in ("converged", "missing")} for generation, line in ends.items()})

# COMMAND ----------
# MAGIC %md
# MAGIC ## Two exercises
# MAGIC
# MAGIC 1. Give the 2003 organization the source order of 2000 (`source_order`). Who is asked now, and by which sort key?
# MAGIC 2. Which single option of `modern` saves most hours? Play the generations with one of them each, and draw the bars again.
