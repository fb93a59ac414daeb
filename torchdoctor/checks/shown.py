"""Known errors as they are shown: which of them have one cause, and what of them stands as evidence in a finding."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from torchdoctor.facts import ErrorText
from torchdoctor.findings import Evidence
from torchdoctor.records import record, replace
from torchdoctor.tables import Tables
from torchdoctor.tables.known_errors import AMBIGUOUS, KnownError

_GROUP = re.compile(r"\(\?P<(\w+)>")
_SENTENCE_END = re.compile(r"(?<=[.!?]) (?=[A-Z])")
MOST_EVIDENCE = 5  # lines in a finding
_MOST_CAUSES = 6  # findings of one id


@record(frozen=True, slots=True)
class Shown:
    """A known error of this host: its entry as the facts decide it, the quoted line, and what it explains beside it."""

    entry: KnownError
    error: ErrorText
    beside: tuple[Shown, ...] = ()


def filled(text: str, one: Shown) -> str:
    """A text of an entry with what the error names in place of ``<group>``, a group of the pattern.

    A sentence about something that the error does not name is left out.
    """
    for name, value in one.error.values.items():
        text = text.replace(f"<{name}>", value)
    missing = [f"<{name}>" for name in _GROUP.findall(one.entry.pattern) if f"<{name}>" in text]
    if not missing:
        return text
    return " ".join(part for part in _SENTENCE_END.split(text) if not any(name in part for name in missing))


def joined(decided: Sequence[Shown], tables: Tables) -> list[Shown]:
    """The errors, each cause once: lines of which an entry says the same, and those that name less than another does.

    An entry that says different things stands for itself with each: another module, another number.
    """
    groups: dict[str, list[list[int]]] = {}
    for place in sorted(range(len(decided)), key=lambda place: (-len(decided[place].error.values), place)):
        one = decided[place]
        own = groups.setdefault(one.error.id, [])
        group = next((group for group in own if _is_same(one, decided[group[0]], tables)), None)
        if group is None and len(own) >= _MOST_CAUSES:
            group = own[0]
        if group is None:
            own.append([place])
        else:
            group.append(place)
    every = (group for own in groups.values() for group in own)
    return [_joined([decided[place] for place in group]) for group in sorted(every, key=min)]


def _is_same(one: Shown, lead: Shown, tables: Tables) -> bool:
    """Whether an error has the cause of another one of its entry; wrappers and notices tell of no cause."""
    if one.error.doubtful or one.error.values.items() < lead.error.values.items():
        return True
    listed = tables.known_errors.find(one.error.id)
    is_cause = listed is None or listed.tier <= AMBIGUOUS or one.entry.finding != lead.entry.finding
    return not is_cause or _words(one) == _words(lead)


def _joined(group: Sequence[Shown]) -> Shown:
    first, *others = group
    return replace(first, beside=(*first.beside, *(each for one in others for each in (one, *one.beside))))


def _words(one: Shown) -> tuple[object, ...]:
    entry = one.entry
    return entry.finding, entry.tier, entry.title, entry.cause, filled(entry.fix, one)


def causes(mine: Sequence[Shown]) -> list[list[Shown]]:
    """The errors of one finding, apart where they are of one entry; other entries have other words for the first's."""
    first = [[one] for one in mine if one.error.id == mine[0].error.id]
    first[0] += [one for one in mine if one.error.id != mine[0].error.id]
    return first


def evidence(mine: Sequence[Shown]) -> Iterator[Evidence]:
    """The lines of the errors and of what they explain."""
    return lines_of([one.error for lead in mine for one in (lead, *lead.beside)])


def lines_of(every: Sequence[ErrorText]) -> Iterator[Evidence]:
    """The lines, some of every entry before more of one, and how many there are beside them."""
    firsts = {error.id: place for place, error in reversed(list(enumerate(every)))}.values()
    places = sorted(range(len(every)), key=lambda place: (place not in firsts, place))
    chosen, left = sorted(places[:MOST_EVIDENCE]), sum(every[place].times for place in places[MOST_EVIDENCE:])
    for place in chosen:
        error = every[place]
        again = [f"seen {error.times} times"] if error.times > 1 else []
        more = [f"{left} more like it"] if left and place == chosen[-1] else []
        yield Evidence(f"error.{error.id}", error.text, ", ".join([error.source, *again, *more]))
