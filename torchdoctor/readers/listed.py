"""Errors in a table of messages or in a list of changes."""

from __future__ import annotations

from collections.abc import Container, Sequence

from torchdoctor.patterns import lazily
from torchdoctor.readers import quotation_words as words

_HEAD = 4  # lines of a table that its head may have
_RULE = lazily(r"[\s:|-]{5,200}$")


class Listings:
    """The tables and the lists of changes of a text."""

    def __init__(self, lines: Sequence[str], headings: Container[int], fenced: Sequence[int]) -> None:
        self._lines = lines
        self._headings = headings
        self._fenced = fenced

    def holds(self, index: int) -> bool:
        """Whether a line belongs to one of them."""
        return self._in_table(index) or self._in_changes(index)

    def _in_table(self, index: int) -> bool:
        first = index
        while first >= 0 and _is_row(self._lines[first]):
            first -= 1
        head = self._lines[first + 1 : min(index, first + 1 + _HEAD)]
        rule = next((place for place, line in enumerate(head) if _is_rule(line)), None)
        if rule is None:
            return False
        names = " ".join(head[:rule])
        return bool(words.REMEDY.search(names)) or not words.HOSTS.search(names)

    def _in_changes(self, index: int) -> bool:
        """Whether it belongs to an item below the title of a list of changes."""
        while index and self._lines[index].startswith(" ") and not words.POINT.match(self._lines[index]):
            index -= 1
        if not words.POINT.match(self._lines[index]) or self._fenced[index]:
            return False
        above = next((self._lines[place] for place in range(index - 1, -1, -1) if self._is_title_of_changes(place)), "")
        return bool(words.CHANGES.match(words.MARKS.sub("", above)))

    def _is_title_of_changes(self, index: int) -> bool:
        line = self._lines[index]
        return index in self._headings or (bool(line) and bool(words.CHANGES.match(line)))


def _is_row(line: str) -> bool:
    """Whether it may be a row of a table: with bars around it, between its cells, or a border of a grid."""
    return line.lstrip().startswith(("|", "+")) or " | " in line or bool(_RULE.match(line))


def _is_rule(line: str) -> bool:
    """Whether it parts the head of a table from its rows; the borders of a grid are another thing."""
    is_grid = line.startswith("+=") and not line.strip("+=")
    return is_grid or ("--" in line and "|" in line and bool(_RULE.match(line)))
