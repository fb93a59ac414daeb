"""Where a project names torch decides where its tool must put it; what that tool cannot do is refused in words.

Tables of uv may be changed one after the other before anything is locked: several places are no hindrance there, as
long as they say the same of what stands in more than one. Other tools lock with each change.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from torchdoctor.errors import UsageError
from torchdoctor.findings import Text
from torchdoctor.prescribe.plan import Pin, Plan
from torchdoctor.prescribe.writing import Writing
from torchdoctor.readers.project_torch import BOUND, DEV, EXTRA, GROUP, MAIN, Kept, Stand

# The tool -> the kind of place -> its option; the name of the place comes last.
_OPTIONS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "uv-project": {GROUP: ("--group",), DEV: ("--dev",), EXTRA: ("--optional",)},
    "poetry": {GROUP: ("--group",), EXTRA: ("--optional",)},
    "pdm": {GROUP: ("--dev", "--group"), EXTRA: ("--group",)},
}
_SYNCED = {GROUP: "--group", EXTRA: "--extra"}  # the options of uv that bring a place; it brings the others unasked
_OF_GAPS = re.compile(r"""(?:python_full_version\s*!=\s*["'][\d.]+["'](?:\s+and\s+)?)+""")

_SYSTEMS = {
    "linux": ("Linux", "linux", "posix"),
    "windows": ("Windows", "win32", "nt"),
    "macos": ("Darwin", "darwin", "posix"),
}


class Standing(NamedTuple):
    """A place of torch: the options that name it, and what is said there for each package."""

    kind: str = MAIN
    group: str = ""
    options: tuple[str, ...] = ()
    lines: Mapping[str, Stand] = {}

    def marker(self, name: str) -> str:
        """The marker of a package's line."""
        return self.lines[name].marker if name in self.lines else ""

    @property
    def synced(self) -> tuple[str, ...]:
        """The options with which uv brings what stands there."""
        return (_SYNCED[self.kind], self.group) if self.kind in _SYNCED else ()


def standing(plan: Plan, writing: Writing) -> Standing:
    """Return where all the packages of the plan stand; raise ``UsageError`` where that is not one place for all."""
    (place,) = _standings(plan, writing)
    return place


def standings(plan: Plan, writing: Writing) -> tuple[Standing, ...]:
    """Return all places of uv's where packages of the plan stand, that of torch first; else raise ``UsageError``.

    What stands nowhere yet goes into the first.
    """
    places = _standings(plan, writing)
    return tuple(sorted(places, key=lambda place: "torch" not in place.lines))


def said_of_places(plan: Plan, writing: Writing) -> Iterator[Text]:
    """That a package is changed in more than one place."""
    tables: dict[str, list[str]] = {}
    for place in standings(plan, writing):
        for name, stand in place.lines.items():
            tables.setdefault(name, []).append(stand.table)
    for name, titles in tables.items():
        if len(titles) > 1:
            text = "{name} stands in {tables}, alike: all of them are changed"
            yield Text(text, name=name, tables=" and ".join(titles))


def _standings(plan: Plan, writing: Writing) -> tuple[Standing, ...]:
    kept = writing.kept
    if kept is None or (writing.if_needed and not plan.changes):
        return (Standing(),)
    pins = {pin.name: pin for pin in (*plan.pins, *plan.elsewhere)}
    stands = [stand for stand in kept.stands if stand.name in pins]
    for stand in stands:
        if stand.kind == BOUND and not _lets(stand, pins[stand.name]):
            raise UsageError(_overruled(stand, pins[stand.name], writing))
    lines = _for_here([stand for stand in stands if stand.kind != BOUND], plan, writing)
    if not lines and kept.has_members:
        raise UsageError(_of_members(writing))
    if not lines and kept.is_dynamic:
        raise UsageError(_of_a_program(writing))
    places = dict.fromkeys(stand[1:3] for stand in lines)
    is_one = len(places) < 2 and len({stand.name for stand in lines}) == len(lines)  # noqa: PLR2004 - one or none
    if not is_one and (writing.tool != "uv-project" or kept.is_apart or not _agree(lines)):
        raise UsageError(_in_places(lines, pins, writing))
    _refuse_marked(lines, pins, plan, writing)
    return tuple(_place(kind, group, lines, writing) for kind, group in places or {(MAIN, ""): None})


def _place(kind: str, group: str, lines: list[Stand], writing: Writing) -> Standing:
    option = _OPTIONS[writing.tool].get(kind, ())
    there = {stand.name: stand for stand in lines if stand[1:3] == (kind, group)}
    return Standing(kind, group, (*option, group) if group else option, there)


def _agree(lines: list[Stand]) -> bool:
    """Whether no table has two lines for a package, and all of them say the same of it."""
    said = {(stand.name, "".join(stand.spec.split()), "".join(stand.marker.split())) for stand in lines}
    return len({stand[:3] for stand in lines}) == len(lines) and len(said) == len({stand.name for stand in lines})


def _for_here(lines: list[Stand], plan: Plan, writing: Writing) -> list[Stand]:
    """Without lines of another system beside one of this: uv leaves those as they are, others drop them."""
    if writing.tool != "uv-project":
        return lines
    here = [stand for stand in lines if not stand.marker or holds(stand.marker, plan)]
    told = {stand[:3] for stand in here}
    return [stand for stand in lines if stand in here or stand[:3] not in told]


def _lets(stand: Stand, pin: Pin) -> bool:
    """Whether a line that holds for the package everywhere lets this version in."""
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        return bool(pin.version) and not stand.marker and SpecifierSet(stand.spec).contains(pin.version)
    except InvalidSpecifier:
        return False


def _overruled(stand: Stand, pin: Pin, writing: Writing) -> str:
    change = f"set it to {pin.public.requirement}, or take it out," if pin.version else "take it out"
    return f"{_file(writing)}: a line there overrules whatever is added ({stand}): {change} then ask again"


def _of_members(writing: Writing) -> str:
    return (
        f"{_file(writing)} is that of a workspace and names no torch: run torchdoctor in the folder of the member that"
        f' needs it, or put "torch" into [project] dependencies there first'
    )


def _of_a_program(writing: Writing) -> str:
    return (
        f'{_file(writing)} leaves what it depends on to a program (dynamic = ["dependencies"]), and nothing can be'
        f' added to that: put "torch" into a table of [dependency-groups] and ask again'
    )


def _in_places(lines: list[Stand], pins: Mapping[str, Pin], writing: Writing) -> str:
    names = " and ".join(dict.fromkeys(stand.name for stand in lines))
    stands = " | ".join(map(str, lines))
    return (
        f"{_file(writing)} names {names} in more than one line or table, and which is meant for this host does not"
        f" show ({stands}): set that one to {_wanted(lines, pins, writing)} by hand, or leave one line for each, all in"
        f" one table, and ask again"
    )


def _refuse_marked(lines: list[Stand], pins: Mapping[str, Pin], plan: Plan, writing: Writing) -> None:
    """Only uv keeps a marker that it is given again; one that leaves this host out is for no tool to be kept."""
    for stand in lines:
        if not stand.marker or _OF_GAPS.fullmatch(stand.marker):
            continue
        if writing.tool != "uv-project" or not holds(stand.marker, plan):
            raise UsageError(
                f"{_file(writing)} names {stand.name} under a condition ({stand}): take the condition out and ask"
                f" again, or write {_wanted([stand], pins, writing)} there by hand"
            )


def holds(marker: str, plan: Plan) -> bool:
    """Whether a marker is met by the host that the plan is for."""
    from packaging.markers import InvalidMarker, Marker, UndefinedEnvironmentName

    system, platform, name = _SYSTEMS[plan.os]
    here = {"platform_system": system, "sys_platform": platform, "os_name": name}
    here |= {"python_version": plan.python, "python_full_version": f"{plan.python}.0"} if plan.python else {}
    try:
        return Marker(marker).evaluate({**here, "platform_machine": str(plan.row.machine) if plan.row else ""})
    except (InvalidMarker, UndefinedEnvironmentName):
        return False


def _wanted(lines: list[Stand], pins: Mapping[str, Pin], writing: Writing) -> str:
    """The requirements as the tool has them; uv takes the build from its index alone."""
    wanted = (pins[stand.name] for stand in lines)
    is_bound = writing.tool == "uv-project"
    return ", ".join(dict.fromkeys((pin.public if is_bound else pin).requirement for pin in wanted))


def _file(writing: Writing) -> str:
    return writing.file("pyproject.toml")


def gaps(pins: tuple[Pin, ...], kept: Kept | None) -> tuple[str, ...]:
    """The patch releases of Python that a package excludes and the project allows: its lock must leave them out."""
    return tuple(dict.fromkeys(_gaps(pins, kept)))


def _gaps(pins: tuple[Pin, ...], kept: Kept | None) -> Iterator[str]:
    for pin in pins if kept else ():
        yield from (gap for gap in pin.gaps if kept and kept.allows(gap))
