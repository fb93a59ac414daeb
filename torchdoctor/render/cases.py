"""A report as a list of tests, for the formats that know nothing else: each check is one, and the verdict is one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from torchdoctor.checks.registry import CHECKS
from torchdoctor.findings import Finding, Outcome, Prediction
from torchdoctor.render.line import on_one_line
from torchdoctor.render.text import IN_TABLE, verdict
from torchdoctor.report import Report, exit_status, fails

_UNKNOWN = 3


class Case(NamedTuple):
    """One test: ``about`` says in a line why it did not simply pass. Names are unique in their report."""

    family: str
    name: str
    outcome: Literal["passed", "failed", "skipped", "errored"]
    about: str = ""
    finding: Finding | None = None


def cases(report: Report, fail_on: str) -> list[Case]:
    """The checks in their order with what they found, findings of no check, hosts asked about, the verdict last."""
    listed = {outcome.id for outcome in report.outcomes} | IN_TABLE
    found = [
        case
        for outcome in report.outcomes
        if not _is_told_apart(outcome, report)
        for case in _of(outcome, report, fail_on)
    ]
    found += [_finding(finding, fail_on) for finding in report.findings if finding.id not in listed]
    found += [_target(target, report, fail_on) for target in report.targets]
    return list(_numbered((*found, _verdict(report, found, fail_on))))


def _is_told_apart(outcome: Outcome, report: Report) -> bool:
    return bool(report.targets) and outcome.id in IN_TABLE


def _of(outcome: Outcome, report: Report, fail_on: str) -> Iterator[Case]:
    """A crash first: what its check found until then is no answer."""
    family, name = _family(outcome.id), outcome.id
    if outcome.outcome == "crashed":
        yield Case(family, name, "errored", f"the check crashed: {outcome.reason}")
    findings = [finding for finding in report.findings if finding.id == name]
    yield from (_finding(finding, fail_on) for finding in findings)
    aside = [item for item in report.ignored if item.finding.id == name]
    for item in aside:
        until = f" until {item.until}" if item.until else ""
        yield Case(family, name, "skipped", f"set aside{until} ({item.reason}): {item.finding.summary}")
    if outcome.outcome == "skipped":
        yield Case(family, name, "skipped", outcome.reason)
    elif not findings and not aside and outcome.outcome != "crashed":
        yield Case(family, name, "passed")


def _finding(finding: Finding, fail_on: str) -> Case:
    """A finding below the threshold passes, and is told."""
    outcome: Literal["passed", "failed"] = "failed" if fails(finding, fail_on) else "passed"
    return Case(_family(finding.id), finding.id, outcome, str(finding.summary), finding)


def _target(target: Prediction, report: Report, fail_on: str) -> Case:
    """A host that was asked about, which passes where what is examined will run."""
    name = " ".join(on_one_line(target.name).split()) or "unnamed"
    if target.verdict == "unknown":
        return Case("target", name, "errored", str(target.why))
    told = (
        item for item in report.findings if item.id in IN_TABLE and item.summary.values.get("target") == target.name
    )
    finding = next(told, None)
    return (
        _finding(finding, fail_on)._replace(family="target", name=name) if finding else Case("target", name, "passed")
    )


def _family(id: str) -> str:  # noqa: A002 - an id is an id
    return CHECKS[id].family if id in CHECKS else ""


def _verdict(report: Report, found: Iterable[Case], fail_on: str) -> Case:
    """That too little is known is no failure of any check, and must not look like a pass."""
    is_open = exit_status(report, fail_on) == _UNKNOWN and all(case.outcome != "errored" for case in found)
    return Case("", "verdict", "errored" if is_open else "passed", verdict(report, fail_on))


def _numbered(found: Iterable[Case]) -> Iterator[Case]:
    met = Counter[tuple[str, str]]()
    for case in found:
        key = case.family, case.name
        met[key] += 1
        yield case if met[key] == 1 else case._replace(name=f"{case.name} {met[key]}")
