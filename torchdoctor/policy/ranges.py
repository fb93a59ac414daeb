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


class Range(NamedTuple):
    """Bounds that must all hold. A value is compared as far as the bound is written: a branch holds its releases."""

    bounds: tuple[tuple[str, Ordered], ...]

    @classmethod
    def parse(cls, text: str, value_of: Callable[[str], Ordered]) -> Range:
        """Read bounds with commas between them; raise ``ValueError`` when one is none."""
        return cls(tuple(_bound(part.strip(), value_of) for part in text.split(",")))

    def holds(self, value: Ordered) -> bool:
        """Whether the value lies within every bound."""
        return all(_COMPARE[sign](value.order[: len(bound.order)], bound.order) for sign, bound in self.bounds)


def _bound(text: str, value_of: Callable[[str], Ordered]) -> tuple[str, Ordered]:
    match = _BOUND.fullmatch(text)
    if not match or (match[3] and match[1] not in {"==", "!="}):
        raise ValueError(f"not a bound: {text[:60]!r}")
    return match[1], value_of(match[2])
