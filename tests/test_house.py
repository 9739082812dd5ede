"""The rules of the house, read from the syntax trees; each fault names the better way."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from pyspark.sql import functions

ROOT = Path(__file__).parents[1]
TOP_LEVEL = {"README.md", "conf", "notebooks", "pfspark", "pyproject.toml", "tests"}

# --- who may import what ---

VOCABULARY = {
    "cntext",
    "entries",
    "errors",
    "keys",
    "paths",
    "printed",
    "schedules",
    "settings",
    "tables",
    "units",
    "words",
    "world",
}
BELOW = {
    "vocabulary": set[str](),
    "cnset": {"vocabulary"},
    "frame": set(),
    "graph": {"frame"},
    "ancestors": {"vocabulary", "frame"},
    "naming": {"vocabulary"},
    "sites": {"vocabulary"},
    "suspension": {"vocabulary"},
    "timeouts": set(),
    "rules": {"vocabulary", "cnset", "frame", "ancestors", "naming", "sites", "suspension", "timeouts"},
    "round": {"vocabulary", "cnset", "frame", "graph", "rules"},
    "ddl": set(),
    "rows": {"vocabulary", "ddl"},
    "keyed": {"vocabulary"},
    "references": {"vocabulary", "keyed"},
    "cnarrow": {"keyed"},
    "twins": {"vocabulary", "cnarrow", "keyed", "references", "timeouts"},
    "mapped": set(),
    "said": {"vocabulary", "keyed"},
    "materializer": {"rows", "frame"},
    "threads": {"rows"},
    "execute": {"vocabulary", "frame", "twins", "rows", "materializer", "threads"},
    "branches": {"vocabulary", "keyed", "twins"},
    "views": {"vocabulary", "keyed", "references", "branches"},
    "merging": {"vocabulary", "frame", "keyed", "rules"},
    "between": {
        "vocabulary",
        "cnarrow",
        "keyed",
        "mapped",
        "merging",
        "said",
        "rows",
        "execute",
        "round",
        "views",
        "materializer",
    },
    "restarts": {"vocabulary", "between", "keyed", "said"},
    "ask": {
        "vocabulary",
        "cnset",
        "frame",
        "keyed",
        "references",
        "suspension",
        "rules",
        "rows",
        "execute",
        "materializer",
        "twins",
        "branches",
        "views",
    },
    "files": {"vocabulary"},
    "sim": {
        "vocabulary",
        "files",
        "cnset",
        "frame",
        "rules",
        "round",
        "keyed",
        "references",
        "rows",
        "execute",
        "views",
        "between",
        "restarts",
        "ask",
        "materializer",
    },
    "edge": {
        "vocabulary",
        "files",
        "cnset",
        "frame",
        "graph",
        "keyed",
        "references",
        "mapped",
        "merging",
        "said",
        "rules",
        "round",
        "rows",
        "execute",
        "materializer",
        "threads",
        "views",
        "between",
        "restarts",
        "ask",
        "sim",
    },
    "lake": {"vocabulary", "files", "cnset", "keyed", "references", "rules", "round", "rows", "between", "ask", "sim", "edge"},
    "engine": {"edge"},
    "cli": {"vocabulary", "files", "rows", "ask", "sim", "edge", "lake", "engine"},
    "__main__": {"vocabulary", "edge", "engine", "cli"},
}
BETTER_IMPORT = {
    "vocabulary": "the vocabulary knows nobody: move what needs more to where it is used",
    "cnset": "the algebra knows ranges and words only: let the caller hand in the frame",
    "naming": "a name is what its edit says: let the caller hand in the frame",
    "ancestors": "trees are followed by what stands in their rows: let the caller hand in the frame",
    "sites": "where stores lie is what the directory says: let the caller hand in its frames",
    "suspension": "what waits is what the policy and the folder say: let the caller hand in its columns",
    "timeouts": "a time-out is what the policy says: let the caller hand in its columns",
    "rules": "a rule takes what it needs as a frame: let round.py, where rules meet, hand it in",
    "round": "a round is pure: let the edge hand in the snapshot and take the new rows",
    "rows": "rows are shaped by the tables alone: let the caller hand in the schema",
    "frame": "what a rule declares knows no rule: let the rule say it",
    "graph": "steps are followed by what they are given: let the rule say it",
    "threads": "threads know not what is done in them: let the caller say it",
    "materializer": "what suits a session is asked of it: let the edge hand it in",
    "execute": "who makes frames knows not what they mean: let `round.play` say it",
    "ddl": "a schema is read by itself: let the caller hand in the text",
    "said": "what people say is rows: let the edge read them",
    "keyed": "rows by key are what Arrow knows of them: let the caller say what they mean",
    "references": "what an edit made is looked up in tables: let the caller hand them in",
    "cnarrow": "the algebra knows ranges alone: let the caller hand them in",
    "twins": "a rule is said once more of rows alone: let who makes frames hand them in",
    "mapped": "where rows lie is all the same to them: let the caller say what they mean",
    "branches": "trees are followed by what stands in their rows: let the caller say why",
    "views": "what a round reads is rows by key: let the caller hand in the tables",
    "merging": "trees are drawn of what is given: let the caller read it",
    "restarts": "a store starts again in a world: let the caller hand both in",
    "between": "between rounds the world is rows: let the edge read and store them",
    "ask": "a question reads a snapshot: let the caller open it and hand it in",
    "files": "a file says what it says: let whoever reads it say what becomes of that",
    "sim": "an invented world hands frames to round.play: let the edge store and show them",
    "lake": "a lake says what its parts can do: let them do it",
    "edge": "the edge is asked by the lake and by the verbs: let them hand in what they know",
    "engine": "the engine does whatever words it is told: let `__main__` hand in who does them",
    "cli": "verbs say what the lake and the edge can do: let those do it",
    "__main__": "the command is done by the engine or the command line: let them do it",
}
ROOMS = ("spark", "delta", "world", "asked", "keeping")
"""The rooms of the edge, each above those from which it may import."""
BETTER_ROOM = "rooms of the edge build on those below: hand it in, or move what both need down"
ORACLE = ROOT / "tests" / "sim" / "oracle.py"
BETTER_ORACLE = "the oracle is written from the articles in plain Python: code it shares with the engine proves nothing"

# --- what a rule never does ---

MADE = "a rule that is not `inline` is made once, whoever reads it: let `execute` do it"
EDGE = "driver values are the edge's: return a frame"
GIVEN = "frames come in as arguments, and new rows go out"
HASH = "derive it from the ids (xxhash64), so that reruns and other partitions agree"
TIME = "join `clock` on org and take its `now`"
WINDOWS = "say it with a window, a join or a higher-order function"
NEVER_CALLED = {
    "applyInArrow": WINDOWS,
    "applyInPandas": WINDOWS,
    "arrow_udf": WINDOWS,
    "cache": MADE,
    "checkpoint": MADE,
    "collect": EDGE,
    "createDataFrame": GIVEN,
    "current_date": TIME,
    "current_timestamp": TIME,
    "foreach": EDGE,
    "foreachPartition": EDGE,
    "getOrCreate": GIVEN,
    "head": EDGE,
    "isEmpty": EDGE,
    "localCheckpoint": MADE,
    "localtimestamp": TIME,
    "mapInArrow": WINDOWS,
    "mapInPandas": WINDOWS,
    "monotonically_increasing_id": HASH,
    "now": TIME,
    "pandas_udf": WINDOWS,
    "persist": MADE,
    "rand": HASH,
    "randn": HASH,
    "shuffle": HASH,
    "spark_partition_id": HASH,
    "tail": EDGE,
    "take": EDGE,
    "toArrow": EDGE,
    "toLocalIterator": EDGE,
    "toPandas": EDGE,
    "today": TIME,
    "udf": WINDOWS,
    "unpersist": MADE,
    "utcnow": TIME,
    "uuid": HASH,
    "uuid4": HASH,
}
NEVER_TOUCHED = dict.fromkeys(("read", "readStream", "sparkSession", "write", "writeStream", "writeTo"), GIVEN)
NEVER_IMPORTED = {
    **dict.fromkeys(("io", "logging", "os", "pathlib", "threading"), GIVEN),
    **dict.fromkeys(("numpy", "pandas", "pyarrow"), WINDOWS),
    **dict.fromkeys(("random", "secrets", "uuid"), HASH),
    "time": TIME,
}
ORDERED = "an order must say which: min_by, max_by, or first(…).over(a window in a total order)"
FIRSTS = {"any_value", "first", "first_value", "last", "last_value"}
IN_SQL = re.compile(
    r"\b(any_value|current_date|current_timestamp|first|last|first_value|last_value|monotonically_increasing_id|now|rand|"
    r"randn|shuffle|uuid)\s*\(",
    re.IGNORECASE,
)

BETTER_NAME = "who reads on would take it for the first: give each frame a name of its own"

CLASSIC = {"_jdf", "_jsc", "_jsparkSession", "_jvm", "_sc", "rdd", "sparkContext"}
CLASSICAL = {
    "pfspark.edge.session",
    *(f"pfspark.edge.spark.{name}" for name in ("files", "fit", "kept_plans", "leaves", "tuned")),
}
"""The modules that start Spark, know whose files it reads, hand rows to its Java, keep plans of it, set it, and look at a session
that is given."""
BETTER_CLASSIC = "Spark Connect has no such thing: say it with frames and SQL, or in edge/session.py or edge/spark"
SERVERLESS = {
    "keeping frames between jobs": {"cache", "persist", "unpersist", "checkpoint", "localCheckpoint", "cacheTable"},
    "RDDs and the SparkContext": {*CLASSIC, "sqlContext", "parallelize"},
    "settings of a session": {"conf.set", "conf.unset", "newSession"},
    "views for all sessions": {"createGlobalTempView", "createOrReplaceGlobalTempView"},
    "jars and files for executors": {"addArtifact", "addArtifacts", "addJar", "addFile"},
}
"""What a serverless compute of Databricks refuses, by what the README says of it."""
OLDEST_SPARK = (4, 0)
"""What the oldest runtime has that pfspark is said to run on (Databricks Runtime 17.3 LTS)."""
ASKED_OTHERWISE = {"pyspark.sql.pandas.types.to_arrow_schema": "its parameters differ by version: say pfspark.rows.arrow_schema"}
PROFILES = {"exchange_2000", "exchange_2003", "exchange_2007", "modern"}
BETTER_PROFILE = "generations differ by data: make it an option in conf/*.toml and join its value from `clock`"
NAMES_OF_NOTHING = {"base", "common", "core", "helper", "helpers", "manager", "util", "utils"}


@cache
def modules() -> dict[str, ast.Module]:
    """Every module of the package by its dotted name, and the oracle."""
    files = [*sorted((ROOT / "pfspark").rglob("*.py")), ORACLE]
    return {dotted(file): ast.parse(file.read_text(), str(file)) for file in files}


def dotted(file: Path) -> str:
    return ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def layer(module: str) -> str:
    part = module.split(".")[1] if "." in module else ""
    return "vocabulary" if part in VOCABULARY or not part else part


def imports(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Every module or name imported anywhere in a module, in full, with its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, name.name) for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"line {node.lineno}: a relative import; write it in full"
            yield from ((node.lineno, f"{node.module}.{name.name}") for name in node.names)


def faults_of_import(module: str, tree: ast.AST) -> Iterator[str]:
    """Imports against the order of the house. A name that is imported from the package itself counts as its module."""
    mine = layer(module)
    if module == "pfspark":  # the door: it opens on whatever users ask for by name
        return
    if mine not in BELOW:  # a fault of its own, see test_every_module_has_its_place
        return
    for line, target in imports(tree):
        if not target.startswith("pfspark."):
            continue
        theirs = layer(target)
        other = target.split(".")[:3] != module.split(".")[:3]
        if theirs == mine and (mine != "rules" or not other):
            continue
        if theirs not in BELOW[mine]:
            yield f"line {line} imports {target}: {BETTER_IMPORT[mine]}"


def faults_of_rooms(module: str, tree: ast.AST) -> Iterator[str]:
    """Imports of a room of the edge from one above it."""
    if (mine := room(module)) not in ROOMS:
        return
    below = {"config", *ROOMS[: ROOMS.index(mine) + 1]}
    for line, target in imports(tree):
        if (theirs := room(target)) and theirs not in below:
            yield f"line {line} imports {target}: {BETTER_ROOM}"


def room(module: str) -> str | None:
    """The room of the edge in which it is, or the module that stands there by itself."""
    parts = module.split(".")
    return parts[2] if parts[:2] == ["pfspark", "edge"] and len(parts) > 2 else None


def faults_of_oracle(module: str, tree: ast.AST) -> Iterator[str]:
    """Code that the oracle has in common with the engine; the scenario is what both are asked."""
    if module != dotted(ORACLE):
        return
    for line, target in imports(tree):
        ours = (
            target.startswith("pfspark.")
            and layer(target) != "vocabulary"
            and not target.startswith(("pfspark.sim.scenario", "pfspark.sim.steps"))
        )
        if ours or target.split(".")[0] in {"pyspark", "pandas", "numpy", "pyarrow"}:
            yield f"line {line} imports {target}: {BETTER_ORACLE}"


def faults_of_purity(module: str, tree: ast.AST) -> Iterator[str]:
    """What stands in a rule, or in the round, and reaches outside the frames it was given."""
    if layer(module) not in {"rules", "round"}:
        return
    windowed = {id(call.func.value) for call in calls(tree) if method(call) == "over"}  # the f(…) in f(…).over(…)
    for line, target in imports(tree):
        package, name = target.split(".")[0], target.split(".")[-1]
        if package in NEVER_IMPORTED:
            yield f"line {line} imports {target}: {NEVER_IMPORTED[package]}"
        elif package == "pyspark" and (name in NEVER_CALLED or name == "SparkSession"):
            yield f"line {line} imports {target}: {NEVER_CALLED.get(name, GIVEN)}"
    for call in calls(tree):
        name = method(call)
        if name in NEVER_CALLED:
            yield f"line {call.lineno} calls {name}: {NEVER_CALLED[name]}"
        elif name == "count" and not call.args and not call.keywords:
            yield f"line {call.lineno} calls count(): {EDGE}; of groups, .agg(F.count(F.lit(1)).alias(…))"
        elif name in FIRSTS and id(call) not in windowed:
            yield f"line {call.lineno} calls {name}: {ORDERED}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in NEVER_TOUCHED:
            yield f"line {node.lineno} touches {node.attr}: {NEVER_TOUCHED[node.attr]}"
    for line, text in texts(tree):
        if found := IN_SQL.search(text):
            name = found[1].lower()
            yield f"line {line} says {name}( in SQL: {NEVER_CALLED.get(name, ORDERED)}"


def faults_of_classic(module: str, tree: ast.AST) -> Iterator[str]:
    """What Spark Connect does not have, outside the modules that start Spark and keep its plans."""
    if module in CLASSICAL:
        return
    for line, target in imports(tree):
        if target.split(".")[0] == "delta" or target in {"pyspark.SparkContext", "pyspark.core.context.SparkContext"}:
            yield f"line {line} imports {target}: {BETTER_CLASSIC}"
    for node in ast.walk(tree):
        name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
        if name in CLASSIC:
            yield f"line {node.lineno} uses {name}: {BETTER_CLASSIC}"


def faults_of_serverless(module: str, tree: ast.AST) -> Iterator[str]:
    """What serverless compute refuses, outside those modules."""
    if module in CLASSICAL or layer(module) in ("rules", "round"):  # those are checked by `faults_of_purity`
        return
    for call in calls(tree):
        name = method(call)
        held = call.func.value if isinstance(call.func, ast.Attribute) else None
        whole = f"{held.attr}.{name}" if isinstance(held, ast.Attribute) else name
        for subject, refused in SERVERLESS.items():
            if {name, whole} & (refused - CLASSIC) and not (name == "cache" and not isinstance(call.func, ast.Attribute)):
                yield f"line {call.lineno} calls {whole}: serverless compute refuses {subject}; say it in edge/spark"
    for line, text in texts(tree):
        if re.match(r"\s*(cache|uncache)\s+(lazy\s+)?table\b|\s*set\s+spark\.", text, re.IGNORECASE):
            yield f"line {line} says {text!r} in SQL: serverless compute refuses it"


def faults_of_age(module: str, tree: ast.AST) -> Iterator[str]:
    """What the oldest Spark does not have, or asks for otherwise."""
    for line, target in imports(tree):
        if target in ASKED_OTHERWISE and module != "pfspark.rows":
            yield f"line {line} imports {target}: {ASKED_OTHERWISE[target]}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "F":
            since = re.search(r"versionadded:: (\d+)\.(\d+)", getattr(functions, node.attr).__doc__ or "")
            if since and (int(since[1]), int(since[2])) > OLDEST_SPARK:
                yield f"line {node.lineno} calls F.{node.attr}: Spark has it since {since[1]}.{since[2]}, one runtime has 4.0"


def faults_of_generation(module: str, tree: ast.AST) -> Iterator[str]:
    """Choices by the name of a generation, which belongs into the profiles."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare | ast.MatchValue):
            parts = list(ast.walk(node))
            names = {part.id for part in parts if isinstance(part, ast.Name)}
            names |= {part.attr for part in parts if isinstance(part, ast.Attribute)}
            names |= {part.value for part in parts if isinstance(part, ast.Constant)}
            if names & (PROFILES | {"generation"}):
                yield f"line {node.lineno} asks for the generation: {BETTER_PROFILE}"


def calls(tree: ast.AST) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def faults_of_binding(module: str, tree: ast.AST) -> Iterator[str]:
    """Names of the round that mean one frame here and another there."""
    if layer(module) != "round":
        return
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            seen: set[str] = set()
            for node in ast.walk(function):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    if node.id in seen:
                        yield f"line {node.lineno} binds {node.id} again: {BETTER_NAME}"
                    seen.add(node.id)


def method(call: ast.Call) -> str:
    """The last name of what is called: `count` of `frame.where(…).count()`."""
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Every string but docstrings: SQL may be in it."""
    said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
            yield node.lineno, node.value


CHECKS: list[Callable[[str, ast.AST], Iterator[str]]] = [
    faults_of_age,
    faults_of_binding,
    faults_of_classic,
    faults_of_generation,
    faults_of_import,
    faults_of_oracle,
    faults_of_purity,
    faults_of_rooms,
    faults_of_serverless,
]


@pytest.mark.parametrize("check", CHECKS)
def test_the_house_is_in_order(check: Callable[[str, ast.AST], Iterator[str]]) -> None:
    faults = [f"{module} {fault}" for module, tree in modules().items() for fault in check(module, tree)]
    assert not faults, "\n" + "\n".join(faults)


@pytest.mark.parametrize(
    ("module", "source", "fault"),
    [
        ("pfspark.words", "from pfspark.cnset import union", "line 1 imports pfspark.cnset.union: the vocabulary"),
        ("pfspark.cnset", "import pfspark.rules.state", "line 1 imports pfspark.rules.state: the algebra knows"),
        ("pfspark.rules.state", "from pfspark.rules import intake", "let round.py, where rules meet, hand it in"),
        ("pfspark.rules.state", "from pfspark.rules.intake import number", "let round.py, where rules meet"),
        ("pfspark.rules.state", "def f():\n    from pfspark import round", "line 2 imports pfspark.round: a rule"),
        ("pfspark.round", "from pfspark.edge.delta.tables import read", "a round is pure"),
        ("pfspark.ask.gaps", "from pfspark.lake import Lake", "a question reads a snapshot"),
        ("pfspark.edge.runner", "from pfspark.lake import Lake", "the edge is asked by the lake"),
        ("pfspark.engine.server", "from pfspark.cli import run", "the engine does whatever words it is told"),
        ("tests.sim.oracle", "from pfspark.round import play", "the oracle is written from the articles"),
        ("tests.sim.oracle", "from pfspark.sim.faults import draw", "the oracle is written from the articles"),
        ("tests.sim.oracle", "import pyspark", "the oracle is written from the articles"),
        ("pfspark.rules.state", "from pyspark.sql.functions import rand", "functions.rand: derive it"),
        ("pfspark.rules.state", "from pyspark.sql import SparkSession", "frames come in as arguments"),
        ("pfspark.rules.state", "import time", "join `clock` on org"),
        ("pfspark.rules.state", "n = frame.count()", "line 1 calls count(): driver values are the edge's"),
        ("pfspark.rules.state", "rows = frame.where(x).collect()", "calls collect: driver values"),
        ("pfspark.round", "frame = frame.cache()", "calls cache: a rule that is not `inline`"),
        ("pfspark.rules.state", "at = datetime.now(UTC)", "calls now: join `clock`"),
        ("pfspark.rules.state", "x = F.first('a')", "calls first: an order must say which"),
        ("pfspark.rules.state", "x = F.expr('max(a) + uuid ()')", "says uuid( in SQL: derive it"),
        ("pfspark.rules.state", "x = F.expr('LAST(a)')", "says last( in SQL: an order"),
        ("pfspark.rules.state", "frame.write.save(path)", "touches write: frames come in"),
        ("pfspark.edge.delta.log", "spark.sparkContext.setJobGroup('a', 'b')", "uses sparkContext: Spark Connect has no"),
        ("pfspark.edge.delta.log", "from delta.tables import DeltaTable", "imports delta.tables.DeltaTable: Spark Connect"),
        ("pfspark.edge.delta.log", "x = frame.rdd", "uses rdd: Spark Connect has no"),
        ("pfspark.lake.mails", "x = frame.persist()", "serverless compute refuses keeping frames between jobs"),
        (
            "pfspark.edge.delta.log",
            "spark.conf.set('spark.a', 'b')",
            "line 1 calls conf.set: serverless compute refuses settings",
        ),
        ("pfspark.edge.delta.log", "from pfspark.edge.world import bases", "rooms of the edge build on those below"),
        ("pfspark.edge.keeping.upkeep", "from pfspark.edge import runner", "rooms of the edge build on those below"),
        ("pfspark.edge.delta.log", "spark.sql('CACHE TABLE x')", "in SQL: serverless compute refuses it"),
        ("pfspark.ask.gaps", "x = frame.localCheckpoint()", "serverless compute refuses keeping"),
        ("pfspark.rules.state", "if policy.generation == 2000: pass", "generations differ by data"),
        ("pfspark.rules.state", "x = F.when(F.col('profile') == 'exchange_2000', 1)", "generations differ by data"),
        ("pfspark.round", "def f():\n    a = 1\n    a = 2", "line 3 binds a again: who reads on"),
        ("pfspark.ask.gaps", "x = F.chr('a')", "line 1 calls F.chr: Spark has it since 4.1"),
        ("pfspark.edge.delta.log", "from pyspark.sql.pandas.types import to_arrow_schema", "say pfspark.rows.arrow_schema"),
        ("pfspark.settings", "match profile:\n    case 'modern': pass", "line 2 asks for the generation"),
    ],
)
def test_a_fault_is_found(module: str, source: str, fault: str) -> None:
    found = [each for check in CHECKS for each in check(module, ast.parse(source))]
    assert len(found) == 1, found
    assert fault in found[0]


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("pfspark.tables", "from pfspark.words import Action"),
        ("pfspark.rules.state", "from pfspark import cntext, words\nfrom pfspark.cnset import union"),
        ("pfspark.round", "from pfspark.rules import intake, state"),
        ("tests.sim.oracle", "from pfspark.cntext import parse\nfrom pfspark.sim.scenario import Scenario"),
        ("pfspark.lake", "from pfspark.edge.session import open_session"),
        ("pfspark.rules.state", "x = frame.groupBy('a').agg(F.count(F.lit(1)), F.count('b'))"),
        ("pfspark.rules.state", "x = F.first('a', ignorenulls=True).over(window)"),
        ("pfspark.rules.state", "'''Not now() and not uuid().'''\nx = turns.now"),
        ("pfspark.rules.state", "def f():\n    '''The last (highest) number.'''\n    return frame['now']"),
        ("pfspark.edge.session", "from pyspark import SparkContext\nx = SparkContext._jvm"),
        ("pfspark.edge.spark.tuned", "x = frame.persist()"),
        ("pfspark.edge.delta.log", "x = spark.conf.get('spark.a', None)"),
        ("pfspark.cli", "@cache\ndef f(): pass\ng = cache(f)"),
        ("pfspark.cli", "profile: str = 'exchange_2007'"),
    ],
)
def test_good_code_is_not_found_fault_with(module: str, source: str) -> None:
    assert [each for check in CHECKS for each in check(module, ast.parse(source))] == []


def test_every_module_has_its_place() -> None:
    homeless = {module for module in modules() if layer(module) not in BELOW}
    assert not homeless, f"{homeless}: beside {sorted(BELOW)}, the house has only {sorted(VOCABULARY)}"


def test_names_say_something() -> None:
    files = [file for folder in ("pfspark", "tests", "notebooks") for file in (ROOT / folder).rglob("*")]
    idle = [str(file.relative_to(ROOT)) for file in files if NAMES_OF_NOTHING & set(file.stem.lower().split("_"))]
    assert not idle, f"{idle}: name a file by what it is about, in the words of the articles"


def test_nothing_else_lies_at_the_top() -> None:
    try:
        asked = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    except (OSError, subprocess.CalledProcessError):  # an unpacked archive
        listed = [path.name for path in ROOT.iterdir()]
    top = {path.split("/")[0] for path in listed if path and not path.startswith(".")}
    assert top <= TOP_LEVEL, f"{top - TOP_LEVEL}: everything has its place in {sorted(TOP_LEVEL)}"


def test_the_readme_has_its_two_commands() -> None:
    """`.ci/run` and whoever reads the file take the same words."""
    readme = (ROOT / "README.md").read_text()
    blocks = re.findall(r"^<!-- command: (\w+) -->\n```bash\n(.+?)\n```$", readme, re.MULTILINE | re.DOTALL)
    assert [name for name, _ in blocks] == ["demo", "test"]
    assert dict(blocks)["demo"].endswith("pfspark demo")
    assert "-m pytest" in dict(blocks)["test"]


def test_the_readme_tells_what_serverless_compute_refuses() -> None:
    _, _, table = (ROOT / "README.md").read_text().partition("| serverless refuses |")
    rows = table.partition("\n\n")[0].splitlines()[2:]
    assert [row.split("|")[1].strip() for row in rows] == list(SERVERLESS)


def test_the_command_line_starts_light() -> None:
    """`pfspark --help` and `pfspark set` answer at once: what is heavy is imported where it is used."""
    heavy = {"numpy", "pandas", "plotly", "pyarrow", "pyspark", "rich"}
    script = "import sys; from pfspark.cli import app; app(); print(*sorted({name.split('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "pfspark" in done.stdout.split()
    assert heavy & set(done.stdout.split()) == set()


@pytest.mark.parametrize("command", [["ruff", "check", "--output-format=concise"], ["mypy"]], ids=["ruff", "mypy"])
def test_ruff_and_mypy_have_nothing_to_say(command: list[str]) -> None:
    """What mypy has found out it keeps where caches are, if that is said: a copy of this tree is not looked through anew."""
    caches = os.environ.get("XDG_CACHE_HOME")
    kept = {"MYPY_CACHE_DIR": str(Path(caches).absolute() / "pfspark" / "mypy")} if caches else {}
    asked = [sys.executable, "-m", *command]
    done = subprocess.run(asked, cwd=ROOT, env=kept | os.environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
