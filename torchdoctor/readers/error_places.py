"""What one known error says in a text: each different thing once, at its first place, and how often it is said."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, NamedTuple

from torchdoctor.facts import ErrorText, without_digits
from torchdoctor.readers.memory_lines import SHORTAGE, compared
from torchdoctor.records import replace

if TYPE_CHECKING:
    from torchdoctor.readers.document import Document

_MOST_SUBJECTS = 16  # different modules, libraries, versions, numbers
_MOST_WORDINGS = 5  # of lines that name the same
_MOST_TRIED = 400  # places of an entry that are looked at closely
_FEW = 40  # lines that say the same: of more not every one is looked at
_LONGEST_NAME = 40  # characters; what is longer is a sentence, and its digits tell nothing


class Place(NamedTuple):
    """Where an error stands: the line, the place in its window, and whether it is a quotation there."""

    line: int
    column: int
    is_quoted: bool
    error: ErrorText


class _Slot:
    """A thing that an entry says: its best place, and the lines that say it."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.times = 1


class Places:
    """The places of one entry; what is said again is counted, and the surest place of each thing is kept."""

    def __init__(self) -> None:
        self._slots: dict[Hashable, dict[str, _Slot]] = {}  # by what is named, then by the words of the line
        self._known: dict[Hashable, _Slot] = {}
        self._lines: set[tuple[int, tuple[str | None, ...]]] = set()
        self._begun: set[int] = set()  # the lines that were looked at
        self._tried = 0

    def __bool__(self) -> bool:
        return bool(self._slots)

    @property
    def is_full(self) -> bool:
        """Whether enough was looked at."""
        return self._tried >= _MOST_TRIED

    def add(self, index: int, match: re.Match[str], line: str, place: Callable[[], Place]) -> None:
        """Count a match in a line, and look at its place only where the line says something new or in doubt."""
        named = match.groups()
        if (index, named) in self._lines or (index in self._begun and not any(named)):  # windows overlap
            return
        self._lines.add((index, named))
        self._begun.add(index)
        key = named, line if SHORTAGE in match[0] else without_digits(line)
        slot = self._known.get(key)
        if slot and not slot.place.error.doubtful:
            slot.times += 1
        elif not self.is_full:
            self._tried += 1
            if kept := self._keep(place()):
                self._known[key] = kept

    def _keep(self, place: Place) -> _Slot | None:
        """The slot of what is said at a place; None where there is no room for more."""
        named = subject(place.error)
        wordings = self._slots.get(named, {})
        words = place.error.wording
        slot = wordings.get(words)
        if slot is None and len(wordings) >= _MOST_WORDINGS:
            slot = next(iter(wordings.values()))
        if slot is None and (wordings or len(self._slots) < _MOST_SUBJECTS):
            slot = self._slots.setdefault(named, {})[words] = _Slot(place)
        elif slot is not None:
            slot.times += 1
            if slot.place.error.doubtful and not place.error.doubtful:
                slot.place = place
        return slot

    def told(self, document: Document) -> list[Place]:
        """What is beyond doubt, else the first thing that is not; in a long text a line is counted to its end."""
        slots = [slot for wordings in self._slots.values() for slot in wordings.values()]
        sure = [slot for slot in slots if not slot.place.error.doubtful]
        return [_counted(slot, document) for slot in sure] or [
            slot.place for slot in sorted(slots, key=lambda slot: slot.place[:2])[:1]
        ]


def _counted(slot: _Slot, document: Document) -> Place:
    error = slot.place.error
    times = slot.times
    if times > _FEW and error.text:
        tells_number = any(letter.isdigit() for value in error.values.values() for letter in value)
        times = max(times, document.text.count(error.text) if tells_number else document.count_alike(error.text))
    return slot.place._replace(error=replace(error, times=times))


def subject(error: ErrorText) -> Hashable:
    """What tells one fault from another of the same kind: what the message names, and how its numbers compare."""
    named = (
        (name, value if len(value) <= _LONGEST_NAME else without_digits(value)) for name, value in error.values.items()
    )
    return tuple(sorted(named)), compared(error.memory) if error.memory else None
