"""The replication events of a lake after one of its rounds, as Exchange logs them; read by pages, not all at once."""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import functions as F

from pfspark import cnset
from pfspark.ask import events
from pfspark.ask.eventlog import Event
from pfspark.edge.asked.answers import Answers
from pfspark.edge.asked.pages import pages, within
from pfspark.printed import Line
from pfspark.words import PARENT


def logs(seen: Answers) -> Iterator[events.Log]:
    """The replication events of each organization, as Exchange logs them; read by pages, not all at once."""
    return (_log(seen, org) for org in seen.views)


def told(seen: Answers) -> Iterator[Line]:
    """Replication events as JSON lines."""
    return (line for log in logs(seen) for line, _ in log.lines())


def _log(seen: Answers, org: str) -> events.Log:
    read = [seen.snapshot.read(name) for name in ("changes", "messages", "replicas")]
    changes, messages, replicas = (rows.where(F.col("org") == org) for rows in read)
    pieces = messages.select("round", F.inline(F.concat("carries", "asks"))).select("origin", "round")
    first = changes.select("origin", "round").union(pieces).groupBy("origin").agg(F.min("round").alias("round"))
    steps = replicas.toArrow().to_pylist()
    return events.Log(org, events.replids(steps, first.toArrow().to_pylist()), _events(seen, org, steps))


def _events(seen: Answers, org: str, steps: list[Line]) -> Iterator[Event]:
    """The events of an organization; `steps` are those of its replicas, which are few."""
    mine = F.col("org") == org
    parent = F.filter("properties", lambda each: each["name"] == PARENT).alias("properties")
    changes = seen.snapshot.read("changes").where(mine).withColumn("properties", parent)
    messages = seen.snapshot.read("messages").where(mine).drop("status")
    receipts = seen.snapshot.read("receipts").where(mine & F.col("message_id").isNotNull())
    told = messages.select("round").unionAll(receipts.select("round"))
    told = told.unionAll(seen.snapshot.read("replicas").where(mine).select("round"))
    for page in pages(told):
        received = receipts.where(within(page))
        named = received.select("message_id").union(messages.where(within(page)).select("message_id")).distinct()
        here = messages.join(named, "message_id", "left_semi")
        key = ["folder", "origin"]
        carried = cnset.canonical(here.select("folder", F.inline("carries")), key)
        read = {"messages": here, "receipts": received, "changes": cnset.within(changes, carried, key)}
        rows = {name: frame.toArrow().to_pylist() for name, frame in read.items()}
        yield from events.events(**rows, replicas=steps, stores=seen.views[org], rounds=page)
