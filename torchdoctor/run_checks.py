"""Run every check over the facts: order, skip, crash, and which finding explains which."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from torchdoctor.checks import all_checks
from torchdoctor.checks.answers import answered
from torchdoctor.checks.quoted import ranks, shown_errors, with_quotations
from torchdoctor.checks.registry import Check
from torchdoctor.checks.shown import Shown
from torchdoctor.facts import Facts, NotKnownError, NotThereError
from torchdoctor.findings import SEVERITIES, UNEXPLAINED, Finding, Fixer, Outcome, Severity
from torchdoctor.records import replace
from torchdoctor.tables import Tables


def run_checks(facts: Facts, tables: Tables) -> tuple[list[Finding], list[Outcome]]:
    """Return the findings, root causes first, and one outcome per check in the order of the list."""
    findings: list[Finding] = []
    outcomes: list[Outcome] = []
    shown = shown_errors(facts, tables) if facts.quoted.errors else ()
    for item in all_checks():
        found, outcome = _run_one(item, facts, tables, shown)
        findings += found
        outcomes.append(outcome)
    return _root_causes_first(_explain(findings, facts), ranks(shown)), outcomes


def _run_one(item: Check, facts: Facts, tables: Tables, shown: Sequence[Shown]) -> tuple[list[Finding], Outcome]:
    found: list[Finding] = []
    skipped = ""
    try:
        for drafts in (item.rule(facts, tables), answered(facts, tables, item.id)):
            missing = _collect(drafts, item, found)
            skipped = skipped or missing
            if found:
                break
        if found or skipped or not item.decides:  # else the facts rule out what a text may say
            found = [_named(finding, item) for finding in with_quotations(item, found, shown)]
    except Exception as error:  # noqa: BLE001 - a crash of ours is an outcome, never silent, and stops no other check
        return [], Outcome(item.id, "crashed", f"{type(error).__name__}: {error}")
    if skipped and not found:
        return [], Outcome(item.id, "skipped", f"the {skipped} is not in this recording", skipped)
    return found, Outcome(item.id, "found" if found else "passed")


def _collect(drafts: Iterator[Finding], item: Check, found: list[Finding]) -> str:
    """Take what the drafts hold; returns the fact that was missing when a rule had to stop for it."""
    try:
        found.extend(_named(draft, item) for draft in drafts)
    except NotKnownError as missing:
        return str(missing)
    except NotThereError:
        pass
    return ""


def _named(draft: Finding, item: Check) -> Finding:
    fixable_by: Fixer = "admin" if item.by_admin and draft.fixable_by == "user" else draft.fixable_by
    return replace(draft, id=item.id, severity=draft.severity or item.severity, fixable_by=fixable_by)


def _explain(findings: Sequence[Finding], facts: Facts) -> list[Finding]:
    """Tie each echo to the root cause behind it: the one that nothing else explains."""
    after = {item.id: item.after for item in all_checks()}
    worst_last = sorted(findings, key=lambda finding: -SEVERITIES.index(finding.severity or "info"))
    severities = {finding.id: finding.severity for finding in worst_last}
    explained = [
        replace(finding, explained_by=_cause(finding, after, set(severities)))
        for finding in findings
        if finding.explained_by in {None, UNEXPLAINED, *severities}
    ]
    if facts.torch.cuda_available is not True:
        return [_no_better_than_its_echoes(finding, explained) for finding in explained]
    return [_no_worse_than(severities.get(finding.explained_by or ""), finding) for finding in explained]


def _cause(finding: Finding, after: Mapping[str, tuple[str, ...]], present: set[str]) -> str | None:
    if finding.explained_by == UNEXPLAINED:
        return None
    return finding.explained_by or _root(finding.id, after, present)


def _no_better_than_its_echoes(cause: Finding, findings: Sequence[Finding]) -> Finding:
    """What brings about an error is one, and not a warning above it."""
    echoes = [echo.severity for echo in findings if echo.explained_by == cause.id and echo.severity]
    worst = min((*echoes, cause.severity or "info"), key=SEVERITIES.index)
    return cause if cause.severity in {worst, "info"} else replace(cause, severity=worst)


def _no_worse_than(cause: Severity | None, echo: Finding) -> Finding:
    """Where torch works with the GPU, a consequence is no worse than its cause."""
    return replace(echo, severity=max(cause, echo.severity, key=SEVERITIES.index)) if cause and echo.severity else echo


def _root(id: str, after: Mapping[str, tuple[str, ...]], present: set[str]) -> str | None:  # noqa: A002 - an id is an id
    seen = [id]
    while cause := next((other for other in after.get(seen[-1], ()) if other in present and other not in seen), None):
        seen.append(cause)
    return seen[-1] if len(seen) > 1 else None


def _root_causes_first(findings: list[Finding], places: Mapping[str, int]) -> list[Finding]:
    """Unexplained before explained, worse before milder, what the paste shows before what it does not.

    The list's own order decides the rest.
    """
    return sorted(
        findings,
        key=lambda f: (f.explained_by is not None, SEVERITIES.index(f.severity or "info"), _place(f, places)),
    )


def _place(finding: Finding, places: Mapping[str, int]) -> int:
    """The place of the first line that it rests on, else that of its best error."""
    lines = [places[item.value] for item in finding.evidence if item.fact.startswith("error.") and item.value in places]
    return min(lines, default=places.get(finding.id, len(places)))
