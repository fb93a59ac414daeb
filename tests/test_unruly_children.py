"""Children that outstay, leave others behind or answer in odd ways, and users who have had enough: real processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import host_faults as faults
import pytest
from broken_hosts import Host, is_running

from torchdoctor import starting
from torchdoctor.facts import Facts, Torch, Trial
from torchdoctor.findings import Finding, Severity, Text
from torchdoctor.render.text import render
from torchdoctor.report import Report
from torchdoctor.trial import Limits, run
from torchdoctor.trial_ear import Ear
from torchdoctor.which_python import PythonChoice

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="sessions, signals and /proc of Linux")

Attempt = Callable[..., dict[str, Any]]
HERE = (sys.executable,)
# What the network and old consoles make of the ends of lines.
CRLF = ("sh", "-c", '"$0" "$@" | sed -u "s/$/\\r/"', sys.executable)


@pytest.fixture
def tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Attempt:
    """Runs a body as the target script of a trial, beside the real parts."""
    for path in starting._TARGET.glob("*.py"):  # noqa: SLF001 - the folder is the one thing that is replaced
        (tmp_path / path.name).write_bytes(path.read_bytes())
    monkeypatch.setattr(starting, "_TARGET", tmp_path)

    def trial(body: str, *, seconds: float = 5.0, argv: tuple[str, ...] = HERE) -> dict[str, Any]:
        (tmp_path / "body.py").write_text(f"import os, subprocess, time\ndef main(tell, request):\n    {body}\n")
        python = PythonChoice(argv=argv, why="the one that runs the tests")
        return run(python, "body", ("body",), {}, Limits(seconds, seconds, seconds), lambda _stage, _device: None)

    return trial


def gone(pid: int, seconds: float = 5.0) -> bool:
    """Whether a process ends within a moment."""
    until = time.monotonic() + seconds
    while is_running(pid) and time.monotonic() < until:
        time.sleep(0.05)
    return not is_running(pid)


STAGE = "tell('stage', {'id': 'import', 'device': 'cpu'}); "
SLEEPER = "p = subprocess.Popen(['sleep', '600']); tell('pid', {'pid': p.pid}); "
ENDS = {
    "in order": ("tell('done', {})", "", ""),
    "by a signal": ("os.kill(os.getpid(), 11)", "SIGSEGV", ""),
    "by a status": ("os._exit(7)", "", ""),
    "by us": ("time.sleep(600)", "", "timed out"),
    "deaf and by us": ("import signal; signal.signal(15, signal.SIG_IGN); time.sleep(600)", "", "timed out"),
}


@pytest.mark.parametrize(("body", "ended_by", "reason"), ENDS.values(), ids=ENDS)
def test_however_a_child_ends_nothing_that_it_started_is_left(
    tried: Attempt, body: str, ended_by: str, reason: str
) -> None:
    begun = time.monotonic()
    told = tried(STAGE + SLEEPER + body, seconds=2.0)
    (left,) = [fields["pid"] for kind, fields in told["events"] if kind == "pid"]
    assert gone(left)
    assert (told["ended"]["signal"], told["ended"]["reason"]) == (ended_by, reason)
    assert time.monotonic() - begun < 8


def test_what_has_left_the_session_and_holds_the_output_is_not_waited_for(tried: Attempt) -> None:
    begun = time.monotonic()
    away = "p = subprocess.Popen(['sleep', '600'], start_new_session=True); tell('pid', {'pid': p.pid}); "
    told = tried(STAGE + away + "os.abort()", seconds=60.0)
    (left,) = [fields["pid"] for kind, fields in told["events"] if kind == "pid"]
    os.kill(left, signal.SIGKILL)  # made by this test
    assert told["ended"]["signal"] == "SIGABRT"
    assert time.monotonic() - begun < 10


def test_a_child_that_hands_over_to_its_fork_is_heard_to_the_end(tried: Attempt) -> None:
    told = tried("os._exit(0) if os.fork() else (time.sleep(1.5), tell('done', {}))")
    assert [kind for kind, _ in told["events"]] == ["done"]


@pytest.mark.parametrize(
    ("took", "given", "reason"), [(1.6, 1.0, "timed out"), (1.0, 0.5, "timed out"), (0.5, 3.0, "")]
)
def test_a_deadline_is_the_one_that_was_given(tried: Attempt, took: float, given: float, reason: str) -> None:
    told = tried(f"{STAGE}time.sleep({took}); tell('done', {{}})", seconds=given)
    assert told["ended"]["reason"] == reason
    assert ("in main" in told["ended"]["output"]) is bool(reason)
    assert [kind for kind, _ in told["events"]] == (["stage"] if reason else ["stage", "done"])


def test_a_child_that_closes_its_answers_is_no_crash(tried: Attempt) -> None:
    ended = tried(f"{STAGE}os.closerange(3, 1000); time.sleep(600)")["ended"]
    assert (ended["reason"], ended["signal"], ended["stage"]) == ("its output was closed", "", "import")


@pytest.mark.parametrize("argv", [HERE, CRLF], ids=["plain", "carriage returns"])
def test_answers_come_through_whatever_ends_the_lines(tried: Attempt, argv: tuple[str, ...]) -> None:
    told = tried(STAGE + "print('noise'); tell('done', {})", argv=argv)
    assert [kind for kind, _ in told["events"]] == ["stage", "done"]
    assert told["ended"]["reason"] == ""


HEARD = {
    "damaged answer": (r"m<[\"stage\", {}\nwords", [], "words\n"),
    "answer in words": (r"words\nm<[1,2]>m\nwords\n", [[1, 2]], "words\nwords\n\n"),
    "no JSON": (r"m<what>m\nwords", [], "words\n"),
    "half an answer at the end": (r"words\nm<[1", [], "words\n"),
}


@pytest.mark.parametrize(("written", "events", "tail"), HEARD.values(), ids=HEARD)
def test_marks_are_never_shown(written: str, events: list[list[int]], tail: str) -> None:
    child = subprocess.Popen(["printf", written], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    ear = Ear(child, "m")
    child.wait(10)
    ear.settle()
    heard = [ear.events.get_nowait() for _ in range(ear.events.qsize())]
    assert (heard, ear.tail) == ([*events, None], tail)


def test_a_flood_without_an_end_of_line_is_not_kept() -> None:
    flood = "import os\nfor _ in range(200): os.write(1, b'x' * 65536)\nos.write(1, b'\\nm<[1]>m\\n')"
    child = subprocess.Popen([*HERE, "-c", flood], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    ear = Ear(child, "m")
    child.wait(20)
    ear.settle()
    assert ear.events.get_nowait() == [1]
    assert len(ear.tail) <= 6000


# ---------------------------------------------------------------------------------------- Ctrl-C, and being told to end

INT, TERM, HUP, KILL = signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL
TOLD = {
    "Ctrl-C": ([(0.0, INT)], 130, "unknown: interrupted"),
    "Ctrl-C twice at once": ([(0.0, INT), (0.05, INT)], 130, "unknown: interrupted"),
    "Ctrl-C twice": ([(0.0, INT), (1.1, INT)], 130, "unknown: interrupted"),
    "Ctrl-C four times": ([(0.0, INT), (0.1, INT), (0.1, INT), (0.1, INT)], 130, "unknown: interrupted"),
    "SIGTERM": ([(0.0, TERM)], 128 + TERM, ""),
    "SIGHUP": ([(0.0, HUP)], 128 + HUP, ""),
    "SIGTERM after Ctrl-C": ([(0.0, INT), (0.1, TERM)], 130, "unknown: interrupted"),
    "SIGKILL": ([(0.0, KILL)], -KILL, ""),
}


@pytest.mark.slow
@pytest.mark.parametrize(("signals", "status", "headline"), TOLD.values(), ids=TOLD)
def test_whoever_ends_us_the_child_ends_too(
    tmp_path: Path, signals: list[tuple[float, signal.Signals]], status: int, headline: str
) -> None:
    if signal.getsignal(HUP) is signal.SIG_IGN:
        pytest.skip("whoever started the tests lets them ignore SIGHUP, and so everything that they start")
    host = Host(tmp_path)
    host.env["PIDS"] = str(tmp_path / "pids")
    faults.cpu_torch(host, faults.HANG_STUBBORNLY)
    command = [*HERE, "-m", "torchdoctor", "check", "--python", host.python]
    child = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=host.work, env=host.env
    )
    for _ in range(200):
        if (tmp_path / "pids").exists() and (tmp_path / "pids").read_text():
            break
        time.sleep(0.1)
    for after, number in signals:
        time.sleep(after)
        child.send_signal(number)
    out, err = child.communicate(timeout=30)
    assert (child.returncode, "Traceback" in err) == (status, False), err
    assert out.startswith(headline)
    torch, started = map(int, (tmp_path / "pids").read_text().split())
    assert gone(torch)
    if KILL in dict(signals).values():
        os.kill(started, KILL)  # by the test: nobody is left who could
    assert gone(started)


SAID = {
    "nothing yet": (None, "unknown", "unknown: interrupted; what comes after was not examined"),
    "a warning": ("warning", "unknown", "unknown: interrupted; what comes after was not examined"),
    "an error": ("error", "fail", "fail: found (interrupted)"),
}


@pytest.mark.parametrize(("severity", "status", "headline"), SAID.values(), ids=SAID)
def test_what_was_cut_short_is_never_called_healthy(severity: Severity | None, status: str, headline: str) -> None:
    facts = Facts(torch=Torch(installed=True), trial=Trial(interrupted=True))
    found = (Finding(id="x", severity=severity, summary=Text("found"), why=Text("because")),) if severity else ()
    report = Report(facts=facts, findings=found, outcomes=(), tables_date="")
    assert (report.status, render(report)[0].text) == (status, headline)


EARLY = """
import builtins, sys
real = builtins.__import__
def hook(name, *more):
    if name == {name!r}:
        raise KeyboardInterrupt
    return real(name, *more)
builtins.__import__ = hook
from torchdoctor.__main__ import main
sys.exit(main(["check", "--static"]))
"""


@pytest.mark.parametrize("name", ["torchdoctor.cli", "argparse", "torchdoctor.errors", "torchdoctor.signals"])
def test_ctrl_c_while_we_start_is_one_line(name: str) -> None:
    done = subprocess.run([*HERE, "-c", EARLY.format(name=name)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "interrupted\n")


PROGRESS = """
import time
from torchdoctor.commands.progress import Progress
with Progress() as progress:
    progress.show("import", "")
    time.sleep(2.6)
"""


@pytest.mark.parametrize("on_terminal", [True, False])
def test_time_passes_on_a_terminal(on_terminal: bool) -> None:
    own, its = os.openpty()
    pipe = None if on_terminal else subprocess.PIPE
    child = subprocess.Popen([*HERE, "-c", PROGRESS], stderr=its if on_terminal else pipe)
    _, piped = child.communicate(timeout=20)
    if not on_terminal:
        os.close(own)
        os.close(its)
        assert piped == b""
        return
    shown = os.read(own, 10000).decode()
    os.close(own)
    os.close(its)
    assert [f"importing torch ({seconds} s)" in shown for seconds in range(3)] == [True] * 3
    assert shown.rstrip("\r").endswith(" " * 70)
