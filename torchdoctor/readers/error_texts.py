"""The known errors that a text quotes, in the order in which they stand there."""

from __future__ import annotations

import re
from functools import cache, partial
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from torchdoctor.facts import ErrorText
from torchdoctor.readers import memory_lines
from torchdoctor.readers.documentation import Quotations
from torchdoctor.readers.error_places import Place, Places
from torchdoctor.readers.got_over import Endings
from torchdoctor.readers.loaders import loader
from torchdoctor.readers.windows import Window, Windows, console_width
from torchdoctor.tables.known_errors import KnownError, KnownErrors

if TYPE_CHECKING:
    from torchdoctor.readers.document import Document

_MOST = 60  # windows looked at for one word: its first places and its last
_MOST_IN_WINDOW = 100
_LONGEST = 300  # characters of a quoted line
_BEFORE = " ]:"  # what a pattern may take of the line before
_ERROR = re.compile(
    r"\b(?:\w{0,60}Error|\w{0,60}Exception)\b|\berror:|Traceback \(most recent call last\)"
    r"|\b(?:Segmentation fault|core dumped|Bus error|Illegal instruction|Fatal Python error)\b|\(SIG[A-Z]{3,6}\)"
    r"|^\s*(?:Aborted|Killed)\s*$|\bexit(?:ed with)?(?: code| status)? (?:12[4-9]|1[3-9]\d)\b|Speicherzugriffsfehler",
    re.IGNORECASE,
)
_QUESTION = re.compile(
    r"(?:^|(?<=[.!?] ))(?:how|what|why|is|are|can|could|should|does|do|any(?:one|body)?)\b"
    r"(?:(?!\w(?:Error|Exception)\b)[^.!?:]){0,200}\b"
    r"(?:this|that|the|these|those|such|my) (?:errors?|exceptions?)\b[^.!?:]{0,100}\?+$",
    re.IGNORECASE,
)
_NO_ERRORS = re.compile(r"\berrors?(?: count)?\s*[:=]\s*(?:0|none|no|n/a|false)\s*$", re.IGNORECASE)
_NONE_SAID = re.compile(
    r"\b(?:no|0|zero|without(?: an| any)?) errors?\b|\b(?:word |character )?error rate\b"
    r"|\b(?:squared|absolute|percentage|relative|validation|training|test|prediction) error\b",
    re.IGNORECASE,
)
_CONFLICTS, _DONE = "pip's dependency resolver does not currently take into account", "Successfully installed "
_ERROR_WORDS = (
    "Error", "error", "ERROR", "Exception", "exception", "Traceback", "egmentation", "dumped", "Illegal", "SIG",
    "Aborted", "Killed", "exit", "Speicher",
)  # fmt: skip


class Errors(NamedTuple):
    """The known errors of a text, whether it is documentation, which has none of its own, and the lines in doubt."""

    items: tuple[ErrorText, ...]
    is_documentation: bool
    in_doubt: frozenset[int]
    quotations: Quotations | None = None


_NOTHING = Errors((), is_documentation=False, in_doubt=frozenset())


def find_errors(document: Document, known: KnownErrors) -> tuple[ErrorText, ...]:
    """Every known error of a text, each different one once, at the first place where it is no mere quotation."""
    return read_errors(document, known).items


def read_errors(document: Document, known: KnownErrors) -> Errors:
    """The same, and whether nothing but quotations was found."""
    reader = _Reader(document)
    entries = known.candidates(_tokens(document).__contains__)
    found = [place for entry in entries for place in reader.places(entry)]
    errors = tuple(place.error for place in sorted(found, key=_by_text))
    is_quoted = all(place.is_quoted for place in found) if found else reader.quotations.is_page
    return Errors(errors, is_quoted, frozenset(reader.in_doubt), reader.quotations)


def _by_text(place: Place) -> tuple[int, int]:
    return place.line, place.column


class _Reader:
    """Looks for the known errors of one text."""

    def __init__(self, document: Document) -> None:
        self._document = document
        width = console_width(document.text)
        self._windows = [Windows(document.text), *([Windows(document.text, width)] if width else [])]
        self._endings = Endings(document)
        self._last = next((index for index in reversed(range(len(document))) if document.texts[index]), 0)
        self.quotations = Quotations(document)
        self.in_doubt: set[int] = set()

    def places(self, entry: KnownError) -> list[Place]:
        """Where an entry says something that is beyond doubt, else its first place."""
        for windows in self._windows:
            if found := self._places_in(windows, entry):
                return found.told(self._document)
        return []

    def _places_in(self, windows: Windows, entry: KnownError) -> Places:
        pattern, found = _compiled(entry.pattern), Places()
        words = filter(self._document.may_have, entry.words)
        for window in windows.around(words, _MOST):
            for match in islice(pattern.finditer(window.text), _MOST_IN_WINDOW):
                start = _start(match, window)
                index, line = window.number(start), _quoted(start, window)
                if found and self._is_cut(window, index):
                    continue
                found.add(index, match, line, partial(self._place, entry, match, window, line))
            if found.is_full:
                break
        return found

    def _is_cut(self, window: Window, index: int) -> bool:
        """Whether a line is the last of a window and may go on; another window has it whole."""
        return window.numbers[0] != index == window.numbers[-1] != self._last

    def _place(self, entry: KnownError, match: re.Match[str], window: Window, line: str) -> Place:
        start = _start(match, window)
        index = window.number(start)
        beside = window.around(start, match.end())
        is_quoted = self.quotations.is_quoted(index, *beside)
        is_cited = is_quoted or self.quotations.is_cited(index, beside[0])
        values = {**{name: value for name, value in match.groupdict().items() if value}, **loader(match)}
        message = window.text[start:] if memory_lines.SHORTAGE in match[0] else ""
        memory = memory_lines.numbers(message)
        error = ErrorText(
            entry.id,
            line,
            self._document.at(index),
            {**values, **memory_lines.gpu_of(message)} if memory else values,
            is_cited or self._endings.is_got_over(window.number(max(match.start(), match.end() - 1)), *beside),
            memory,
        )
        if error.doubtful:
            self.in_doubt |= {index, window.number(max(match.start(), match.end() - 1))}
        return Place(index, start, is_quoted, error)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """There are more patterns than the cache of re holds."""
    return re.compile(pattern)


def _tokens(document: Document) -> bytes:
    """All that stands between blanks, each once: in it a word without blanks is found as in the text, and sooner."""
    return b" ".join(dict.fromkeys(document.distinct.split()))


def _start(match: re.Match[str], window: Window) -> int:
    """Where the error begins in a match: behind the blank and the lines before it that the pattern took as well.

    A command, or a line of a log, that leads up to it is not the line that tells of it.
    """
    start = match.start() + len(match[0]) - len(match[0].lstrip(_BEFORE))
    if window.number(start) == window.number(match.end() - 1):
        return start
    begins = window.beginnings(start, match.end())
    if not begins or _ERROR.search(window.line(start)):
        return start
    return next((begin for begin in begins if _ERROR.search(window.line(begin))), start)


def _quoted(start: int, window: Window) -> str:
    """The line in which an error begins; of a very long one what follows its beginning."""
    line = window.line(start)
    return line if len(line) <= _LONGEST else window.around(start, start)[1][:_LONGEST].strip()


def last_error(document: Document, errors: Errors = _NOTHING) -> str:
    """The last line that looks like an error and that nobody has taken as part of a report or as a quotation.

    A question what to do about "this error" is none where the text tells of errors that are known.
    """
    harmless: set[bytes] = set()
    for index in reversed(document.lines_with(*_ERROR_WORDS)):
        text = document.texts[index].strip()
        if document.alike(index) in harmless or index in errors.in_doubt or _is_no_failure(document, index):
            continue
        said = _NONE_SAID.sub("", text)
        found = _ERROR.search(_QUESTION.sub("", said) if errors.items else said)
        if found and not _is_of_page(index, text, found[0], errors):
            return text[:_LONGEST]
        if not found and said == text and "exit" not in text:  # another status is another thing
            harmless.add(document.alike(index))
    return ""


def _is_of_page(index: int, text: str, words: str, errors: Errors) -> bool:
    """Whether a text is documentation and the error in a line is no more than a part of it."""
    if not errors.is_documentation or errors.quotations is None:
        return False
    before, _, after = text.partition(words)
    return errors.quotations.is_of_page(index, before, after)


def _is_no_failure(document: Document, index: int) -> bool:
    """A count of errors that is zero, and pip's list of conflicts above the line that says what it has installed."""
    text = document.texts[index]
    return bool(_NO_ERRORS.search(text)) or (_CONFLICTS in text and index < max(document.lines_with(_DONE), default=-1))
