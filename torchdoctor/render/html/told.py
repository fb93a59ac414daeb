"""A report's JSON as plain values: a stranger may have written it, so nothing is taken for granted but its syntax."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from torchdoctor.patterns import lazily

Told = Mapping[str, Any]
_MOST_DEEP = 20  # no fact is nested deeper
_PLACE = lazily(r"\[\d+\]")


def items(value: object) -> list[Told]:
    """The objects of an array; none where it is no array."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def member(value: object, *names: str) -> Any:
    """What lies below these names; None where nothing does."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def number(value: object) -> float | None:
    """A finite number, else None: true and false are none."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(str(value)) if is_number and abs(float(str(value))) < float("inf") else None


def words(value: object) -> str:
    """A value as text: what is not there is ``none``."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def causes(report: Told) -> Iterator[tuple[Told, list[Told]]]:
    """The findings that nothing in the report explains, each with those that follow from it."""
    told = items(report.get("findings"))
    ids = [finding.get("id") for finding in told]
    for finding in told:
        if finding.get("explained_by") is None or finding["explained_by"] not in ids:
            name = finding.get("id")
            yield finding, [other for other in told if name is not None and other.get("explained_by") == name]


def errors_of(report: Told) -> dict[str, str]:
    """The summaries of the errors that were found, by their ids."""
    told = (finding for finding in items(report.get("findings")) if finding.get("severity") == "error")
    return {str(finding.get("id")): str(finding.get("summary")) for finding in told}


def commands(remedy: Told) -> list[str]:
    """The lines to type."""
    told = remedy.get("commands")
    return [line for line in told if isinstance(line, str)] if isinstance(told, list) else []


def flat(value: object, path: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """Every fact under its dotted path."""
    if isinstance(value, dict) and depth < _MOST_DEEP:
        for name, inner in value.items():
            yield from flat(inner, f"{path}.{name}" if path else str(name), depth + 1)
    elif isinstance(value, list) and any(isinstance(inner, dict) for inner in value) and depth < _MOST_DEEP:
        for index, inner in enumerate(value):
            yield from flat(inner, f"{path}[{index}]", depth + 1)
    else:
        yield path, words(value)


def source(sources: object, path: str) -> str:
    """Where a fact was read: its own entry, that of any of its kind (``gpus[].name``), or that of what holds it."""
    if not isinstance(sources, dict):
        return ""
    path = _PLACE.sub("[]", path)
    while path:
        if isinstance(found := sources.get(path), str):
            return found
        path = path[:-2] if path.endswith("[]") else path.rpartition(".")[0]
    return ""


def verdict(report: Told) -> tuple[str, str]:
    """The verdict's word and its sentence; of a report that has none, what its status and findings say."""
    status = str(report.get("status") or "unknown")
    told = report.get("verdict")
    if isinstance(told, str) and told:
        word, sign, said = told.partition(": ")
        return (word, said) if sign else (status, told)
    loud = [finding for finding in items(report.get("findings")) if finding.get("severity") != "info"]
    why = str(report.get("unknown_because") or "")
    said = str(loud[0].get("summary")) if loud and status != "unknown" else why or "nothing wrong was found"
    return ("warning" if status == "warn" else status), said
