"""The few lines of TOML that writers print: strings, inline tables and headers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any


def text(value: str) -> str:
    """A basic string; JSON's escapes are a subset of TOML's."""
    return json.dumps(value, ensure_ascii=False)


def inline(pairs: Mapping[str, str]) -> str:
    """An inline table of strings."""
    return "{ " + ", ".join(f"{key} = {text(value)}" for key, value in pairs.items()) + " }"


def array(values: Sequence[str]) -> str:
    """An array of strings on one line."""
    return "[" + ", ".join(map(text, values)) + "]"


def value(entry: Any) -> str:
    """Any value that a file may hold, on one line."""
    if isinstance(entry, Mapping):
        return "{ " + ", ".join(f"{_key(key)} = {value(inner)}" for key, inner in entry.items()) + " }"
    if isinstance(entry, (list, tuple)):
        return "[" + ", ".join(map(value, entry)) + "]"
    if isinstance(entry, bool):
        return str(entry).lower()
    return text(entry) if isinstance(entry, str) else str(entry)


def _key(name: str) -> str:
    is_bare = name.isascii() and name.replace("-", "").replace("_", "").isalnum()
    return name if is_bare else text(name)
