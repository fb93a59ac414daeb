"""Which CUDA libraries and compilers lie beside torch for its sake alone: without a CUDA build nothing needs them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from torchdoctor.readers.live_packages import normalised

_NVIDIA, _FINDER = "nvidia-", "cuda-pathfinder"  # who requires that one loads any library it finds
_LIBRARIES = (_NVIDIA, "cuda-", "triton-", "pytorch-triton")
# What official builds of torch ask for: NVIDIA publishes many more, which are other packages' alone.
_OF_TORCH = re.compile(
    r"nvidia-(cublas|cuda-cupti|cuda-nvrtc|cuda-runtime|cudnn|cufft|cufile|curand|cusolver|cusparse|cusparselt|nccl"
    r"|nvjitlink|nvshmem|nvtx)(-cu\d+)?|cuda-(toolkit|bindings|pathfinder)|triton(-rocm|-xpu)?|pytorch-triton(-\w+)?"
)
_NAME = re.compile(r"[A-Za-z0-9._-]+")

Row = Mapping[str, Any]


def only_torchs(rows: Sequence[Row]) -> frozenset[str]:
    """The libraries that torch asks for and neither a person nor any other package, directly or through another.

    A requirement of another package counts whatever its marker or extra says. Where no torch asks for any, these are
    libraries of the kind that one leaves behind: whether one did, their versions must tell.
    """
    names = {normalised(row) for row in rows if _is_library(normalised(row))}
    asked: dict[str, set[str]] = {}
    for row in rows:
        asked.setdefault(normalised(row), set()).update(_required(row) & names)
    of_torch = _of_torch(names, asked)
    kept = names - of_torch
    kept.update(normalised(row) for row in rows if normalised(row) in of_torch and _stays_by_itself(row))
    kept.update(*(asked[name] for name in asked if name != "torch" and name not in names))
    needed = _closure(kept, asked)
    return frozenset(name for name in of_torch - needed if _FINDER not in needed or not name.startswith(_NVIDIA))


def _of_torch(names: Iterable[str], asked: Mapping[str, set[str]]) -> set[str]:
    """What torch asks for, and what that asks for in turn but for the extras of others; else what one may have left."""
    direct = asked.get("torch", set())
    further = _closure(direct, asked) if direct else names
    return direct | {name for name in further if _OF_TORCH.fullmatch(name)}


def _is_library(name: str) -> bool:
    return name == "triton" or name.startswith(_LIBRARIES)


def _required(row: Row) -> set[str]:
    lines = row.get("requires")
    found = (_NAME.match(line) for line in lines if isinstance(line, str)) if isinstance(lines, list) else ()
    return {normalised({"name": match[0]}) for match in found if match}


def _stays_by_itself(row: Row) -> bool:
    """Whether a person may have asked for it: pip notes that, uv marks all alike, others do not tell."""
    installer = str(row.get("installer", "")).strip().lower()
    return installer not in {"pip", "uv"} or (installer == "pip" and bool(row.get("requested")))


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
