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
    """What may be compared: one kind of work on several devices or in several types, and transfers with each other."""
    return "transfer" if "-" in figure.name else figure.name


def _figure(figure: Figure, share: float | None) -> Row:
    low, high = sorted(figure.rates)
    unit = _unit(figure)
    scale, sign = _scale(figure.rate, unit)
    rate = f"{_digits(figure.rate / scale)} {sign}{unit}"
    spread = f"{_digits(low / scale)} to {_digits(high / scale)}" if low < high else ""
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


def _scale(value: float, unit: str) -> tuple[float, str]:
    """What a number is divided by to be read, and the sign of that; images are counted."""
    if unit == "images/s":
        return 1.0, ""
    return next(((scale, sign) for scale, sign in _SCALES if value >= scale), (1.0, ""))


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
