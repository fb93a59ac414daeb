"""The comparison of two reports, for people and as ``torchdoctor.diff/1``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from torchdoctor.diff.compare import Cause, Comparison, Difference, shown_pair
from torchdoctor.diff.sides import Side, Told
from torchdoctor.render.line import Line, harmless_json, on_one_line

SCHEMA = "torchdoctor.diff/1"
_WIDTH = 100  # characters of a value
_MOST = 40  # differences, without -v
_MOST_UNTOLD = 8
_NOT_RESTING = "no finding of one alone rests on a fact that differs"
_STYLES = {"error": "error", "warning": "warning"}


def render(comparison: Comparison, verbosity: int = 0) -> list[Line]:
    """Return the lines; ``verbosity`` 1 leaves nothing out, -1 leaves only the verdict."""
    return [line._replace(text=on_one_line(line.text)) for line in _lines(comparison, verbosity)]


def _lines(comparison: Comparison, verbosity: int) -> Iterator[Line]:
    yield verdict(comparison)
    if verbosity < 0:
        return
    for letter, side in (("A", comparison.a), ("B", comparison.b)):
        yield Line(f"{letter}: {side.name} ({side.status})", "dim")
    if comparison.a.made_by != comparison.b.made_by:
        yield Line(f"judged by different knowledge: {_maker(comparison.a)} and {_maker(comparison.b)}", "dim")
    yield from _differences(comparison.differences, None if verbosity > 0 else _MOST)
    yield from _findings(comparison.only_a, "A")
    yield from _findings(comparison.only_b, "B")
    yield from _untold(comparison, None if verbosity > 0 else _MOST_UNTOLD)


def verdict(comparison: Comparison) -> Line:
    """The one line that says it."""
    if comparison.is_empty:
        return Line("unknown: the two tell nothing that could be compared", "unknown")
    if comparison.is_open:
        return Line(f"unknown: nothing differs in the {_open(comparison)}", "unknown")
    if comparison.is_equal:
        return Line("equal: nothing differs in what both tell", "ok")
    if comparison.cause:
        return Line(f"differ: {comparison.cause.text}", "fail")
    alone = comparison.only_a + comparison.only_b
    if comparison.worst:
        where = comparison.a if comparison.worst in comparison.only_a else comparison.b
        words = f"{comparison.worst.summary} ({comparison.worst.id}) in {where.name} alone"
        return Line(f"differ: {words}; nothing that it rests on differs in what both tell", "fail")
    counts = (_count(len(comparison.differences), "fact"), _count(len(alone), "finding"))
    end = str(comparison.remark.text) if comparison.remark else _NOT_RESTING
    return Line(f"differ: {' and '.join(filter(None, counts))}; {end}", "warning")


def _open(comparison: Comparison) -> str:
    told = f"{_count(comparison.common, 'fact')} that both tell"
    one, other = comparison.a, comparison.b
    if one.status == other.status:
        return f"{told}: too little to call them alike"
    return (
        f"{told}, and yet {one.name} is {one.status} and {other.name} is {other.status}: one alone tells what decides"
    )


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}" if number else ""


def _maker(side: Side) -> str:
    return f"torchdoctor {side.made_by[0]}, tables {side.made_by[1]}"


def _differences(differences: Sequence[Difference], most: int | None) -> Iterator[Line]:
    for topic, items in groupby(differences[:most], lambda item: item.topic):
        yield Line("")
        yield Line(topic)
        for item in items:
            a, b = shown_pair(item.a, item.b)
            yield Line(f"  {item.fact}")
            yield Line(f"    A: {_cut(a)}")
            yield Line(f"    B: {_cut(b)}")
    if most is not None and len(differences) > most:
        yield Line(f"and {len(differences) - most} more: -v", "dim")


def _findings(findings: Sequence[Told], letter: str) -> Iterator[Line]:
    if findings:
        yield Line("")
        yield Line(f"found in {letter} alone")
    for finding in findings:
        yield Line(f"  {finding.severity} {finding.id}: {finding.summary}", _STYLES.get(finding.severity, ""))


def _untold(comparison: Comparison, most: int | None) -> Iterator[Line]:
    for letter, paths in (("A", comparison.untold_a), ("B", comparison.untold_b)):
        if paths:
            more = f" and {len(paths) - most} more (-v)" if most is not None and len(paths) > most else ""
            yield Line(f"not told in {letter}, and so not compared: {', '.join(paths[:most])}{more}", "dim")


def _cut(words: str) -> str:
    return words if len(words) <= _WIDTH else f"{words[:_WIDTH]}... ({len(words)} characters)"


def render_json(comparison: Comparison) -> str:
    """Return the comparison as one JSON object and a newline."""
    return harmless_json(json.dumps(diff_object(comparison), indent=1, ensure_ascii=False)) + "\n"


def diff_object(comparison: Comparison) -> dict[str, Any]:
    """Return the comparison as plain JSON values."""
    return {
        "schema": SCHEMA,
        "equal": comparison.is_equal and not (comparison.is_empty or comparison.is_open),
        "a": _side(comparison.a, comparison.untold_a, comparison.only_a),
        "b": _side(comparison.b, comparison.untold_b, comparison.only_b),
        "cause": _cause(comparison.cause) if comparison.cause else None,
        "differences": [{"fact": item.fact, "a": item.a, "b": item.b} for item in comparison.differences],
    }


def _cause(cause: Cause) -> dict[str, Any]:
    return {"text": str(cause.text), "finding": cause.finding, "facts": list(cause.facts), "sick": cause.sick}


def _side(side: Side, untold: Sequence[str], alone: Sequence[Told]) -> dict[str, Any]:
    made = {"torchdoctor": side.made_by[0], "tables": side.made_by[1]}
    findings = [_finding(finding) for finding in alone]
    return {"name": side.name, "status": side.status, **made, "findings_alone": findings, "untold": list(untold)}


def _finding(finding: Told) -> dict[str, Any]:
    return {"id": finding.id, "severity": finding.severity, "summary": finding.summary}
