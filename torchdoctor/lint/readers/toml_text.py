"""TOML with the lines that values stand on: parsed by the standard library, found again by their text."""

from __future__ import annotations

import re
from typing import Any

from torchdoctor.lint.source import Source

_DEEP = re.compile(r"(?:\.[ \t]?[\w-]{1,40}[ \t]?){100}")  # dotted keys that a parser takes minutes for


class BrokenFileError(Exception):
    """A file that its own syntax forbids; ``line`` is 0 where the parser does not tell."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.line = line


def parsed(source: Source) -> dict[str, Any]:
    """The table of a file; raise ``BrokenFileError`` where it is no TOML."""
    from torchdoctor import toml

    if _DEEP.search(source.text):
        raise BrokenFileError("a key nested too deeply")
    try:
        found: dict[str, Any] = toml.loads(source.text)
    except RecursionError:
        raise BrokenFileError("nested too deeply") from None
    except ValueError as error:
        told = re.search(r"at line (\d{1,9})", str(error))
        raise BrokenFileError(str(error)[:200], int(told[1]) if told else 0) from None
    return found


class Finder:
    """Where a text stands: the first line, from a header on, that holds it."""

    def __init__(self, source: Source) -> None:
        self._lines = source.lines
        self._headers: dict[str, int] = {}

    def header(self, name: str, *keys: str) -> int:
        """The line of a table's header, then of the keys inside it, one after the other; 0 where it is not found."""
        line = self._headers.get(name, -1)
        if line < 0:
            dotted = r"\s*\.\s*".join(rf"[\"']?{re.escape(part)}[\"']?" for part in name.split("."))
            wanted = re.compile(rf"\s*\[\[?\s*{dotted}")
            line = next((number for number, text in enumerate(self._lines, 1) if wanted.match(text[:500])), 0)
            self._headers[name] = line
        for key in keys:
            line = self.key(key, line) or line
        return line

    def key(self, key: str, after: int = 0) -> int:
        """The first line from ``after`` on that begins with the key."""
        wanted = re.compile(rf"\s*[\"']?{re.escape(key)}[\"']?\s*[=.\]]|\s*\[.*{re.escape(key)}")
        return next((number for number in self._from(after) if wanted.match(self._lines[number - 1][:500])), 0)

    def text(self, text: str, after: int = 0) -> int:
        """The first line from ``after`` on that holds the text; ``after`` itself, or 1, where none does."""
        return next((number for number in self._from(after) if text in self._lines[number - 1]), after or 1)

    def _from(self, after: int) -> range:
        return range(max(after, 1), len(self._lines) + 1)

    def blocks(self, header: str) -> list[int]:
        """The lines of the headers of an array of tables."""
        wanted = f"[[{header}]]"
        return [number for number, line in enumerate(self._lines, 1) if line.strip()[:200].replace(" ", "") == wanted]


def table(value: Any, *keys: str) -> dict[str, Any]:
    """The table under the keys; an empty one where there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def items(value: Any) -> list[Any]:
    """A list as it is, a single value as a list of one, and nothing as an empty one."""
    if isinstance(value, list):
        return value
    return [] if value is None else [value]


def texts(value: Any) -> list[str]:
    """The strings of a list."""
    return [item for item in items(value) if isinstance(item, str)]


def tables(value: Any) -> list[dict[str, Any]]:
    """The tables of an array of tables."""
    return [item for item in items(value) if isinstance(item, dict)]
