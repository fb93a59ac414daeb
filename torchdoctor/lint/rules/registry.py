"""How a rule is declared: a function of one group and the tables that yields findings, each with its place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import NamedTuple

from torchdoctor.findings import Evidence, Finding, Severity
from torchdoctor.lint.model import Group, Pin
from torchdoctor.lint.worlds import World
from torchdoctor.tables import Tables


class Judged:
    """What a rule sees: a group, the worlds it may be installed in, and the tables."""

    def __init__(self, group: Group, worlds: tuple[World, ...], tables: Tables) -> None:
        self.group = group
        self.worlds = worlds
        self.tables = tables

    @cached_property
    def hosts(self) -> tuple[World, ...]:
        """The worlds that differ in more than their Python."""
        return tuple({(world.os, world.machine, world.pins): world for world in reversed(self.worlds)}.values())[::-1]

    @cached_property
    def with_torch(self) -> tuple[World, ...]:
        """The hosts on which torch is named.

        A lock may hold several versions of a package, among which its edges choose: those are left out.
        """
        named = tuple(world for world in self.hosts if world.find("torch"))
        return named if self.group.kind != "lock" else tuple(map(_decided, named))


def _decided(world: World) -> World:
    """The world without what a lock leaves open: packages of which several versions are active."""
    count: dict[str, int] = {}
    for pin in world.pins:
        count[pin.name] = count.get(pin.name, 0) + 1
    return world._replace(pins=tuple(pin for pin in world.pins if count[pin.name] == 1))


Judge = Callable[[Judged], Iterator[Finding]]


class Rule(NamedTuple):
    """A rule with its finding id and usual severity; its docstring's first line is its meaning."""

    id: str
    severity: Severity
    meaning: str
    judge: Judge


RULES: list[Rule] = []


def rule(id: str, *, severity: Severity) -> Callable[[Judge], Judge]:  # noqa: A002 - an id is an id
    """Register a rule; several may share an id."""

    def register(judge: Judge) -> Judge:
        words = (judge.__doc__ or id).strip().splitlines()
        RULES.append(Rule(id, severity, words[0], judge))
        return judge

    return register


def pinned(pin: Pin) -> Evidence:
    """The pin as it is written, as evidence."""
    return written(pin.text or f"{pin.name}{pin.spec}", str(pin.place))


def written(text: str, at: str) -> Evidence:
    """A text of a file as evidence."""
    from torchdoctor.addresses import without_password

    return Evidence("line", without_password(text)[:300], at)
