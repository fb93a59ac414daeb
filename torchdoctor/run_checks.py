"""Run every check over the facts: order, skip, crash, and which finding explains which."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from torchdoctor.checks import all_checks
from torchdoctor.checks.answers import answered
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
    skipped = ""
    try:
        for drafts in (item.rule(facts, tables), answered(facts, tables, item.id)):
            missing = _collect(drafts, item, found)
            skipped = skipped or missing
            if found:
                break
    except Exception as error:  # noqa: BLE001 - a crash of ours is an outcome, never silent, and stops no other check
        return [], Outcome(item.id, "crashed", f"{type(error).__name__}: {error}")
    if skipped and not found:
        return [], Outcome(item.id, "skipped", f"the {skipped} is not in this recording")
    return found, Outcome(item.id, "found" if found else "passed")


def _collect(drafts: Iterator[Finding], item: Check, found: list[Finding]) -> str:
    """Take what the drafts hold; returns the fact that was missing when a rule had to stop for it."""
    try:
        found.extend(replace(draft, id=item.id, severity=draft.severity or item.severity) for draft in drafts)
    except NotKnownError as missing:
        return str(missing)
    except NotThereError:
        pass
    return ""


def _explain(findings: Iterable[Finding]) -> list[Finding]:
    """Tie each echo to the root cause behind it: the one that nothing else explains."""
    findings = list(findings)
    after = {item.id: item.after for item in all_checks()}
    present = {finding.id for finding in findings}
    return [replace(finding, explained_by=_root(finding.id, after, present)) for finding in findings]


def _root(id: str, after: Mapping[str, tuple[str, ...]], present: set[str]) -> str | None:  # noqa: A002 - an id is an id
    seen = [id]
    while cause := next((other for other in after.get(seen[-1], ()) if other in present and other not in seen), None):
        seen.append(cause)
    return seen[-1] if len(seen) > 1 else None


def _root_causes_first(findings: list[Finding]) -> list[Finding]:
    """Unexplained before explained, worse before milder; the list's own order decides the rest."""
    return sorted(findings, key=lambda f: (f.explained_by is not None, SEVERITIES.index(f.severity or "info")))
