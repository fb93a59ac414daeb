"""Merging, top to bottom: reports -> what most hosts are -> who differs, who is slow, sick or missing.

Every report is read twice and none is kept, so that memory does not grow with their number; what is kept of each is its
name where something is to be said of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from torchdoctor.diff.compare import FOLLOWS, rank
from torchdoctor.diff.sides import BadReportError, Side, side_of
from torchdoctor.fleet.census import NONE, Census, Tie, Usual
from torchdoctor.fleet.values import SLOW, facts_of, is_listed, kind_of, measured, sizes_of, tolerance, worded
from torchdoctor.records import record, replace

_MOST_GROUPS, _MOST_NAMES, _MOST_SLOW, _MOST_SICK, _MOST_TIES = 200, 50, 100, 100, 50

Reports = Callable[[], Iterable[tuple[str, Mapping[str, Any] | str]]]  # name, and a report or why there is none


@record(frozen=True, slots=True)
class Odd:
    """One fact of a host that is not what it is elsewhere."""

    fact: str
    value: str
    usual: str
    share: str  # how many have the usual one: 62 of 64; golden: of the report that all are held against


@record(frozen=True, slots=True)
class Group:
    """Hosts that differ from the others in the same way."""

    odd: tuple[Odd, ...]
    names: tuple[str, ...]  # the first of them
    count: int


@record(frozen=True, slots=True)
class Slow:
    """A device that is slower than others of its kind, by the share of the median it reaches."""

    host: str
    device: str
    kind: str
    value: float
    middle: float


@record(frozen=True, slots=True)
class Sick:
    """A host whose own report is not ok."""

    host: str
    status: str
    finding: str
    summary: str


@record(frozen=True, slots=True, kw_only=True)
class Fleet:
    """What was found out about many hosts."""

    hosts: int
    alike: int  # hosts that differ in nothing
    groups: tuple[Group, ...] = ()
    slow: tuple[Slow, ...] = ()
    slowest: tuple[Slow, ...] = ()  # of each kind the slowest device, slow or not
    sick: tuple[Sick, ...] = ()
    statuses: Mapping[str, int]
    missing: tuple[str, ...] = ()
    unexpected: tuple[str, ...] = ()
    unreadable: tuple[tuple[str, str], ...] = ()
    ties: tuple[Tie, ...] = ()
    usual: Mapping[str, Usual]
    golden: str = ""
    cut: Mapping[str, int]  # how many more there are of what is listed in part


def merge(
    reports: Reports, expected: Sequence[str] | None = None, golden: tuple[str, Mapping[str, Any]] | None = None
) -> Fleet:
    """Merge; ``reports`` is called twice and gives the same both times. ``golden``: what all are held against."""
    census = Census()
    unreadable: list[tuple[str, str]] = []
    for side, report in _sides(reports(), unreadable):
        census.add(side, report)
    sorting = _Sorting(census, golden, expected is not None)
    for side, report in _sides(reports(), []):
        sorting.add(side, report)
    fleet = sorting.fleet(tuple(unreadable))
    return _held_against(fleet, expected, sorting.names) if expected is not None else fleet


def _sides(
    reports: Iterable[tuple[str, Mapping[str, Any] | str]], unreadable: list[tuple[str, str]]
) -> Iterator[tuple[Side, Mapping[str, Any]]]:
    """Those that can be read; the others are added to ``unreadable``, with why."""
    for name, report in reports:
        if isinstance(report, str):
            unreadable.append((name, report))
            continue
        try:
            yield side_of(name, report), report
        except BadReportError as error:
            unreadable.append((name, str(error)))


def _telling(odd: Iterable[Odd]) -> tuple[Odd, ...]:
    """The most telling first, without what differs because another fact does."""
    found = {item.fact: item for item in odd}
    kept = [item for item in found.values() if not found.keys() & FOLLOWS.get(item.fact, ())]
    return tuple(sorted(kept, key=lambda item: (rank(item.fact), item.fact)))


class _Sorting:
    """Who differs from what is usual."""

    def __init__(self, census: Census, golden: tuple[str, Mapping[str, Any]] | None, keeps_names: bool) -> None:
        self.census, self.golden, self.keeps_names = census, golden[0] if golden else "", keeps_names
        self.usual, self.middles = census.usual(), census.middles()
        if golden:
            self._take_for_usual(*golden)
        self.names: list[str] = []
        self.alike = 0
        self.groups: dict[tuple[Odd, ...], tuple[list[str], int]] = {}
        self.slow: list[Slow] = []
        self.slowest: dict[str, Slow] = {}
        self.sick: list[Sick] = []
        self.statuses: Counter[str] = Counter()
        self.cut: Counter[str] = Counter()

    def _take_for_usual(self, name: str, report: Mapping[str, Any]) -> None:
        side = side_of(name, report)
        told = {kind_of(path): Usual(value, 0, 0) for path, value in (*facts_of(side), *measured(report)[1])}
        silent = {path: Usual(NONE, 0, 0) for path in self.census.values if side.is_live and is_listed(path)}
        self.usual = {**silent, **told}
        self.middles |= {kind_of(path): size for path, size in sizes_of(side)}
        self.middles |= {rate.kind: rate.value for rate in measured(report)[0]}

    def add(self, side: Side, report: Mapping[str, Any]) -> None:
        """Sort one report in."""
        if self.keeps_names:
            self.names.append(side.name)
        self.statuses[side.status] += 1
        self._group(side.name, _telling(self._odd(side, report)))
        self._measure(side.name, report)
        self._judge(side)

    def _odd(self, side: Side, report: Mapping[str, Any]) -> Iterator[Odd]:
        told = dict((*facts_of(side), *measured(report)[1]))
        for path, value in told.items():
            usual = self.usual.get(kind_of(path))
            if usual and value != usual.value:
                yield Odd(path, value, usual.value, self._share(usual))
        if side.is_live:
            for path, usual in self.usual.items():
                if is_listed(path) and path not in told and usual.value != NONE:
                    yield Odd(path, NONE, usual.value, self._share(usual))
        for path, size in sizes_of(side):
            middle = self.middles.get(kind_of(path))
            if middle is not None and abs(size - middle) > tolerance(path) * middle:
                yield Odd(path, worded(round(size)), worded(round(middle)), self.golden or "the median")

    def _share(self, usual: Usual) -> str:
        return self.golden or f"{usual.count} of {usual.told}"

    def _group(self, name: str, odd: tuple[Odd, ...]) -> None:
        if not odd:
            self.alike += 1
        elif odd in self.groups or len(self.groups) < _MOST_GROUPS:
            names, count = self.groups.get(odd, ([], 0))
            self.groups[odd] = ([*names, name] if len(names) < _MOST_NAMES else names, count + 1)
        else:
            self.cut["groups"] += 1

    def _measure(self, name: str, report: Mapping[str, Any]) -> None:
        for rate in measured(report)[0]:
            middle = self.middles.get(rate.kind)
            if not middle:
                continue
            item = Slow(name, rate.device, rate.kind, rate.value, middle)
            slowest = self.slowest.get(rate.kind)
            if slowest is None or rate.value < slowest.value:
                self.slowest[rate.kind] = item
            if rate.value < (1 - SLOW) * middle:
                self._keep("slow", self.slow, item, _MOST_SLOW)

    def _judge(self, side: Side) -> None:
        if side.status in {"fail", "warn", "unknown"}:
            loud = next((item for item in side.findings if item.is_loud and not item.explained_by), None)
            sick = Sick(side.name, side.status, loud.id if loud else "", loud.summary if loud else "")
            self._keep("sick", self.sick, sick, _MOST_SICK)

    def _keep(self, what: str, items: list[Any], item: object, most: int) -> None:
        if len(items) < most:
            items.append(item)
        else:
            self.cut[what] += 1

    def fleet(self, unreadable: tuple[tuple[str, str], ...]) -> Fleet:
        """All of it, the largest group first."""
        groups = [Group(odd, tuple(names), count) for odd, (names, count) in self.groups.items()]
        ties = [] if self.golden else list(self.census.ties())
        self.cut["ties"] = max(0, len(ties) - _MOST_TIES)
        return Fleet(
            hosts=self.census.hosts,
            alike=self.alike,
            groups=tuple(sorted(groups, key=lambda group: (-group.count, group.names))),
            slow=tuple(sorted(self.slow, key=lambda item: item.value / item.middle)),
            slowest=tuple(item for kind, item in sorted(self.slowest.items())),
            sick=tuple(sorted(self.sick, key=lambda item: item.status != "fail")),
            statuses=dict(sorted(self.statuses.items())),
            unreadable=unreadable,
            ties=tuple(ties[:_MOST_TIES]),
            usual=self.usual,
            golden=self.golden,
            cut={name: count for name, count in self.cut.items() if count},
        )


def _without(ours: Sequence[str], theirs: Sequence[str]) -> list[str]:
    """Those of ours that no name of theirs stands for: node7 and node7.cluster are one host, two addresses never."""
    whole, bare = set(theirs), {name for name in theirs if "." not in name}
    heads = {_head(name) for name in theirs}
    return [name for name in ours if name not in whole and _head(name) not in (bare if "." in name else heads)]


def _head(name: str) -> str:
    head = name.partition(".")[0]
    return name if head.isdecimal() or ":" in name else head


def _held_against(fleet: Fleet, expected: Sequence[str], names: Sequence[str]) -> Fleet:
    """With who was expected and is not there, and who is there unexpected; one of both may bear a domain."""
    missing, unexpected = _without(expected, names), _without(names, expected)
    return replace(fleet, missing=tuple(missing), unexpected=tuple(unexpected))
