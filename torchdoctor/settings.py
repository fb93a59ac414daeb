"""What a site or a project sets once: environment variables, and the ``torchdoctor`` table of a TOML file."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from torchdoctor.errors import UsageError

INDEX_BASE = "TORCHDOCTOR_INDEX_BASE"
KEYS = ("index-base",)
_FILES = (("torchdoctor.toml", ()), ("pyproject.toml", ("tool", "torchdoctor")))
_MOST_BYTES = 1_000_000
_NEAR = 0.8


class Setting(NamedTuple):
    """A value and where it was set, for the line that says so."""

    value: str
    source: str


def index_base() -> Setting | None:
    """The mirror of the PyTorch index: the variable, else the key ``index-base`` of the nearest file."""
    if value := os.environ.get(INDEX_BASE, "").strip():
        return Setting(value, INDEX_BASE)
    name, table = nearest_table(Path())
    _check_keys(name, table)
    value = table.get("index-base", "")
    if not isinstance(value, str):
        raise UsageError(f"{name}: index-base {value!r} is not a text in quotes")
    return Setting(value, name) if value else None


def _check_keys(name: str, table: Mapping[str, Any]) -> None:
    """Refuse a key that is nearly one of ours; any other may be one of a later release."""
    for key in table.keys() - set(KEYS):
        from difflib import get_close_matches

        near = get_close_matches(key.lower().replace("_", "-"), KEYS, n=1, cutoff=_NEAR)
        if near:
            raise UsageError(f"{name}: key {key[:40]!r} is not known; did you mean: {near[0]}?")


def nearest_table(start: Path) -> tuple[str, Mapping[str, Any]]:
    """The file's path and the table for torchdoctor in the nearest folder, upwards, that has one; else none."""
    for folder in _upwards(start):
        for name, keys in _FILES:
            table = _table(folder / name, keys)
            if table is not None:
                return str(folder / name), table
    return "", {}


def _upwards(start: Path) -> Iterator[Path]:
    try:
        here = start.resolve()
    except OSError:  # the current folder was removed
        return
    yield from (here, *here.parents)


def _table(path: Path, keys: tuple[str, ...]) -> Mapping[str, Any] | None:
    text = _text(path, is_ours=not keys)
    if text is None or (keys and f"[{'.'.join(keys)}" not in text):
        return None  # and no TOML is parsed for the many projects that say nothing of us
    table: Any = _parsed(path, text)
    for key in keys:
        table = table.get(key) if isinstance(table, dict) else None
    if table is not None and not isinstance(table, dict):
        raise UsageError(f"{path}: {'.'.join(keys)} is not a table")
    return table


def _parsed(path: Path, text: str) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        table: dict[str, Any] = tomllib.loads(text)
    except ValueError as error:  # a number of thousands of digits is one too
        raise UsageError(f"{path}: {error}") from error
    except RecursionError as error:
        raise UsageError(f"{path}: nested too deeply") from error
    return table


def _text(path: Path, *, is_ours: bool) -> str | None:
    """The text of a file; one of other people's that cannot be read says nothing of us."""
    try:
        if not path.is_file():
            return None
        if path.stat().st_size <= _MOST_BYTES:
            return path.read_text(encoding="utf-8-sig")
        reason = f"longer than {_MOST_BYTES} bytes"
    except UnicodeDecodeError:
        reason = "not UTF-8"
    except OSError as error:
        reason = error.strerror or str(error)
    if is_ours:
        raise UsageError(f"cannot read {path}: {reason}")
    return None
