"""The units in conf/ that play rounds on a schedule: what they call is there, and the bundle is one as it is published."""

from __future__ import annotations

import ast
import configparser
import importlib
import re
import shlex
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from databricks.bundles.jobs import Job
from databricks.bundles.volumes import Volume

from pfspark import cli
from pfspark.edge.config import conf_folder
from tests.edge.processes import ROOT

SCHEDULES = conf_folder() / "schedules"
BUNDLE = (conf_folder() / "databricks.yml").read_text()
TARGETS = ("dev", "prod", "classic")


def taken(words: list[str]) -> dict[str, Any]:
    """What a verb understands of the words that it is called by; words that it does not take are an error."""
    verb, *rest = words
    return typer.main.get_command(cli.app()).commands[verb].make_context(verb, rest).params


def service() -> configparser.SectionProxy:
    unit = configparser.ConfigParser(strict=False)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(SCHEDULES / "pfspark.service")
    return unit["Service"]


def cron(begins: Callable[[str], bool]) -> list[str]:
    return [line for line in (SCHEDULES / "crontab").read_text().splitlines() if line and begins(line[0])]


def commands() -> list[str]:
    """The commands of the crontab and of the unit of systemd."""
    return [line.split(None, 5)[5] for line in cron(lambda first: first in "*0123456789")] + [service()["ExecStart"]]


def submitted() -> list[list[str]]:
    """The words that the tasks of the DAG of Airflow hand to the program of their spark-submit."""
    tree = ast.parse((SCHEDULES / "airflow_dag.py").read_text())
    named = {
        node.targets[0].id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and isinstance(node.value, ast.Constant)
    }

    def word(node: ast.expr) -> str:
        return named[node.id] if isinstance(node, ast.Name) else ast.literal_eval(node)

    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    [made] = [call for call in calls if call.func.id == "SparkSubmitOperator"]  # type: ignore[attr-defined]
    [args] = [each.value for each in made.keywords if each.arg == "application_args"]
    assert isinstance(args, ast.List) and ast.unparse(args.elts[0]) == "*words"
    to_all = [word(each) for each in args.elts[1:]]
    tasks = [call for call in calls if call.func.id == "submitted"]  # type: ignore[attr-defined]
    return [[word(each) for each in call.args[1:]] + to_all for call in tasks]


@pytest.mark.parametrize("line", commands())
def test_schedules_say_words_that_pfspark_takes(line: str) -> None:
    program, *words = shlex.split(line.partition(">")[0])
    assert Path(program).name == "pfspark"
    taken(words)


def test_the_dag_says_words_that_pfspark_takes() -> None:
    assert sorted(words[0] for words in submitted()) == ["audit", "maintain", "run", "status"]
    for words in submitted():
        assert taken(words)["lake"] == "spark_catalog.pfspark"


def as_deployed(target: str, text: str = BUNDLE) -> dict[str, Any]:
    """The bundle with what that target says; of two lists the members of one key are one."""

    def one(base: Any, more: Any) -> Any:
        if isinstance(base, dict):
            both = {key: one(base[key], more[key]) for key in base.keys() & more.keys()}
            return base | more | both
        if isinstance(base, list):
            [name] = {key for each in base for key in each if key.endswith("_key")}
            named = {each[name]: each for each in more}
            assert named.keys() <= {each[name] for each in base}, f"the target speaks of a {name} that the bundle does not have"
            return [one(each, named.get(each[name], {})) for each in base]
        return more

    bundle = yaml.safe_load(text)
    said = bundle["targets"][target]
    defaults = {name: {"default": value} for name, value in said.get("variables", {}).items()}
    return one(bundle, {"resources": said["resources"], "variables": defaults})


def jobs(bundle: dict[str, Any]) -> dict[str, Job]:
    """The jobs; a key or a value that the published models do not have is an error."""
    return {name: Job.from_dict(job) for name, job in bundle["resources"]["jobs"].items()}


def told(text: str, bundle: dict[str, Any], job: Job | None = None) -> str:
    """A text with what stands for its references; one to nothing is an error."""

    def value(found: re.Match[str]) -> str:
        match found[1].split("."):
            case ["var", name]:
                return told(bundle["variables"][name]["default"], bundle)
            case ["resources", *path]:
                there: Any = bundle["resources"]
                for name in path:
                    there = there[name]
                return told(there, bundle)
            case ["workspace", "current_user", "userName" | "short_name"] | ["bundle", "name" | "target"]:
                return "somebody"
        raise AssertionError(f"{found[0]} is nothing")

    text = re.sub(r"\$\{(.+?)\}", value, text)
    defaults = {each.name: str(each.default) for each in job.parameters} if job else {}
    return re.sub(r"\{\{job\.parameters\.(\w+)\}\}", lambda found: told(defaults[found[1]], bundle), text)


def called(bundle: dict[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """The words of each task that runs the wheel."""
    for job in jobs(bundle).values():
        for task in job.tasks:
            if wheel := task.python_wheel_task:
                yield task.task_key, [told(str(word), bundle, job) for word in wheel.parameters]


@pytest.mark.parametrize("target", TARGETS)
def test_the_bundle_is_as_published_and_its_tasks_say_words_that_pfspark_takes(target: str) -> None:
    bundle = as_deployed(target)
    for volume in bundle["resources"]["volumes"].values():
        Volume.from_dict(volume)
    said = dict(called(bundle))
    assert list(said) == ["run", "check", "maintain", "audit"]
    schema = "pfspark_somebody" if target == "dev" else "pfspark"
    assert {taken(words)["lake"] for words in said.values()} == {f"main.{schema}"}
    assert taken(said["run"])["until"] == "now"
    assert taken(said["check"])["check"]
    for name, job in jobs(bundle).items():
        assert name == "notebooks" or (job.schedule and job.email_notifications and job.max_concurrent_runs == 1)
    for text in re.findall(r"\$\{.+?\}", BUNDLE):
        told(text, bundle)


@pytest.mark.parametrize("target", TARGETS)
def test_every_task_has_its_computer_and_the_wheel(target: str) -> None:
    """On serverless compute by an environment, on a cluster by a library; a notebook installs the checkout by itself."""
    for job in jobs(as_deployed(target)).values():
        clusters = {each.job_cluster_key for each in job.job_clusters}
        environments = {each.environment_key: each.spec for each in job.environments}
        for task in job.tasks:
            if target == "classic":
                assert task.job_cluster_key in clusters and task.environment_key is None
                assert [each.whl for each in task.libraries] == (["./dist/*.whl"] if task.python_wheel_task else [])
            else:
                assert task.job_cluster_key is None and not task.libraries
                if task.python_wheel_task:
                    assert environments[task.environment_key].dependencies == ["./dist/*.whl"]
    assert "--wheel-dir dist " in yaml.safe_load(BUNDLE)["artifacts"]["wheel"]["build"]


def test_the_bundle_has_every_notebook() -> None:
    tasks = jobs(as_deployed("dev"))["notebooks"].tasks
    files = sorted((ROOT / "notebooks").glob("*.py"))
    assert [task.notebook_task.notebook_path for task in tasks] == [f"./notebooks/{file.name}" for file in files]
    assert [task.task_key for task in tasks] == [file.stem[3:] for file in files]
    of_lakes = [file.name for file in files if "Lake.create(" in file.read_text()]
    of_a_course = [file.name for file in files if 'dbutils.widgets.get("course")' in file.read_text()]
    assert of_lakes == of_a_course, "a lake of a notebook is made anew: it lies in a schema of its own"


def test_the_keys_beside_the_jobs_are_as_published() -> None:
    """What the models do not have: the file's own tables, whose keys were read in the published schema."""
    bundle = yaml.safe_load(BUNDLE)
    assert bundle.keys() == {"bundle", "variables", "artifacts", "resources", "targets"}
    assert bundle["bundle"].keys() == {"name"}
    assert bundle["resources"].keys() == {"jobs", "volumes"}
    assert {key for each in bundle["variables"].values() for key in each} == {"description", "default"}
    assert bundle["artifacts"]["wheel"].keys() == {"type", "path", "build"}
    assert tuple(bundle["targets"]) == TARGETS
    assert {key for each in bundle["targets"].values() for key in each} == {
        "mode", "default", "variables", "workspace", "resources",
    }  # fmt: skip
    for target in bundle["targets"].values():
        assert target["mode"] == "development" or target["workspace"].keys() == {"root_path"}, "else it cannot be deployed"


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("quartz_cron_expression", "quartz_cron_expresion"),
        ("python_wheel_task", "python_weel_task"),
        ("num_workers", "num_worker"),
        ("SINGLE_USER", "SINGLE_USERS"),
        ("on_failure", "on_fail"),
    ],
)
def test_a_slip_in_the_bundle_is_an_error(right: str, wrong: str) -> None:
    assert right in BUNDLE
    with pytest.raises(ValueError, match=rf"{wrong}\b"):
        jobs(as_deployed("classic", BUNDLE.replace(right, wrong)))


def test_every_unit_leaves_what_it_played() -> None:
    """`run_results.json`, by the word or by the variable that stand for each other."""
    [by_cron] = cron(lambda first: first == "P")[-1:]
    left = [by_cron.partition("PFSPARK_RESULTS=")[2], service()["Environment"].partition("PFSPARK_RESULTS=")[2]]
    of_bundles = [dict(called(as_deployed(target)))["run"] for target in TARGETS]
    left += [str(taken(words)["left"]) for words in [*submitted(), *of_bundles] if words[0] == "run"]
    assert [Path(file).name for file in left] == ["run_results.json"] * 6


def test_who_calls_the_entry_point_of_the_wheel_sees_it_return(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """For a job that runs a wheel any SystemExit is a failure."""
    wheels = [task.python_wheel_task for job in jobs(as_deployed("dev")).values() for task in job.tasks]
    [name] = {each.entry_point for each in wheels if each}
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    module, function = scripts[name].split(":")
    main = getattr(importlib.import_module(module), function)
    monkeypatch.setattr("sys.argv", ["pfspark", "set", "union", "PFS1:1", "PFS1:2"])
    assert main() is None
    assert capsys.readouterr().out == "PFS1:1-2\n"
    monkeypatch.setattr("sys.argv", ["pfspark", "set", "union", "PFS1:x", "PFS1:2"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1
