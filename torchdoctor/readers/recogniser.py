"""Recognisers: small readers of single lines, found by the words they hold so that a long log stays cheap."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

from torchdoctor.patterns import lazily
from torchdoctor.readers.statement import Said
from torchdoctor.records import record

if TYPE_CHECKING:
    from torchdoctor.readers.document import Document
    from torchdoctor.tables import Tables

_FIRST_WORD = lazily(r"[\s*\-+\u2022`\"|$#>%/(]{0,60}([A-Za-z]+)")


@record(frozen=True, slots=True)
class Spot:
    """A recognised line in its surroundings."""

    document: Document
    index: int
    tables: Tables

    @property
    def text(self) -> str:
        """The line, without blanks around it."""
        return self.document.texts[self.index].strip()

    @property
    def source(self) -> str:
        """Where it stands."""
        return self.document.at(self.index)

    def following(self, limit: int = 40) -> Sequence[str]:
        """The lines after it."""
        return self.document.texts[self.index + 1 : self.index + 1 + limit]

    def next_line(self) -> str:
        """The line after it, or an empty one at the end."""
        return next(iter(self.following(1)), "").strip()

    def preceding(self, limit: int = 3) -> str:
        """The nearest line before it that is not blank."""
        before = self.document.texts[max(0, self.index - limit) : self.index]
        return next((text.strip() for text in reversed(before) if text), "")


def nothing_more(_text: str) -> Hashable:
    """Tell lines apart by their words alone."""
    return None


@record(frozen=True, slots=True, eq=False)
class Recogniser:
    """One kind of line: a pattern for its start, and what such a line says.

    A line is tried only when its first word is one of ``first`` (lower case, separated by blanks) or when it holds one
    of ``words``. ``keeps`` leaves the line among the messages, for readers of logs; ``drops`` takes it out of them
    though it says nothing, because it is part of a tool's answer. Of kept lines that are alike only ``most`` are
    read: those of a flood say the same. They differ in their digits, except in what the reader ``tells`` apart.
    """

    pattern: str
    read: Callable[[Spot], Iterator[Said]]
    first: str = ""
    words: tuple[str, ...] = ()
    keeps: bool = False
    drops: bool = False
    most: int = 20
    tells: Callable[[str], Hashable] = nothing_more


def nothing(_spot: Spot) -> Iterator[Said]:
    """Read nothing: for lines that are known and of no use."""
    yield from ()


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def read_lines(document: Document, recognisers: Sequence[Recogniser], tables: Tables) -> Iterator[Said]:
    """What single lines say: the recognisers that a line's words call for read it, until one takes it."""
    for index, candidates in sorted(_candidates(document, recognisers).items()):
        text = document.texts[index].lstrip()  # patterns begin with any number of blanks: thousands would be slow
        for recogniser in candidates:
            if not _compiled(recogniser.pattern).match(text):
                continue
            said = _statements(recogniser, Spot(document, index, tables))
            yield from said
            if recogniser.drops or (said and not recogniser.keeps):
                document.take("line", [index])
                break


def _of_few(indices: Sequence[int], recogniser: Recogniser, document: Document) -> Iterator[int]:
    """The lines to read: all, or of those that are alike the first ones."""
    if not recogniser.keeps or len(indices) <= recogniser.most:
        yield from indices
        return
    times: Counter[Hashable] = Counter()
    for index in indices:
        key = document.alike(index), recogniser.tells(document.texts[index])
        times[key] += 1
        if times[key] <= recogniser.most:
            yield index


def _statements(recogniser: Recogniser, spot: Spot) -> list[Said]:
    """What a line says; nothing when something in it only looks like a version."""
    try:
        return list(recogniser.read(spot))
    except ValueError:
        return []


def _candidates(document: Document, recognisers: Sequence[Recogniser]) -> dict[int, list[Recogniser]]:
    """The recognisers to try on each line, in their order."""
    by_first = _by_first(tuple(recognisers))
    found: dict[int, set[int]] = {}
    for index, text in document.free():
        first = _FIRST_WORD.match(text)
        if first and (places := by_first.get(first[1].lower())):
            found[index] = set(places)
    for place, recogniser in enumerate(recognisers):
        present = [word for word in recogniser.words if document.may_have(word)]
        for index in _of_few(document.lines_with(*present), recogniser, document) if present else ():
            found.setdefault(index, set()).add(place)
    return {index: [recognisers[place] for place in sorted(places)] for index, places in found.items()}


@cache
def _by_first(recognisers: tuple[Recogniser, ...]) -> dict[str, list[int]]:
    """The places of the recognisers that a first word calls for."""
    places: dict[str, list[int]] = {}
    for place, recogniser in enumerate(recognisers):
        for word in recogniser.first.split():
            places.setdefault(word, []).append(place)
    return places
