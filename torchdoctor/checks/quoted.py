"""From the known errors that a text quotes to findings: which of them count, which finding each one proves, and why.

A specific cause stands before an ambiguous one, a wrapper or a notice counts only where nothing else was found, and the
consequences of an error are folded into it. Facts of the host overrule the text: rows of ``when`` in known_errors.toml.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from torchdoctor.checks.conditions import holds
from torchdoctor.checks.installed import torch_was_imported
from torchdoctor.checks.places import KUBERNETES, started_with_gpu
from torchdoctor.checks.quoted_numbers import from_tables, that_count
from torchdoctor.checks.registry import CHECKS, Check
from torchdoctor.checks.shown import MOST_EVIDENCE, Shown, causes, evidence, filled, joined
from torchdoctor.checks.xids import folded, is_of_another_gpu, names_xid, of_kernel_log
from torchdoctor.facts import ErrorText, Facts, is_known
from torchdoctor.findings import (
    MAKE_SURE,
    SEVERITIES,
    UNEXPLAINED,
    Command,
    Finding,
    Fixer,
    Remedy,
    Row,
    Severity,
    Text,
)
from torchdoctor.records import replace
from torchdoctor.tables import Tables
from torchdoctor.tables.known_errors import AMBIGUOUS, NOTICE, KnownError

NOT_SHOWN = "cause-not-shown"
_NOTICE = "healthy"
_IMPORT = "torch-import-fails"
_TORCH = "build"  # the family of checks that are about torch itself
_CONTAINER, _OF_DOCKER = "container-without-gpu", re.compile(r"tart the container with the GPU(?: \(|:)")


def shown_errors(facts: Facts, tables: Tables, *, with_consequences: bool = False) -> tuple[Shown, ...]:
    """The errors that count, the one that explains the paste first; wrappers and notices only where nothing else does.

    ``with_consequences`` keeps the wrappers and notices, behind all others.
    """
    quoted = (*facts.quoted.errors, *of_kernel_log(facts))
    pairs = [(entry, error) for error in quoted if (entry := tables.known_errors.find(error.id))]
    pairs = that_count(pairs)
    consequences = {other for entry, error in pairs if not error.doubtful for other in entry.suppresses}
    decided = [
        _decided(_possible(from_tables(entry, error, tables), facts), error, facts)
        for entry, error in pairs
        if entry.id not in consequences
    ]
    decided = joined(folded(decided, tables), tables)
    if _ends_otherwise(facts):
        decided = [one for one in decided if one.entry.tier < NOTICE]
    if not with_consequences:
        decided = _without_wrappers(decided)
    # stable: inside a tier the first in the text wins
    return tuple(sorted(decided, key=lambda one: (one.error.doubtful, one.entry.tier)))


def _without_wrappers(decided: Sequence[Shown]) -> list[Shown]:
    """The errors without wrappers and notices where a cause is told; one that is in doubt hides no sure wrapper."""
    told = [one for one in decided if one.entry.tier <= AMBIGUOUS]
    if not told:
        return list(decided)
    if any(not one.error.doubtful for one in told):
        return told
    return [one for one in decided if one in told or (one.entry.tier < NOTICE and not one.error.doubtful)]


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
            if "fix" in row:
                changes = {"pod": "", **changes}
            if row.get("finding", entry.finding) != entry.finding:  # what makes sure of another case does not fit
                changes = {"commands": (), "confirm": "", "beware": "", **changes}
            tier = min(entry.tier, AMBIGUOUS) if "finding" in row else entry.tier
            return Shown(_in_place(replace(entry, **{**changes, "tier": tier}), facts), error)
    return Shown(_in_place(entry, facts), error)


def _in_place(entry: KnownError, facts: Facts) -> KnownError:
    """The entry with the fix of the place: a pod takes no options of an engine, and each engine has its own."""
    if entry.pod and facts.place.container == KUBERNETES:
        return replace(entry, fix=entry.pod)
    is_start = entry.finding == _CONTAINER and _OF_DOCKER.search(entry.fix)
    return replace(entry, fix=started_with_gpu(facts) or entry.fix) if is_start else entry


def with_quotations(item: Check, found: Sequence[Finding], shown: Sequence[Shown]) -> list[Finding]:
    """A check's findings with the quoted errors that prove the same; where it found nothing, they are the finding."""
    mine = [one for one in shown if finding_of(one) == item.id]
    if mine and found:
        first, *rest = found
        proved = replace(
            first,
            why=_with_meanings(first.why, mine),
            evidence=(*first.evidence, *evidence([one for one in mine if not _is_told(one)])),
            severity=_worse(first.severity or item.severity, _severity(mine[0], item)),
        )
        return [proved, *rest]
    if mine:
        groups = causes(mine)
        titles = [group[0].entry.title for group in groups]
        return [_finding(group, item, shown, is_one=titles.count(group[0].entry.title) == 1) for group in groups]
    behind = [one for one in shown if item.id in one.entry.echoes]
    return list(found) or [_echo(one, item) for one in behind[:1]]


def _with_meanings(why: Text, mine: Sequence[Shown]) -> Text:
    """Why, with what the numbers in a log say of it."""
    said = [f"{group[0].entry.title}. {group[0].entry.cause}" for group in causes(mine) if names_xid(group[0].error)]
    return Text(f"{why.template} {{said}}", **why.values, said=" ".join(said)) if said else why


def _is_told(one: Shown) -> bool:
    """Whether a check reads the numbers of the message, and names its line itself."""
    return one.error.memory is not None and is_known(one.error.memory.total)


def finding_of(one: Shown) -> str:
    """The id of the finding that an error proves."""
    return one.entry.finding or (_NOTICE if one.entry.tier == NOTICE else NOT_SHOWN)


def _worse(one: Severity, other: Severity) -> Severity:
    return min(one, other, key=SEVERITIES.index)


def _echo(cause: Shown, item: Check) -> Finding:
    return Finding(
        summary=Text("{meaning}", meaning=item.meaning.rstrip(".")),
        why=Text("{cause}", cause=cause.entry.cause),
        evidence=tuple(evidence([cause])),
        fixable_by=_fixer(item),
        confidence="possible" if cause.error.doubtful else "likely",
        severity="info" if cause.error.doubtful else None,
        explained_by=finding_of(cause),
    )


def ranks(shown: Sequence[Shown]) -> dict[str, int]:
    """For each finding the place of its best error in the ranking, and for the line of each error its place."""
    places: dict[str, int] = {}
    every = [(lead, one) for lead in shown for one in (lead, *lead.beside)]
    for place, (lead, one) in enumerate(every):
        places.setdefault(finding_of(lead), place)
        places.setdefault(one.error.text, place)
    return places


def _finding(mine: Sequence[Shown], item: Check, shown: Sequence[Shown], *, is_one: bool) -> Finding:
    entry, error = mine[0].entry, mine[0].error
    title, named = entry.title or item.meaning.rstrip("."), ", ".join(error.values.values())
    return Finding(
        summary=Text("{title}", title=title) if is_one else Text("{title}: {named}", title=title, named=named),
        why=Text("{cause} Torch itself is fine." if _spares_torch(item, shown) else "{cause}", cause=entry.cause),
        evidence=tuple(evidence(mine)),
        remedies=tuple(_remedies(mine)),
        fixable_by=_fixer(item),
        confidence="possible" if error.doubtful else "likely",
        severity=_severity(mine[0], item),
        row=Row("known_errors", entry.id, "; ".join(entry.source)),
        beware=Text("{beware}", beware=entry.beware) if entry.beware else None,
        explained_by=UNEXPLAINED if is_of_another_gpu(mine, shown) else None,
    )


def _spares_torch(item: Check, shown: Sequence[Shown]) -> bool:
    """Whether it is about something beside torch, and no other error says that torch fails too."""
    sure = (CHECKS.get(finding_of(one)) for one in shown if not one.error.doubtful)
    return item.spares_torch and all(other is None or other.family != _TORCH or other.spares_torch for other in sure)


def _severity(one: Shown, item: Check) -> Severity:
    if one.error.doubtful:
        return "info"
    return next((severity for severity in SEVERITIES if severity == one.entry.severity), item.severity)


def _remedies(mine: Sequence[Shown]) -> Iterator[Remedy]:
    """What to do for each distinct cause, then how to make sure of it."""
    fixes: dict[str, Shown] = {}
    for one in mine[:MOST_EVIDENCE]:
        fixes.setdefault(filled(one.entry.fix, one), one)
    for fix, one in fixes.items():
        words = Text("{fix}", fix=fix) if one is mine[0] else Text("{title}: {fix}", title=one.entry.title, fix=fix)
        yield Remedy(words, installs=one.entry.installs and not one.error.doubtful)
    entry = mine[0].entry
    confirm, commands = filled(entry.confirm, mine[0]), tuple(_completed(entry.commands, mine[0]))
    if confirm or commands:
        yield Remedy(Text("To make sure: {confirm}", confirm=confirm) if confirm else MAKE_SURE, commands=commands)


def _completed(commands: Sequence[Command], one: Shown) -> Iterator[Command]:
    """The commands with what the error names; without those about something that it does not name."""
    for command in commands:
        whole = filled(command, one) if isinstance(command, str) else command
        if whole:
            yield whole


def _fixer(item: Check) -> Fixer:
    return "admin" if item.family == "driver" else "user"
