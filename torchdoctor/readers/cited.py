"""Lines that hold the words of an error as text: program code, a search through files, a patch, a list of commits."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise

from torchdoctor.patterns import lazily
from torchdoctor.readers.fields import is_field
from torchdoctor.readers.programs import Programs, is_in_text, is_statement

_FAR = 200  # lines looked at before one
_SHOWN = 300  # characters before an error that tell one place in a line from another

_SOURCE = r"pyi?|pyx|c|cc|cpp|cxx|h|hpp|cuh?|hip|rs|go|java|js|tsx?|sh|bash|cmake"
_PAGE = r"md|mdx|rst|adoc|html?|tex|po|pot"
_PATH = r"(?:[A-Za-z]:)?[\w@+./\\-]{1,250}\."
# A compiler and a warning put one blank behind the number; a search gives the line as it is.
_AS_IT_IS = r"[:-]\d{1,7}[:-](?:\d{1,5}:)?(?! \S|\(\.|\d)"
_IN_SOURCE = lazily(rf"{_PATH}(?:{_SOURCE})(?:{_AS_IT_IS}|:(?=\s\s))")
_IN_PAGE = lazily(rf"{_PATH}(?:{_PAGE}){_AS_IT_IS}")
_PAGE_FILE = lazily(rf"{_PATH}(?:{_PAGE})$")
_NUMBER = lazily(r"\s*\d{1,7}(?:[:-]|\s)")
_HUNK = lazily(r"@@ -\d{1,9}(?:,(\d{1,9}))? \+\d{1,9}(?:,(\d{1,9}))? @@")
_COMMIT = lazily(r"commit [0-9a-f]{7,40}\b")
_COMMIT_HEAD = lazily(r"(?:Author|AuthorDate|Commit|CommitDate|Date|Merge): ")
_SHORT = lazily(r"[*|\\/ ]{0,12}(?=[a-f\d]{0,11}\d)(?=\d{0,11}[a-f])([a-f\d]{7,12}) \S")


class Citations:
    """Which lines of a text hold an error as a text of theirs."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._programs = Programs(lines)
        self._found: dict[tuple[int, str], bool] = {}

    def is_cited(self, index: int, before: str) -> bool:
        """Whether a line only holds the words of the error; ``before`` stands before them in the line."""
        key = index, before[-_SHOWN:]
        if key not in self._found:
            self._found[key] = self._look(index, before)
        return self._found[key]

    def _look(self, index: int, before: str) -> bool:
        if self._in_patch(index) or self._in_commits(index):
            return True
        if self._in_search(index, before) or is_field(self._lines, index, before):
            return True
        return self._programs.holds(index, before)

    def _in_search(self, index: int, before: str) -> bool:
        """Whether a search in sources or pages has found the line."""
        line = self._lines[index]
        hit = _IN_SOURCE.match(line)
        if hit:
            return line[hit.end() :].startswith("  ") or is_in_text(line[hit.end() :], before)
        number = _NUMBER.match(line)
        below_name = bool(number) and bool(_PAGE_FILE.match(self._name_above(index)))
        if below_name or _IN_PAGE.match(line):
            return True
        return bool(number) and is_statement(_NUMBER.sub("", line, 1), before)

    def _name_above(self, index: int) -> str:
        """The line above those that have a number."""
        above = reversed(self._lines[max(0, index - _FAR) : index])
        return next((line for line in above if not _NUMBER.match(line)), "")

    def _in_patch(self, index: int) -> bool:
        if not self._has_patch:
            return False
        for place in range(index - 1, max(-1, index - _FAR), -1):
            hunk = _HUNK.match(self._lines[place])
            if hunk:
                return self._reaches(place + 1, index, int(hunk[1] or 1), int(hunk[2] or 1))
        return False

    @cached_property
    def _has_patch(self) -> bool:
        return any(line.startswith("@@ -") for line in self._lines)

    def _reaches(self, first: int, index: int, old: int, new: int) -> bool:
        """Whether so many old and new lines from the first on go as far as the other."""
        for line in self._lines[first : index + 1]:
            mark = line[:1] or " "
            if mark not in "+- \\" or (old <= 0 and new <= 0):
                return False
            old -= mark in " -"
            new -= mark in " +"
        return True

    @cached_property
    def _has_commits(self) -> bool:
        return any(map(_COMMIT.match, self._lines))

    def _in_commits(self, index: int) -> bool:
        line = self._lines[index]
        if _SHORT.match(line):
            around = [_SHORT.match(other) for other in self._lines[max(0, index - 1) : index + 2]]
            return any(one and other and one[1] != other[1] for one, other in pairwise(around))
        if not self._has_commits or not line.startswith("    "):
            return False
        above = reversed(self._lines[max(0, index - _FAR) : index])
        head = (other for other in above if other and not other.startswith("    ") and not _COMMIT_HEAD.match(other))
        return bool(_COMMIT.match(next(head, "")))
