"""The numbers of an "out of memory" of torch, in its three generations of wording."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchdoctor.facts import Exhausted, value_or
from torchdoctor.patterns import lazily
from torchdoctor.readers.recogniser import Recogniser, Spot
from torchdoctor.readers.statement import Said
from torchdoctor.records import fields

_SIZE = r"(\d{1,9}(?:\.\d{1,4})?) ?(bytes|KiB|MiB|GiB|MB|GB)"
_UNITS = {"bytes": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "MB": 2**20, "GB": 2**30}
SHORTAGE = "out of memory"  # in a message that may have numbers
_BEGINS = "Tried to allocate"
_TRIED = lazily(rf"Tried to allocate {_SIZE}")
_TOTAL = lazily(rf"(?:total capacity of {_SIZE}|{_SIZE} total capacity)")
_FREE = lazily(rf"(?:of which {_SIZE} is free|[;,] {_SIZE} free)")
_OTHERS = lazily(rf"Process \d{{1,10}} has {_SIZE} memory in use")
_ALLOCATED = lazily(rf"(?:memory {_SIZE} is allocated by PyTorch|{_SIZE} already allocated)")
_RESERVED = lazily(rf"{_SIZE} reserved in total by PyTorch")
_GPU = lazily(r"\bGPU (\d{1,3})\b")
_UNALLOCATED = lazily(rf"{_SIZE} is reserved by PyTorch but unallocated")
_FOLLOWING = 4  # lines over which the message may be wrapped
_LONGEST = 1500  # characters of a message


def numbers(text: str) -> Exhausted | None:
    """What the first message of a text tells; the memory of others only where it is told apart."""
    text = _one_message(text)
    tried = _size(_TRIED, text)
    if tried is None:
        return None
    allocated, unallocated = _size(_ALLOCATED, text), _size(_UNALLOCATED, text)
    told = {
        "tried": tried,
        "total": _size(_TOTAL, text),
        "free": _size(_FREE, text),
        "others": sum(_bytes(*found) for found in _OTHERS.findall(text)) or None,
        "allocated": allocated,
        "reserved": _size(_RESERVED, text) if unallocated is None else (allocated or 0) + unallocated,
    }
    return Exhausted(**{name: size for name, size in told.items() if size is not None})


def gpu_of(text: str) -> dict[str, str]:
    """Which GPU the first message of a text names."""
    match = _GPU.search(_one_message(text))
    return {"gpu": match[1]} if match else {}


def compared(memory: Exhausted) -> tuple[object, ...]:
    """What tells one shortage from another: the size of the GPU, and how the numbers compare."""
    tried, total, allocated = (value_or(one, 0) for one in (memory.tried, memory.total, memory.allocated))
    loose = value_or(memory.reserved, 0) - allocated
    elsewhere = total - value_or(memory.free, 0) - value_or(memory.reserved, 0)
    return total, tried > total, loose >= tried, bool(value_or(memory.others, 0)), elsewhere > total // 4


def _one_message(text: str) -> str:
    """The text up to the next message, which has numbers of its own."""
    text = text[:_LONGEST]
    first = text.find(_BEGINS)
    following = text.find(_BEGINS, first + 1) if first >= 0 else -1
    return text if following < 0 else text[:following]


def _numbers(spot: Spot) -> Iterator[Said]:
    text = " ".join([spot.text, *(line.strip() for line in spot.following(_FOLLOWING))])
    found = numbers(text[max(0, text.find(_BEGINS)) :])
    sizes = ((item.name, getattr(found, item.name)) for item in fields(Exhausted)) if found else ()
    yield from (Said(f"exhausted.{name}", size, spot.source) for name, size in sizes if isinstance(size, int))


def _size(pattern: re.Pattern[str], text: str) -> int | None:
    match = pattern.search(text)
    found = [group for group in match.groups() if group] if match else []
    return _bytes(*found[:2]) if found else None


def _bytes(number: str, unit: str) -> int:
    return int(float(number) * _UNITS[unit])


RECOGNISERS = (Recogniser(r".{0,400}?\bout of memory\. Tried", _numbers, words=("out of memory. Tried",), keeps=True),)
