"""What a run must have set to be repeatable: judged only when somebody asks (``check --repro``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from torchdoctor.checks.registry import check, seen
from torchdoctor.facts import Facts, need
from torchdoctor.findings import Evidence, Finding, Remedy, Text, setting
from torchdoctor.tables import Tables

_WANTED = {"deterministic_algorithms": True}
_WANTED_ON_GPU = {"cudnn_benchmark": False, "tf32_matmul": False, "tf32_cudnn": False}
_VARIABLES = {"PYTHONHASHSEED": "0"}
_VARIABLES_ON_GPU = {"CUBLAS_WORKSPACE_CONFIG": ":4096:8"}


@check("not-reproducible", severity="info")
def not_reproducible(facts: Facts, _tables: Tables) -> Iterator[Finding]:
    """A run does not repeat another's numbers, or nothing is set that would make it."""
    told: Mapping[str, object] = need(facts.trial.repro)
    on_gpu = any(device.startswith("cuda") for device in _equal(told))
    variables = {**(_VARIABLES_ON_GPU if on_gpu else {}), **_VARIABLES}
    differs = told.get("seeded_runs_equal") is False or told.get("worker_seeds_differ") is False
    missing = (*_flags(facts, told, on_gpu=on_gpu), *_unset(facts, told, variables))
    if not differs and not missing:
        return
    yield Finding(
        summary=_summary(told, differs=differs, count=len(missing)),
        why=_why(on_gpu=on_gpu),
        evidence=(*_measured(facts, told), *missing),
        remedies=(
            Remedy(
                Text("Set these, seed everything, and call torch.use_deterministic_algorithms(True)"),
                commands=(setting(**variables),),
            ),
        ),
        severity="warning" if differs else None,
    )


def _equal(told: Mapping[str, object]) -> Mapping[str, object]:
    """For each device that was tried, whether two runs gave the same numbers."""
    devices = told.get("devices")
    if isinstance(devices, dict) and devices:
        return devices
    return {str(told.get("device", "")): told.get("seeded_runs_equal")}


def _why(*, on_gpu: bool) -> Text:
    if on_gpu:
        return Text(
            "Equal seeds are not enough: some kernels add in an order of their own, cuDNN may pick another algorithm, "
            "and TF32 rounds. Equal numbers on another model of GPU or another release of torch cannot be had at all."
        )
    return Text(
        "Equal seeds are not enough: some kernels add in an order of their own, which the number of threads changes. "
        "Equal numbers on another processor or another release of torch cannot be had at all."
    )


def _summary(told: Mapping[str, object], *, differs: bool, count: int) -> Text:
    if not differs:
        return Text("{count} settings for repeatable runs are left at their defaults", count=count)
    if told.get("worker_seeds_differ") is False:
        return Text("two DataLoader workers draw the same random numbers")
    odd = ", ".join(name for name, equal in _equal(told).items() if equal is False)
    return Text("two runs with one seed give different losses on {device}", device=odd or "this host")


def _measured(facts: Facts, told: Mapping[str, object]) -> Iterator[Evidence]:
    """What was tried and went wrong."""
    for name, equal in _equal(told).items():
        if equal is False:
            yield seen(facts, "trial.repro.seeded_runs_equal", f"no, on {name}" if name else equal, "smoke tests")
    if told.get("worker_seeds_differ") is False:
        yield seen(facts, "trial.repro.worker_seeds_differ", value=False, at="smoke tests")


def _flags(facts: Facts, told: Mapping[str, object], *, on_gpu: bool) -> Iterator[Evidence]:
    for name, wanted in {**(_WANTED_ON_GPU if on_gpu else {}), **_WANTED}.items():
        if told.get(name) is (not wanted):
            yield seen(facts, f"trial.repro.{name}", told[name], "torch")


def _unset(facts: Facts, told: Mapping[str, object], variables: Mapping[str, str]) -> Iterator[Evidence]:
    for name in map(str.lower, variables):
        if name in told and not told[name]:
            yield seen(facts, f"trial.repro.{name}", None, "environment")
