"""One report of the two, as plain values: read from its JSON, which a stranger may have written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from torchdoctor.records import record

_MOST_DEEP = 20  # no fact is nested deeper
# Of these a report names what is there; that a missing name was looked for is known of a live host's report alone.
LISTS = ("env.", "packages.")
_LOUD = ("error", "warning")


class BadReportError(ValueError):
    """A report that is none; the words say what was seen."""


@record(frozen=True, slots=True)
class Told:
    """One finding of a report: what is needed of it to compare."""

    id: str
    severity: str
    summary: str
    facts: tuple[str, ...]  # the dotted paths it rests on
    explained_by: str = ""

    @property
    def is_loud(self) -> bool:
        """Whether it is more than a remark."""
        return self.severity in _LOUD


@record(frozen=True, slots=True)
class Side:
    """One report: its name, its verdict, its findings, and its facts by dotted path."""

    name: str
    status: str
    findings: tuple[Told, ...]
    facts: Mapping[str, Any]
    made_by: tuple[str, str] = ("", "")  # version of torchdoctor, date of its tables
    is_live: bool = False

    def tells(self, path: str) -> bool:
        """Whether the report says anything of a fact, its absence included."""
        return path in self.facts or (self.is_live and path.startswith(LISTS))


def side_of(name: str, report: Mapping[str, Any]) -> Side:
    """Read a report; raise ``BadReportError`` where it has not the form of one."""
    facts, findings = report.get("facts"), report.get("findings")
    if not isinstance(facts, dict) or not isinstance(findings, list):
        raise BadReportError("it holds no facts and findings")
    flat = dict(_flat(facts, "", 0)) | dict(_smoke(report.get("smoke")))
    python = facts.get("python")
    return Side(
        name=name,
        status=str(report.get("status", "unknown")),
        findings=tuple(_told(item) for item in findings if isinstance(item, dict)),
        facts=flat,
        made_by=(str(report.get("torchdoctor", "")), str(report.get("tables", ""))),
        is_live=isinstance(python, dict) and "chosen_because" in python,
    )


def _told(finding: Mapping[str, Any]) -> Told:
    evidence = [item for item in _items(finding.get("evidence")) if isinstance(item, dict)]
    return Told(
        id=str(finding.get("id") or ""),
        severity=str(finding.get("severity") or ""),
        summary=str(finding.get("summary") or ""),
        facts=tuple(str(item.get("fact", "")) for item in evidence),
        explained_by=str(finding.get("explained_by") or ""),
    )


def _flat(value: Any, path: str, depth: int) -> Iterator[tuple[str, Any]]:
    """Every fact under its dotted path; of GPUs also how many of which there are."""
    if depth > _MOST_DEEP:
        raise BadReportError("its facts are nested too deeply")
    if isinstance(value, dict):
        for name, member in value.items():
            yield from _flat(member, f"{path}.{name}" if path else str(name), depth + 1)
    elif isinstance(value, list) and path == "gpus":
        yield path, _names(value)
        for index, member in enumerate(value):
            yield from _flat(member, f"{path}[{index}]", depth + 1)
    else:
        yield path, value


def _names(gpus: list[Any]) -> list[str]:
    """The GPUs as ``2 x NVIDIA H100``."""
    counted = Counter(str(gpu.get("name") or "a GPU") if isinstance(gpu, dict) else "a GPU" for gpu in gpus)
    return [name if count == 1 else f"{count} x {name}" for name, count in sorted(counted.items())]


def _smoke(tests: Any) -> Iterator[tuple[str, Any]]:
    for test in _items(tests):
        if isinstance(test, dict):
            yield f"smoke.{test.get('id')} on {test.get('device')}", test.get("outcome")


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
