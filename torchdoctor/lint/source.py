"""The files that are read: by name, within limits, as text; what cannot be read says why and stops no other file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from torchdoctor.readers.texts import clean

LARGEST = 16_000_000  # bytes: lock files of large projects have several million
_HAND_WRITTEN = 2_000_000
_MOST_LINES = 400_000
_IGNORES = re.compile(r"#\s*torchdoctor:\s*ignore\[([a-z0-9, -]{1,500})\]")


class UnreadableError(Exception):
    """A file that cannot be read; the message is one line for the user."""


class Source(NamedTuple):
    """One file: how it is named in findings, where it lies, and its text."""

    name: str
    path: Path
    text: str

    @property
    def lines(self) -> list[str]:
        """Its lines."""
        return self.text.split("\n")

    def ignored(self) -> dict[int, frozenset[str]]:
        """The findings that a comment on a line, or alone on the line above it, leaves out there."""
        found: dict[int, frozenset[str]] = {}
        if "torchdoctor" not in self.text:
            return found
        for number, line in enumerate(self.lines, 1):
            if "torchdoctor" in line and (match := _IGNORES.search(line[-1000:])):
                ids = frozenset(part.strip() for part in match[1].split(","))
                place = number + 1 if line.lstrip().startswith("#") else number
                found[place] = found.get(place, frozenset()) | ids
        return found


def read_source(path: Path, name: str = "", *, is_lock: bool = False) -> Source:
    """Read a file; raise ``UnreadableError`` for what is no text, or too much of it."""
    name, most = name or str(path), LARGEST if is_lock else _HAND_WRITTEN
    try:
        if not path.is_file():
            raise UnreadableError(f"{name}: {'not a plain file' if path.exists() else 'does not exist'}")
        with path.open("rb") as stream:
            data = stream.read(most + 1)
    except (OSError, ValueError) as error:
        raise UnreadableError(f"cannot read {name}: {getattr(error, 'strerror', '') or error}") from None
    if len(data) > most:
        raise UnreadableError(f"{name}: longer than {most} bytes: not linted")
    text = clean(_decoded(data, name))
    if text.count("\n") > _MOST_LINES:
        raise UnreadableError(f"{name}: more than {_MOST_LINES} lines: not linted")
    return Source(name, path, text)


def _decoded(data: bytes, name: str) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):  # what PowerShell's > writes
        return data.decode("utf-16", "replace").removeprefix("\ufeff")
    if b"\0" in data:
        raise UnreadableError(f"{name}: binary data, not text")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")
