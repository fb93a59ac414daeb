"""The kinds of values that a policy holds: what each expects, in words, and how it is read."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Mapping
from datetime import date
from typing import Any, NamedTuple

from torchdoctor.findings import SEVERITIES
from torchdoctor.intent import Ignore
from torchdoctor.policy.ranges import Range
from torchdoctor.values import Build, DriverVersion, GpuArch

BACKENDS = ("cuda", "rocm", "xpu", "mps", "cpu")
THRESHOLDS = (*SEVERITIES, "never")
ANY = "*"
DATED = ("id", "until", "reason")
_LONGEST = 200  # characters of a text: no real range, name or pattern is longer
_MOST = 1e9
_SIGNS = ("<", ">", "=", "!", "~")


class Kind(NamedTuple):
    """What a value has to be; ``read`` raises ``ValueError`` on another. ``near`` are the words that it may be."""

    expects: str
    read: Callable[[Any], Any]
    near: tuple[str, ...] = ()


def _text(value: Any) -> str:
    if not isinstance(value, str) or not 0 < len(value.strip()) <= _LONGEST:
        raise ValueError("no text of a usual length")
    return value.strip()


def _any_text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("not a text")  # noqa: TRY004 - one type for whatever is wrong with a value
    return value


def _texts(value: Any) -> tuple[str, ...]:
    """One text or a list of them."""
    return tuple(_text(item) for item in ([value] if isinstance(value, str) else _list(value)))


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError("not a list")  # noqa: TRY004 - as above
    return value


def _versions(value: Any) -> str:
    from packaging.specifiers import SpecifierSet

    text = _text(value)
    SpecifierSet(text)  # InvalidSpecifier is a ValueError
    return text


def _package(value: Any) -> str:
    return ANY if value == ANY else _versions(value)


def drivers(text: str) -> Range:
    """A range of NVIDIA drivers."""
    return Range.parse(text, DriverVersion.parse)


def capabilities(text: str) -> Range:
    """A range of compute capabilities."""
    return Range.parse(text, GpuArch.parse)


def pattern(text: str) -> re.Pattern[str]:
    """A regular expression, of which case is no part; raise ``ValueError`` when it is none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what another Python may read in another way
        try:
            return re.compile(text, re.IGNORECASE)
        except (re.error, RecursionError, OverflowError) as error:
            raise ValueError(str(error)) from error


def _checked(value: Any, check: Callable[[str], object]) -> str:
    check(_text(value))
    return _text(value)


def _found(value: Any) -> str:
    """A pattern; one with a sign before it would be asked for another thing than it finds."""
    if _text(value).startswith(_SIGNS):
        raise ValueError("a sign is no part of a name")
    return _checked(value, pattern)


def _builds(value: Any) -> tuple[str, ...]:
    names = tuple(Build.parse(text).name for text in _texts(value))
    if not names:
        raise ValueError("no build")
    return names


def _backends(value: Any) -> tuple[str, ...]:
    names = _texts(value)
    if not names or set(names) - set(BACKENDS):
        raise ValueError("not a backend")
    return names


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _MOST:
        raise ValueError("not a whole number")
    return value


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= _MOST:
        raise ValueError("not a number above 0")
    if not math.isfinite(value):
        raise ValueError("not finite")
    return float(value)


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("neither true nor false")  # noqa: TRY004 - as above
    return value


def _threshold(value: Any) -> str:
    if value not in THRESHOLDS:
        raise ValueError("not a threshold")
    return str(value)


def _dated(value: Any) -> tuple[Ignore, ...]:
    return tuple(_one_dated(item) for item in _list(value))


def _one_dated(item: Any) -> Ignore:
    if not isinstance(item, Mapping):
        raise ValueError("not a table")  # noqa: TRY004 - as above
    return Ignore(id=_text(item.get("id")), until=_day(item.get("until")), reason=_text(item.get("reason")))


def _day(value: Any) -> str:
    """A day of TOML or in quotes; a time of day is none."""
    if type(value) is date:
        return value.isoformat()
    return date.fromisoformat(_text(value)).isoformat()


FLAG = Kind("true or false", _flag)
VERSIONS = Kind('a range of versions in quotes, as ">=3.11,<3.14"', _versions)
PACKAGE = Kind('a range of versions in quotes, as ">=2.8", or "*" for any', _package)
BUILDS = Kind('names of builds, as "cu126" or ["cpu"]', _builds)
BACKEND = Kind(f"one or more of {', '.join(BACKENDS)}, in quotes", _backends, BACKENDS)
DRIVERS = Kind('a range of driver versions in quotes, as ">=550" or "==580.*"', lambda value: _checked(value, drivers))
CAPABILITIES = Kind('a range in quotes, as ">=8.0"', lambda value: _checked(value, capabilities))
COUNT = Kind("a whole number from 1, as 8", _whole)
NUMBER = Kind("a number above 0, as 40", _number)
PATTERN = Kind('a regular expression in quotes, as "H100|A100", with no sign before it', _found)
THRESHOLD = Kind(f"one of {', '.join(THRESHOLDS)}, in quotes", _threshold, THRESHOLDS)
IDS = Kind('a list of ids of findings or patterns, as ["driver-*"]', _texts)
IGNORES = Kind("tables of id, until (a day, as 2027-01-31) and reason: [[ignore-until]]", _dated)
TEXT = Kind("a text in quotes", _any_text)
