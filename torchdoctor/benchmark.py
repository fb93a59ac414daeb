"""What the mini training benchmark measured: raw times become figures with their spread and certainty."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from math import comb
from statistics import median
from typing import Any

CONFIDENCE = 0.95
KNEE = 0.95  # of the best rate: with so many workers more are not worth it
Events = Iterable[tuple[str, Mapping[str, Any]]]
Telemetry = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Conditions:
    """What a GPU ran at during a series: medians of what was read, every throttle reason, the fastest PCIe link."""

    clock_mhz: float | None = None
    power_w: float | None = None
    power_limit_w: float | None = None
    temperature_c: float | None = None
    throttle: tuple[str, ...] = ()
    pcie_gen: int | None = None
    pcie_width: int | None = None


@dataclass(frozen=True, slots=True)
class Figure:
    """One series: seconds per step as median, quartiles and confidence interval of the median, and the rates."""

    name: str  # overhead, throughput, matmul, copy, h2d-pinned, h2d-pageable, d2h-pinned
    device: str
    dtype: str
    seconds: float
    quartiles: tuple[float, float]
    interval: tuple[float, float]
    samples: int
    settled: bool
    items_per_step: float | None = None
    flops_per_step: float | None = None
    bytes_per_step: float | None = None
    conditions: Conditions = Conditions()

    @property
    def work(self) -> float:
        """What a step does, in the unit that the figure is about: images, operations or bytes; else steps."""
        return self.items_per_step or self.flops_per_step or self.bytes_per_step or 1.0

    @property
    def rate(self) -> float:
        """Work per second, by the median."""
        return self.work / self.seconds

    @property
    def rates(self) -> tuple[float, float]:
        """Work per second at the slow and at the fast end of the confidence interval."""
        return self.work / self.interval[1], self.work / self.interval[0]


@dataclass(frozen=True, slots=True)
class BenchDevice:
    """A measured device, as torch describes it."""

    device: str
    kind: str  # cpu, cuda, rocm, mps, xpu
    model: str | None = None
    units: int | None = None
    threads: int | None = None
    memory: int | None = None
    pci: str | None = None
    uuid: str | None = None
    busy: str = ""  # measured all the same, because that was asked for


@dataclass(frozen=True, slots=True)
class Loss:
    """How a short training went; None: it was cut short, or there was nothing to compare it with."""

    device: str
    first: float
    last: float
    cpu_first: float
    cpu_last: float
    finite: bool
    fell: bool | None
    agrees: bool | None
    accuracy: float


@dataclass(frozen=True, slots=True)
class Waiting:
    """The share of the training's time that went by waiting for data."""

    device: str
    waiting_share: float
    workers: int
    pin: bool


@dataclass(frozen=True, slots=True)
class SweepRow:
    """Batches per second with some workers; None: not tried, for the reason given."""

    workers: int
    pin: bool
    batches_per_s: float | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Sweep:
    """How the number of workers changes the rate of a DataLoader."""

    rows: tuple[SweepRow, ...]
    usable_cpus: int
    shm_free: int | None = None

    @property
    def recommended(self) -> SweepRow | None:
        """The fewest workers, within the usable processors, that come near the best rate: the knee of the curve."""
        tried = [(row.batches_per_s, row) for row in self.rows if row.batches_per_s and row.workers <= self.usable_cpus]
        best = max((rate for rate, _ in tried), default=0.0)
        near = [(row.workers, -rate, row) for rate, row in tried if rate >= KNEE * best]
        return min(near, key=lambda item: item[:2])[2] if near else None


@dataclass(frozen=True, slots=True)
class Missing:
    """Something that was not measured, or failed, and why."""

    device: str
    reason: str
    stage: str = ""
    failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchResult:
    """Everything that one run measured; ``seconds`` None: it did not come to its end."""

    devices: tuple[BenchDevice, ...] = ()
    figures: tuple[Figure, ...] = ()
    losses: tuple[Loss, ...] = ()
    waits: tuple[Waiting, ...] = ()
    sweep: Sweep | None = None
    missing: tuple[Missing, ...] = ()
    profile: str = ""
    seconds: float | None = None

    def device(self, name: str) -> BenchDevice | None:
        """The device of a name such as ``cuda:0``."""
        return next((device for device in self.devices if device.device == name), None)


def summarise(events: Events, telemetry: Telemetry = ()) -> BenchResult:
    """Turn the events of target/bench.py into figures.

    ``telemetry`` holds what the asker read of its GPUs meanwhile: ``time`` (seconds since the epoch), one of ``device``,
    ``pci`` and ``uuid``, and fields of ``Conditions``, with ``throttle`` a list of reasons.
    """
    told: dict[str, list[Mapping[str, Any]]] = {}
    for kind, fields in events:
        told.setdefault(kind, []).append(fields)
    devices = tuple(_device(fields) for fields in told.get("bench-device", []))
    done = told.get("bench-done", [{}])[-1]
    return BenchResult(
        devices=devices,
        figures=tuple(
            _figure(fields, _joined(fields, devices, telemetry))
            for fields in told.get("bench-series", [])
            if fields.get("samples")
        ),
        losses=tuple(_loss(fields) for fields in told.get("bench-loss", [])),
        waits=tuple(_waiting(fields) for fields in told.get("bench-data", [])),
        sweep=next((_sweep(fields) for fields in told.get("bench-sweep", [])), None),
        missing=(
            *(Missing(str(fields["device"]), str(fields["reason"])) for fields in told.get("bench-skipped", [])),
            *(_failure(fields) for fields in told.get("bench-failed", [])),
        ),
        profile=str(done.get("profile", "")),
        seconds=_number(done.get("seconds")),
    )


def as_json(result: BenchResult) -> dict[str, Any]:
    """The ``bench`` object of a report; also what a baseline file holds."""
    recommended = result.sweep and result.sweep.recommended
    figures = [{**asdict(figure), "rate": figure.rate} for figure in result.figures]
    data = {**asdict(result), "figures": figures}
    return {**data, "recommended_workers": asdict(recommended) if recommended else None}


def from_json(data: Any) -> BenchResult:
    """Read a saved ``bench`` object, or a report that holds one; raise ``ValueError`` when it is neither."""
    bench = data.get("bench", data) if isinstance(data, Mapping) else None
    if not isinstance(bench, Mapping) or not isinstance(bench.get("figures"), list):
        raise ValueError("no benchmark in this file: expected a report with a bench object")  # noqa: TRY004 - one error type for a bad file
    try:
        return BenchResult(
            devices=tuple(_device(fields) for fields in bench.get("devices", [])),
            figures=tuple(_saved_figure(fields) for fields in bench["figures"]),
            profile=str(bench.get("profile", "")),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"not a benchmark of ours: {type(error).__name__}: {error}") from None


def median_interval(times: Sequence[float]) -> tuple[float, float]:
    """The confidence interval of the median by order statistics: no assumption on how the times are spread.

    With fewer than six times no interval is that sure; the whole range is given then.
    """
    ordered = sorted(times)
    rank = _rank(len(ordered))
    return ordered[rank], ordered[-1 - rank]


@cache
def _rank(count: int) -> int:
    """How many of the smallest and of the largest values may be left out: the binomial tail says how likely."""
    allowed, tail, rank = (1 - CONFIDENCE) / 2 * 2**count, 1, 0
    while tail <= allowed:
        rank += 1
        tail += comb(count, rank)
    return max(0, rank - 1)


def quartiles(times: Sequence[float]) -> tuple[float, float]:
    """The first and the third quartile."""
    ordered, last = sorted(times), len(times) - 1

    def at(share: float) -> float:
        low = int(share * last)
        high = min(low + 1, last)
        return ordered[low] + (share * last - low) * (ordered[high] - ordered[low])

    return at(0.25), at(0.75)


def _figure(fields: Mapping[str, Any], conditions: Conditions) -> Figure:
    times = [float(time) for time in fields["samples"]]
    return Figure(
        name=str(fields["name"]),
        device=str(fields["device"]),
        dtype=str(fields.get("dtype", "")),
        seconds=median(times),
        quartiles=quartiles(times),
        interval=median_interval(times),
        samples=len(times),
        settled=bool(fields.get("settled")),
        items_per_step=_number(fields.get("items_per_step")),
        flops_per_step=_number(fields.get("flops_per_step")),
        bytes_per_step=_number(fields.get("bytes_per_step")),
        conditions=conditions,
    )


def _joined(fields: Mapping[str, Any], devices: Sequence[BenchDevice], telemetry: Telemetry) -> Conditions:
    """What the asker read of this GPU while the series ran; else what torch itself could read."""
    device = next((device for device in devices if device.device == fields["device"]), None)
    began, ended = _number(fields.get("started")), _number(fields.get("ended"))
    read = [
        sample
        for sample in telemetry
        if device and began and ended and _is_of(sample, device) and began <= float(sample["time"]) <= ended
    ]
    return _conditions(read or [fields.get("conditions") or {}])


def _is_of(sample: Mapping[str, Any], device: BenchDevice) -> bool:
    """Compare by PCI address or UUID where both sides know one; torch's numbers of devices are its own."""
    if device.pci and sample.get("pci"):
        return str(sample["pci"]).lower()[-12:] == device.pci.lower()[-12:]
    if device.uuid and sample.get("uuid"):
        return str(sample["uuid"]).removeprefix("GPU-") == device.uuid.removeprefix("GPU-")
    return sample.get("device") == device.device


def _conditions(read: Sequence[Mapping[str, Any]]) -> Conditions:
    def middle(name: str) -> float | None:
        values = [value for sample in read if (value := _number(sample.get(name))) is not None]
        return median(values) if values else None

    def most(name: str) -> int | None:
        return max((int(sample[name]) for sample in read if sample.get(name)), default=None)

    return Conditions(
        middle("clock_mhz"), middle("power_w"), middle("power_limit_w"), middle("temperature_c"),
        tuple(sorted({str(reason) for sample in read for reason in sample.get("throttle") or ()})),
        most("pcie_gen"), most("pcie_width"),
    )  # fmt: skip


def _device(fields: Mapping[str, Any]) -> BenchDevice:
    names = ("model", "units", "threads", "memory", "pci", "uuid")
    return BenchDevice(
        str(fields["device"]), str(fields["kind"]), *(fields.get(name) for name in names), str(fields.get("busy") or "")
    )


def _loss(fields: Mapping[str, Any]) -> Loss:
    numbers = [float(fields[name]) for name in ("first", "last", "cpu_first", "cpu_last")]
    marks = [fields[name] for name in ("finite", "fell", "agrees")]
    return Loss(str(fields["device"]), *numbers, *marks, float(fields["accuracy"]))


def _waiting(fields: Mapping[str, Any]) -> Waiting:
    share, workers = float(fields["waiting_share"]), int(fields["workers"])
    return Waiting(str(fields.get("device", "")), share, workers, bool(fields["pin"]))


def _sweep(fields: Mapping[str, Any]) -> Sweep:
    rows = [
        SweepRow(int(row["workers"]), bool(row["pin"]), _number(row["batches_per_s"]), str(row.get("reason", "")))
        for row in fields["rows"]
    ]
    return Sweep(tuple(rows), int(fields["usable_cpus"]), fields.get("shm_free"))


def _failure(fields: Mapping[str, Any]) -> Missing:
    return Missing(str(fields["device"]), str(fields["error"]), str(fields["stage"]), failed=True)


def _saved_figure(fields: Mapping[str, Any]) -> Figure:
    known = {name: fields[name] for name in Figure.__slots__ if name in fields and name != "conditions"}
    low, high = (float(end) for end in fields["interval"])
    return Figure(**{**known, "seconds": float(fields["seconds"]), "interval": (low, high)})


def _number(value: Any) -> float | None:
    """A number, also one that was written as text."""
    return None if value is None else float(value)
