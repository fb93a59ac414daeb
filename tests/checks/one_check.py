"""Running one check on a host, as the runner does it."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.checks.registry import CHECKS
from torchdoctor.facts import Facts, NotKnownError, NotThereError
from torchdoctor.findings import Finding
from torchdoctor.tables import Tables


def _run(check_id: str, facts: Facts, tables: Tables) -> Iterator[Finding]:
    try:
        yield from CHECKS[check_id].rule(facts, tables)
    except NotThereError:
        return


def found(check_id: str, facts: Facts, tables: Tables) -> list[Finding]:
    """All it finds; an unknown fact raises."""
    return list(_run(check_id, facts, tables))


def only(check_id: str, facts: Facts, tables: Tables) -> Finding:
    """The single finding of a check."""
    findings = found(check_id, facts, tables)
    assert len(findings) == 1, findings
    return findings[0]


def severity(check_id: str, facts: Facts, tables: Tables) -> str:
    """The severity the runner would give to the single finding."""
    return only(check_id, facts, tables).severity or CHECKS[check_id].severity


def is_skipped(check_id: str, facts: Facts, tables: Tables) -> bool:
    """Whether an unknown fact stops the check before it found anything."""
    findings: list[Finding] = []
    try:
        findings.extend(_run(check_id, facts, tables))
    except NotKnownError:
        return not findings
    return False
