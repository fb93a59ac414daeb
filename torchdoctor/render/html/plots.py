"""What the benchmark measured, as plots and as a table: step times, shares of the peak, bandwidths, workers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torchdoctor.benchmark import from_json
from torchdoctor.benchmark_figures import BenchResult, Figure
from torchdoctor.benchmark_verdicts import GIGA, TERA, Verdict, verdicts
from torchdoctor.render.html.drawing import Bar, chart
from torchdoctor.render.html.markup import listed, table, text
from torchdoctor.render.html.told import Told, items, member, number
from torchdoctor.tables import Tables

_COPIES = ("copy", "h2d-pinned", "h2d-pageable", "d2h-pinned")
_NAMES = {
    "overhead": "smallest step", "throughput": "training step", "matmul": "matrix product",
    "copy": "copy on the device", "h2d-pinned": "to the device, pinned", "h2d-pageable": "to the device, pageable",
    "d2h-pinned": "from the device, pinned",
}  # fmt: skip
_AGAINST = {"peak": "of its peak", "memory": "of its bandwidth", "pcie": "of its PCIe link"}
_COUNTED = 100  # of so many and more no fraction is told
_MOST = 24  # bars of one plot
_SHORT, _LONG, _MUCH = 1e-12, 1e9, 1e24  # seconds, and work in a step, that no benchmark reaches


def benchmark(bench: object, tables: Tables) -> Iterator[str]:
    """The plots, the table that holds their numbers, and what was not measured."""
    result = _result(bench)
    if result is None:
        return
    yield '<div class="plots">'
    yield _step_times(result.figures)
    yield _shares(verdicts(result, tables))
    yield _bandwidths(result.figures)
    yield _workers(bench)
    yield "</div>"
    yield table("Every figure of the benchmark", _HEADS, map(_row, result.figures), _CLASSES)
    yield listed(text(_missing(item)) for item in items(member(bench, "missing")))


def _result(bench: object) -> BenchResult | None:
    """The figures; none where the object is not one that we wrote."""
    if not isinstance(bench, dict):
        return None
    try:
        result = from_json({**bench, "devices": [_device(device) for device in items(bench.get("devices"))]})
    except (ValueError, OverflowError, AttributeError):
        return None
    return result if all(map(_is_drawable, result.figures)) else None


def _device(told: Told) -> Told:
    model, units = told.get("model"), number(told.get("units"))
    return {**told, "model": str(model) if model else None, "units": int(units) if units else None}


def _is_drawable(figure: Figure) -> bool:
    work = (figure.items_per_step, figure.flops_per_step, figure.bytes_per_step)
    times = (figure.seconds, *figure.quartiles, *figure.interval)
    return all(_SHORT < time < _LONG for time in times) and all(0 <= (done or 0) < _MUCH for done in work)


def _name(figure: Figure) -> str:
    return " ".join(part for part in (_NAMES.get(figure.name, figure.name), figure.dtype, figure.device) if part)


def _figure(title: str, picture: str, note: str) -> str:
    return f"<figure>\n<figcaption>{text(title)}</figcaption>\n{picture}\n<p>{text(note)}</p>\n</figure>"


def _step_times(figures: Sequence[Figure]) -> str:
    """Each series by its own median, so that all share a scale."""
    timed = [figure for figure in figures if figure.samples > 1][:_MOST]
    if not timed:
        return ""
    end = min(3.0, max(1.25, *(high / figure.seconds for figure in timed for high in _ends(figure)[1:])))
    bars = [_spread(figure, end) for figure in timed]
    drawn = chart("step-times", "Distribution of step times", bars, end * 100, "% of the median")
    note = "Box: the middle half of the steps. Long line: the median. Thin line: where the median surely lies (95 %)."
    return _figure("Distribution of step times", drawn, note)


def _ends(figure: Figure) -> tuple[float, float]:
    return min(figure.quartiles[0], figure.interval[0]), max(figure.quartiles[1], figure.interval[1])


def _spread(figure: Figure, end: float) -> Bar:
    def share(seconds: float) -> float:
        return min(seconds / figure.seconds, end) * 100

    low, high = figure.quartiles
    return Bar(
        label=_name(figure),
        told=f"{_time(figure.seconds)} ({figure.samples} steps)",
        value=100.0,
        box=(share(low), share(high)),
        whisker=(share(figure.interval[0]), share(figure.interval[1])),
    )


def _time(seconds: float) -> str:
    for size, unit in ((1, "s"), (1e-3, "ms")):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"


def _shares(found: Sequence[Verdict]) -> str:
    """How near the hardware's own limits it came, with the share below which it counts as slow."""
    bars = [
        Bar(
            label=_name(verdict.figure),
            told=f"{verdict.ratio:.0%} {_AGAINST[verdict.against]}{', slow' if verdict.slow else ''}",
            value=verdict.ratio * 100,
            mark=verdict.threshold * 100,
            state="bad" if verdict.slow else "ok",
        )
        for verdict in found
        if verdict.against in _AGAINST
    ][:_MOST]
    if not bars:
        return ""
    end = max(100.0, *(bar.value for bar in bars))
    drawn = chart("peaks", "Percentage of the peak", bars, end, "%")
    return _figure("Percentage of the peak", drawn, "The upright line: below it a device counts as slow.")


def _bandwidths(figures: Sequence[Figure]) -> str:
    bars = [
        Bar(_name(figure), f"{figure.rate / GIGA:.3g} GB/s", figure.rate / GIGA)
        for figure in figures
        if figure.name in _COPIES and figure.bytes_per_step
    ][:_MOST]
    if not bars:
        return ""
    drawn = chart("bandwidths", "Bandwidth", bars, max(bar.value for bar in bars), "GB/s")
    return _figure("Bandwidth", drawn, "Bytes that arrive in a second.")


def _workers(bench: object) -> str:
    """The sweep over DataLoader workers; the recommended number is marked."""
    rows = [row for row in items(member(bench, "sweep", "rows")) if number(row.get("batches_per_s"))]
    if not rows:
        return ""
    best = member(bench, "recommended_workers")
    bars = [_worker(row, isinstance(best, dict) and _same(row, best)) for row in rows[:_MOST]]
    drawn = chart("workers", "DataLoader workers", bars, max(bar.value for bar in bars), "batches/s")
    return _figure("DataLoader workers", drawn, "The fewest workers that come near the best rate are recommended.")


def _same(row: Told, other: Told) -> bool:
    return (row.get("workers"), row.get("pin")) == (other.get("workers"), other.get("pin"))


def _worker(row: Told, is_best: bool) -> Bar:
    rate, count = number(row.get("batches_per_s")) or 0.0, row.get("workers")
    name = f"{count} worker{'' if count == 1 else 's'}{', pinned' if row.get('pin') is True else ''}"
    return Bar(
        name, f"{rate:.3g} batches/s{', recommended' if is_best else ''}", rate, state="ok" if is_best else "none"
    )


_HEADS = ("what", "device", "type", "rate", "median step", "steps", "ran at")
_CLASSES = ("", "", "", "number", "number", "number", "")


def _row(figure: Figure) -> tuple[str, ...]:
    told = (_NAMES.get(figure.name, figure.name), figure.device, figure.dtype, _rate(figure), _time(figure.seconds))
    return tuple(map(text, (*told, figure.samples, _conditions(figure))))


def _rate(figure: Figure) -> str:
    if figure.items_per_step:
        return f"{figure.rate:,.0f} images/s" if figure.rate >= _COUNTED else f"{figure.rate:.3g} images/s"
    if figure.flops_per_step:
        return f"{figure.rate / TERA:.3g} TFLOP/s"
    return f"{figure.rate / GIGA:.3g} GB/s" if figure.bytes_per_step else f"{figure.rate:.3g} steps/s"


def _conditions(figure: Figure) -> str:
    at = figure.conditions
    told = [f"{at.clock_mhz:.0f} MHz"] if at.clock_mhz else []
    told += [f"{at.power_w:.0f} W"] if at.power_w else []
    told += [f"{at.temperature_c:.0f} C"] if at.temperature_c else []
    told += [f"throttled: {' '.join(at.throttle)}"] if at.throttle else []
    return ", ".join(told + ([] if figure.settled else ["not settled"]))


def _missing(item: Told) -> str:
    how = "failed" if item.get("failed") is True else "not measured"
    return f"{how} on {item.get('device')}: {str(item.get('reason') or 'no reason given')[:300]}"
