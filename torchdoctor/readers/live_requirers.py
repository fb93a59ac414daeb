"""Which CUDA libraries and compilers lie beside torch for its sake alone: without a CUDA build nothing needs them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from torchdoctor.readers.live_packages import normalised

# People import these by themselves: that no package requires one says nothing.
_ON_THEIR_OWN = ("nvidia-ml-py", "nvidia-pyindex", "cuda-python")
_OF_FRAMEWORKS = "nvidia-nccl"  # what nobody installs by hand: it came with torch or its like, and the others with it
_LIBRARIES = ("nvidia-", "cuda-", "triton-", "pytorch-triton")
_OF_TORCH = re.compile(r"nvidia-[\w-]+-cu\d+|cuda-toolkit|cuda-bindings|(?:pytorch-)?triton")
_NAME = re.compile(r"[A-Za-z0-9._-]+")

Row = Mapping[str, Any]


def only_torchs(rows: Sequence[Row]) -> frozenset[str]:
    """The libraries that neither a person nor any package but torch asked for, directly or through another of them.

    A requirement counts whatever its marker or extra says.
    """
    names = {normalised(row) for row in rows if _is_library(normalised(row))}
    asked: dict[str, set[str]] = {}
    for row in rows:
        asked.setdefault(normalised(row), set()).update(_required(row) & names)
    came_with_torch = _closure(asked.get("torch", ()) or _left(names), asked)
    libraries = [row for row in rows if normalised(row) in names]
    kept = {normalised(row) for row in libraries if _stays_by_itself(row, came_with_torch)}
    kept.update(*(asked[name] for name in asked if name != "torch" and name not in names))
    return frozenset(names - _closure(kept, asked))


def _left(names: set[str]) -> set[str]:
    """What a torch that went has brought, where it surely was one: its own kind of names, and what these require."""
    was_there = any(name.startswith(_OF_FRAMEWORKS) for name in names)
    return {name for name in names if was_there and _OF_TORCH.fullmatch(name)}


def _is_library(name: str) -> bool:
    return name == "triton" or name.startswith(_LIBRARIES)


def _required(row: Row) -> set[str]:
    lines = row.get("requires")
    found = (_NAME.match(line) for line in lines if isinstance(line, str)) if isinstance(lines, list) else ()
    return {normalised({"name": match[0]}) for match in found if match}


def _stays_by_itself(row: Row, came_with_torch: Iterable[str]) -> bool:
    """Whether a person may have asked for it: pip notes that, uv marks all alike, others do not tell."""
    name, installer = normalised(row), str(row.get("installer", "")).strip().lower()
    if name in _ON_THEIR_OWN or installer not in {"pip", "uv"}:
        return True
    return bool(row.get("requested")) if installer == "pip" else name not in came_with_torch


def _closure(names: Iterable[str], asked: Mapping[str, set[str]]) -> set[str]:
    """The names and all that they require, step by step."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += asked.get(name, ())
    return found
