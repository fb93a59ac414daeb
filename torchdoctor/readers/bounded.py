"""A stream of any size within a fixed amount of memory: its head, its tail, and what lay between them, counted."""

from __future__ import annotations

import codecs
from typing import BinaryIO, NamedTuple

MEGABYTE = 1024 * 1024
WHOLE = 8 * MEGABYTE  # up to here a text is kept whole
HALF = 4 * MEGABYTE  # beyond, this much of its head and of its tail


class Bounded(NamedTuple):
    """The kept bytes, and how many lie between head and tail: 0 when everything is in the head.

    ``line_ends`` are those of the whole stream, counted only where something was left out.
    """

    head: bytes
    tail: bytes = b""
    omitted: int = 0
    line_ends: int = 0


class LineEnds:
    """Counts line ends of every kind in a text that comes in pieces."""

    def __init__(self, encoding: str) -> None:
        self._decode = codecs.getincrementaldecoder(encoding)("replace").decode
        self.count = 0
        self._after_return = False

    def feed(self, data: bytes) -> None:
        """Count in the next piece; a return and a newline on either side of its border are one line end."""
        text = self._decode(data)
        if not text:
            return
        self.count += text.count("\n") + text.count("\r") - text.count("\r\n")
        if self._after_return and text[0] == "\n":
            self.count -= 1
        self._after_return = text[-1] == "\r"


def read_start(stream: BinaryIO) -> bytes:
    """Read as much as is ever kept whole."""
    return _read(stream, WHOLE)


def read_rest(stream: BinaryIO, start: bytes, encoding: str) -> Bounded:
    """Read a stream to its end after ``start``; of more than that only head and tail are kept."""
    following = _read(stream, HALF)
    if not following:
        return Bounded(start)
    ends = LineEnds(encoding)
    ends.feed(start[:HALF])
    tail, total = start[HALF:] + following, len(start) + len(following)
    while chunk := stream.read(MEGABYTE):
        total += len(chunk)
        tail = _shortened(tail + chunk, HALF + 2 * MEGABYTE, ends)
    tail = _shortened(tail, HALF + (total - HALF) % 2, ends)  # an even offset, for 16-bit encodings
    omitted = total - HALF - len(tail)
    if not omitted:
        return Bounded(start[:HALF] + tail)
    ends.feed(tail)
    return Bounded(start[:HALF], tail, omitted, ends.count)


def _shortened(data: bytes, size: int, ends: LineEnds) -> bytes:
    """Keep the last ``size`` bytes; what goes is counted first."""
    ends.feed(data[:-size])
    return data[-size:]


def _read(stream: BinaryIO, size: int) -> bytes:
    """Read up to ``size`` bytes: a pipe hands them over in pieces."""
    pieces, wanted = [], size
    while wanted > 0 and (piece := stream.read(min(wanted, MEGABYTE))):
        pieces.append(piece)
        wanted -= len(piece)
    return b"".join(pieces)
