"""The writer for a uv project: an explicit index and its sources in pyproject.toml, then ``uv add``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torchdoctor.prescribe.plan import Pin, Plan, Source
from torchdoctor.prescribe.shells import join
from torchdoctor.prescribe.writers import toml
from torchdoctor.prescribe.writers.standing import Standing, standings
from torchdoctor.prescribe.writing import Writing, Written

_PLATFORMS = {"linux": "linux", "windows": "win32", "macos": "darwin"}


def write(plan: Plan, writing: Writing) -> Written:
    """Return the lines of pyproject.toml, where an index must be named, and the command that adds and locks.

    Sources bind only direct dependencies: torch's own helpers of ROCm and XPU are added beside it. ``explicit`` keeps
    every other package on PyPI; the marker leaves other systems alone. A development release as the lower bound
    admits nightlies of that package alone. Where the packages stand in several tables, those are changed before
    anything is locked: half of them would not fit the other half.
    """
    lines = tuple(_lines(plan, plan.source)) if plan.source else ()
    commands = tuple(join(words, writing.shell) for words in _commands(plan, writing))
    return Written(commands, writing.file("pyproject.toml") if lines else "", lines)


def _commands(plan: Plan, writing: Writing) -> Iterator[tuple[str, ...]]:
    newest = tuple(word for pin in plan.pins if not pin.version for word in ("--upgrade-package", pin.name))
    folder = ("--project", writing.in_project) if writing.in_project else ()
    first, *others = standings(plan, writing)
    if not others:
        yield ("uv", "add", *folder, *first.options, *newest, *_added(plan, first, ()))
        return
    for place in (first, *others):
        yield ("uv", "add", "--frozen", *folder, *place.options, *_added(plan, place, others))
    yield ("uv", "sync", "--inexact", *folder, *_brought(first, others), *newest)


def _added(plan: Plan, place: Standing, others: Sequence[Standing]) -> Iterator[str]:
    """The requirements of one place: what stands there, and in the first what stands in no other."""
    elsewhere = {name for other in others for name in other.lines} - set(place.lines)
    for pin in (*plan.pins, *plan.elsewhere):
        if pin.name not in elsewhere and (place not in others or pin.name in place.lines):
            yield _wanted(pin, plan, place)
    if place not in others:
        yield from (f"{name}; {_marker(plan)}" for name in plan.helpers)  # on no index of another system


def _brought(first: Standing, others: Sequence[Standing]) -> tuple[str, ...]:
    """The options for as few of the places as hold all of the packages: each may hold more than those."""
    options, there = first.synced, set(first.lines)
    for place in others:
        if not set(place.lines) <= there:
            options, there = (*options, *place.synced), there | set(place.lines)
    return options


def _wanted(pin: Pin, plan: Plan, place: Standing) -> str:
    """The requirement, under the marker of the line that it is to take the place of: uv adds a second one else."""
    requirement, marker = pin.public.afresh(pre=plan.pre), place.marker(pin.name)
    return f"{requirement}; {marker}" if marker else requirement


def _lines(plan: Plan, source: Source) -> Iterator[str]:
    yield "[[tool.uv.index]]"
    yield f"name = {toml.text(source.name)}"
    yield f"url = {toml.text(source.url)}"
    yield "explicit = true"
    yield ""
    yield "[tool.uv.sources]"
    for name in (*(pin.name for pin in plan.pins), *plan.helpers):
        yield f"{name} = {toml.inline({'index': source.name, 'marker': _marker(plan)})}"
    yield from (f"# no line for {pin.name}: it comes from PyPI" for pin in plan.elsewhere)  # for one that is there


def _marker(plan: Plan) -> str:
    return f"sys_platform == '{_PLATFORMS[plan.os]}'"
