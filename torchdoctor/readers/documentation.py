"""Whether a text quotes an error or shows it: documentation, a FAQ, a release note, an answer to somebody else.

Doubt needs a sign of its own: "if you see ...", "this error means ...", a cell of a table, a heading with advice below.
A text with a sign of a report (a trace, the facts of a host, "I get ...") is believed whatever else stands in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from torchdoctor.readers import quotation_words as words
from torchdoctor.readers.lazy import lazily

if TYPE_CHECKING:
    from torchdoctor.readers.document import Document

_LONGEST = 4000  # lines: what is longer is a log
_WIDEST = 2000  # characters of a line that are looked at
_BESIDE = 300  # characters beside a quotation that may belong to its sentence
_AROUND = 14  # lines looked at before and behind a quotation
_FEW, _SOME = 2, 3
_TITLE = 80  # characters
_LINE = 100  # characters: a paragraph may be one line

_HEADING = lazily(r"\s*(?:#{1,6}\s+\S|\*\*[^*]{2,160}\*\*:?\s*$|<h[1-6]\b|Q\d{0,3}[:.)]\s|={1,6} \S.* ={1,6}$)")
_UNDERLINE = lazily(r"([=~^*#-])\1{3,}\s*$")
_FRAME = lazily(r'\s*File ".+", line \d')
_QUOTE = lazily("[`\"'*\u2018\u2019\u201c\u201d]")
_PROMPT = lazily(r"\s*(?:[$%>]|>>>|PS \S*>|\S{1,60}@\S{1,60}[$#]) ")
_CODE = lazily(r"\s{2}\s*(?![-*+\d\s])")  # indented, and no item of a list
_FENCE = lazily(r"\s*(?:```|~~~)")
_RULE = lazily(r"[\s:|-]{5,200}$")


class Quotations:
    """Which lines of a text quote an error of somebody else."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._lines = [line[:_WIDEST] for line in document.texts] if len(document) <= _LONGEST else []

    def is_quoted(self, index: int, before: str, after: str) -> bool:
        """Whether the error in a line is a quotation; ``before`` and ``after`` are what else stands in that line."""
        if not self._lines or self._is_report:
            return False
        if self.is_page or not self._unprefixed[index]:
            return self.is_page
        in_list = index in self._items or self._in_table(index)
        return in_list or self._in_sentence(index, before, after) or self._explained(index)

    @cached_property
    def is_page(self) -> bool:
        """Whether the whole text is a page of documentation: it advises, says what it is, and is no report or log."""
        prose = [self._lines[index] for index in range(len(self._lines)) if self._is_prose(index)]
        if sum(1 + len(line) // _LINE for line in prose) < max(_SOME, self._logged) or self._is_report:
            return False
        advice = sum(1 for line in prose if words.ADVICE.search(line))
        leads = sum(1 for line in prose if words.LEAD.search(line) or words.MEANING.search(line))
        titled = any(words.PAGE.search(self._lines[index]) for index in self._headings)
        return advice >= _FEW and (titled or leads >= _SOME)

    @cached_property
    def _is_report(self) -> bool:
        """Whether somebody tells of a host of his own; what stands in a heading is a question of the page."""
        return any(words.REPORT.search(line) for index, line in enumerate(self._lines) if index not in self._headings)

    @cached_property
    def _logged(self) -> int:
        """How many lines outside code are those of a log."""
        return sum(1 for index, line in enumerate(self._lines) if not self._fenced[index] and words.LOG.match(line))

    @cached_property
    def _headings(self) -> frozenset[int]:
        return frozenset(index for index, line in enumerate(self._lines) if line and self._is_heading(index))

    def _is_heading(self, index: int) -> bool:
        line = self._lines[index]
        if _HEADING.match(line):
            return not self._fenced[index] and not words.ISSUE.match(line)
        below = self._below(index)
        is_title = not index and len(line) <= _TITLE and bool(words.PAGE.search(line))
        return is_title or (bool(_UNDERLINE.match(below)) and not _UNDERLINE.match(line))

    @cached_property
    def _items(self) -> frozenset[int]:
        """The items of a list of messages, each marked and followed by words about it; one alone may be a report's."""
        items = [index for index, line in enumerate(self._lines) if not self._fenced[index] and words.ITEM.match(line)]
        return frozenset(items if len(items) >= _FEW else ())

    @cached_property
    def _fenced(self) -> bytearray:
        """For each line, whether it stands in a block of code."""
        marks, inside = bytearray(len(self._lines)), 0
        for index, line in enumerate(self._lines):
            if _FENCE.match(line):
                inside ^= 1
            marks[index] = inside
        return marks

    @cached_property
    def _unprefixed(self) -> bytearray:
        """For each line, whether it came without a time stamp, a rank and the like."""
        raw = self._document.text.split("\n")
        return bytearray(line.startswith(text[:_TITLE]) for line, text in zip(raw, self._lines, strict=True))

    def _is_prose(self, index: int) -> bool:
        line = self._lines[index]
        if not self._unprefixed[index] or self._fenced[index] or words.LOG.match(line) or _CODE.match(line):
            return False
        return len(words.COMMON.findall(line)) >= _FEW

    def _in_sentence(self, index: int, before: str, after: str) -> bool:
        """Whether the line is a sentence about the error: "if you see `...`", "`...` means that ..."."""
        before, after = before[-_BESIDE:], after[:_BESIDE]
        if words.LOG.match(self._lines[index]):
            return False
        end = _QUOTE.search(after) if _QUOTE.search(before) else None
        leads = words.LEAD.search(before) or words.MENDED.search(before) or words.SOLUTION.search(after)
        return bool(leads) or bool(end and words.MEANING.search(after[end.end() :]))

    def _in_table(self, index: int) -> bool:
        first = index
        while first >= 0 and _is_row(self._lines[first]):
            first -= 1
        return any(map(_is_rule, self._lines[first + 1 : min(index, first + 4)]))

    def _explained(self, index: int) -> bool:
        """Whether the paragraph before leads up to the error, or the one behind it says what it means."""
        if any(map(words.LEAD.search, self._before(index))):
            return True
        behind = [] if self._in_trace(index) else list(self._behind(index))
        if index and index in self._headings:
            return any(map(words.ADVICE.search, behind))
        if any(map(words.HAPPENS.search, behind[:1])) and any(map(words.YOURS.search, behind)):
            return True
        return any(map(words.MEANING.search, behind[:1])) or bool(words.LABEL.match(self._below(index)))

    def _below(self, index: int) -> str:
        return self._lines[index + 1] if index + 1 < len(self._lines) else ""

    def _in_trace(self, index: int) -> bool:
        """Whether it ends a trace that nobody has put in a block of code."""
        lines = self._lines[max(0, index - _AROUND) : index]
        return not self._fenced[index] and any(map(_FRAME.match, lines))

    def _before(self, index: int) -> Iterator[str]:
        """The last prose before the block that holds a line, at most one paragraph of it."""
        seen = False
        for place in range(index - 1, max(-1, index - _AROUND), -1):
            if self._is_prose(place):
                seen = True
                yield self._lines[place]
            elif seen or place in self._headings or (_PROMPT.match(self._lines[place]) and not self._fenced[place]):
                return

    def _behind(self, index: int) -> Iterator[str]:
        """The paragraph behind the block that holds a line, parted from it by a blank line or the end of code."""
        parted, seen = index in self._headings, False
        for place in range(index + 1, min(len(self._lines), index + _AROUND)):
            line = self._lines[place]
            is_border = not line or bool(_FENCE.match(line) or _UNDERLINE.match(line))
            if seen and (is_border or place in self._headings):
                return
            if parted and not is_border:
                if words.LOG.match(line):
                    return
                seen = True
                yield line
            parted = parted or is_border


def _is_row(line: str) -> bool:
    return line.lstrip().startswith("|") and line.endswith("|") and line.count("|") >= _SOME


def _is_rule(line: str) -> bool:
    """Whether it parts the head of a table from its rows."""
    return "--" in line and "|" in line and bool(_RULE.match(line))
