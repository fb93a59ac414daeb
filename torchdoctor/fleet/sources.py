"""The reports of a fleet, one after another, from files, folders and JSON lines, as often as they are asked for."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

from torchdoctor.errors import UsageError

_LARGEST = 16_000_000  # bytes of one report
_SCHEMA = "torchdoctor.report/"
_LINES = (".jsonl", ".ndjson")
_RANGE = re.compile(r"([^\[\]]*)\[([^\[\]]*)\](.*)")
_MOST_HOSTS = 200_000

Read = tuple[str, "Mapping[str, Any] | str"]


class Sources:
    """Calling it gives every report under a name of its own, or in its place why there is none.

    A file's name is the host's; of a line its id (``diagnose --each``), else its number. Standard input, which can be
    read once, is kept in a file without a name.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.files = [path for name in names for path in _files(name)]
        self.stdin: IO[str] | None = _kept() if "-" in self.files else None

    def __call__(self) -> Iterator[Read]:
        """Every report, from the first on."""
        met: Counter[str] = Counter()
        for path in self.files:
            for name, report in self._of(path):
                met[name] += 1
                yield (name if met[name] == 1 else f"{name} ({met[name]})"), report

    def _of(self, path: str) -> Iterator[Read]:
        if self.stdin and path == "-":
            self.stdin.seek(0)
            yield from _of_lines(self.stdin, "line")
        elif path.endswith(_LINES):
            with _opened(path) as stream:
                yield from _of_lines(stream, f"{Path(path).name}:")
        else:
            yield Path(path).stem, read_report(path)


def _files(name: str) -> list[str]:
    if name == "-":
        return [name]
    path = Path(name)
    if path.is_dir():
        found = sorted(str(item) for item in path.rglob("*") if item.suffix in {".json", *_LINES})
        if not found:
            raise UsageError(f"no report (*.json, *.jsonl) in {name}: write them by check --format json=FILE")
        return found
    if not path.is_file():
        raise UsageError(f"cannot read {name}: no such file or folder")
    return [name]


def _kept() -> IO[str]:
    copy = TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115 - lives as long as the run
    for line in iter(lambda: sys.stdin.readline(_LARGEST), ""):
        copy.write(line)
    return copy


@contextmanager
def _opened(path: str) -> Iterator[IO[str]]:
    try:
        with Path(path).open(encoding="utf-8-sig", errors="replace") as stream:
            yield stream
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from error


def read_report(path: str) -> Mapping[str, Any] | str:
    """The report that a file holds, or in one line why it holds none."""
    try:
        with Path(path).open("rb") as stream:
            data = stream.read(_LARGEST + 1)
    except OSError as error:
        return f"cannot be read: {error.strerror or error}"
    if len(data) > _LARGEST:
        return f"longer than {_LARGEST} bytes"
    return _report(data.decode("utf-8-sig", "replace"))[1]


def _of_lines(stream: IO[str], prefix: str) -> Iterator[Read]:
    for number, line in enumerate(iter(lambda: stream.readline(_LARGEST), ""), 1):
        if line.strip():
            id_, report = _report(line)
            yield (f"{prefix} {number}" if id_ is None else str(id_)), report


def _report(text: str) -> tuple[Any, Mapping[str, Any] | str]:
    """The id where there is one, and the report; an answer of ``diagnose --each`` holds both."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        return None, f"not JSON: {str(error)[:100]}"
    if not isinstance(value, dict):
        return None, "no JSON object"
    id_ = value.get("id")
    if "report" in value or "error" in value:
        value = value.get("report", str(value.get("error")))
    if isinstance(value, dict) and str(value.get("schema")).startswith(_SCHEMA):
        return id_, value
    return id_, value if isinstance(value, str) else f"no {_SCHEMA}1 (write it by check --format json=FILE)"


def hosts_of(asked: str) -> list[str]:
    """The names in a file (some a line; # begins a comment), or in a list such as ``node[001-064,070],login1``."""
    path = Path(asked)
    try:
        text = path.read_text("utf-8-sig") if path.is_file() else asked
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--expect {asked}: cannot be read: {error}") from error
    if text is asked and ("/" in asked or asked.endswith((".txt", ".lst", ".list"))):
        raise UsageError(f"--expect {asked}: no such file (a file of names, or a list such as node[001-064])")
    if text.count("[") != text.count("]"):
        raise UsageError(f"--expect {asked}: a bracket is open, as in node[001-064")
    lines = (line.partition("#")[0] for line in text.splitlines())
    names = [name for line in lines for word in _words(line) for name in _expanded(word, asked)]
    if not names:
        raise UsageError(f"--expect {asked}: names no host (a file, or a list such as node[001-064])")
    return list(dict.fromkeys(names))


def _words(line: str) -> list[str]:
    """Split at blanks and commas, but for those between brackets."""
    return re.findall(r"(?:\[[^\]]*\]|[^\s,\[])+", line)


def _expanded(word: str, asked: str) -> Iterator[str]:
    """``node[01-03]`` as three names, zeros kept; several brackets multiply."""
    match = _RANGE.fullmatch(word)
    if not match:
        yield word
        return
    head, inner, tail = match.groups()
    for part in inner.split(","):
        first, sign, last = part.strip().partition("-")
        if not first.isdecimal() or (sign and not last.isdecimal()):
            raise UsageError(f"--expect {asked}: {part!r} is no number or range, as in node[001-064]")
        end = int(last or first)
        if end < int(first):
            raise UsageError(f"--expect {asked}: {part!r} ends before it begins, as in node[64-1]")
        if end - int(first) > _MOST_HOSTS:
            raise UsageError(f"--expect {asked}: {part!r} names more than {_MOST_HOSTS} hosts")
        for number in range(int(first), end + 1):
            for rest in _expanded(tail, asked):
                yield f"{head}{number:0{len(first)}}{rest}"
