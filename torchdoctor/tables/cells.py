"""How the text of one cell becomes a value: the building blocks of every table's schema."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, TypeVar

from torchdoctor.records import field
from torchdoctor.values import GpuArch

T = TypeVar("T")
K = TypeVar("K")


def cell(parse: Callable[[str], T]) -> T:
    """Declare a column: a dataclass field whose text is read by ``parse``, once per distinct text."""
    parser = parse if parse is str else cache(parse)
    declared: Any = field(metadata={"parse": parser})
    declared_value: T = declared
    return declared_value


def filled(text: str) -> str:
    """Read a text that must not be empty."""
    if not text:
        raise ValueError("must not be empty")
    return text


def optional(parse: Callable[[str], T]) -> Callable[[str], T | None]:
    """Read an empty cell as None."""
    return lambda text: parse(text) if text else None


def listed(parse: Callable[[str], T]) -> Callable[[str], tuple[T, ...]]:
    """Read values separated by one space; an empty cell is an empty tuple."""
    return lambda text: tuple(parse(part) for part in text.split(" ")) if text else ()


def paired(key: Callable[[str], K], value: Callable[[str], T]) -> Callable[[str], Mapping[K, T]]:
    """Read ``key=value`` pairs separated by one space into a read-only mapping."""

    def parse(text: str) -> Mapping[K, T]:
        pairs = [part.partition("=") for part in text.split(" ")] if text else []
        return MappingProxyType({key(left): value(right) for left, _, right in pairs})

    return parse


def one_of(*words: str) -> Callable[[str], str]:
    """Read one of a few words."""

    def parse(text: str) -> str:
        if text not in words:
            raise ValueError(f"not one of {', '.join(map(repr, words))}: {text[:60]!r}")
        return text

    return parse


def yes_no(text: str) -> bool:
    """Read ``yes`` or ``no``."""
    return one_of("yes", "no")(text) == "yes"


def yes_no_unknown(text: str) -> bool | None:
    """Read ``yes``, ``no`` or ``unknown``: None is what a person still has to find out."""
    return None if text == "unknown" else yes_no(text)


def iso_date(text: str) -> str:
    """Read a date such as 2026-11-30 or a month such as 2026-11, kept as text: ISO dates order as text."""
    shape = "".join("0" if character.isdecimal() and character.isascii() else character for character in text)
    if shape not in {"0000-00-00", "0000-00"} or not _is_in_calendar(*map(int, text.split("-"))):
        raise ValueError(f"not an ISO date: {text[:60]!r}")
    return text


def _is_in_calendar(year: int, month: int, day: int = 1) -> bool:
    is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    days = (31, 29 if is_leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)  # no datetime: it takes time to load
    return 1 <= month <= len(days) and 1 <= day <= days[month - 1]


def code_name(text: str) -> str:
    """Read the compiler's name of device code or of PTX: ``sm_90a``, ``compute_80``."""
    if not text.startswith(("sm_", "compute_")):
        raise ValueError(f"not the name of device code: {text[:60]!r}")
    GpuArch.parse(text)
    return text


def date_or_empty(text: str) -> str:
    """Read an ISO date, or nothing."""
    return iso_date(text) if text else ""


def hex4(text: str) -> str:
    """Read a PCI device id: four hex digits in upper case."""
    if len(text) != 4 or any(digit not in "0123456789ABCDEF" for digit in text):  # noqa: PLR2004 - the width of a PCI id
        raise ValueError(f"not a PCI device id: {text[:60]!r}")
    return text
