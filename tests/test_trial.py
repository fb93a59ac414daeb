"""Trials: real children that go through, crash, hang, print, or are interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

from torchdoctor import proof, trial
from torchdoctor.asked import Asked
from torchdoctor.checks.answers import answered, exception_of
from torchdoctor.facts import Facts, Gpu, Probe, Torch, Trial, Unknown
from torchdoctor.findings import Finding
from torchdoctor.readers.assemble import assemble
from torchdoctor.readers.live_trial import read
from torchdoctor.recording import Answer, Recording
from torchdoctor.records import replace
from torchdoctor.run_checks import run_checks
from torchdoctor.tables import Tables
from torchdoctor.trial import Limits, run
from torchdoctor.trial_library import last_library
from torchdoctor.values import GpuArch
from torchdoctor.which_python import PythonChoice

HERE = PythonChoice(argv=(sys.executable,), why="the one that runs the tests", other=None)
posix = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")

BODIES = {
    "slow start": "import time; time.sleep(1); tell('stage', {'id': 'fft', 'device': 'cpu'}); time.sleep(600)",
    "killed": "tell('stage', {'id': 'fft', 'device': 'cpu'}); import os; os.kill(os.getpid(), 9)",
    "fine": "tell('stage', {'id': 'a', 'device': 'cpu'}); tell('probe', {'id': 'a', 'seconds': 0.5}); tell('done', {})",
    "prints": "print('noise on stdout'); tell('done', {})",
    "raises": "tell('stage', {'id': 'import', 'device': 'cpu'}); raise OSError('libx.so.1: cannot open')",
    "segfaults": "tell('stage', {'id': 'conv', 'device': 'cuda:0'}); import os; os.kill(os.getpid(), 11)",
    "hangs": "tell('stage', {'id': 'fft', 'device': 'cpu'}); import time; time.sleep(600)",
    "hangs deaf": (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "    tell('stage', {'id': 'fft', 'device': 'cpu'}); time.sleep(600)"
    ),
    "forks and hangs": (
        "import os, time\n    tell('stage', {'id': 'dataloader', 'device': 'cpu'})\n    os.fork(); time.sleep(600)"
    ),
}


@pytest.fixture
def scripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of target scripts, one for each body, beside the real parts."""
    from torchdoctor import starting

    for path in starting._TARGET.glob("*.py"):  # noqa: SLF001 - the folder is the one thing that is replaced
        (tmp_path / path.name).write_bytes(path.read_bytes())
    for name, body in BODIES.items():
        (tmp_path / f"{name.replace(' ', '_')}.py").write_text(
            f"def main(tell, request):\n    {body}\n", encoding="utf-8"
        )
    monkeypatch.setattr(starting, "_TARGET", tmp_path)
    return tmp_path


def try_out(name: str, limits: Limits = Limits(5, 1, 1)) -> dict[str, Any]:  # noqa: B008 - an immutable default
    module = name.replace(" ", "_")
    return run(HERE, module, (module,), {}, limits, lambda _stage, _device: None)


@pytest.mark.usefixtures("scripts")
def test_a_trial_that_goes_through() -> None:
    told = try_out("fine")
    assert [kind for kind, _ in told["events"]] == ["stage", "probe", "done"]
    assert told["events"][1][1] == {"id": "a", "seconds": 0.5}
    assert (told["ended"]["status"], told["ended"]["stage"], told["ended"]["signal"]) == (0, "", "")


@pytest.mark.usefixtures("scripts")
def test_what_is_printed_is_no_event() -> None:
    told = try_out("prints")
    assert [kind for kind, _ in told["events"]] == ["done"]
    assert "noise on stdout" in told["ended"]["output"]


@pytest.mark.usefixtures("scripts")
def test_an_error_names_its_stage() -> None:
    ended = try_out("raises")["ended"]
    assert (ended["stage"], ended["status"]) == ("import", 1)
    assert "libx.so.1: cannot open" in ended["output"]


@posix
@pytest.mark.usefixtures("scripts")
def test_a_signal_names_itself_and_its_stage() -> None:
    ended = try_out("segfaults")["ended"]
    assert (ended["signal"], ended["stage"], ended["device"]) == ("SIGSEGV", "conv", "cuda:0")
    assert "Fatal Python error: Segmentation fault" in ended["output"]


@posix
@pytest.mark.parametrize("name", ["hangs", "hangs deaf", "forks and hangs"])
@pytest.mark.usefixtures("scripts")
def test_a_hang_is_ended_with_all_it_started_and_shows_its_stack(name: str) -> None:
    begun = time.monotonic()
    ended = try_out(name)["ended"]
    assert (ended["reason"], ended["unkillable"]) == ("timed out", False)
    assert "in main" in ended["output"]
    assert time.monotonic() - begun < 8


@posix
@pytest.mark.usefixtures("scripts")
def test_ctrl_c_ends_the_child_and_keeps_what_was_told() -> None:

    def interrupt(stage: str, device: str) -> None:
        assert (stage, device) == ("fft", "cpu")
        signal.raise_signal(signal.SIGINT)

    told = run(HERE, "hangs", ("hangs",), {}, Limits(5, 30, 30), interrupt)
    assert told["ended"]["reason"] == "interrupted"
    assert told["events"] == [["stage", {"id": "fft", "device": "cpu"}]]


def test_statuses_of_starters_are_signals_too() -> None:
    assert [trial._signal(status) for status in (-11, 139, 137, 0, 1, None)] == [  # noqa: SLF001 - a pure rule
        "SIGSEGV", "SIGSEGV", "SIGKILL", "", "", "",
    ]  # fmt: skip


def ended(**given: Any) -> dict[str, Any]:
    usual = {"status": 0, "signal": "", "reason": "", "stage": "", "device": "", "seconds": 1.0, "output": ""}
    return {"unkillable": False, **usual, **given}


def facts_of(*runs: dict[str, Any]) -> Facts:
    return assemble(read(Recording({"trial": Answer({"runs": list(runs)})})))


def probe(name: str, outcome: str = "passed", device: str = "cuda:0", **more: Any) -> list[Any]:
    return ["probe", {"id": name, "device": device, "library": "", "outcome": outcome, "seconds": 0.1, **more}]


def test_an_import_that_raises() -> None:
    error = "ImportError: libcudnn.so.9: cannot open shared object file: No such file or directory"
    facts = facts_of({"events": [probe("import", "failed", error=error)], "ended": ended()})
    assert (facts.trial.imported, facts.trial.library, facts.trial.error) == (False, "libcudnn.so.9", error)


@pytest.mark.parametrize(
    ("how", "signal_name", "timed_out"),
    [({"signal": "SIGILL", "status": -4}, "SIGILL", False), ({"reason": "timed out", "status": -15}, None, True)],
)
def test_an_import_that_never_answered(how: dict[str, Any], signal_name: str | None, timed_out: bool) -> None:
    facts = facts_of({"events": [["stage", {"id": "import"}]], "ended": ended(stage="import", **how)})
    assert facts.trial.imported is False
    assert (facts.trial.signal, facts.trial.timed_out, facts.trial.stage) == (signal_name, timed_out, "import")


def test_the_test_in_which_the_child_ended_is_a_failed_one() -> None:
    facts = facts_of(
        {"events": [probe("import"), probe("fft")], "ended": ended(stage="conv", device="cuda:0", signal="SIGSEGV")}
    )
    assert facts.trial.imported is True
    assert isinstance(facts.trial.probes, tuple)
    last = facts.trial.probes[-1]
    assert (last.id, last.outcome, last.error) == ("conv", "failed", "ended by SIGSEGV")


def test_an_interrupted_trial_proves_nothing() -> None:
    facts = facts_of({"events": [["stage", {"id": "import"}]], "ended": ended(stage="import", reason="interrupted")})
    assert facts.trial.interrupted is True
    assert not isinstance(facts.trial.imported, bool)


@pytest.mark.parametrize(
    "value", [None, {}, {"runs": 3}, {"runs": [3, {}]}, {"runs": [{"events": [["x"], 3], "ended": 4}]}]
)
def test_an_edited_recording_crashes_no_reader(value: Any) -> None:
    facts = assemble(read(Recording({"trial": Answer(value)})))
    assert facts.trial.imported is not True


# --------------------------------------------------------------------------------------- what a crash or a loss cut off

PLAN = [("fft", "cpu"), ("conv", "cpu"), ("svd", "cpu"), ("lstm", "cpu"), ("train", "cpu")]


class Children:
    """Stands for the children: each crashes in the first of its tests that is named, and tells the others."""

    def __init__(self, crashes: tuple[str, ...] = (), plan: tuple[tuple[str, str], ...] = tuple(PLAN)) -> None:
        self.crashes, self.plan = crashes, plan
        self.asked: list[dict[str, Any]] = []
        self.interrupt_at = 0
        self.dead = False

    def __call__(self, _python: object, _module: str, _parts: object, request: dict[str, Any], *_: object) -> Any:
        self.asked.append(request)
        if len(self.asked) == self.interrupt_at:
            return {"events": [], "ended": ended(stage="import", reason="interrupted")}
        if self.dead and len(self.asked) > 1:
            return {"events": [], "ended": ended(stage="init", signal="SIGABRT")}
        due = [test for test in self.plan if test[0] in (request["only"] or [name for name, _ in self.plan])]
        due = [test for test in due if test[1] in (request["devices"] or [device for _, device in self.plan])]
        events: list[list[Any]] = [["plan", {"probes": [list(test) for test in due]}]]
        for id_, device in due:
            events.append(["stage", {"id": id_, "device": device, "library": f"lib{id_}"}])
            if id_ in self.crashes:
                return {"events": events, "ended": ended(stage=id_, device=device, signal="SIGSEGV")}
            events.append(["probe", {"id": id_, "device": device, "outcome": "passed", "seconds": 0.1}])
        if request["repro"]:
            events += [["stage", {"id": "repro", "device": "cpu"}], ["repro", {"seeded_runs_equal": True}]]
        if request["bench"] is not None:
            events += [["stage", {"id": "bench", "device": "cpu"}], ["bench-done", {"seconds": 1.0, "profile": "x"}]]
        return {"events": [*events, ["done", {}]], "ended": ended()}


def proved(monkeypatch: pytest.MonkeyPatch, children: Any, **asked: Any) -> Facts:
    monkeypatch.setattr(proof, "run", children)
    answer = proof.prove(HERE, Asked(**asked), Limits(), lambda _stage, _device: None)
    return assemble(read(Recording({"trial": answer})))


def outcomes(facts: Facts) -> dict[str, str]:
    assert isinstance(facts.trial.probes, tuple)
    return {probe.id: probe.outcome for probe in facts.trial.probes}


def test_what_a_crash_cut_off_is_run_again_together(monkeypatch: pytest.MonkeyPatch) -> None:
    children = Children(crashes=("conv", "lstm"))
    facts = proved(monkeypatch, children)
    assert [request["only"] for request in children.asked] == [[], ["svd", "lstm", "train"], ["train"]]
    assert outcomes(facts) == {
        "fft": "passed", "conv": "failed", "svd": "passed", "lstm": "failed", "train": "passed",
    }  # fmt: skip
    assert isinstance(facts.trial.probes, tuple)
    assert [probe.library for probe in facts.trial.probes if probe.outcome == "failed"] == ["libconv", "liblstm"]


def test_tests_that_no_child_reached_are_skipped_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = tuple((f"t{number}", "cpu") for number in range(20))
    children = Children(crashes=tuple(name for name, _ in plan), plan=plan)
    facts = proved(monkeypatch, children)
    assert len(children.asked) == 13
    assert list(outcomes(facts).values()) == ["failed"] * 13 + ["skipped"] * 7
    assert isinstance(facts.trial.probes, tuple)
    assert facts.trial.probes[-1].reason == "not run: 12 processes ended or lost the device before it"


def test_a_device_that_does_not_start_again_ends_the_attempts(monkeypatch: pytest.MonkeyPatch) -> None:
    children = Children(crashes=("conv",))
    children.dead = True
    facts = proved(monkeypatch, children)
    assert len(children.asked) == 2
    assert outcomes(facts)["train"] == "skipped"
    assert isinstance(facts.trial.probes, tuple)
    assert "did not get as far" in str(facts.trial.probes[-1].reason)


def test_tests_of_a_lost_device_are_run_again_and_take_their_places(monkeypatch: pytest.MonkeyPatch) -> None:
    children = Children()

    def lose(*arguments: Any) -> Any:
        told = children(*arguments)
        if len(children.asked) == 1:
            for kind, fields in told["events"]:
                if kind == "probe" and fields["id"] == "conv":
                    fields.update(outcome="failed", error="CUDA error: an illegal memory access was encountered")
                elif kind == "probe" and fields["id"] != "fft":
                    fields.update(outcome="skipped", unusable=True)
        return told

    facts = proved(monkeypatch, lose)
    assert [request["only"] for request in children.asked] == [[], ["svd", "lstm", "train"]]
    assert list(outcomes(facts).items()) == [
        ("fft", "passed"), ("conv", "failed"), ("svd", "passed"), ("lstm", "passed"), ("train", "passed"),
    ]  # fmt: skip


def test_an_interruption_of_a_further_child_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    children = Children(crashes=("conv",))
    children.interrupt_at = 2
    facts = proved(monkeypatch, children, bench={"seconds": 1})
    assert len(children.asked) == 2
    assert facts.trial.interrupted is True
    assert outcomes(facts) == {
        "fft": "passed", "conv": "failed", "svd": "skipped", "lstm": "skipped", "train": "skipped",
    }  # fmt: skip
    assert facts.trial.bench == ({"device": "any device", "reason": "interrupted", "kind": "bench-skipped"},)


def test_after_a_crash_the_benchmark_and_the_judgement_have_a_child(monkeypatch: pytest.MonkeyPatch) -> None:
    children = Children(crashes=("train",))
    facts = proved(monkeypatch, children, bench={"seconds": 1}, repro=True)
    last = children.asked[-1]
    assert (len(children.asked), last["only"], last["bench"], last["repro"]) == (2, ["import"], {"seconds": 1}, True)
    assert facts.trial.repro == {"seeded_runs_equal": True}
    assert isinstance(facts.trial.bench, tuple)
    assert [event["kind"] for event in facts.trial.bench] == ["bench-done"]
    assert len(outcomes(facts)) == len(PLAN)


def test_a_benchmark_that_cannot_be_started_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    children = Children(crashes=("train",))
    children.dead = True
    facts = proved(monkeypatch, children, bench={"seconds": 1})
    assert isinstance(facts.trial.bench, tuple)
    assert facts.trial.bench[0]["reason"] == "its process ended in the stage init (SIGABRT)"


@pytest.mark.skipif(sys.platform != "linux", reason="the loader of glibc tells")
def test_an_interruption_while_the_last_library_is_sought_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    hows = iter([{"signal": "SIGSEGV"}, {"reason": "interrupted"}])
    facts = proved(monkeypatch, lambda *_: {"events": [], "ended": ended(stage="import", **next(hows))})
    assert (facts.trial.interrupted, facts.trial.signal) == (True, "SIGSEGV")


@pytest.mark.parametrize(("stage", "how"), [("import", "SIGKILL"), ("import", ""), ("init", "SIGSEGV")])
def test_without_torch_nothing_is_run_again(monkeypatch: pytest.MonkeyPatch, stage: str, how: str) -> None:
    asked = []

    def child(*arguments: Any) -> Any:
        asked.append(arguments)
        return {"events": [], "ended": ended(stage=stage, signal=how)}

    proved(monkeypatch, child, bench={"seconds": 1}, repro=True)
    assert len(asked) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="the loader of glibc tells")
def test_a_crash_of_the_import_names_the_last_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("_ctypes_test", reason="a library of Python's own tests")
    package = tmp_path / "torch"
    package.mkdir()
    (package / "__init__.py").write_text("import _ctypes_test, os\nos.kill(os.getpid(), 11)\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    watched = []
    answer = proof.prove(HERE, Asked(), Limits(20, 20, 20), lambda stage, _device: watched.append(stage))
    facts = assemble(read(Recording({"trial": answer})))
    assert watched == ["import", "import"]
    assert (facts.trial.signal, facts.trial.stage) == ("SIGSEGV", "import")
    assert str(facts.trial.library).startswith("_ctypes_test.")


HUNG, CRASHED = {"reason": "timed out"}, {"signal": "SIGSEGV"}
OPENED = "  7:\tcalling init: /x/libfirst.so\n  7:\tcalling init: /x/liblast.so.1\n  7:\topening file= [0]\n"
# How the first import ended and where, how the second did, what its loader wrote, how long before its end.
SOUGHT = {
    "crash": (CRASHED, "import", CRASHED, OPENED, 0.0, "/x/liblast.so.1"),
    "hang": (HUNG, "import", HUNG, OPENED, 5.0, "/x/liblast.so.1"),
    "slow, and still at it": (HUNG, "import", HUNG, OPENED, 0.0, ""),
    "hang that becomes a crash": (HUNG, "import", CRASHED, OPENED, 5.0, ""),
    "hang that does not happen again": (HUNG, "import", {}, OPENED, 5.0, ""),
    "loader that tells nothing": (HUNG, "import", HUNG, None, 5.0, ""),
    "hang elsewhere": (HUNG, "init", None, None, 0.0, ""),
    "hang that cannot be ended": ({**HUNG, "unkillable": True}, "import", None, None, 0.0, ""),
    "killed from outside": ({"signal": "SIGKILL"}, "import", None, None, 0.0, ""),
    "error": ({}, "import", None, None, 0.0, ""),
}


@pytest.mark.skipif(sys.platform != "linux", reason="the loader of glibc tells")
@pytest.mark.parametrize(("how", "stage", "again", "log", "quiet", "library"), SOUGHT.values(), ids=SOUGHT)
def test_the_last_library_is_sought_where_an_import_did_not_come_back(
    how: dict[str, Any], stage: str, again: dict[str, Any] | None, log: str | None, quiet: float, library: str
) -> None:
    def second(python: PythonChoice, _limits: Limits) -> dict[str, Any]:
        assert again is not None, "nothing is to be run again"
        (place,) = [word.partition("=")[2] for word in python.argv if word.startswith("LD_DEBUG_OUTPUT=")]
        if log is not None:
            Path(f"{place}.7").write_text(log)
            os.utime(f"{place}.7", (time.time() - quiet,) * 2)
        return {"events": [], "ended": ended(stage=stage, **again)}

    assert last_library({"ended": ended(stage=stage, **how)}, HERE, Limits(), second) == library


@pytest.mark.skipif(sys.platform != "linux", reason="the loader of glibc tells")
@pytest.mark.parametrize(("timeout", "second"), [(120.0, 10.0), (5.0, 5.0), (0.5, 2.0)])
def test_a_second_hang_costs_seconds_and_a_second_crash_its_own_time(timeout: float, second: float) -> None:
    given: list[float] = []

    def child(_python: PythonChoice, limits: Limits) -> dict[str, Any]:
        given.append(limits.importing)
        return {"events": [], "ended": ended(stage="import")}

    for how in (HUNG, CRASHED):
        last_library({"ended": ended(stage="import", **how)}, HERE, Limits(importing=timeout), child)
    assert given == [second, timeout]


@pytest.mark.parametrize(
    ("told", "library"),
    [
        ({"signal": "SIGSEGV", "library": "/x/libmkl.so.2"}, "libmkl.so.2"),
        ({"reason": "timed out", "library": ""}, Unknown),
        ({"signal": "SIGSEGV", "library": ""}, Unknown),
        ({"signal": "SIGABRT", "library": "", "output": "libgomp.so.1: cannot start"}, "libgomp.so.1"),
    ],
)
def test_a_library_that_nobody_named_is_unknown(tables: Tables, told: dict[str, Any], library: object) -> None:
    facts = facts_of({"events": [["stage", {"id": "import"}]], "ended": ended(stage="import", **told)})
    named = facts.trial.library
    assert (type(named) if isinstance(named, Unknown) else named) == library
    (found,) = [item for item in run_checks(replace(facts, torch=Torch(installed=True)), tables)[0] if item.id == FAILS]
    evidence = {item.fact: item.value for item in found.evidence}
    assert evidence["trial.library"] == ("unknown" if library is Unknown else library)


# ------------------------------------------------------------------------------------------------- how a test was ended

STACK = """Timeout (0:00:30)!
Thread 0x00007f (most recent call first):
  File "/x/torch/nn/functional.py", line 5 in conv2d
  File "<string>", line 9 in main
"""
TRACE = """noise
Traceback (most recent call last):
  File "/x/torch/nn.py", line 5, in conv2d
    raise Stop("enough")
my.Stop: enough
noise of a destructor
"""
MKL = "Intel MKL FATAL ERROR: no libmkl_def.so"
HOW: list[tuple[dict[str, Any], str]] = [
    ({"reason": "timed out", "seconds": 41.0, "stage_seconds": 30.1}, "no answer in 30.1 s"),
    (
        {"reason": "timed out", "stage_seconds": 30.1, "output": STACK},
        'no answer in 30.1 s, in File "/x/torch/nn/functional.py", line 5 in conv2d',
    ),
    (
        {"reason": "timed out", "stage_seconds": 30.1, "unkillable": True},
        "no answer in 30.1 s; it waits in the kernel and could not be ended",
    ),
    ({"signal": "SIGKILL"}, "killed (SIGKILL): the OOM killer or another process"),
    ({"signal": "SIGKILL", "oom_kills": 0}, "killed (SIGKILL): the OOM killer or another process"),
    ({"signal": "SIGKILL", "oom_kills": 1}, "killed (SIGKILL): memory ran out"),
    ({"signal": "SIGABRT"}, "ended by SIGABRT"),
    ({"status": 3}, "exit status 3"),
    ({"status": 1, "output": TRACE}, "exit status 1: my.Stop: enough"),
    ({"status": 2, "output": "Intel MKL FATAL ERROR: no libmkl_def.so\r\n\n"}, f"exit status 2: {MKL}"),
    ({"status": 7, "output": "\ufffd\ufffd\x01\x02\n\x1b[31mred\n"}, "exit status 7"),
    ({"status": None, "reason": trial.CLOSED}, "its output was closed"),
]


@pytest.mark.parametrize(("how", "error"), HOW)
def test_how_a_child_ended_in_a_test_is_told(how: dict[str, Any], error: str) -> None:
    facts = facts_of({"events": [probe("import")], "ended": ended(stage="conv", device="cpu", **how)})
    assert isinstance(facts.trial.probes, tuple)
    assert facts.trial.probes[-1].error == error


@pytest.mark.parametrize(("how", "error"), [row for row in HOW if {"status", "output"} >= set(row[0])])
def test_an_import_that_left_without_an_error_tells_its_exit_status(how: dict[str, Any], error: str) -> None:
    facts = facts_of({"events": [["stage", {"id": "import"}]], "ended": ended(stage="import", **how)})
    assert (facts.trial.imported, facts.trial.error) == (False, error)


STOPPED = [
    ([probe("import")], "import", "describe", "smoke-test-failed"),
    ([probe("import"), probe("init", device="cuda")], "init", "init", "gpu-init-failed"),
    ([probe("import"), probe("init", device="cuda")], "describe", "describe", "gpu-init-failed"),
]


@pytest.mark.parametrize(("events", "stage", "told", "finding"), STOPPED)
def test_a_first_child_that_did_not_come_to_its_end_is_never_in_order(
    tables: Tables, events: list[Any], stage: str, told: str, finding: str
) -> None:
    device = "cpu" if stage == "import" else "cuda"
    facts = facts_of({"events": events, "ended": ended(stage=stage, device=device, signal="SIGABRT")})
    assert outcomes(facts)[told] == "failed"
    assert finding in ids(facts, tables)


def test_an_import_that_cannot_be_ended_says_so() -> None:
    how = {"reason": "timed out", "status": None, "unkillable": True, "output": STACK}
    facts = facts_of({"events": [["stage", {"id": "import"}]], "ended": ended(stage="import", **how)})
    assert str(facts.trial.error).endswith("; it waits in the kernel and could not be ended")


@posix
@pytest.mark.usefixtures("scripts")
def test_the_time_of_a_stage_is_its_own() -> None:
    told = try_out("slow start")["ended"]
    assert told["reason"] == "timed out"
    assert told["seconds"] - told["stage_seconds"] > 0.9


def test_kills_for_want_of_memory_are_counted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    counts = tmp_path / "memory.events"
    counts.write_text("low 0\noom 3\noom_kill 2\noom_group_kill 0\n")
    monkeypatch.setattr(trial, "_OOM_COUNTS", (str(tmp_path / "absent"), str(counts)))
    assert trial._oom_kills() == 2  # noqa: SLF001 - a pure rule


@posix
@pytest.mark.usefixtures("scripts")
def test_a_kill_that_the_kernel_counts_meanwhile_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = iter((4, 5))
    monkeypatch.setattr(trial, "_oom_kills", lambda: next(counted))
    told = try_out("killed")
    assert (told["ended"]["signal"], told["ended"]["oom_kills"]) == ("SIGKILL", 1)
    assert facts_of(told).trial.oom_killed is True


def ended_in(stage: str, device: str = "cpu", **how: Any) -> Facts:
    return facts_of({"events": [probe("import")], "ended": ended(stage=stage, device=device, **how)})


def ids(facts: Facts, tables: Tables) -> list[str]:
    return [found.id for found in run_checks(facts, tables)[0]]


@pytest.mark.parametrize(
    ("stage", "words"),
    [("conv", "the smoke test conv on cpu"), ("init", "the stage init"), ("import", "the import of torch")],
)
def test_an_illegal_instruction_names_where_it_was_and_is_one_finding(tables: Tables, stage: str, words: str) -> None:
    facts = facts_of({"events": [], "ended": ended(stage=stage, device="cpu", signal="SIGILL")})
    (found,) = answered(facts, tables, "cpu-instructions-missing")
    assert str(found.summary) == f"{words} is ended by an illegal instruction"
    said = ids(facts, tables)
    assert "cpu-instructions-missing" in said
    assert not {"smoke-test-failed", "gpu-init-failed"} & set(said)


def test_a_kill_for_want_of_memory_is_its_own_finding(tables: Tables) -> None:
    said = ids(ended_in("train", signal="SIGKILL", oom_kills=1), tables)
    assert "host-memory-exhausted" in said
    assert "smoke-test-failed" not in said
    assert "smoke-test-failed" in ids(ended_in("train", signal="SIGKILL"), tables)


def test_a_paging_file_that_is_too_small_is_memory(tables: Tables) -> None:
    error = "OSError: [WinError 1455] The paging file is too small for this operation to complete"
    facts = facts_of({"events": [probe("import", "failed", error=error)], "ended": ended()})
    found, _ = run_checks(replace(facts, torch=Torch(installed=True)), tables)
    assert [(item.id, item.explained_by) for item in found if item.id in {"host-memory-exhausted", FAILS}] == [
        ("host-memory-exhausted", None), (FAILS, "host-memory-exhausted"),
    ]  # fmt: skip


FAILS = "torch-import-fails"
MAP = "failed to map segment from shared object"
WHY = [
    ("maximum error 0.5 exceeds 0.1", {}, "its result is not the true one", "smoke --only train"),
    ("RuntimeError: boom", {}, "an error was raised", "smoke --only train"),
    ("ended by SIGSEGV", {"ended": True}, "did not survive", "smoke --only train"),
    ("no answer in 30.0 s", {"ended": True, "signal": ""}, "ended by us", "smoke --only train"),
    ("ended by SIGXCPU", {"ended": True, "signal": "SIGXCPU"}, "Somebody or a limit", "smoke --only train"),
    ("BadError, which cannot be printed: TypeError", {}, "an error was raised", "smoke --only train"),
    (f"OSError: x.so: {MAP}: Operation not permitted", {}, "mounted with noexec", "mount | grep noexec"),
    ("InductorError: InvalidCxxCompiler: No working C++ compiler found", {}, "found no compiler", "g++"),
]


@pytest.mark.parametrize(("error", "values", "why", "remedy"), WHY)
def test_why_a_test_failed_is_told_by_its_error(
    tables: Tables, error: str, values: dict[str, object], why: str, remedy: str
) -> None:
    failed = Probe(id="train", device="cpu", library="libtorch_cpu", outcome="failed", error=error, values=values)
    (found,) = answered(Facts(trial=Trial(probes=(failed,))), tables, "smoke-test-failed")
    assert why in str(found.why)
    (only,) = found.remedies
    assert remedy in f"{only.text} {only.commands}"


def fails(tables: Tables, *events: list[Any], **how: Any) -> list[Finding]:
    """The findings of an import that failed, and of nothing else."""
    facts = facts_of({"events": [["stage", {"id": "import"}], *events], "ended": ended(**how)})
    return run_checks(replace(facts, torch=Torch(installed=True)), tables)[0]


IMPORTS = [
    ({"signal": "SIGTERM"}, "is ended by SIGTERM: somebody or a limit ended it", False),
    ({"signal": "SIGALRM", "library": "/x/libtorch_cpu.so"}, "is ended by SIGALRM: somebody or a limit", False),
    ({"signal": "SIGKILL"}, "is ended by SIGKILL: somebody or a limit", False),
    ({"signal": "SIGSEGV"}, "is ended by SIGSEGV", True),
    ({"reason": "timed out", "stage_seconds": 12.004}, "does not end in 12 s", True),
    ({"reason": "timed out"}, "does not end", True),
]


@pytest.mark.parametrize(("how", "says", "installs"), IMPORTS)
def test_an_import_that_did_not_come_back_is_reinstalled_only_after_a_crash(
    tables: Tables, how: dict[str, Any], says: str, *, installs: bool
) -> None:
    (found,) = [item for item in fails(tables, stage="import", **how) if item.id == FAILS]
    assert str(found.summary).startswith(f"the import of torch {says}")
    assert any(remedy.installs for remedy in found.remedies) is installs
    assert "libtorch_cpu.so" not in str(found.evidence)


NO_LIBRARY_S_FAULT = [
    ("OSError: [Errno 28] No space left on device: '/x'", ["disk-full", FAILS], "df -i ."),
    (f"ImportError: libtorch_cpu.so: {MAP}", ["host-memory-exhausted", FAILS], "mount | grep noexec"),
    (f"ImportError: libtorch_cpu.so: {MAP}: Operation not permitted", [FAILS], "mount | grep noexec"),
]


@pytest.mark.parametrize(("error", "found", "command"), NO_LIBRARY_S_FAULT)
def test_a_disk_memory_or_mount_that_refuses_is_no_reason_to_install_anew(
    tables: Tables, error: str, found: list[str], command: str
) -> None:
    findings = fails(tables, probe("import", "failed", error=error))
    assert [item.id for item in findings if item.severity == "error"] == found
    assert command in str(findings[0].remedies)
    assert not any(remedy.installs for item in findings for remedy in item.remedies)


def test_a_long_error_keeps_its_exception_and_its_end(tables: Tables) -> None:
    error = "OSError: libx.so.7: no such file\n" + "advice " * 80 + "at last"
    (found,) = [item for item in fails(tables, probe("import", "failed", error=error)) if item.id == FAILS]
    (value,) = [item.value for item in found.evidence if item.fact == "trial.error"]
    assert value.startswith("OSError: libx.so.7: no such file ... ")
    assert value.endswith("at last")
    assert len(value) < 310


CAUGHT = (
    "RuntimeError: Caught ValueError in DataLoader worker process 0.\nOriginal Traceback (most recent call last):\n"
)
LONG = f"{CAUGHT}{400 * 'x'}\n    raise ValueError(text)\nmy.data.BadError: no picture\nin the file 7\n"
SAID = [
    (LONG, "my.data.BadError: no picture in the file 7"),
    (
        "RuntimeError: CUDA error: boom\nFor debugging consider A=1\n",
        "RuntimeError: CUDA error: boom For debugging consider A=1",
    ),
    ("Unsupported: a call\n\nFrom user code: x", "Unsupported: a call From user code: x"),
    ("ended by SIGSEGV", "ended by SIGSEGV"),
    ("", ""),
]


@pytest.mark.parametrize(("error", "said"), SAID)
def test_of_a_traceback_the_exception_is_shown(tables: Tables, error: str, said: str) -> None:
    assert exception_of(error) == said
    failed = Probe(id="train", device="cpu", library="libtorch_cpu", outcome="failed", error=error)
    (found,) = answered(Facts(trial=Trial(probes=(failed,))), tables, "smoke-test-failed")
    assert [item.value for item in found.evidence] == [f"train on cpu: {said}"]


NO_CODE = "RuntimeError: Kernel compilation failed:\nnvrtc: error: invalid value for --gpu-architecture (-arch)"


@pytest.mark.parametrize(
    ("gpus", "remedy", "installs"),
    [
        (("NVIDIA B300", "10.3"), "Install a build that has code for NVIDIA B300", True),
        (("NVIDIA Old", "2.0"), "No official build has code for NVIDIA Old", False),
        (None, "Install a build that has code for this GPU", True),
    ],
)
def test_code_that_is_missing_at_run_time_has_the_remedy_of_the_static_rule(
    tables: Tables, gpus: tuple[str, str] | None, remedy: str, installs: bool
) -> None:
    failed = Probe(id="runtime-compile", device="cuda:0", library="libnvrtc", outcome="failed", error=NO_CODE)
    facts = Facts(trial=Trial(probes=(failed,)))
    if gpus:
        known = Gpu(vendor="nvidia", name=gpus[0], compute_capability=GpuArch.parse(gpus[1]))
        facts = replace(facts, gpus=(known,))
    (found,) = answered(facts, tables, "torch-arch-missing")
    assert [(remedy in str(item.text), item.installs) for item in found.remedies] == [(True, installs)]


# ------------------------------------------------------------------------------- files named like a standard module


@pytest.mark.parametrize(
    ("path", "name", "module"),
    [
        ("/w/random.py", "random.py", "random"),
        (r"C:\w\timeit.py", "timeit.py", "timeit"),
        ("/w/copy/__init__.py", "copy", "copy"),
    ],
)
def test_a_file_that_hides_a_standard_module_is_to_be_renamed(
    tables: Tables, path: str, name: str, module: str
) -> None:
    error = "ImportError: cannot import name 'Random' from 'random'"
    told = probe("import", "failed", error=error, values={"hides": path})
    facts = replace(facts_of({"events": [told], "ended": ended()}), torch=Torch(installed=True))
    (found,) = [item for item in run_checks(facts, tables)[0] if item.id == FAILS]
    assert str(found.summary) == f"a file named {name} hides the standard module {module}"
    assert [remedy.installs for remedy in found.remedies] == [False]
    assert "Rename" in str(found.remedies[0].text)


@pytest.mark.parametrize("file", ["random.py", "timeit.py", "tempfile.py", "shutil.py", "re.py", "copy/__init__.py"])
def test_a_user_s_file_meets_torch_and_not_our_own_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str
) -> None:
    """A torch that needs the module fails as in the user's own program, and the answer names the file."""
    module = file.partition("/")[0].removesuffix(".py")
    place = tmp_path / "work" / file
    place.parent.mkdir(parents=True)
    place.write_text("mine = 1\n")
    package = tmp_path / "site" / "torch"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(f"from {module} import nothing_of_that_name\n")
    monkeypatch.setenv("PYTHONPATH", str(package.parent))
    monkeypatch.chdir(tmp_path / "work")
    told = run(HERE, "smoke", proof._PARTS, {"level": "quick"}, Limits(20, 20, 20), lambda _s, _d: None)  # noqa: SLF001 - the parts as they are shipped
    assert told["ended"]["status"] == 0, told["ended"]["output"]
    (failed,) = [fields for kind, fields in told["events"] if kind == "probe"]
    assert (failed["outcome"], failed["values"]["hides"]) == ("failed", str(place))


def test_a_user_s_file_is_not_taken_for_the_library_s_by_the_product_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "argparse.py").write_text("raise RuntimeError('the file of the user')\n")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    command = [sys.executable, "-m", "torchdoctor", "--help"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("module", ["random", "torch_of_mine"])
def test_where_nothing_is_hidden_no_file_is_blamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str
) -> None:
    package = tmp_path / "torch"
    package.mkdir()
    (package / "__init__.py").write_text(f"from {module} import nothing_of_that_name\n")
    (tmp_path / "torch_of_mine.py").write_text("mine = 1\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    told = run(HERE, "smoke", proof._PARTS, {"level": "quick"}, Limits(20, 20, 20), lambda _s, _d: None)  # noqa: SLF001 - as above
    (failed,) = [fields for kind, fields in told["events"] if kind == "probe"]
    assert (failed["outcome"], failed["values"]["hides"]) == ("failed", None)


ANSWERS = [
    (802, "fabric-manager-down"),
    (804, "compat-library-problem"),
    (999, "uvm-not-loaded"),
    (35, "driver-too-old"),
]


@pytest.mark.parametrize(("code", "finding"), ANSWERS)
def test_a_number_counts_for_its_finding(tables: Tables, code: int, finding: str) -> None:
    facts = Facts(trial=Trial(init="failed", init_code=code))
    assert [str(code) in str(found.summary) for found in answered(facts, tables, finding)] == [True]
    assert list(answered(facts, tables, "gpu-lost")) == []
    assert list(answered(Facts(trial=Trial(init="passed", init_code=code)), tables, finding)) == []


FAILED = [
    (Probe(id="conv", device="cuda:0", library="libcudnn", outcome="failed", error="wrong"), "cudnn-failure"),
    (Probe(id="peer", device="cuda:0", library="libcudart", outcome="failed", error="differs"), "p2p-broken"),
    (Probe(id="train", device="cuda:0", library="libtorch_cuda", outcome="failed", error="rose"), "smoke-test-failed"),
    (
        Probe(id="elementwise", device="cuda:0", outcome="failed",
              error="CUDA error: no kernel image is available for execution on the device"),
        "torch-arch-missing",
    ),
    (
        Probe(id="bench-throughput", device="cuda:0", outcome="failed",
              error="OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."),
        "out-of-memory",
    ),
    (Probe(id="bench-data-2", device="cpu", outcome="failed", error="No space left on device"), "shm-too-small"),
    (Probe(id="bench-copy", device="cuda:0", library="libcublas", outcome="failed", error="x"), "cublas-failure"),
]  # fmt: skip


@pytest.mark.parametrize(("failed", "finding"), FAILED, ids=[finding for _, finding in FAILED])
def test_a_failed_test_counts_for_its_finding(tables: Tables, failed: Probe, finding: str) -> None:
    facts = Facts(trial=Trial(probes=(failed,)))
    assert len(list(answered(facts, tables, finding))) == 1
    assert list(answered(facts, tables, "nccl-failure")) == []
