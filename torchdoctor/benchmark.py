"""What the mini training benchmark measured: raw times become figures; figures are saved and read back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from torchdoctor.benchmark_figures import (
    BenchDevice,
    BenchResult,
    Conditions,
    Figure,
    Loss,
    Missing,
    Sweep,
    SweepRow,
    Waiting,
    median_interval,
    quartiles,
)
from torchdoctor.records import fields as members
from torchdoctor.records import is_record, replace

T = TypeVar("T")
Events = Iterable[Mapping[str, Any]]
Telemetry = Sequence[Mapping[str, Any]]
TELEMETRY, _SWEEP = "bench-telemetry", "bench-sweep"
_NO_TIME = "no time was left"  # as target/bench_data.py says it


def summarise(events: Events, telemetry: Telemetry = ()) -> BenchResult:
    """Turn the events of target/bench.py, each with its ``kind``, into figures; a malformed one is left out.

    ``telemetry`` holds what the asker read of its GPUs meanwhile: ``time`` (seconds since the epoch), ``pci``, ``uuid``
    or ``device`` (cuda:0), and the fields of ``Conditions``, ``throttle`` as a list of reasons. A recording brings it
    as an event of its own kind, with ``samples``.
    """
    told: dict[str, list[Mapping[str, Any]]] = {}
    for fields in events:
        told.setdefault(str(fields.get("kind")), []).append(fields)
    samples = [*telemetry, *(sample for fields in told.get(TELEMETRY, ()) for sample in fields["samples"])]
    devices = _read(_device, told.get("bench-device"))
    done = told.get("bench-done", [{}])[-1]
    return BenchResult(
        devices=devices,
        figures=_read(lambda fields: _figure(fields, _joined(fields, devices, samples)), told.get("bench-series")),
        losses=_read(_loss, told.get("bench-loss")),
        waits=_read(_waiting, told.get("bench-data")),
        sweep=_last_sweep(told),
        missing=_read(_missing, [*told.get("bench-skipped", []), *told.get("bench-failed", [])]),
        profile=str(done.get("profile", "")),
        seconds=next(iter(_read(lambda fields: _number(fields["seconds"]), [done])), None),
    )


def _read(reader: Callable[[Mapping[str, Any]], T], events: Iterable[Mapping[str, Any]] | None) -> tuple[T, ...]:
    """What a reader makes of each event; one that is not as it should be tells nothing."""
    read: list[T] = []
    for fields in events or ():
        with suppress(KeyError, TypeError, ValueError, ArithmeticError):
            read.append(reader(fields))
    return tuple(read)


def as_json(result: BenchResult) -> dict[str, Any]:
    """The ``bench`` object of a report; also what a baseline file holds."""
    recommended = result.sweep.recommended if result.sweep else None
    figures = [{**_plain(figure), "rate": figure.rate} for figure in result.figures]
    return {**_plain(result), "figures": figures, "recommended_workers": _plain(recommended)}


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


def _figure(fields: Mapping[str, Any], conditions: Conditions) -> Figure:
    from statistics import median  # late: it is not for every start

    times = [float(time) for time in fields["samples"] if float(time) > 0]
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
    from statistics import median  # as above

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
    told: dict[str, Any] = {name: fields.get(name) for name in names}
    return BenchDevice(
        device=str(fields["device"]), backend=str(fields["backend"]), busy=str(fields.get("busy") or ""), **told
    )


def _loss(fields: Mapping[str, Any]) -> Loss:
    return Loss(
        device=str(fields["device"]),
        first=_number(fields["first"]),
        last=_number(fields["last"]),
        cpu_first=_number(fields["cpu_first"]),
        cpu_last=_number(fields["cpu_last"]),
        finite=bool(fields["finite"]),
        fell=_mark(fields["fell"]),
        agrees=_mark(fields["agrees"]),
        accuracy=_number(fields["accuracy"]),
    )


def _waiting(fields: Mapping[str, Any]) -> Waiting:
    share, workers = float(fields["waiting_share"]), int(fields["workers"])
    return Waiting(str(fields.get("device", "")), share, workers, bool(fields["pin"]))


def _last_sweep(told: Mapping[str, list[Mapping[str, Any]]]) -> Sweep | None:
    """Each tells what the one before it told; marked where no end of it was told."""
    sweep = next(reversed(_read(_sweep, told.get(_SWEEP))), None)
    crashed = any(str(fields.get("stage", "")).startswith(_SWEEP) for fields in told.get("bench-failed", ()))
    unfinished = "bench-plan" in told and "bench-done" not in told
    late = sweep is not None and any(row.reason == _NO_TIME for row in sweep.rows)
    return replace(sweep, complete=not (crashed or unfinished or late)) if sweep else None


def _sweep(fields: Mapping[str, Any]) -> Sweep:
    rows = [
        SweepRow(int(row["workers"]), bool(row["pin"]), _number(row["batches_per_s"]), str(row.get("reason", "")))
        for row in fields["rows"]
    ]
    return Sweep(tuple(rows), int(fields["usable_cpus"]), fields.get("shm_free"))


def _missing(fields: Mapping[str, Any]) -> Missing:
    failed = fields["kind"] == "bench-failed"
    reason = str(fields["error"] if failed else fields["reason"])
    return Missing(str(fields["device"]), reason, str(fields.get("stage", "")), failed=failed)


def _saved_figure(fields: Mapping[str, Any]) -> Figure:
    (q1, q3), (low, high) = fields["quartiles"], fields["interval"]
    return Figure(
        name=str(fields["name"]),
        device=str(fields["device"]),
        dtype=str(fields["dtype"]),
        seconds=float(fields["seconds"]),
        quartiles=(float(q1), float(q3)),
        interval=(float(low), float(high)),
        samples=int(fields["samples"]),
        settled=bool(fields["settled"]),
        items_per_step=_number(fields["items_per_step"]),
        flops_per_step=_number(fields["flops_per_step"]),
        bytes_per_step=_number(fields["bytes_per_step"]),
        conditions=_conditions([fields.get("conditions") or {}]),
    )


def _plain(thing: Any) -> Any:
    """Records as objects, tuples as lists, all else as it is."""
    if is_record(thing):
        return {member.name: _plain(getattr(thing, member.name)) for member in members(thing)}
    return [_plain(item) for item in thing] if isinstance(thing, tuple) else thing


def _mark(value: Any) -> bool | None:
    """Yes, no, or not given."""
    return value if isinstance(value, bool) else None


def _number(value: Any) -> float | None:
    """A number, also one that was written as text."""
    return None if value is None else float(value)
