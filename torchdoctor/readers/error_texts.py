"""The known errors that a text quotes, in the order in which they stand there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from torchdoctor.facts import ErrorText
from torchdoctor.readers.documentation import Quotations
from torchdoctor.readers.got_over import Endings
from torchdoctor.readers.windows import Window, Windows, console_width
from torchdoctor.tables.known_errors import KnownError, KnownErrors

if TYPE_CHECKING:
    from torchdoctor.readers.document import Document

_MOST = 60  # windows looked at for one word: its first places and its last
_MOST_IN_WINDOW = 4
_LONGEST = 300  # characters of a quoted line
_ERROR = re.compile(
    r"\b(?:\w{0,60}Error|\w{0,60}Exception)\b|\berror:|Traceback \(most recent call last\)"
    r"|\b(?:Segmentation fault|core dumped|Bus error|Illegal instruction|Fatal Python error)\b|\(SIG[A-Z]{3,6}\)"
    r"|^\s*(?:Aborted|Killed)\s*$|\bexit(?:ed with)?(?: code| status)? (?:12[4-9]|1[3-9]\d)\b|Speicherzugriffsfehler",
    re.IGNORECASE,
)
_ERROR_WORDS = (
    "Error", "error", "ERROR", "Exception", "exception", "Traceback", "egmentation", "dumped", "Illegal", "SIG",
    "Aborted", "Killed", "exit", "Speicher",
)  # fmt: skip


class Errors(NamedTuple):
    """The known errors of a text, and whether it is documentation, which has none of its own."""

    items: tuple[ErrorText, ...]
    is_documentation: bool


def find_errors(document: Document, known: KnownErrors) -> tuple[ErrorText, ...]:
    """Every known error of a text, each once, at the first place where it is no mere quotation."""
    return read_errors(document, known).items


def read_errors(document: Document, known: KnownErrors) -> Errors:
    """The same, and whether nothing but quotations was found."""
    reader = _Reader(document)
    found = [
        min(places, key=_by_doubt)
        for entry in known.candidates(_tokens(document).__contains__)
        if (places := list(reader.places(entry)))
    ]
    errors = tuple(place.error for place in sorted(found, key=_by_text))
    is_quoted = all(place.is_quoted for place in found) if found else reader.quotations.is_page
    return Errors(errors, is_quoted)


class _Place(NamedTuple):
    """Where an error stands: the line, the place in its window, and whether it is a quotation there."""

    line: int
    column: int
    is_quoted: bool
    error: ErrorText


def _by_text(place: _Place) -> tuple[int, int]:
    return place.line, place.column


def _by_doubt(place: _Place) -> tuple[bool, int, int]:
    return place.error.doubtful, place.line, place.column


class _Reader:
    """Looks for the known errors of one text."""

    def __init__(self, document: Document) -> None:
        self._document = document
        width = console_width(document.text)
        self._windows = [Windows(document.text), *([Windows(document.text, width)] if width else [])]
        self._endings = Endings(document)
        self.quotations = Quotations(document)

    def places(self, entry: KnownError) -> Iterator[_Place]:
        """The first place of an entry that is beyond doubt, and those before it that are not."""
        for windows in self._windows:
            found = list(self._places_in(windows, entry))
            yield from found
            if found:
                return

    def _places_in(self, windows: Windows, entry: KnownError) -> Iterator[_Place]:
        pattern = _compiled(entry.pattern)
        words = filter(self._document.may_have, entry.words)
        for window in windows.around(words, _MOST):
            matches = islice(pattern.finditer(window.text), _MOST_IN_WINDOW)
            found = [self._place(entry, match, window) for match in matches]
            yield from found
            if not all(place.error.doubtful for place in found):
                return

    def _place(self, entry: KnownError, match: re.Match[str], window: Window) -> _Place:
        index = window.number(match.start())
        beside = window.around(match.start(), match.end())
        is_quoted = self.quotations.is_quoted(index, *beside)
        error = ErrorText(
            entry.id,
            _quoted(match, window.line(match.start())),
            self._document.at(index),
            {name: value for name, value in match.groupdict().items() if value},
            is_quoted or self._endings.is_got_over(window.number(max(match.start(), match.end() - 1)), *beside),
        )
        return _Place(index, match.start(), is_quoted, error)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """There are more patterns than the cache of re holds."""
    return re.compile(pattern)


def _tokens(document: Document) -> bytes:
    """All that stands between blanks, each once: in it a word without blanks is found as in the text, and sooner."""
    return b" ".join(dict.fromkeys(document.distinct.split()))


def _quoted(match: re.Match[str], line: str) -> str:
    """The line in which the match begins; of a very long one what follows the beginning of the match."""
    return line if len(line) <= _LONGEST else match.string[match.start() :][:_LONGEST]


def last_error(document: Document) -> str:
    """The last line that looks like an error and that nobody has taken as part of a report."""
    for index in reversed(document.lines_with(*_ERROR_WORDS)):
        if _ERROR.search(document.texts[index]):
            return document.texts[index].strip()[:_LONGEST]
    return ""
