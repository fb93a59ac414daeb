"""A policy as lines of TOML, each with where its value stands: what ``--show-config`` prints and ``init`` writes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from torchdoctor.addresses import without_password
from torchdoctor.intent import Ignore
from torchdoctor.policy import schema
from torchdoctor.policy.policy import Policy

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_ESCAPED = {'"': '\\"', "\\": "\\\\"}


def lines(policy: Policy) -> Iterator[str]:
    """Every key with its value and where that comes from; together they are TOML."""
    for key in schema.KEYS:
        prefix = key.path.removesuffix("*")
        paths = [key.path] if prefix == key.path else sorted(path for path in policy.entries if path.startswith(prefix))
        for path in paths:
            if entry := policy.get(path):
                yield f"{written_key(path)} = {written(entry.value)}  # {_source(entry.source)}"
            elif key.default:
                yield f"{key.path} = {written(key.default)}  # default"
            else:
                yield f"# {key.path} is not set"
        if not paths:
            yield f"# {key.path} is not set"


def _source(text: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def written_key(path: str) -> str:
    """A dotted path as TOML writes it; the name of a package may hold dots of its own."""
    prefix = f"{schema.PACKAGES}."
    if not path.startswith(prefix):
        return path
    name = path.removeprefix(prefix)
    return prefix + (name if _BARE.fullmatch(name) else written(name))


def written(value: Any) -> str:
    """A value as TOML writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return f"{value:.12g}"
    if isinstance(value, tuple):
        return f"[{', '.join(map(written, value))}]"
    if isinstance(value, Ignore):
        return f"{{ id = {written(value.id)}, until = {value.until}, reason = {written(value.reason)} }}"
    return f'"{"".join(map(_letter, without_password(str(value))))}"'


def _letter(letter: str) -> str:
    return _ESCAPED.get(letter) or (letter if letter.isprintable() else f"\\U{ord(letter):08x}")
