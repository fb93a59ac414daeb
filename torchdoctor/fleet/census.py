"""What most hosts are: counts that do not grow with the number of reports."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from statistics import median
from typing import Any

from torchdoctor.diff.sides import Side
from torchdoctor.fleet.values import Rate, facts_of, is_listed, kind_of, measured, sizes_of
from torchdoctor.records import record

FEWEST = 3  # hosts that tell of a fact, for a majority to mean anything
_MOST_VALUES = 200  # of one fact; with more of them it is every host's own
_MOST_FACTS = 20_000
NONE = "none"


@record(frozen=True, slots=True)
class Usual:
    """What most hosts have of one fact: the value, how many have it, of how many that tell."""

    value: str
    count: int
    told: int


@record(frozen=True, slots=True)
class Tie:
    """A fact of which no value is that of most hosts, with its commonest values."""

    fact: str
    values: tuple[tuple[str, int], ...]
    told: int


class Census:
    """Counts every value of every fact; a variable or package that a host, asked itself, lacks counts as none."""

    def __init__(self) -> None:
        self.hosts = self.live = 0
        self.values: dict[str, Counter[str]] = {}
        self.sizes: dict[str, array[float]] = {}
        self.rates: dict[str, array[float]] = {}

    def add(self, side: Side, report: Mapping[str, Any]) -> None:
        """Count one report."""
        self.hosts += 1
        self.live += side.is_live
        rates, conditions = measured(report)
        for path, value in (*facts_of(side), *conditions):
            name = kind_of(path)
            if name in self.values or len(self.values) < _MOST_FACTS:
                counts = self.values.setdefault(name, Counter())
                if value in counts or len(counts) <= _MOST_VALUES:
                    counts[value] += 1
        self._add_numbers(sizes_of(side), rates)

    def _add_numbers(self, sizes: Iterable[tuple[str, float]], rates: Iterable[Rate]) -> None:
        for path, size in sizes:
            self.sizes.setdefault(kind_of(path), array("d")).append(size)
        for rate in rates:
            self.rates.setdefault(rate.kind, array("d")).append(rate.value)

    def _counts(self, fact: str) -> Counter[str]:
        """The values of a fact, those hosts among them that say by silence that they have none."""
        counts = self.values[fact]
        silent = self.live - counts.total() if is_listed(fact) else 0
        return counts if silent <= 0 else counts + Counter({NONE: silent})

    def usual(self) -> dict[str, Usual]:
        """For each fact what more than half of those that tell have."""
        found = {}
        for fact in self.values:
            counts = self._counts(fact)
            (value, count), told = counts.most_common(1)[0], counts.total()
            if told >= FEWEST and 2 * count > told and len(counts) <= _MOST_VALUES:
                found[fact] = Usual(value, count, told)
        return found

    def ties(self) -> Iterator[Tie]:
        """The facts without a majority, but for those of which every host has its own."""
        for fact in self.values:
            counts = self._counts(fact)
            best, told = counts.most_common(3), counts.total()
            is_split = told >= FEWEST and 2 * best[0][1] <= told and best[0][1] > 1
            is_of_two = self.hosts == told == len(counts) == FEWEST - 1
            if (is_split and len(counts) <= _MOST_VALUES) or is_of_two:
                yield Tie(fact, tuple(best), told)

    def middles(self) -> dict[str, float]:
        """The median of every size and of every rate that enough hosts tell."""
        both = {**self.sizes, **self.rates}
        return {name: median(numbers) for name, numbers in both.items() if len(numbers) >= FEWEST}
