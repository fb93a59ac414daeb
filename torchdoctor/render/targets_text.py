"""The table of the hosts that were asked about: verdict and reason of each, then what would make it run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from torchdoctor.findings import Prediction
from torchdoctor.render.line import Line
from torchdoctor.render.look import FILE, Look

WORDS = {"runs": "runs", "runs-with-warnings": "warning", "will-not-run": "will not run", "unknown": "unknown"}
_STYLES = {"runs": "ok", "runs-with-warnings": "warning", "will-not-run": "fail", "unknown": "unknown"}
_COUNTS = {
    "runs": "{count} will run it",
    "runs-with-warnings": "{count} with warnings",
    "will-not-run": "{count} will not run it",
    "unknown": "{count} unknown",
}
_WIDEST = 40
_REASON = 24  # columns that a reason needs beside the name and the verdict


def summary(targets: Sequence[Prediction]) -> str:
    """How many of the targets will run it, and how many will not."""
    counts = Counter[str](item.verdict for item in targets)
    told = (words.format(count=counts[verdict]) for verdict, words in _COUNTS.items() if counts[verdict])
    return f"{len(targets)} target{'s' if len(targets) != 1 else ''}: {', '.join(told)}"


def target_lines(targets: Sequence[Prediction], look: Look = FILE) -> Iterator[Line]:
    """One line a target, and under it what to change; a change told for one is named again for the others.

    The verdicts stand below each other where there is room for that.
    """
    if not targets:
        return
    yield Line("")
    width = min(_WIDEST, max(len(item.name) for item in targets))
    is_table = not look.plain and (not look.columns or look.columns >= width + 18 + _REASON)
    told: set[tuple[str, ...]] = set()
    for item in targets:
        word = WORDS[item.verdict]
        head = f"{item.name:{width}}  {word:12}  " if is_table else f"{item.name}: {word}: "
        yield Line(f"  {head}{item.why}", _STYLES[item.verdict])
        yield from _changes(item, " " * (width + 4 if is_table else 4), told)


def _changes(item: Prediction, margin: str, told: set[tuple[str, ...]]) -> Iterator[Line]:
    if item.missing:
        yield Line(f"{margin}say: {item.missing}{f' ({item.change})' if item.change else ''}")
    if item.verdict == "will-not-run" and item.change is not None:
        yield Line(f"{margin}do: {item.change}{' (as above)' if item.commands in told else ''}")
        for command in () if item.commands in told else item.commands:
            yield Line(f"{margin}  {command}", "command")
        told.update({item.commands} if item.commands else ())
        yield from (Line(f"{margin}or: {text}") for text in item.other_changes)
    elif item.verdict == "will-not-run":
        more = [other for other in item.findings[1:] if other.severity == "error" and other.explained_by is None]
        yield from (Line(f"{margin}and: {other.summary}") for other in more)
        yield from (Line(f"{margin}do: no single change does") for _ in more[:1])
