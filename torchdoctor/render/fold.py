"""Breaking a line between words, as wide as a terminal is: a Chinese character takes two of its columns."""

from __future__ import annotations

from torchdoctor.patterns import lazily

_LABEL = lazily(r" {2}[^\s:]{2,8}: +")  # "  why:  " of a finding: what follows stands below what it explains
_WIDE = "WF"  # of UAX 11: two columns
_PIECES = lazily(r"\s+|[\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uffe6]|[^\s\u2e80-\uffe6]+|.")


def columns_of(text: str) -> int:
    """How many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(sign) else 1 + (east_asian_width(sign) in _WIDE) for sign in text)


def fold(text: str, width: int) -> list[str]:
    """The lines that a text takes; a word that is longer than ``width`` stays in one piece, to be copied."""
    if columns_of(text) <= width:
        return [text]
    margin = " " * _hang(text, width)
    lines: list[str] = []
    line, used, gap = "", 0, ""
    for piece in _PIECES.findall(text):
        if piece.isspace():
            gap = piece if line.strip() or not lines else ""
            continue
        size = columns_of(piece)
        begins = used + len(gap)
        if line.strip() and begins + size > width and begins > len(margin):
            lines.append(line)
            line, used, gap = margin, len(margin), ""
        line, used, gap = line + gap + piece, used + len(gap) + size, ""
    return [*lines, line]


def _hang(text: str, width: int) -> int:
    """How far the lines after the first stand in."""
    label = _LABEL.match(text)
    start = label.end() if label else len(text) - len(text.lstrip()) + 2
    return min(start, width // 2)
