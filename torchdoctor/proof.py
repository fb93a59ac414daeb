"""Proof by running: torch is imported and used in a child, and what a crash cut off is run in further ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from torchdoctor.asked import NOTHING, Asked
from torchdoctor.recording import Answer
from torchdoctor.trial import Limits, Watch, run
from torchdoctor.trial_library import last_library
from torchdoctor.which_python import PythonChoice

_TARGET = Path(__file__).parent / "target"
_PARTS = tuple(
    sorted(path.stem for pattern in ("smoke*.py", "bench*.py", "paths.py") for path in _TARGET.glob(pattern))
)
_MOST_RERUNS = 12
_BESIDE = ("cuda-graph", "streams", "peer", "all-reduce-nccl", "all-reduce-processes")  # several queues or processes
_NO_DEVICE = "any device"
_STUCK = "not run: a further process did not get as far as this test"


Test = tuple[str, str]  # id and device
Run = dict[str, Any]


def prove(python: PythonChoice, asked: Asked, limits: Limits, watch: Watch) -> Answer:
    """Run all in one process; only what a crash or a lost device cut off is run again, as much as possible together."""
    interrupted: list[Run] = []

    def child(asked: Asked, python: PythonChoice = python, limits: Limits = limits) -> Run:
        told = run(python, "smoke", _PARTS, asked.request(), limits, watch)
        if told["ended"]["reason"] == "interrupted":
            interrupted.append({"events": [], "ended": told["ended"]})
        return told

    runs = [child(asked)]
    runs[0]["ended"]["library"] = last_library(runs[0], python, limits, partial(child, Asked(only=NOTHING)))
    if not _ended_before_the_tests(runs[0]):
        runs += _tests_again(runs[0], asked, child)
        runs += _the_rest_again(runs, asked, child)
    return Answer({"runs": [*runs, *_unmeasured(runs), *interrupted]})


def _tests_again(first: Run, asked: Asked, child: Callable[[Asked], Run]) -> Iterator[Run]:
    """Children for the tests that were cut off, until none is left; those that stay so are told with the reason."""
    runs, known = [first], 1
    while missing := _cut_off(runs):
        reason = _why_no_more(runs)
        if reason:
            yield _not_run(missing, reason)
            return
        device = missing[0][1]
        only = tuple(probe for probe, other in missing if other == device)
        again = asked._replace(only=only, devices=(device,), bench=None, repro=False)
        runs.append(_only_its_tests(child(_step_by_step(again))))
        if runs[-1]["ended"]["reason"] != "interrupted" and _cut_off(runs) == missing:
            runs.append(_not_run([test for test in missing if test[1] == device], _STUCK))
        yield from runs[known:]
        known = len(runs)


def _step_by_step(asked: Asked) -> Asked:
    """On a GPU, first those tests whose kernels need not run beside each other, each kernel by itself."""
    alone = tuple(probe for probe in asked.only if probe not in _BESIDE)
    return asked._replace(only=alone, blocking=True) if alone and asked.devices[0].startswith("cuda") else asked


def _why_no_more(runs: Sequence[Run]) -> str:
    """Why the tests that are still missing are left alone; empty when one more child is worth it."""
    if runs[-1]["ended"].get("reason") == "interrupted":
        return "interrupted"
    return f"not run: {_MOST_RERUNS} processes ended or lost the device before it" if len(runs) > _MOST_RERUNS else ""


def _ended_before_the_tests(first: Run) -> bool:
    return all(kind != "plan" for kind, _ in first["events"])


def _cut_off(runs: Sequence[Run]) -> list[Test]:
    """The planned tests that no child has told of: each child ended before them, in another, or lost its device."""
    plan: list[list[str]] = next((fields["probes"] for kind, fields in runs[0]["events"] if kind == "plan"), [])
    over = {
        (fields["id"], fields["device"])
        for run in runs
        for kind, fields in run["events"]
        if kind == "probe" and not fields.get("unusable")
    }
    ends = [run["ended"] for run in runs if run["ended"] and run["ended"]["reason"] != "interrupted"]
    over |= {(ended["stage"], ended["device"]) for ended in ends}
    return [(probe, device) for probe, device in plan if (probe, device) not in over]


def _not_run(tests: Sequence[Test], reason: str) -> Run:
    told = {"outcome": "skipped", "seconds": 0.0, "error": None, "reason": reason, "values": {}, "warnings": []}
    return {"events": [["probe", {"id": id_, "device": device, **told}] for id_, device in tests], "ended": {}}


def _only_its_tests(run: Run) -> Run:
    """A further run adds its own tests; its import and start of the devices were told by the first."""
    kept = [
        [kind, fields] for kind, fields in run["events"]
        if kind == "stage" or (kind == "probe" and fields.get("id") not in {"import", "init"})
    ]  # fmt: skip
    return {"events": kept, "ended": run["ended"]}


def _the_rest_again(runs: Sequence[Run], asked: Asked, child: Callable[[Asked], Run]) -> Iterator[Run]:
    """One more child for the benchmark and the judgement of reproducibility, when a test kept the first from them."""
    stages = {str(fields["id"]).partition("-")[0] for kind, fields in runs[0]["events"] if kind == "stage"}
    bench = asked.bench if "bench" not in stages else None
    repro = asked.repro and "repro" not in stages
    if bench is None and not repro:
        return
    if any(run["ended"].get("reason") == "interrupted" for run in runs):
        skipped = {"device": _NO_DEVICE, "reason": "interrupted"}
        yield {"events": [["bench-skipped", skipped]] if bench is not None else [], "ended": {}}
        return
    again = child(Asked(only=NOTHING, devices=asked.devices, bench=bench, repro=repro))
    events = [event for event in again["events"] if event[0] in {"stage", "repro"} or event[0].startswith("bench")]
    if bench is not None and not any(kind.startswith("bench") for kind, _ in events):
        events.append(["bench-skipped", {"device": _NO_DEVICE, "reason": _how(again["ended"])}])
    yield {"events": events, "ended": again["ended"]}


def _unmeasured(runs: Sequence[Run]) -> Iterator[Run]:
    """What is missing where a child ended in its benchmark."""
    cut_short = [told for told in runs if str(told["ended"].get("stage", "")).partition("-")[0] == "bench"]
    for told in cut_short:
        yield {"events": list(_missing_of(told)), "ended": {}}


def _missing_of(run: Run) -> Iterator[list[Any]]:
    """The part in which it ended failed, unless it was interrupted; those after it, by device, were not reached."""
    ended = run["ended"]
    last, how = (ended["stage"], ended["device"]), _how(ended)
    reached = {(fields["id"], fields["device"]) for kind, fields in run["events"] if kind == "stage"}
    if ended["reason"] == "interrupted":
        reached.discard(last)
        how = "interrupted"
    else:
        yield ["bench-failed", {"stage": last[0], "device": last[1], "error": how, "ended": True}]
    plans = [fields["stages"] for kind, fields in run["events"] if kind == "bench-plan"]
    missing = [(stage, device) for plan in plans for stage, device in plan if (stage, device) not in reached]
    for device in dict.fromkeys(device for _, device in missing):
        names = ", ".join(stage.partition("-")[2] for stage, other in missing if other == device)
        yield ["bench-skipped", {"device": device, "reason": f"{how}; not reached: {names}"}]


def _how(ended: Mapping[str, Any]) -> str:
    """How a child went that should have run the benchmark."""
    how = ended["reason"] or ended["signal"] or f"exit status {ended['status']}"
    return f"its process ended in the stage {ended['stage'] or 'end'} ({how})"
