"""From the known errors that a text quotes to findings: which of them count, which finding each one proves, and why.

A specific cause stands before an ambiguous one, a wrapper or a notice counts only where nothing else was found, and the
consequences of an error are folded into it. Facts of the host overrule the text: rows of ``when`` in known_errors.toml.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from torchdoctor.checks.conditions import holds
from torchdoctor.checks.installed import torch_was_imported
from torchdoctor.checks.quoted_numbers import from_tables, is_any
from torchdoctor.checks.registry import Check
from torchdoctor.facts import ErrorText, Facts
from torchdoctor.findings import SEVERITIES, Evidence, Finding, Fixer, Remedy, Row, Severity, Text
from torchdoctor.records import record, replace
from torchdoctor.tables import Tables
from torchdoctor.tables.known_errors import AMBIGUOUS, NOTICE, KnownError

NOT_SHOWN = "cause-not-shown"
_NOTICE = "healthy"
_MOST_EVIDENCE = 3
_IMPORT = "torch-import-fails"


@record(frozen=True, slots=True)
class Shown:
    """A known error of this host: its entry as the facts decide it, and the quoted line."""

    entry: KnownError
    error: ErrorText


def shown_errors(facts: Facts, tables: Tables, *, with_consequences: bool = False) -> tuple[Shown, ...]:
    """The errors that count, the one that explains the paste first; wrappers and notices only where nothing else does.

    ``with_consequences`` keeps the wrappers and notices, behind all others.
    """
    pairs = [(entry, error) for error in facts.quoted.errors if (entry := tables.known_errors.find(error.id))]
    known = {error.source for _, error in pairs if not is_any(error)}
    pairs = [(entry, error) for entry, error in pairs if not is_any(error) or error.source not in known]
    consequences = {other for entry, error in pairs if not error.doubtful for other in entry.suppresses}
    decided = [
        _decided(_possible(from_tables(entry, error, facts, tables), facts), error, facts)
        for entry, error in pairs
        if entry.id not in consequences
    ]
    if _ends_otherwise(facts):
        decided = [one for one in decided if one.entry.tier < NOTICE]
    if not with_consequences and any(one.entry.tier <= AMBIGUOUS for one in decided):
        decided = [one for one in decided if one.entry.tier <= AMBIGUOUS]
    # stable: inside a tier the first in the text wins
    return tuple(sorted(decided, key=lambda one: (one.error.doubtful, one.entry.tier)))


def _ends_otherwise(facts: Facts) -> bool:
    """Whether the text ends with an error that nobody knows, beside which a notice proves nothing."""
    last = facts.quoted.last_error
    return bool(last) and not any(last in error.text or error.text in last for error in facts.quoted.errors)


def _possible(entry: KnownError, facts: Facts) -> KnownError:
    """The entry without consequences that the facts rule out: a torch that answered was imported."""
    if _IMPORT not in entry.echoes or not torch_was_imported(facts):
        return entry
    return replace(entry, echoes=tuple(echo for echo in entry.echoes if echo != _IMPORT))


def _decided(entry: KnownError, error: ErrorText, facts: Facts) -> Shown:
    """The entry as the facts decide it; a wrapper of which they tell the cause is one no more."""
    for row in entry.when:
        if holds(row["if"], facts, error):
            changes: dict[str, Any] = {name: value for name, value in row.items() if name != "if"}
            if row.get("finding", entry.finding) != entry.finding:  # what makes sure of another case does not fit
                changes = {"commands": (), "confirm": "", "beware": "", **changes}
            tier = min(entry.tier, AMBIGUOUS) if "finding" in row else entry.tier
            return Shown(replace(entry, **{**changes, "tier": tier}), error)
    return Shown(entry, error)


def with_quotations(item: Check, found: Sequence[Finding], shown: Sequence[Shown]) -> list[Finding]:
    """A check's findings with the quoted errors that prove the same; where it found nothing, they are the finding."""
    mine = [one for one in shown if finding_of(one) == item.id]
    if mine and found:
        first, *rest = found
        proved = replace(
            first,
            evidence=(*first.evidence, *_evidence(mine)),
            severity=_worse(first.severity or item.severity, _severity(mine[0], item)),
        )
        return [proved, *rest]
    if mine:
        return [_finding(mine, item)]
    causes = [one for one in shown if item.id in one.entry.echoes]
    return list(found) or [_echo(one, item) for one in causes[:1]]


def finding_of(one: Shown) -> str:
    """The id of the finding that an error proves."""
    return one.entry.finding or (_NOTICE if one.entry.tier == NOTICE else NOT_SHOWN)


def _worse(one: Severity, other: Severity) -> Severity:
    return min(one, other, key=SEVERITIES.index)


def _echo(cause: Shown, item: Check) -> Finding:
    return Finding(
        summary=Text("{meaning}", meaning=item.meaning.rstrip(".")),
        why=Text("{cause}", cause=cause.entry.cause),
        evidence=tuple(_evidence([cause])),
        fixable_by=_fixer(item),
        confidence="possible" if cause.error.doubtful else "likely",
        severity="info" if cause.error.doubtful else None,
        explained_by=finding_of(cause),
    )


def ranks(shown: Sequence[Shown]) -> dict[str, int]:
    """For each finding the place of its best error in the ranking."""
    places: dict[str, int] = {}
    for place, one in enumerate(shown):
        places.setdefault(finding_of(one), place)
    return places


def _finding(mine: Sequence[Shown], item: Check) -> Finding:
    entry, error = mine[0].entry, mine[0].error
    return Finding(
        summary=Text("{title}", title=entry.title or item.meaning.rstrip(".")),
        why=Text("{cause} Torch itself is fine." if item.spares_torch else "{cause}", cause=entry.cause),
        evidence=tuple(_evidence(mine)),
        remedies=tuple(_remedies(mine)),
        fixable_by=_fixer(item),
        confidence="possible" if error.doubtful else "likely",
        severity=_severity(mine[0], item),
        row=Row("known_errors", entry.id, "; ".join(entry.source)),
        beware=Text("{beware}", beware=entry.beware) if entry.beware else None,
    )


def _severity(one: Shown, item: Check) -> Severity:
    if one.error.doubtful:
        return "info"
    return next((severity for severity in SEVERITIES if severity == one.entry.severity), item.severity)


def _evidence(mine: Sequence[Shown]) -> Iterator[Evidence]:
    for one in mine[:_MOST_EVIDENCE]:
        yield Evidence(f"error.{one.entry.id}", one.error.text, one.error.source)


def _remedies(mine: Sequence[Shown]) -> Iterator[Remedy]:
    """What to do for each distinct cause, then how to make sure of it."""
    fixes: dict[str, Shown] = {}
    for one in mine[:_MOST_EVIDENCE]:
        fixes.setdefault(_filled(one.entry.fix, one.error), one)
    for fix, one in fixes.items():
        words = Text("{fix}", fix=fix) if one is mine[0] else Text("{title}: {fix}", title=one.entry.title, fix=fix)
        yield Remedy(words, installs=one.entry.installs and not one.error.doubtful)
    entry, error = mine[0].entry, mine[0].error
    if entry.confirm or entry.commands:
        confirm = _filled(entry.confirm, error)
        words = Text("To make sure: {confirm}", confirm=confirm) if confirm else Text("To make sure")
        yield Remedy(words, commands=tuple(_filled(command, error) for command in entry.commands))


def _filled(text: str, error: ErrorText) -> str:
    """A text of an entry with what the error names in place of ``<group>``, a group of the pattern."""
    for name, value in error.values.items():
        text = text.replace(f"<{name}>", value)
    return text


def _fixer(item: Check) -> Fixer:
    return "admin" if item.family == "driver" else "user"
