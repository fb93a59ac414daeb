"""Trials: real children that go through, crash, hang, print, or are interrupted."""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from torchdoctor import proof, trial
from torchdoctor.checks.answers import answered
from torchdoctor.facts import Facts, Probe, Trial
from torchdoctor.readers.assemble import assemble
from torchdoctor.readers.live_trial import read
from torchdoctor.recording import Answer, Recording
from torchdoctor.tables import Tables
from torchdoctor.trial import Limits, run
from torchdoctor.which_python import PythonChoice

HERE = PythonChoice(argv=(sys.executable,), why="the one that runs the tests", other=None)
posix = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")

BODIES = {
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
    return {**usual, **given}


def facts_of(*runs: dict[str, Any]) -> Facts:
    return assemble(read(Recording({"trial": Answer({"runs": list(runs)})})))


def probe(name: str, outcome: str = "passed", **more: Any) -> list[Any]:
    return ["probe", {"id": name, "device": "cuda:0", "library": "", "outcome": outcome, "seconds": 0.1, **more}]


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


def test_what_a_crash_cut_off_is_run_again_one_by_one() -> None:
    plan = ["plan", {"probes": [["fft", "cpu"], ["conv", "cpu"], ["svd", "cpu"], ["train", "cpu"]]}]
    told = ["probe", {"id": "fft", "device": "cpu", "outcome": "passed"}]
    first = {"events": [plan, told], "ended": ended(stage="conv", device="cpu", signal="SIGSEGV")}
    assert proof._cut_off(first) == [("svd", "cpu"), ("train", "cpu")]  # noqa: SLF001 - a pure rule
    assert proof._cut_off({**first, "ended": ended(stage="import")}) == []  # noqa: SLF001 - as above
    assert proof._cut_off({**first, "ended": ended(stage="conv", reason="interrupted")}) == []  # noqa: SLF001 - as above


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
]  # fmt: skip


@pytest.mark.parametrize(("failed", "finding"), FAILED, ids=[finding for _, finding in FAILED])
def test_a_failed_test_counts_for_its_finding(tables: Tables, failed: Probe, finding: str) -> None:
    facts = Facts(trial=Trial(probes=(failed,)))
    assert len(list(answered(facts, tables, finding))) == 1
    assert list(answered(facts, tables, "nccl-failure")) == []
