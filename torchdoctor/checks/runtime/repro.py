"""What a run must have set to be repeatable: judged only when somebody asks (``check --repro``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from torchdoctor.checks.registry import check, seen
from torchdoctor.facts import Facts, need
from torchdoctor.findings import Evidence, Finding, Remedy, Text
from torchdoctor.tables import Tables

_WANTED = {"cudnn_benchmark": False, "deterministic_algorithms": True, "tf32_matmul": False, "tf32_cudnn": False}
_COMMANDS = ("export CUBLAS_WORKSPACE_CONFIG=:4096:8 PYTHONHASHSEED=0",)


@check("not-reproducible", severity="info")
def not_reproducible(facts: Facts, _tables: Tables) -> Iterator[Finding]:
    """A run does not repeat another's numbers, or nothing is set that would make it."""
    told: Mapping[str, object] = need(facts.trial.repro)
    differs = told.get("seeded_runs_equal") is False or told.get("worker_seeds_differ") is False
    missing = tuple(_missing(facts, told))
    if not differs and not missing:
        return
    yield Finding(
        summary=_summary(told, differs=differs, count=len(missing)),
        why=Text(
            "Equal seeds are not enough: some kernels add in an order of their own, cuDNN may pick another algorithm, "
            "and TF32 rounds. Equal numbers on another model of GPU or another release of torch cannot be had at all."
        ),
        evidence=missing,
        remedies=(
            Remedy(
                Text("Set these, seed everything, and call torch.use_deterministic_algorithms(True)"),
                commands=_COMMANDS,
            ),
        ),
        severity="warning" if differs else None,
    )


def _summary(told: Mapping[str, object], *, differs: bool, count: int) -> Text:
    if not differs:
        return Text("{count} settings for repeatable runs are left at their defaults", count=count)
    if told.get("worker_seeds_differ") is False:
        return Text("two DataLoader workers draw the same random numbers")
    return Text("two runs with one seed give different losses on {device}", device=told.get("device", "this host"))


def _missing(facts: Facts, told: Mapping[str, object]) -> Iterator[Evidence]:
    for name, wanted in _WANTED.items():
        if told.get(name) is (not wanted):
            yield seen(facts, f"trial.repro.{name}", told[name], "torch")
    for name in ("cublas_workspace_config", "pythonhashseed"):
        if name in told and not told[name]:
            yield seen(facts, f"trial.repro.{name}", None, "environment")
