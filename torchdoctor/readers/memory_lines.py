"""The numbers of an "out of memory" of torch, in its three generations of wording."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchdoctor.readers.lazy import lazily
from torchdoctor.readers.recogniser import Recogniser, Spot
from torchdoctor.readers.statement import Said

_SIZE = r"(\d{1,9}(?:\.\d{1,4})?) ?(bytes|KiB|MiB|GiB|MB|GB)"
_UNITS = {"bytes": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "MB": 2**20, "GB": 2**30}
_TRIED = lazily(rf"Tried to allocate {_SIZE}")
_TOTAL = lazily(rf"(?:total capacity of {_SIZE}|{_SIZE} total capacity)")
_FREE = lazily(rf"(?:of which {_SIZE} is free|[;,] {_SIZE} free)")
_OTHERS = lazily(rf"Process \d{{1,10}} has {_SIZE} memory in use")
_ALLOCATED = lazily(rf"(?:memory {_SIZE} is allocated by PyTorch|{_SIZE} already allocated)")
_RESERVED = lazily(rf"{_SIZE} reserved in total by PyTorch")
_UNALLOCATED = lazily(rf"{_SIZE} is reserved by PyTorch but unallocated")
_FOLLOWING = 4  # lines over which the message may be wrapped


def _numbers(spot: Spot) -> Iterator[Said]:
    """What the message tells; the memory of others only where it is told apart."""
    text = " ".join([spot.text, *(line.strip() for line in spot.following(_FOLLOWING))])
    tried = _size(_TRIED, text)
    if tried is None:
        return
    allocated, unallocated = _size(_ALLOCATED, text), _size(_UNALLOCATED, text)
    told = {
        "tried": tried,
        "total": _size(_TOTAL, text),
        "free": _size(_FREE, text),
        "others": sum(_bytes(*found) for found in _OTHERS.findall(text)) or None,
        "allocated": allocated,
        "reserved": _size(_RESERVED, text) if unallocated is None else (allocated or 0) + unallocated,
    }
    yield from (Said(f"exhausted.{name}", size, spot.source) for name, size in told.items() if size is not None)


def _size(pattern: re.Pattern[str], text: str) -> int | None:
    match = pattern.search(text)
    found = [group for group in match.groups() if group] if match else []
    return _bytes(*found[:2]) if found else None


def _bytes(number: str, unit: str) -> int:
    return int(float(number) * _UNITS[unit])


RECOGNISERS = (Recogniser(r".{0,400}?\bout of memory\. Tried", _numbers, words=("out of memory. Tried",), keeps=True),)
