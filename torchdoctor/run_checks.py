"""Run every check over the facts: order, skip, crash, and which finding explains which."""

from __future__ import annotations

from collections.abc import Iterable

from torchdoctor.checks import all_checks
from torchdoctor.checks.registry import Check
from torchdoctor.facts import Facts, NotKnownError, NotThereError
from torchdoctor.findings import SEVERITIES, Finding, Outcome
from torchdoctor.records import replace
from torchdoctor.tables import Tables


def run_checks(facts: Facts, tables: Tables) -> tuple[list[Finding], list[Outcome]]:
    """Return the findings, root causes first, and one outcome per check in the order of the list."""
    findings: list[Finding] = []
    outcomes: list[Outcome] = []
    for item in all_checks():
        found, outcome = _run_one(item, facts, tables)
        findings += found
        outcomes.append(outcome)
    return _root_causes_first(_explain(findings)), outcomes


def _run_one(item: Check, facts: Facts, tables: Tables) -> tuple[list[Finding], Outcome]:
    found: list[Finding] = []
    try:
        found.extend(
            replace(draft, id=item.id, severity=draft.severity or item.severity) for draft in item.rule(facts, tables)
        )
    except NotKnownError as missing:
        if not found:
            return [], Outcome(item.id, "skipped", f"the {missing} is not in this recording")
    except NotThereError:
        pass
    except Exception as error:  # noqa: BLE001 - a crash of ours is an outcome, never silent, and stops no other check
        return [], Outcome(item.id, "crashed", f"{type(error).__name__}: {error}")
    return found, Outcome(item.id, "found" if found else "passed")


def _explain(findings: Iterable[Finding]) -> list[Finding]:
    findings = list(findings)
    present = {finding.id for finding in findings}
    after = {item.id: item.after for item in all_checks()}
    explained = []
    for finding in findings:
        cause = next((id_ for id_ in after.get(finding.id, ()) if id_ in present and id_ != finding.id), None)
        explained.append(replace(finding, explained_by=finding.explained_by or cause))
    return explained


def _root_causes_first(findings: list[Finding]) -> list[Finding]:
    """Unexplained before explained, worse before milder; the list's own order decides the rest."""
    return sorted(findings, key=lambda f: (f.explained_by is not None, SEVERITIES.index(f.severity or "info")))
