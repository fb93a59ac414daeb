"""Lines of a text that are a program's, and errors that stand in its strings and comments.

A line of code that a trace shows is none of these: it is where the program stopped.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import takewhile

from torchdoctor.patterns import lazily

_FAR = 80  # lines looked at on either side of one
_NEAR = 4  # lines of code that a trace shows below a frame
_FEW = 2
_ENOUGH = 0.4  # of the lines of a stretch are code where a program stands in it
_MOST = 0.8  # of them are code where it is nothing else
_WHOLE = 8  # lines at least
_WIDEST = 1000  # characters of a line of code
_NONE, _CODE_LINE, _PROOF, _ANOTHER = range(4)

_STRING = ('"', "'", "`")
_DOCSTRINGS = ('"""', "'''")
_COMMENT = lazily(r"\s*(?:#(?!#)|//|/\*|\*\s)")
_REMARK = lazily(r"\s(?:#|//)\s")  # behind code
_BORDER = lazily(r'\s*(?:```|~~~|Traceback |File ".+", line \d|(?:[$%]|>>>|PS \S*>|\S{1,60}@\S{1,60}[$#]) )')
_FRAME = lazily(r'\s*File ".+", line \d|\S{1,300}\.py:\d{1,7}: in ')
_TEXT = lazily(r"\s*[A-Z][\w.]{0,60}(?:Error|Exception)(?:: |\()")  # a message that stands alone
_PROGRAM = lazily(  # what only a program says
    r"\s*(?:import [\w.]+(?: as \w+)?$|from [\w.]+ import \w|(?:async )?def \w+\(|class \w+[:(]|#include\b|#define\b"
    r"|namespace \w|template\s?<|using namespace\b|(?:if|elif|for|while|with|except|try|else)\b.*:$|return\b|package \w"
    r"|func \w+\(|(?:typedef|enum|struct|extern|union)\b"
    r"|(?:public|private|static|const|void|int|auto|fn|let|var)\s+\w.*[;({]$|@[\w.]+(?:\(|$)"
    r"|#!/|set -e|if .*; then$|fi$|done$)"
)
_CODE = lazily(
    r"\s*?(?:exit \d|raise\b|throw\b|assert\b|yield\b|pass$|continue$|break$|[\w.\[\]]{1,80}\s{1,40}[-+*/|]?=\s{0,40}\S"
    r"|[\w.:]{1,80}\(.*$|[\])}]"
    r"|\"{3}|'{3}|[rbf]?[\"'].*[\"'],?\)?$|//|/\*|#|\s\*[\s/]).*$|.{0,300}[;{]$"
)
_RAISES = lazily(  # a statement that holds a text
    r"\s*(?:raise \w[\w.]*\(|throw\b.*\(|assert\b|(?:TORCH|C10|AT|CUDA|TF|DCHECK|CHECK)\w*\(|(?:el)?if .*\bin\b.*:$"
    r"|with (?:pytest|self)\.\w+\(|(?:\w+\.)?(?:print|printf|fprintf|logg?(?:er|ing)?(?:\.\w+)?|warn(?:ings\.warn)?)\("
    r"|(?:self\.)?(?:_?logger|log|logging|warnings|std)(?:\.|::)\w+|return [rbf]?[\"']|echo [\"']|except\b.*:$"
    r"|@pytest\.mark\.\w+\()"
)


class Programs:
    """The programs that stand in a text."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._kinds: dict[int, int] = {}

    def holds(self, index: int, before: str) -> bool:
        """Whether a line is that of a program and holds as a text what follows ``before``; no trace shows it."""
        line = self._lines[index][:_WIDEST]
        is_text = is_in_text(line, before)
        if not (is_text or self._has_docstrings or self._kind(index) in {_CODE_LINE, _PROOF}):
            return False
        if any(map(_FRAME.match, self._lines[max(0, index - _NEAR) : index])):
            return False
        return (is_statement(line, before) and self._is_beside_code(index)) or self._in_stretch(index, is_text=is_text)

    def _is_beside_code(self, index: int) -> bool:
        """Whether the line above or below is code as well; alone it may be what is left of a trace."""
        above, below = self._around(index)
        return any(self._kind(place) != _NONE for place in (*above[:1], *below[:1]))

    @cached_property
    def _has_docstrings(self) -> bool:
        return any(mark in line for line in self._lines for mark in _DOCSTRINGS)

    def _in_stretch(self, index: int, *, is_text: bool) -> bool:
        above, below = self._around(index)
        stretch = [*above, index, *below]
        if not self._is_program(stretch, _ENOUGH):
            return False
        if sum(self._lines[place].count(mark) for place in above for mark in _DOCSTRINGS) % 2:
            return True
        if is_text:
            return any(self._kind(place) for place in above)
        return len(stretch) >= _WHOLE and self._kind(index) != _NONE and self._is_program(stretch, _MOST)

    def _around(self, index: int) -> tuple[list[int], list[int]]:
        """The lines above one and below it, as far as nothing of another kind stands between."""
        above = takewhile(self._is_inside, range(index - 1, max(-1, index - _FAR), -1))
        below = takewhile(self._is_inside, range(index + 1, min(len(self._lines), index + _FAR)))
        return [place for place in above if self._lines[place]], [place for place in below if self._lines[place]]

    def _is_inside(self, index: int) -> bool:
        return self._kind(index) != _ANOTHER

    def _is_program(self, places: Sequence[int], enough: float) -> bool:
        kinds = list(map(self._kind, places))
        code = len(kinds) - kinds.count(_NONE)
        return code >= max(_FEW, enough * len(kinds)) and _PROOF in kinds

    def _kind(self, index: int) -> int:
        """What a line is: nothing of these, code, code beyond doubt, or what no program holds."""
        kind = self._kinds.get(index)
        if kind is None:
            kind = self._kinds[index] = _kind_of(self._lines[index][:_WIDEST])
        return kind


def is_in_text(line: str, before: str) -> bool:
    """Whether what follows ``before`` stands in a string or in a comment of this line of code."""
    if _TEXT.match(line) and not line.startswith(" "):
        return False
    is_remark = bool(_COMMENT.match(line) or _REMARK.search(before))
    return is_remark or any(before.count(mark) % 2 for mark in _STRING)


def is_statement(line: str, before: str) -> bool:
    """Whether a line of code raises, prints or compares the text that follows ``before``."""
    return bool(_RAISES.match(line)) and is_in_text(line, before)


def _kind_of(line: str) -> int:
    if _BORDER.match(line):
        return _ANOTHER
    return _PROOF if _PROGRAM.match(line) else _CODE_LINE if _CODE.match(line) else _NONE
