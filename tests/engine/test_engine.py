"""The warm engine: a command done by it prints and ends as by itself; whatever happens to it, nobody waits in vain."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from pfspark import cli, engine
from pfspark.edge.config import stamp
from pfspark.engine import client
from pfspark.engine.wire import Line
from tests.edge.processes import environment

MAIN = "from pfspark.__main__ import main; from pfspark.engine import client; client.TURN_S = 300; main()"
ALONE = """
import sys, time
from pathlib import Path
from pfspark import engine
from pfspark.engine import server
server.java_lives = lambda: True
server.stop_java = lambda at_once: print("Java ends at once" if at_once else "its jobs end", file=sys.stderr, flush=True)
def run(words):
    if words[-1] == "sleep":
        print("asleep", flush=True)
        time.sleep(60)
    print(words, sys.stdin.read().strip(), Path.cwd().name, file=sys.stderr)
    return 7
engine.IDLE_S = float(sys.argv[2])
server.Engine(Path(sys.argv[1]), run, *map(int, sys.argv[3:])).serve()
"""
"""An engine without Spark, that tells what it was asked, or sleeps."""
STARTS_ALONE = f"""
import subprocess
from types import SimpleNamespace
from pfspark.__main__ import main
from pfspark.engine import client
def started(words, **how):
    return subprocess.Popen([words[0], "-c", {ALONE!r}, words[-2], "60", words[-1]], **how)
client.subprocess = SimpleNamespace(Popen=started, DEVNULL=subprocess.DEVNULL)
main()
"""
"""A command that starts such an engine where it starts one."""


class Place:
    """Where commands and their engine meet."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder = folder
        self.environment = environment(XDG_RUNTIME_DIR=str(folder), PFSPARK_ENGINE="on", COLUMNS="100")

    @property
    def socket(self) -> Path:
        (self.folder / "pfspark").mkdir(mode=0o700, exist_ok=True)
        return self.folder / "pfspark" / f"{engine.name(self.environment)}.sock"

    def command(self, *words: str, script: str = MAIN, **more: Any) -> subprocess.Popen[str]:
        asked, pipe = [sys.executable, "-c", script, *words], subprocess.PIPE
        how = {"stdin": pipe, "stdout": pipe, "stderr": pipe, "text": True, **more}
        return subprocess.Popen(asked, env=self.environment, **how)

    def run(self, *words: str, said: str = "", **more: Any) -> tuple[int, str, str]:
        with self.command(*words, **more) as child:
            out, err = child.communicate(said)
            return child.returncode, out, err

    def run_on_a_terminal(self, *words: str) -> tuple[int, str]:
        """Its exit code, and what the terminal shows on stderr."""
        ours, theirs = pty.openpty()
        with self.command(*words, script=STARTS_ALONE, stderr=theirs, stdin=subprocess.DEVNULL) as child:
            os.close(theirs)
            shown = b""
            with contextlib.suppress(OSError):  # nobody writes any more
                while some := os.read(ours, 4096):
                    shown += some
            os.close(ours)
            return child.wait(), shown.decode()

    def status(self) -> dict[str, Any]:
        return client.status(self.socket) or {}


def children_of(process: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def until(true: Callable[[], object]) -> None:
    latest = time.monotonic() + 30
    while not true():
        assert time.monotonic() < latest
        time.sleep(0.02)


@pytest.fixture
def place() -> Iterator[Place]:
    with tempfile.TemporaryDirectory() as short:  # the path of a socket is
        made = Place(Path(short) / "run")
        yield made
        client.stop(made.socket)


@pytest.fixture
def alone(place: Place) -> Iterator[subprocess.Popen[bytes]]:
    """An engine without Spark."""
    with subprocess.Popen([sys.executable, "-c", ALONE, str(place.socket), "60"], env=place.environment) as child:
        until(place.status)
        yield child
        child.kill()


def test_the_streams_the_folder_and_the_end_are_those_of_who_asks(
    place: Place, alone: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    (tmp_path / "here").mkdir()
    assert place.run("gaps", "--org", "ä", said="a body", cwd=tmp_path / "here") == (
        7,
        "",
        "['gaps', '--org', 'ä'] a body here\n",
    )
    assert place.status() | {"idle_s": 0} == {
        "stamp": stamp(), "pid": alone.pid, "since": place.status()["since"], "done": 1, "idle_s": 0, "doing": None,
    }  # fmt: skip


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_stream_that_is_closed_leads_nowhere(place: Place, alone: subprocess.Popen[bytes], closed: str) -> None:
    """And is none of the engine's: no socket of ours is read in its place."""
    command = shlex.join([sys.executable, "-c", MAIN, "gaps"])
    done = subprocess.run(["sh", "-c", f"{command} {closed}"], env=place.environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (7, "")
    assert done.stderr.startswith("['gaps']") == ("2>" not in closed) and "Traceback" not in done.stderr
    assert place.status()["done"] == 1


def test_a_process_that_nobody_takes_note_of_has_ended() -> None:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(0.3)"]) as child:
        waiting = threading.Thread(target=client.wait_for, args=(child.pid,), daemon=True)
        waiting.start()
        waiting.join(30)  # it is reaped by nobody meanwhile
        assert not waiting.is_alive(), "it has ended, and is waited for"
        assert os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT), "it is no longer waited for, and works"


@pytest.mark.parametrize(("verb", "what_ends"), [("gaps", "its jobs end"), ("round", "Java ends at once")])
def test_a_ctrl_c_ends_the_command_and_not_the_engine(
    place: Place, alone: subprocess.Popen[bytes], verb: str, what_ends: str
) -> None:
    """Java goes on with nothing; where it might write, it ends (and the engine after it, unless Java lives as here)."""
    with place.command(verb, "sleep") as child:
        assert child.stdout and child.stdout.readline() == "asleep\n"
        assert place.status()["doing"] == verb
        child.send_signal(signal.SIGINT)
        assert child.wait(10) == 130
        assert child.stderr and child.stderr.readline() == f"{what_ends}\n"
    assert place.run("gaps")[0] == 7


def test_a_ctrl_c_that_comes_first_is_not_lost(place: Place, alone: subprocess.Popen[bytes]) -> None:
    line = client._reached(place.socket)
    assert line
    asked = {"words": ["gaps", "sleep"], "cwd": "/", "env": place.environment, "umask": 0o022, "text": [["utf-8", "strict"]] * 3}
    nowhere = os.open(os.devnull, os.O_RDWR)
    line.say({"ask": "run", **asked}, [nowhere] * 3)
    assert [line.hear(), line.hear()] == [{"heard": True}, {"turn": True}]
    line.connection.sendall(b'{"go": true}\n{"interrupt": true}\n')
    assert [line.hear(), line.hear()] == [{"begun": True}, {"code": engine.INTERRUPTED}]
    line.connection.close()
    os.close(nowhere)


def test_a_ctrl_c_is_told_in_a_word_before_the_verb_is_known(place: Place) -> None:
    script = """
import pfspark.__main__ as command
def interrupted(words):
    raise KeyboardInterrupt
command._by_itself = interrupted
command.main()
"""
    assert place.run("status", script=script) == (130, "", "pfspark: stopped\n")


def test_letters_are_those_of_who_asks(place: Place) -> None:
    place.environment["PYTHONIOENCODING"] = "latin-1"
    with place.command("gaps", "ü✓", script=STARTS_ALONE, text=False) as child:
        assert child.communicate("ö".encode("latin-1"))[1].startswith("['gaps', 'ü\\u2713'] ö".encode("latin-1"))


def test_who_is_killed_is_no_longer_worked_for(place: Place, alone: subprocess.Popen[bytes]) -> None:
    with place.command("gaps", "sleep") as child:
        assert child.stdout and child.stdout.readline() == "asleep\n"
        child.kill()
    until(lambda: place.status()["doing"] is None)
    assert place.run("gaps")[0] == 7


def test_an_engine_that_is_killed_in_the_middle_says_so(place: Place, alone: subprocess.Popen[bytes]) -> None:
    with place.command("gaps", "sleep") as child:
        assert child.stdout and child.stdout.readline() == "asleep\n"
        alone.kill()
        assert child.wait(10) == 1
        assert child.stderr and "the engine has ended in the middle of this" in child.stderr.read()


def test_who_does_not_come_to_his_turn_does_it_by_himself(
    place: Place, alone: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "TURN_S", 0.2)
    with place.command("gaps", "sleep") as child:
        assert child.stdout and child.stdout.readline() == "asleep\n"
        line = client._reached(place.socket)
        assert line and client._done(line, ["gaps"]) is None
        child.kill()
    assert place.run("gaps")[0] == 7
    assert place.status()["done"] == 2  # what was given up, and came before, was not done


@pytest.mark.parametrize("begun", [False, True])
def test_that_it_was_begun_is_known(begun: bool, capsys: pytest.CaptureFixture[str]) -> None:
    """Who comes too late to his turn does it by himself: nobody has done anything."""
    ours, theirs = socket.socketpair()

    def serve() -> None:
        with theirs:
            line = Line(theirs)
            _, files = line.hear_with_files()
            for file in files:
                os.close(file)
            line.say({"heard": True})
            line.say({"turn": True})
            assert line.hear() == {"go": True}
            if begun:
                line.say({"begun": True})

    serving = threading.Thread(target=serve)
    serving.start()
    assert client._done(Line(ours), ["gaps"]) == (1 if begun else None)
    serving.join()
    assert ("has ended in the middle" in capsys.readouterr().err) == begun


def test_one_that_stands_still_is_not_taken_for_a_new_one(place: Place, alone: subprocess.Popen[bytes]) -> None:
    alone.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, alone.pid, os.WSTOPPED | os.WNOWAIT)
    try:
        with place.command("gaps", script=STARTS_ALONE) as child:
            assert child.communicate("")[1].startswith("['gaps']") and child.returncode == 7
        assert place.status()["pid"] != alone.pid and place.status()["done"] == 1
    finally:
        alone.send_signal(signal.SIGCONT)


def test_one_whose_start_is_broken_off_comes_no_more(place: Place) -> None:
    """Nor does the next command take its place at the socket for that of the one it starts itself."""
    slow = STARTS_ALONE.replace('"-c", ', '"-c", "import time; time.sleep(2)\\n" + ')
    with place.command("gaps", script=slow, start_new_session=True) as child:
        until(lambda: children_of(child.pid))
        [started] = children_of(child.pid)
        os.killpg(child.pid, signal.SIGINT)
        assert child.wait(10) == engine.INTERRUPTED
    until(lambda: client._is_zombie(started) or not Path(f"/proc/{started}").exists())
    with place.command("gaps", script=STARTS_ALONE) as child:
        assert child.communicate("")[1].startswith("['gaps']") and child.returncode == 7
    assert place.status()["done"] == 1


def test_one_whose_start_is_broken_off_at_once_comes_no_more(place: Place) -> None:
    """While it is started, before who starts it has heard which process that is."""
    slow = STARTS_ALONE.replace('"-c", ', '"-c", "import time; time.sleep(2)\\n" + ')
    script = slow.replace("    return subprocess.Popen(", "    child = subprocess.Popen(").replace(
        "client.subprocess =",
        "    print(child.pid, flush=True)\n    import os, signal\n    os.kill(os.getpid(), signal.SIGINT)\n"
        "    return child\nclient.subprocess =",
    )
    with place.command("gaps", script=script) as child:
        assert child.stdout
        started = int(child.stdout.readline())
        assert child.wait(10) == engine.INTERRUPTED
    until(lambda: client._is_zombie(started) or not Path(f"/proc/{started}").exists())


def test_one_whose_start_was_seen_by_nobody_is_found(place: Place) -> None:
    """Who started it was killed meanwhile: the next command waits until it listens, and starts no other."""
    slow = STARTS_ALONE.replace('"-c", ', '"-c", "import time; time.sleep(1)\\n" + ')
    with place.command("gaps", script=slow) as child:
        until(lambda: children_of(child.pid))
        [started] = children_of(child.pid)
        child.kill()
    with place.command("gaps", script=STARTS_ALONE) as child:
        assert child.communicate("")[1].startswith("['gaps']") and child.returncode == 7
    assert (place.status()["pid"], place.status()["done"]) == (started, 1)


def test_one_that_ends_later_is_told_as_running(place: Place, alone: subprocess.Popen[bytes]) -> None:
    with place.command("gaps", "sleep") as child:
        assert child.stdout and child.stdout.readline() == "asleep\n"
        told = json.loads(place.run("engine", "stop", "--json")[1])
        assert (told["running"], told["pid"], told["doing"]) == (True, alone.pid, "gaps")
        child.kill()
    assert alone.wait(10) == 0


def test_who_stands_in_no_folder_does_it_by_himself(
    place: Place, alone: subprocess.Popen[bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (gone := tmp_path / "gone").mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    line = client._reached(place.socket)
    assert line and client._done(line, ["gaps"]) is None and place.status()["done"] == 0


def test_a_terminal_is_told_once_that_one_is_left_running(place: Place) -> None:
    """A script starts none; a terminal does, unless it is asked not to, and says so. The next command finds it."""
    del place.environment["PFSPARK_ENGINE"]
    wrong = ("why", "--no-such-word")  # by itself it is refused without Spark; such an engine ends all with 7
    assert place.run(*wrong)[0] == place.run_on_a_terminal("--no-engine", *wrong)[0] == 2
    assert place.status() == {} and not list(place.folder.rglob("*.lock"))
    shown = [place.run_on_a_terminal(*wrong) for _ in range(2)]
    assert [code for code, _ in shown] == [7, 7] and place.status()["done"] == 2
    assert [text.count("left running: an engine") for _, text in shown] == [1, 0]
    assert client.STARTING in shown[0][1] and client.STARTING not in shown[1][1]
    assert place.run_on_a_terminal("--no-engine", *wrong)[0] == 2 and place.status()["done"] == 2


def test_that_spark_starts_is_said_before_anything_else(place: Place) -> None:
    """In plain words, which are gone when it can be drawn, or something is wrong."""
    wrong = ("why", "--no-such-word")
    at_first = f"{client.STARTING}\r{' ' * len(client.STARTING)}\r"
    code, shown = place.run_on_a_terminal(*wrong)
    assert code == 7 and shown.startswith(at_first) and "\x1b" in shown
    place.environment["PFSPARK_ENGINE"] = "off"
    code, shown = place.run_on_a_terminal(*wrong)
    assert code == 2 and shown.startswith(at_first + "pfspark: ") and shown.count(client.STARTING) == 1
    assert place.run_on_a_terminal("set", "union", "PFS1:1", "PFS1:2") == (0, "")


def test_where_its_folder_cannot_be_written_none_is_started(tmp_path: Path) -> None:
    """The command is done by itself, as where there is no such folder."""
    (tmp_path / f"{engine.name(os.environ)}.lock").mkdir()
    assert client.connected(tmp_path, may_start=True) == (None, False)


def test_the_socket_of_a_killed_one_is_taken_over(place: Place, alone: subprocess.Popen[bytes]) -> None:
    alone.kill()
    alone.wait()
    assert place.socket.exists() and place.status() == {}
    with place.command("gaps", script=STARTS_ALONE) as child:
        assert child.communicate("")[1].startswith("['gaps']") and child.returncode == 7
    assert place.status()["pid"] != alone.pid and place.status()["done"] == 1


def test_it_ends_when_nobody_asks_for_a_while(place: Place) -> None:
    with subprocess.Popen([sys.executable, "-c", ALONE, str(place.socket), "0.5"], env=place.environment) as child:
        assert child.wait(30) == 0
    assert not place.socket.exists()


def test_one_that_stands_still_is_not_waited_for(place: Place, alone: subprocess.Popen[bytes]) -> None:
    """Who asks comes back without it, while it still stands."""
    alone.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, alone.pid, os.WSTOPPED | os.WNOWAIT)
    answers: list[object] = []
    asking = threading.Thread(target=lambda: answers.append(client._fit(place.socket)))
    asking.start()
    try:
        until(lambda: answers)
        assert answers == [None]
        assert os.waitid(os.P_PID, alone.pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT), "it stands no more"
    finally:
        alone.send_signal(signal.SIGCONT)
        asking.join()
    until(place.status)


def test_one_of_another_pfspark_is_ended(place: Place, alone: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "stamp", lambda: "another")
    assert client._fit(place.socket) is None
    assert alone.wait(10) == 0


def test_nobody_else_may_enter(place: Place, alone: subprocess.Popen[bytes]) -> None:
    folder = place.socket.parent
    assert (folder.stat().st_mode & 0o777, place.socket.stat().st_mode & 0o777) == (0o700, 0o600)


@pytest.mark.skipif(os.getuid() != 0, reason="only root may become somebody else")
def test_nobody_else_who_entered_all_the_same_is_answered(place: Place, alone: subprocess.Popen[bytes]) -> None:
    folder = place.socket.parent
    folder.chmod(0o755)
    (named := place.socket).chmod(0o666)
    child = os.fork()
    if child == 0:
        answered = True
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as connection:
            os.chdir(folder)
            os.setuid(65534)
            connection.settimeout(5)
            connection.connect(named.name)
            answered = False
            connection.sendall(b'{"ask": "status"}\n')
            answered = connection.recv(1) != b""
        os._exit(answered)
    assert os.waitpid(child, 0)[1] == 0
    folder.chmod(0o700)
    assert place.status()["done"] == 0


def test_a_folder_whose_path_is_too_long_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (far := tmp_path / ("x" * 100)).mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(far))
    assert engine.folder() is None and cli.run(["engine", "status"]) == 1
    said = f"pfspark: no engine can listen in {far}/pfspark: its path may have {engine.LONGEST_PATH} bytes, and nobody else"
    assert capsys.readouterr().err.startswith(said)


def test_a_folder_that_others_may_enter_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert engine.folder() == tmp_path / "pfspark"
    (tmp_path / "pfspark").chmod(0o755)
    assert engine.folder() is None
    (long := tmp_path / ("x" * 80)).mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(long))
    assert engine.folder() is None


def test_what_needs_spark_is_known_before_anything_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    verbs = typer.main.get_command(cli.app()).commands
    assert verbs.keys() >= client.NEED_SPARK | client.OF_THE_PAST
    for words, needs in {
        "why --all": True, "gaps -h": False, "items": False, "items --as-of 3": True, "modify x": False, "post x": False,
        "state": False, "state --as-of 3": True, "run": False, "run --until 2h": True, "run --until-quiet": True,
        "run --until 2h --metrics-port 1": False, "log events": True, "log rounds": False, "log rounds --as-of=3": True,
        "log events --follow": False, "log events -f --store PFS1": False,
        "store add PFS1 Redmond": False, "--no-engine gaps": False, "": False,
    }.items():  # fmt: skip
        assert client.needs_spark(shlex.split(words)) == needs, words
    for name in ("SPARK_REMOTE", "DATABRICKS_RUNTIME_VERSION"):
        with monkeypatch.context() as patch:
            patch.setenv(name, "x")
            assert client.handed_over(["why"]) is None


def test_two_commands_at_once_start_one(place: Place, holed_place: Path) -> None:
    """With Spark; what is written lies beside who asks, and it ends when it is told to."""
    of = ("--lake", str(holed_place))
    first = [place.command("gaps", "--json", *of) for _ in range(2)]
    said = [child.communicate()[0] for child in first]
    assert said[0] == said[1] and json.loads(said[0])["kind"] == "gap"
    there = place.status()
    assert there["done"] == 2
    words = ("export", "out.mbox", "--store", "PFS2", "--folder", "/Sales", "--json", *of)
    code, out, err = place.run(*words, cwd=holed_place.parent)
    assert (code, err, json.loads(out)["kind"]) == (0, "", "export")
    assert (holed_place.parent / "out.mbox").is_file()
    assert (place.status()["pid"], place.status()["done"]) == (there["pid"], 3)
    code, out, _ = place.run("engine", "stop", "--wait", "--json")
    assert (code, json.loads(out)["running"]) == (0, False)
    assert place.run("engine", "status")[1] == "no engine is running\n"


@pytest.mark.lakes
def test_all_is_as_by_itself(place: Place, holed_place: Path, tmp_path: Path) -> None:
    """Answers, refusals, wrong words, and a file beside who asks; by one engine, from several shells at once."""
    of = ("--lake", str(holed_place))

    def by_itself(*words: str) -> tuple[int, str, str]:
        place.environment["PFSPARK_ENGINE"] = "off"
        try:
            return place.run(*words)
        finally:
            place.environment["PFSPARK_ENGINE"] = "on"

    asked = [
        ("why", "--all", *of), ("gaps", "--folder", "/Sale", *of), ("why", "--no-such-word"),
        ("trace", "nothing", "--folder", "/Sales", *of),
    ]  # fmt: skip
    alone = [by_itself(*words) for words in asked]
    for words, expected in zip(asked, alone, strict=True):
        assert place.run(*words) == expected, words
    (tmp_path / "there").mkdir()
    assert place.run("report", "page.html", *of, cwd=tmp_path / "there")[0] == 0
    assert (tmp_path / "there" / "page.html").stat().st_size > 5_000
    done = place.status()["done"]
    for _ in range(25):
        shells = [place.command(*asked[0]) for _ in range(4)]
        assert [(*child.communicate(), child.returncode) for child in shells] == [(*alone[0][1:], alone[0][0])] * 4
    assert place.status()["done"] == done + 100
