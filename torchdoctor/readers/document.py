"""A pasted text as numbered lines, and which of them a reader has already taken."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cache, cached_property
from itertools import accumulate
from typing import NamedTuple

from torchdoctor.readers.prefixes import may_have_prefix, without_prefix
from torchdoctor.recording import PastedText

LINE_LENGTH = 8000  # longer lines are cut: no line we read is longer, and every pattern stays fast

_MANY = 2000  # places of a word: looking at every line is then quicker
_END = 1000  # characters of an endless word that are looked at, at its beginning and at its end
_DIGITS = b"0123456789"
_PROMPT = re.compile(
    r"\s*(?:\([^()]{1,60}\)\s*){0,3}"  # (base), (host)
    r"(?:PS\s+)?"
    r"(?:\[[^\]]{0,80}\]|[\w.-]{1,40}@[\w.-]{1,60}[^$#%>]{0,120}|[A-Za-z]:\\[^<>|]{0,120})?\s*"  # user@host:dir, C:\dir
    r"(?:>>>|[$#%>\u276f]|In \[\d+\]:)\s*(?=\S)"
)


class Line(NamedTuple):
    """One line: its number in the file, and its text without quote marks and trailing blanks."""

    number: int
    text: str


class Part(NamedTuple):
    """A recognised stretch of a text: what kind it is, the file's name, and its lines."""

    kind: str
    name: str
    lines: tuple[Line, ...]

    def at(self, line: Line) -> str:
        """Where a line stands, in the words of a report."""
        return f"{self.name} line {line.number}"


class Document:
    """The lines of one pasted text; readers take what they recognise, the rest are messages."""

    def __init__(self, pasted: PastedText) -> None:
        self._pasted = pasted
        self.name = pasted.name
        self.omitted = pasted.omitted
        self.text = pasted.text
        self._raw = pasted.text.split("\n")
        self.texts = [
            line.rstrip() if len(line) < LINE_LENGTH and not may_have_prefix(line) else plain(line)
            for line in self._raw
        ]
        self._taken = bytearray(len(self.texts))

    def __len__(self) -> int:
        return len(self.texts)

    @cached_property
    def _starts(self) -> list[int]:
        """Where each line begins in the text."""
        return list(accumulate((len(line) + 1 for line in self._raw), initial=0))

    @cached_property
    def distinct(self) -> bytes:
        """The lines without their digits, each once: the lines of a long log differ in little else."""
        return b"\n".join(map(_without_middles, dict.fromkeys(self._lines_alike)))

    @cached_property
    def _alike(self) -> bytes:
        """The text without its digits."""
        return _without_digits(self.text)

    @cached_property
    def _lines_alike(self) -> list[bytes]:
        return self._alike.split(b"\n")

    def alike(self, index: int) -> bytes:
        """A line without its digits: the same for lines of a flood."""
        return self._lines_alike[index]

    def count_alike(self, words: str) -> int:
        """How often some words stand in the text, whatever the digits between them."""
        return self._alike.count(_without_digits(words))

    def may_have(self, word: str) -> bool:
        """Whether a word may stand in the text, but for its digits: a cheap look before a dear one."""
        return _reduced(word) in self.distinct

    def has(self, *words: str) -> bool:
        """Whether any of these words stands anywhere in the text."""
        return any(self.may_have(word) and word in self.text for word in words)

    def lines_with(self, *words: str) -> list[int]:
        """The free lines that hold any of these words: the cheap way to find the few that matter in a long log."""
        found: set[int] = set()
        for word in filter(self.may_have, words):
            found.update(self._lines_of(word))
        return sorted(index for index in found if not self._taken[index])

    def _lines_of(self, word: str) -> Iterator[int]:
        if self.text.count(word) > _MANY:
            yield from (index for index, line in enumerate(self._raw) if word in line)
            return
        place = self.text.find(word)
        while place >= 0:
            index = bisect_right(self._starts, place) - 1
            yield index
            place = self.text.find(word, self._starts[index + 1])

    def is_free(self, index: int) -> bool:
        """Whether no reader has taken this line."""
        return not self._taken[index]

    def free(self) -> Iterator[tuple[int, str]]:
        """The lines nobody has taken that are not blank, with their index."""
        taken = self._taken
        return ((index, text) for index, text in enumerate(self.texts) if text and not taken[index])

    def take(self, kind: str, indices: Iterable[int]) -> Part:
        """Hand these lines to a reader; those already taken are left out."""
        chosen = [index for index in indices if not self._taken[index]]
        for index in chosen:
            self._taken[index] = 1
        return self.part(kind, chosen)

    def part(self, kind: str, indices: Iterable[int]) -> Part:
        """Show these lines to a reader and leave them among the messages as well."""
        return Part(kind, self.name, tuple(Line(self.number(index), self.texts[index]) for index in indices))

    def at(self, index: int) -> str:
        """Where a line stands, in the words of a report."""
        return f"{self.name} line {self.number(index)}"

    def number(self, index: int) -> int:
        """The number of a line in the file as it was given, of whose middle a part may be missing here."""
        return self._pasted.line_number(index)


def _without_middles(line: bytes) -> bytes:
    """A line of which the endless words, as encoded data is, have lost their middle: no message stands in it."""
    if len(line) <= LINE_LENGTH:
        return line
    return b" ".join(
        word if len(word) <= LINE_LENGTH else word[:_END] + b" " + word[-_END:] for word in line.split(b" ")
    )


@cache
def _reduced(word: str) -> bytes:
    """The same of a word; there are some hundreds of them, asked of every text."""
    return _without_digits(word)


def _without_digits(text: str) -> bytes:
    return text.encode("utf-8", "replace").translate(None, _DIGITS)


def plain(line: str) -> str:
    """A line without quote marks, time stamps, ranks and the like, and trailing blanks, cut to a bounded length."""
    return without_prefix(line[:LINE_LENGTH]).rstrip()


def command_of(text: str) -> str:
    """The command typed at a shell or Python prompt, or an empty string when the line shows no prompt."""
    match = _PROMPT.match(text)
    return text[match.end() :].strip() if match else ""
