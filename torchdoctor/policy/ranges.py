"""Ranges of values that are no Python versions: drivers and compute capabilities."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import NamedTuple

from torchdoctor.values import Ordered

_BOUND = re.compile(r"(>=|<=|==|!=|>|<)\s*(\S+?)(\.\*)?")
_COMPARE: dict[str, Callable[[tuple[int, ...], tuple[int, ...]], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}

_EXACT = ("==", "!=")
_LAST = 999  # no part of a driver's number has more digits


class Range(NamedTuple):
    """Bounds that must all hold. A value is compared as far as the bound is written: a branch holds its releases."""

    bounds: tuple[tuple[str, Ordered], ...]

    @classmethod
    def parse(cls, text: str, value_of: Callable[[str], Ordered]) -> Range:
        """Read bounds with commas between them; raise ``ValueError`` when one is none."""
        return cls(tuple(_bound(part.strip(), value_of) for part in text.split(",")))

    def holds(self, value: Ordered) -> bool | None:
        """Whether the value lies within every bound; None where it is written too short for one of them to tell."""
        answers = [_holds(value.order, sign, bound.order) for sign, bound in self.bounds]
        return False if False in answers else None if None in answers else True


def _holds(value: tuple[int, ...], sign: str, bound: tuple[int, ...]) -> bool | None:
    """A value that is the beginning of the bound may be any of its releases: only what holds for all is sure."""
    rest = len(bound) - len(value)
    if rest <= 0 or value != bound[: len(value)]:
        return _COMPARE[sign](value[: len(bound)], bound)
    answers = {_COMPARE[sign](value + (end,) * rest, bound) for end in (0, _LAST)}
    return None if len(answers) > 1 or sign in _EXACT else answers.pop()


def _bound(text: str, value_of: Callable[[str], Ordered]) -> tuple[str, Ordered]:
    match = _BOUND.fullmatch(text)
    if not match or (match[3] and match[1] not in {"==", "!="}):
        raise ValueError(f"not a bound: {text[:60]!r}")
    return match[1], value_of(match[2])
