"""What the benchmark measured, what it could not, and how it compares with an earlier run: a line for each."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.benchmark import summarise
from torchdoctor.benchmark_figures import BenchResult, Figure, Loss, Missing, Waiting
from torchdoctor.benchmark_verdicts import EQUAL, LEAST, Verdict, since
from torchdoctor.render.line import Line


def bench_lines(events: tuple[object, ...], baseline: object) -> Iterator[Line]:
    """Losses, figures, waits, the recommendation, what is missing, and each comparison with the baseline."""
    result = summarise(event for event in events if isinstance(event, dict))
    lines = [*map(_loss, result.losses), *map(_figure, result.figures), *map(_waiting, result.waits)]
    recommended = result.sweep.recommended if result.sweep else None
    if recommended:
        lines.append(f"DataLoader with {_workers(recommended.workers)}, pin_memory={recommended.pin}")
    lines += map(_missing, result.missing)
    if isinstance(baseline, BenchResult):
        lines += _since(result, baseline)
    for line in lines:
        yield Line(f"benchmark: {line}", "dim")


def _loss(loss: Loss) -> str:
    first, last = ("no number" if value is None else f"{value:.3g}" for value in (loss.first, loss.last))
    like_cpu = {True: ", as on the CPU", False: ", NOT as on the CPU", None: ""}[loss.agrees]
    if loss.device == "cpu":
        like_cpu = {True: ", the same when repeated", False: ", NOT the same when repeated", None: ""}[loss.agrees]
    short = ", cut short" if loss.fell is None else ""
    right = f", {loss.accuracy:.0%} of unseen images right" if loss.accuracy is not None else ""
    return f"loss on {loss.device}: {first} to {last}{short}{like_cpu}{right}"


def _figure(figure: Figure) -> str:
    low, high = sorted(figure.rates)
    spread = f" ({low:.3g} to {high:.3g})" if low < high else ""
    at = figure.conditions
    doubts = [f"at {at.clock_mhz:.0f} MHz"] if at.clock_mhz else []
    doubts += [f"throttled: {' '.join(at.throttle)}"] if at.throttle else []
    doubts += [] if figure.settled else ["still changing when it was measured"]
    doubts += [f"only {figure.samples} samples"] if figure.samples < LEAST else []
    return f"{_name(figure)}: {figure.rate:.3g} {_unit(figure)}{spread}{''.join(f', {doubt}' for doubt in doubts)}"


def _name(figure: Figure) -> str:
    return f"{figure.name} {figure.dtype} on {figure.device}".replace("  ", " ")


def _unit(figure: Figure) -> str:
    return "images/s" if figure.items_per_step else "operations/s" if figure.flops_per_step else "bytes/s"


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
