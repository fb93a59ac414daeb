"""What the benchmark measured, what it could not, and how it compares with an earlier run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torchdoctor.benchmark import summarise
from torchdoctor.benchmark_figures import BenchResult, Figure, Loss, Missing, Sweep, SweepRow, Waiting
from torchdoctor.benchmark_verdicts import EQUAL, LEAST, Verdict, since
from torchdoctor.render.line import Line
from torchdoctor.render.look import Look, Row, table

_FIGURES = ("device", "benchmark", "rate", "95 % interval")
_SCALES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_MANY = 1000


def bench_lines(events: tuple[object, ...], baseline: object, look: Look) -> Iterator[Line]:
    """Losses, figures, waits, the sweep, what is missing, and each comparison with the baseline."""
    result = summarise(event for event in events if isinstance(event, dict))
    yield from map(_line, map(_loss, result.losses))
    yield from table(_FIGURES, _figures(result.figures), look)
    yield from map(_line, map(_waiting, result.waits))
    if result.sweep:
        yield from _sweep(result.sweep, look)
    yield from map(_line, map(_missing, result.missing))
    if isinstance(baseline, BenchResult):
        yield from map(_line, _since(result, baseline))


def _line(text: str) -> Line:
    return Line(f"benchmark: {text}", "dim")


def _loss(loss: Loss) -> str:
    first, last = ("no number" if value is None else f"{value:.3g}" for value in (loss.first, loss.last))
    like_cpu = {True: ", as on the CPU", False: ", NOT as on the CPU", None: ""}[loss.agrees]
    if loss.device == "cpu":
        like_cpu = {True: ", the same when repeated", False: ", NOT the same when repeated", None: ""}[loss.agrees]
    short = ", cut short" if loss.fell is None else ""
    right = f", {loss.accuracy:.0%} of unseen images right" if loss.accuracy is not None else ""
    return f"loss on {loss.device}: {first} to {last}{short}{like_cpu}{right}"


def _figures(figures: Sequence[Figure]) -> list[Row]:
    """A row each; a bar is of the fastest of those that can be compared, where there are several."""
    alike: dict[str, list[float]] = {}
    for figure in figures:
        alike.setdefault(_kind(figure), []).append(figure.rate)
    rates = [alike[_kind(figure)] for figure in figures]
    shares = [
        figure.rate / max(others) if len(others) > 1 else None for figure, others in zip(figures, rates, strict=True)
    ]
    return [_figure(figure, share) for figure, share in zip(figures, shares, strict=True)]


def _kind(figure: Figure) -> str:
    """What may be compared: trainings of one kind, else whatever has the same unit."""
    return figure.name if figure.items_per_step else _unit(figure)


def _figure(figure: Figure, share: float | None) -> Row:
    low, high = sorted(figure.rates)
    unit = _unit(figure)
    rate, spread = _amounts(unit, figure.rate), _amounts(unit, low, high) if low < high else ""
    sentence = f"benchmark: {_name(figure)}: {rate}{f' ({spread})' if spread else ''}"
    name = f"{figure.name} {figure.dtype}".strip()
    return Row((figure.device, name, rate, spread), sentence, share, ", ".join(_doubts(figure)))


def _doubts(figure: Figure) -> Iterator[str]:
    """What takes from the worth of a figure, or explains it."""
    at = figure.conditions
    if at.clock_mhz:
        yield f"at {at.clock_mhz:.0f} MHz"
    if at.throttle:
        yield f"throttled: {' '.join(at.throttle)}"
    if not figure.settled:
        yield "still changing when it was measured"
    if figure.samples < LEAST:
        yield f"only {figure.samples} sample{'s' if figure.samples > 1 else ''}"


def _amounts(unit: str, *values: float) -> str:
    """Numbers of three digits that share a scale, and their unit: 1,140 images/s; 23.1 to 24.9 GB/s."""
    scale, sign = next(((scale, sign) for scale, sign in _SCALES if values[-1] >= scale), (1.0, ""))
    if unit == "images/s":
        scale, sign = 1.0, ""
    return f"{' to '.join(_digits(value / scale) for value in values)} {sign}{unit}"


def _digits(value: float) -> str:
    return f"{float(f'{value:.3g}'):,.0f}" if value >= _MANY else f"{value:.3g}"


def _name(figure: Figure) -> str:
    return f"{figure.name} {figure.dtype} on {figure.device}".replace("  ", " ")


def _unit(figure: Figure) -> str:
    return "images/s" if figure.items_per_step else "flop/s" if figure.flops_per_step else "B/s"


def _sweep(sweep: Sweep, look: Look) -> Iterator[Line]:
    """The rate with each number of workers, and which one to take."""
    tried = [(row, row.batches_per_s) for row in sweep.rows if row.batches_per_s]
    best = max((rate for _, rate in tried), default=0.0)
    yield from table(("DataLoader", "", "rate"), [_setting(row, rate, rate / best) for row, rate in tried], look)
    if take := sweep.recommended:
        yield _line(f"fewest workers that keep up: DataLoader(num_workers={take.workers}, pin_memory={take.pin})")


def _setting(row: SweepRow, rate: float, share: float) -> Row:
    workers, pinned, shown = _workers(row.workers), "pinned" if row.pin else "", f"{_digits(rate)} batches/s"
    sentence = f"benchmark: DataLoader with {workers}{', pinned' if row.pin else ''}: {shown}"
    return Row((workers, pinned, shown), sentence, share)


def _waiting(wait: Waiting) -> str:
    pinned = ", pinned" if wait.pin else ""
    return f"{wait.device} waits {wait.waiting_share:.0%} of the time for data ({_workers(wait.workers)}{pinned})"


def _workers(count: int) -> str:
    return "1 worker" if count == 1 else f"{count} workers"


def _missing(item: Missing) -> str:
    part = item.stage.removeprefix("bench-")
    how = f"{part} failed" if item.failed else "not measured"
    return f"{how} on {item.device}: {item.reason.splitlines()[0][:300] if item.reason else 'no reason given'}"


def _how(verdict: Verdict) -> str:
    if verdict.slow:
        return "slower"
    if verdict.ratio < EQUAL:
        return "slower, but too few or too scattered samples to be sure"
    return "faster" if verdict.ratio > 1 / EQUAL else "as fast"


def _since(result: BenchResult, baseline: BenchResult) -> Iterator[str]:
    """Each figure that the earlier run has too, slower or not; and that there is none."""
    compared = list(since(result, baseline))
    for verdict in compared:
        yield f"{_name(verdict.figure)}: {verdict.ratio:.0%} of the earlier run, {_how(verdict)}"
    if not compared:
        yield "nothing to compare with the earlier run: no figure of the same device and model"
