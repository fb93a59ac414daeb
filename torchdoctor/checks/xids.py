"""Several Xids of a kernel log: the one that explains leads, and what follows from it stands beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain

from torchdoctor.checks.shown import Shown
from torchdoctor.facts import ErrorText, Facts, value_or
from torchdoctor.records import record, replace
from torchdoctor.tables import Tables
from torchdoctor.tables.numbered import NumberedError
from torchdoctor.tables.xids import FOLLOWS, GONE

_XID = re.compile(r"\bXid \(([^)]{0,60})\): (\d{1,4})\b")
_GROUP = "xid"
_HARDWARE = "gpu-lost"
_MOST = 40  # lines of the kernel log beside those that the reader has found


@record(frozen=True, slots=True)
class _Xid:
    """An Xid: of which GPU, its number, how much it explains, and its place in the log."""

    shown: Shown
    gpu: str
    number: int
    rank: int
    place: int


def of_kernel_log(facts: Facts) -> Iterator[ErrorText]:
    """The Xids of the kernel log that are not among the errors of the text: the middle of a long log."""
    told = [error for error in facts.quoted.errors if _GROUP in error.values and not error.doubtful]
    if not told:
        return
    known = {match.groups() for error in told if (match := _XID.search(error.text))}
    found: dict[tuple[str, ...], str] = {}
    for line in value_or(facts.driver.kernel_log, ()) or ():
        for match in _XID.finditer(line):
            found.setdefault(match.groups(), line)
    source = facts.source("driver.kernel_log").partition(" line ")[0]
    for (_, number), line in _each_number_first(found, known):
        yield ErrorText(told[0].id, line, source, {_GROUP: number})


def _each_number_first(
    found: dict[tuple[str, ...], str], known: set[tuple[str, ...]]
) -> Sequence[tuple[tuple[str, ...], str]]:
    """Of the Xids that are not known so many; those whose number is not known before another GPU's of a known one."""
    numbers = {number for _, number in known}
    fresh: dict[str, tuple[tuple[str, ...], str]] = {}
    for key, line in found.items():
        if key[1] not in numbers:
            fresh.setdefault(key[1], (key, line))
    others = ((key, line) for key, line in found.items() if key not in known and (key, line) not in fresh.values())
    return list(chain(fresh.values(), others))[:_MOST]


def names_xid(error: ErrorText) -> bool:
    """Whether an error names an Xid."""
    return _GROUP in error.values


def is_of_another_gpu(mine: Sequence[Shown], shown: Sequence[Shown]) -> bool:
    """Whether Xids tell of a GPU of their own, and others, which would explain them, of other GPUs alone."""
    own = {match[1] for one in mine if (match := _XID.search(one.error.text))}
    finding = mine[0].entry.finding
    others = [one.error for one in shown if one.entry.finding != finding and not one.error.doubtful]
    gpus = {match[1] for error in others if names_xid(error) and (match := _XID.search(error.text))}
    return bool(own and gpus) and not own & gpus


def folded(decided: Sequence[Shown], tables: Tables) -> list[Shown]:
    """The errors with one Xid for each fault of a GPU, the one that explains most first, the others beside it."""
    xids = sorted(_xids(decided, tables), key=lambda one: (one.rank, one.place))
    leads: list[_Xid] = []
    beside: dict[int, list[Shown]] = {}
    for one in xids:
        lead = next((lead for lead in _nearest(leads, one) if _explains(lead, one)), None)
        if lead is None:
            leads.append(one)
        else:
            beside.setdefault(lead.place, []).append(one.shown)
    nameless = [one for one in decided if _is_nameless(one, leads)]
    for other in nameless:
        named = next(lead for lead in leads if lead.shown.entry.finding == other.entry.finding)
        beside.setdefault(named.place, []).append(other)
    places = {id(one): place for place, one in enumerate(decided)}
    by_text = {place: sorted(some, key=lambda one: places[id(one)]) for place, some in beside.items()}
    kept = iter([_led(lead, by_text.get(lead.place, []), tables) for lead in leads])
    ours = {id(one.shown) for one in xids}
    slots = [next(kept, None) if id(one) in ours else one for one in decided if one not in nameless]
    return [one for one in slots if one is not None]


def _xids(decided: Sequence[Shown], tables: Tables) -> Iterator[_Xid]:
    for place, one in enumerate(decided):
        match = _XID.search(one.error.text)
        if _GROUP in one.error.values and not one.error.doubtful:
            number = int(one.error.values[_GROUP])
            yield _Xid(one, match[1] if match else "", number, tables.xids.rank(number), place)


def _nearest(leads: Sequence[_Xid], one: _Xid) -> Sequence[_Xid]:
    """Those of the same GPU first."""
    return sorted(leads, key=lambda lead: lead.gpu != one.gpu)


def _explains(lead: _Xid, one: _Xid) -> bool:
    if one.rank == FOLLOWS:
        return True
    same_fault = lead.shown.entry.finding == one.shown.entry.finding
    return lead.gpu == one.gpu and (same_fault or (lead.rank == GONE and lead.place < one.place))


def _is_nameless(one: Shown, leads: Sequence[_Xid]) -> bool:
    """Whether the kernel says in words what one of the Xids says by its number."""
    named = {(lead.shown.error.id, lead.shown.entry.finding) for lead in leads}
    return _GROUP not in one.error.values and not one.error.doubtful and (one.error.id, one.entry.finding) in named


def _led(lead: _Xid, beside: Sequence[Shown], tables: Tables) -> Shown:
    """The leading Xid with what the others beside it mean."""
    numbers = dict.fromkeys(int(one.error.values[_GROUP]) for one in beside if _GROUP in one.error.values)
    numbers.pop(lead.number, None)
    if not beside:
        return lead.shown
    rows = [(number, tables.xids.find(number)) for number in numbers]
    meanings = ", ".join(f"Xid {number} ({row.text})" if row else f"Xid {number}" for number, row in rows)
    entry = lead.shown.entry
    cause = f"{entry.cause} The log has beside it: {meanings}." if meanings else entry.cause
    fixes = [f"For Xid {number}: {row.fix}." for number, row in rows if row and _is_record(row, entry.finding)]
    fix = " ".join([entry.fix, *fixes])
    return replace(lead.shown, entry=replace(entry, cause=cause, fix=fix), beside=tuple(beside))


def _is_record(row: NumberedError, finding: str) -> bool:
    """Whether an Xid records something of the hardware of which the leading one does not speak."""
    return finding != _HARDWARE and not row.finding and _HARDWARE in row.also
