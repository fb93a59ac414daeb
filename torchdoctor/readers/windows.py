"""Stretches of a long text as an error pattern wants to see them: white space collapsed, prefixes and frames gone."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from torchdoctor.facts import without_digits
from torchdoctor.readers.document import plain

_PLENTY = 8  # windows of a word that are looked at whatever they say
STRIDE = 3000  # characters from the start of one window to the next
OVERLAP = 3000  # by which a window reaches into the following ones
_NARROWEST, _WIDEST, _ENOUGH_CUTS = 60, 250, 3  # columns of a console; lines that it broke
_LONGEST_WRAPPED = 200_000  # characters: nobody copies more from a console
_TELLING = re.compile(  # numbers that make another thing of a line
    r"\b(?:exit\w{0,8}|code|[Ee]rr(?:or|no)|status|signal|Xid)\W{1,3}(?:is )?(-?\d{1,10})"
    r"|Xid \(([^)]{0,60})\): (\d{1,4})"
)
_FRAME = re.compile(r"^[\s\u2500-\u257f|]+|[\s\u2500-\u257f|]+$")  # boxes that rich and pip draw around messages


class Window(NamedTuple):
    """Collapsed text, and for each line in it: where it begins, and its number (from 0) in the whole text."""

    text: str
    starts: tuple[int, ...]
    numbers: tuple[int, ...]

    def number(self, place: int) -> int:
        """The number of the line that holds this place."""
        return self.numbers[bisect_right(self.starts, place) - 1]

    def line(self, place: int) -> str:
        """The line that holds this place."""
        start, end = self._span(place)
        return self.text[start:end].strip()

    def around(self, start: int, end: int) -> tuple[str, str]:
        """What stands before a stretch of text in the line where it begins, and behind it in the line where it ends."""
        return self.text[self._span(start)[0] : start], self.text[end : self._span(max(start, end - 1))[1]]

    def beginnings(self, start: int, end: int) -> tuple[int, ...]:
        """Where the lines behind the one of ``start`` begin, up to a place."""
        return self.starts[bisect_right(self.starts, start) : bisect_right(self.starts, end - 1)]

    def _span(self, place: int) -> tuple[int, int]:
        index = bisect_right(self.starts, place) - 1
        end = self.starts[index + 1] if index + 1 < len(self.starts) else len(self.text)
        return self.starts[index], end


def console_width(text: str) -> int:
    """The width at which a console broke lines inside words, or 0: no line is longer, and several are full."""
    if len(text) > _LONGEST_WRAPPED:
        return 0
    lines = [line.rstrip("\r") for line in text.split("\n")]
    width = max(map(len, lines))
    cuts = sum(is_cut(line, after, width) for line, after in pairwise(lines))
    return width if _NARROWEST <= width <= _WIDEST and cuts >= _ENOUGH_CUTS else 0


def is_cut(line: str, after: str, width: int) -> bool:
    """Whether a line is as long as the console is wide, and its last word may go on in the line after it."""
    line = line.rstrip("\r")
    return bool(width) and len(line) == width and not line[-1].isspace() and bool(after[:1].strip())


class Windows:
    """The windows of one text, made when they are asked for; a place is in the middle of its window."""

    def __init__(self, text: str, width: int = 0) -> None:
        self._text = text
        self._width = width  # of a console that broke its lines anywhere; what it cut is joined again
        self._made: dict[int, Window] = {}
        self._said: dict[tuple[int, ...], frozenset[Hashable]] = {}  # by the lines of a window, what they say
        self._places: dict[str, list[int]] = {}
        self._lines: tuple[int, int] = (0, 0)  # a place and the number of its line: counting goes on from there

    def around(self, words: Iterable[str], most: int) -> Iterator[Window]:
        """The windows that hold one of the words, in order: for each so many at the beginning, half at the end."""
        numbers: set[int] = set()
        for word in words:
            if word not in self._places:
                self._places[word] = list(self._holding(word))
            found = self._places[word]
            numbers.update(found if len(found) <= most else (*found[:most], *found[-(most // 2) :]))
        return self._that_say_more([self._window(number) for number in sorted(numbers)])

    def _that_say_more(self, windows: Sequence[Window]) -> Iterator[Window]:
        """The windows but for those that repeat what was said before, as most of a flood do."""
        if len(windows) <= _PLENTY:
            yield from windows
            return
        said: set[Hashable] = set()
        for place, window in enumerate(windows):
            says = self._says(window)
            if place < _PLENTY or not says or not says <= said:
                said |= says
                yield window

    def _says(self, window: Window) -> frozenset[Hashable]:
        """The lines of a window without the numbers that tell nothing; its last may be cut, and the next has it."""
        if window.numbers not in self._said:
            ends = (*window.starts[1:], len(window.text))
            lines = [window.text[start:end] for start, end in zip(window.starts, ends, strict=True)][:-1]
            said = ((without_digits(line), *_TELLING.findall(line)) for line in lines)
            self._said[window.numbers] = frozenset(said)
        return self._said[window.numbers]

    def _holding(self, word: str) -> Iterator[int]:
        place = self._text.find(word)
        while place >= 0:
            number = max(0, place - OVERLAP // 2) // STRIDE
            yield number
            place = self._text.find(word, number * STRIDE + STRIDE + OVERLAP // 2)

    def _window(self, number: int) -> Window:
        if number not in self._made:
            self._made[number] = self._make(number)
        return self._made[number]

    def _make(self, number: int) -> Window:
        start, end = self._snapped(number * STRIDE), number * STRIDE + STRIDE + OVERLAP
        pieces: list[str] = []
        starts: list[int] = []
        numbers: list[int] = []
        length, before = 0, ""
        for index, line in enumerate(self._text[start:end].split("\n"), self._line_at(start)):
            piece = " ".join(_FRAME.sub("", plain(line)).split())
            if piece:
                blank = "" if not pieces or is_cut(before, line, self._width) else " "
                pieces.append(blank + piece)
                starts.append(length + len(blank))
                numbers.append(index)
                length += len(pieces[-1])
            before = line
        return Window("".join(pieces), tuple(starts) or (0,), tuple(numbers) or (self._line_at(start),))

    def _snapped(self, start: int) -> int:
        """The beginning of the line in which a window begins, unless that line is a very long one."""
        return max(self._text.rfind("\n", max(0, start - STRIDE), start) + 1, start - STRIDE, 0)

    def _line_at(self, place: int) -> int:
        at, count = self._lines if self._lines[0] <= place else (0, 0)
        count += self._text.count("\n", at, place)
        self._lines = (place, count)
        return count
