"""Maps a file into memory and reads numbers and texts of it within its bounds; nothing in it is believed."""

import mmap
import os
import stat
import struct

MYPY = False
if MYPY:
    from typing import Union

    Bytes = Union[bytes, bytearray, mmap.mmap]

TEXT = 4096  # the longest text that is taken from a file


class Damaged(Exception):
    """The file is not what its head says, or was cut short; the text says what was seen."""


def mapped(path: str) -> "mmap.mmap":
    """The bytes of a regular file, mapped; ``Damaged`` for anything else, ``OSError`` where it cannot be read."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0))
    try:
        info = os.fstat(handle)
        if not stat.S_ISREG(info.st_mode):
            raise Damaged("not a regular file")
        if not info.st_size:
            raise Damaged("empty file")
        return mmap.mmap(handle, 0, access=mmap.ACCESS_READ)
    finally:
        os.close(handle)


def unpack(form: struct.Struct, data: "Bytes", at: int, what: str) -> "tuple[int, ...]":
    """Numbers at an offset; ``Damaged`` where the file ends before."""
    if at < 0 or at + form.size > len(data):
        raise Damaged("%s at %d is beyond the file's end (%d bytes)" % (what, at, len(data)))
    return form.unpack_from(data, at)


def text(data: "Bytes", at: int, end: int) -> str:
    """The text that ends with a zero, at most up to ``end``; empty beyond the file."""
    end = min(end, len(data), at + TEXT)
    if at < 0 or at >= end:
        return ""
    return bytes(data[at:end]).partition(b"\0")[0].decode("utf-8", "replace")


def inside(data: "Bytes", at: int, size: int, what: str) -> "tuple[int, int]":
    """The place itself; ``Damaged`` where it is not wholly in the file."""
    if at < 0 or size < 0 or at + size > len(data):
        raise Damaged("%s (%d bytes at %d) is cut: the file has %d bytes" % (what, size, at, len(data)))
    return at, size
