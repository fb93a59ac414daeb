"""What is compared of a report: facts that hosts of one kind share, and figures that differ a little by nature."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeGuard

from torchdoctor.diff.compare import PASSING
from torchdoctor.diff.sides import LISTS, Side
from torchdoctor.records import record

# What differs from one host, job or process to the next and says nothing of how the host was set up.
_OF_ONE_HOST = PASSING | {
    "gpus[].pci_address", "driver.kernel_log", "trial.error", "trial.init_error", "python.executable",
    "torch.locations", "place.venvs", "place.project_folder", "place.project", "exhausted.tried", "exhausted.free",
    "exhausted.others", "exhausted.allocated", "exhausted.reserved",
}  # fmt: skip
_OF_ONE_JOB = re.compile(r"env\.(?:SLURM_|PBS_|LSB_|VIRTUAL_ENV$|WSL_DISTRO_NAME$|KUBERNETES_SERVICE_HOST$)")
# Bytes that a kernel, a firmware or another process takes a little of.
_NEARLY = {"memory.total": 0.02, "memory.limit": 0.02, "memory.shm": 0.02, "gpus[].memory": 0.02}
_CONDITIONS = ("pcie_gen", "pcie_width", "power_limit_w")  # of a figure, while it was measured
_SHARED = "cpu"  # whose speed is that of the other programs on it
_MOST = 1e30
SLOW = 0.15  # below the median of its kind by so much


@record(frozen=True, slots=True)
class Rate:
    """A speed that was measured: of what, on which kind of device, per second."""

    kind: str  # NVIDIA H100 80GB HBM3, throughput bf16
    device: str  # cuda:3
    value: float


def facts_of(side: Side) -> Iterator[tuple[str, str]]:
    """Every fact that hosts of one kind share, with its value in words; GPUs keep their number."""
    for path, value in side.facts.items():
        name = kind_of(path)
        if name not in _OF_ONE_HOST and name not in _NEARLY and not _OF_ONE_JOB.match(name):
            yield path, worded(value)


def sizes_of(side: Side) -> Iterator[tuple[str, float]]:
    """Every fact that is nearly the same on hosts of one kind."""
    for path, value in side.facts.items():
        if kind_of(path) in _NEARLY and _is_number(value):
            yield path, float(value)


def tolerance(path: str) -> float:
    """By which share of itself such a fact may differ."""
    return _NEARLY[kind_of(path)]


@lru_cache(maxsize=10_000)
def kind_of(path: str) -> str:
    """The fact's name without the number of the GPU."""
    return re.sub(r"\[\d+\]", "[]", path)


def is_listed(path: str) -> bool:
    """Whether a report that was made on the host itself says by silence that there is none."""
    return path.startswith(LISTS)


def worded(value: Any) -> str:
    """A value in words."""
    if value is None or value == []:
        return "none"
    return ", ".join(map(worded, value)) if isinstance(value, list) else str(value)


def measured(report: Mapping[str, Any]) -> tuple[list[Rate], list[tuple[str, str]]]:
    """The speeds that a report's benchmark measured, and under which conditions; nothing where it has none."""
    bench = report.get("bench")
    if not isinstance(bench, dict):
        return [], []
    models = {
        str(item.get("device")): str(item.get("model") or item.get("backend")) for item in _rows(bench, "devices")
    }
    rates, conditions = [], []
    for figure in _rows(bench, "figures"):
        device = str(figure.get("device"))
        model = models.get(device, device.partition(":")[0])
        if (rate := _rate(figure)) is not None:
            rates.append(Rate(f"{model}, {figure.get('name')} {figure.get('dtype')}", device, rate))
        told = figure.get("conditions")
        if isinstance(told, dict):
            conditions += [(f"bench.{device}.{name}", worded(told[name])) for name in _CONDITIONS if told.get(name)]
    return rates, list(dict(conditions).items())


def _rate(figure: Mapping[str, Any]) -> float | None:
    """Per second: of items, operations or bytes, whichever it counts, else of steps; None of what had not settled."""
    seconds = figure.get("seconds")
    if not _is_number(seconds) or not seconds > 0 or figure.get("settled") is False:
        return None
    amounts = (figure.get(name) for name in ("items_per_step", "flops_per_step", "bytes_per_step"))
    amount = next((item for item in amounts if _is_number(item) and item > 0), 1.0)
    return float(amount) / float(seconds)


def _is_number(value: Any) -> TypeGuard[float]:
    """A number that a host can have: what stands in a file may have any length."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < _MOST


def _rows(bench: Mapping[str, Any], name: str) -> Sequence[Mapping[str, Any]]:
    value = bench.get(name)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
