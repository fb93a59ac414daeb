"""Proof by running: torch is imported and used in a child, and what a crash cut off is run again, test by test."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from torchdoctor.recording import Answer
from torchdoctor.trial import Limits, Watch, run
from torchdoctor.which_python import PythonChoice

_TARGET = Path(__file__).parent / "target"
_PARTS = tuple(
    sorted(path.stem for pattern in ("smoke*.py", "bench*.py", "paths.py") for path in _TARGET.glob(pattern))
)
LEVELS = ("quick", "standard", "long")
NOTHING = ("import",)  # no test has this name: torch is imported, its devices are started, and that is all
CHECK_BENCH: Mapping[str, Any] = {"seconds": 3, "sweep": False, "devices": [], "force": False, "profile": "check"}
_MOST_RERUNS = 12
_BEFORE_THE_PROBES = {"", "start", "import", "init"}


class Asked(NamedTuple):
    """What is to be proved: the level, tests by name, devices, the benchmark's request, reproducibility."""

    level: str = "quick"
    only: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    bench: Mapping[str, Any] | None = None
    repro: bool = False

    def request(self) -> dict[str, Any]:
        """The request of target/smoke.py."""
        bench = dict(self.bench) if self.bench is not None else None
        return {
            "level": self.level,
            "only": list(self.only),
            "devices": list(self.devices),
            "bench": bench,
            "repro": self.repro,
        }


def prove(python: PythonChoice, asked: Asked, limits: Limits, watch: Watch) -> Answer:
    """Run the smoke tests (and the benchmark) once, in one process; only after a failure are tests run one by one."""
    first = run(python, "smoke", _PARTS, asked.request(), limits, watch)
    runs = [first]
    for probe, device in _cut_off(first)[:_MOST_RERUNS]:
        alone = Asked(level=asked.level, only=(probe,), devices=(device,))
        runs.append(run(python, "smoke", _PARTS, alone.request(), limits, watch))
        if runs[-1]["ended"]["reason"] == "interrupted":
            break
    return Answer({"runs": [first, *map(_only_its_test, runs[1:])]})


def _cut_off(first: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The planned tests that the first child did not reach, because it ended in one or lost its device."""
    events, ended = first["events"], first["ended"]
    if ended["reason"] == "interrupted" or (ended["stage"] and ended["stage"] in _BEFORE_THE_PROBES):
        return []
    told = {(fields["id"], fields["device"]): fields for kind, fields in events if kind == "probe"}
    lost = [
        key for key, fields in told.items() if fields.get("reason") == "the device is unusable after an earlier error"
    ]
    plan: list[list[str]] = next((fields["probes"] for kind, fields in events if kind == "plan"), [])
    missing = [(probe, device) for probe, device in plan if (probe, device) not in told]
    if ended["stage"]:
        missing = [item for item in missing if item != (ended["stage"], ended["device"])]
    return [*lost, *missing]


def _only_its_test(run: Mapping[str, Any]) -> dict[str, Any]:
    """A repeated run adds its own test; its import and start of the devices were told by the first."""
    kept = [
        [kind, fields] for kind, fields in run["events"]
        if kind == "stage" or (kind == "probe" and fields.get("id") not in {"import", "init"})
    ]  # fmt: skip
    return {"events": kept, "ended": run["ended"]}
