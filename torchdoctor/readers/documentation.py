"""Whether a text quotes an error or shows it: documentation, a FAQ, a release note, an answer to somebody else.

Doubt needs a sign of its own: "if you see ...", "this error means ...", a cell of a table, a heading with advice below.
A text with a sign of a report (a trace, the facts of a host, "I get ...") is believed whatever else stands in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from torchdoctor.patterns import lazily
from torchdoctor.readers import quotation_words as words
from torchdoctor.readers.cited import Citations
from torchdoctor.readers.listed import Listings
from torchdoctor.readers.markup import is_marked_up, is_rule, is_title
from torchdoctor.readers.solved import solved_at

if TYPE_CHECKING:
    from torchdoctor.readers.document import Document

_LONGEST = 4000  # lines: what is longer is a log
_WIDEST = 2000  # characters of a line that are looked at
_BESIDE = 300  # characters beside a quotation that may belong to its sentence
_AROUND = 14  # lines looked at before and behind a quotation
_FEW, _SOME = 2, 3
_WRITTEN, _MORE = 10, 4  # lines of prose in a page with headings, and how many of them for each line of a log
_TITLE = 80  # characters
_LINE = 100  # characters: a paragraph may be one line

_HEADING = lazily(r"\s*(?:#{1,6}\s+\S|\*\*[^*]{2,160}\*\*:?\s*$|<(?:h[1-6]|dt)\b|Q\d{0,3}[:.)]\s|={1,6} \S.* ={1,6}$)")
_MARKED = lazily(r"(?:={1,5}|\*{1,5}) \w[\w ]{1,60}")  # a title of AsciiDoc or org-mode
_FRAME = lazily(r'\s*File ".+", line \d')
_QUOTE = lazily("[`\"'*\u2018\u2019\u201c\u201d]")
_HAS_OWN = lazily(r'^\W{0,3}(?:\w{1,20} ){0,3}[`"\u2018\u201c][^`"\u2019\u201d]{8,200}[`"\u2019\u201d]')
_NAMED = lazily("[`\"'\u2018\u2019\u201c\u201d] ?\\($")  # behind a quotation, another name of it
_PROMPT = lazily(r"\s*(?:[$%>]|>>>|PS \S*>|\S{1,60}@\S{1,60}[$#]) ")
_CODE = lazily(r"\s{2}\s*(?![-*+\d\s])")  # indented, and no item of a list
_FENCE = lazily(r"\s*(?:```|~~~)")


class Quotations:
    """Which lines of a text quote an error of somebody else."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._lines = [line[:_WIDEST] for line in document.texts] if len(document) <= _LONGEST else []
        self._citations = Citations(document.texts)

    def is_quoted(self, index: int, before: str, after: str) -> bool:
        """Whether the error in a line is a quotation; ``before`` and ``after`` are what else stands in that line."""
        if index < self._solved:
            return True
        if not self._lines or self._is_report:
            return False
        if self.is_page or not self._unprefixed[index]:
            return self.is_page
        in_list = index in self._items or self._listings.holds(index)
        return (
            in_list or self.is_cited(index, before) or self._in_sentence(index, before, after) or self._explained(index)
        )

    def is_of_page(self, index: int, before: str, after: str) -> bool:
        """Whether an error that nobody knows is a quotation, or no more than a word of a sentence or a title."""
        if self.is_quoted(index, before, after):
            return True
        return bool(self._lines) and (self._is_prose(index) or index in self._headings)

    def is_cited(self, index: int, before: str) -> bool:
        """Whether the line is code, a hit of a search or part of a patch, whatever the text around it is."""
        raw, line = self._raw[index], self._document.texts[index]
        return raw.startswith(line[:_TITLE]) and self._citations.is_cited(index, before)

    @cached_property
    def is_page(self) -> bool:
        """Whether the whole text is a page of documentation: it advises, says what it is, and is no report or log."""
        if self._is_report:
            return False
        if is_marked_up(self._lines) or self._has_labels:
            return True
        prose = [self._lines[index] for index in range(len(self._lines)) if self._is_prose(index)]
        weight = sum(1 + len(line) // _LINE for line in prose)
        if weight < max(_SOME, self._logged):
            return False
        if len(self._headings) >= _SOME and weight >= max(_WRITTEN, _MORE * self._logged) and not self._has_trace:
            return True
        advice = sum(1 for line in [*prose, *self._points] if words.ADVICE.search(line))
        leads = sum(1 for line in prose if words.LEAD.search(line) or words.MEANING.search(line))
        titles = [self._lines[index] for index in self._headings]
        titled = any(words.PAGE.search(title) and not words.TRIED.search(title) for title in titles)
        return advice >= _FEW and (titled or leads >= _SOME)

    @cached_property
    def _is_report(self) -> bool:
        """Whether somebody tells of a host of his own; what stands in a heading is a question of the page."""
        told = (index for index, line in enumerate(self._lines) if index not in self._headings or "</h" in line)
        if any(words.REPORT.search(self._lines[index], self._end_of_title(index)) for index in told):
            return True
        marked = self._headings | {index for index, line in enumerate(self._lines) if _MARKED.fullmatch(line)}
        titles = [words.MARKS.sub("", self._lines[index]) for index in sorted(marked)]
        if any(map(words.TRACKER.match, titles)):
            return True
        return len({title for title in titles if words.TRACKER_TOO.match(title)}) >= _FEW

    def _end_of_title(self, index: int) -> int:
        """Where in a line its heading ends, which in a web page may be anywhere."""
        return self._lines[index].find("</h") + 1 if index in self._headings else 0

    @cached_property
    def _points(self) -> list[str]:
        """The items of lists that are too short to be sentences."""
        points = (
            index for index, line in enumerate(self._lines) if words.POINT.match(line) and not self._fenced[index]
        )
        return [self._lines[index] for index in points if not self._is_prose(index)]

    @cached_property
    def _has_labels(self) -> bool:
        """Whether causes and remedies stand under titles of their own, and no output of a program beside them."""
        lines = [words.MARKS.sub("", line) for line in self._lines if line]
        is_log = self._has_trace or self._logged * _SOME > len(lines)
        return not is_log and all(any(map(label.match, lines)) for label in words.LABELS)

    @cached_property
    def _has_trace(self) -> bool:
        return any(map(_FRAME.match, self._lines))

    @cached_property
    def _solved(self) -> int:
        return solved_at(self._lines)

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
        if not index and len(line) <= _TITLE and bool(words.PAGE.search(line)):
            return True
        return is_title(self._lines[index - 1] if index else "", line, self._below(index))

    @cached_property
    def _listings(self) -> Listings:
        return Listings(self._lines, self._headings, self._fenced)

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
    def _raw(self) -> list[str]:
        return self._document.text.split("\n")

    @cached_property
    def _unprefixed(self) -> bytearray:
        """For each line, whether it came without a time stamp, a rank and the like."""
        return bytearray(line.startswith(text[:_TITLE]) for line, text in zip(self._raw, self._lines, strict=True))

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
        if _NAMED.search(before) and words.MEANING.search(after[:_TITLE]):
            return True
        leads = words.LEAD.search(before) or words.MENDED.search(before) or words.SOLUTION.search(after)
        if words.BEFORE.search(before) and words.CHANGED.search(after):
            return True
        return bool(leads) or bool(end and words.MEANING.search(after[end.end() :]))

    def _explained(self, index: int) -> bool:
        """Whether the paragraph before leads up to the error, or the one behind it says what it means."""
        if any(map(_leads_up, self._before(index))):
            return True
        behind = [] if self._in_trace(index) else list(self._behind(index))
        if index and index in self._headings:
            signs = (words.ADVICE, words.MEANING, words.LEAD)
            return any(sign.search(line) for line in behind for sign in signs)
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
            is_border = not line or bool(_FENCE.match(line)) or is_rule(line)
            if seen and (is_border or place in self._headings):
                return
            if parted and not is_border:
                if words.LOG.match(line):
                    return
                seen = True
                yield line
            parted = parted or is_border


def _leads_up(line: str) -> bool:
    """Whether a line leads up to what stands below it: one that has its quotation in it and ends does not."""
    lead = words.LEAD.search(line)
    return bool(lead and (line.endswith((":", "\uff1a")) or not _HAS_OWN.search(line[lead.end() :])))
