"""The few lines of TOML that writers print: strings, inline tables and headers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence


def text(value: str) -> str:
    """A basic string; JSON's escapes are a subset of TOML's."""
    return json.dumps(value, ensure_ascii=False)


def inline(pairs: Mapping[str, str]) -> str:
    """An inline table of strings."""
    return "{ " + ", ".join(f"{key} = {text(value)}" for key, value in pairs.items()) + " }"


def array(values: Sequence[str]) -> str:
    """An array of strings on one line."""
    return "[" + ", ".join(map(text, values)) + "]"
