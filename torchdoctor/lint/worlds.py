"""Which pins of a group meet on one host: every system and Python the group may be installed for, one by one."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from torchdoctor.lint.model import Group, Pin
from torchdoctor.tables import Tables
from torchdoctor.values import PythonTag

if TYPE_CHECKING:
    from packaging.markers import Marker

PLATFORMS = (("linux", "x86_64"), ("linux", "aarch64"), ("windows", "x86_64"), ("macos", "arm64"))
_SYSTEMS = {
    "linux": {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix"},
    "windows": {"sys_platform": "win32", "platform_system": "Windows", "os_name": "nt"},
    "macos": {"sys_platform": "darwin", "platform_system": "Darwin", "os_name": "posix"},
}
_MACHINES = {("windows", "x86_64"): "AMD64"}
_LONGEST = 4000  # characters of a marker that is read


class World(NamedTuple):
    """One kind of host, and the pins that are active there."""

    os: str
    machine: str
    python: PythonTag
    pins: tuple[Pin, ...] = ()
    chosen: frozenset[str] = frozenset()

    def find(self, name: str) -> Pin | None:
        """The pin of a package, an override or the narrowest of several; None where it is not installed there."""
        named = [pin for pin in self.pins if pin.name == name]
        return max(named, key=lambda pin: (pin.is_forced, bool(pin.exact), bool(pin.spec)), default=None)


def worlds(group: Group, tables: Tables) -> tuple[World, ...]:
    """Every world of a group, with the pins in it that the tables speak of."""
    found = []
    pins = tuple(_judged(group, tables))
    for os, machine in group.platforms or PLATFORMS:
        for python in pythons(group, tables) if pins else ():
            world = World(os, machine, python, chosen=group.chosen)
            active = tuple(pin for pin in pins if holds(pin.marker, world))
            if active:
                found.append(world._replace(pins=active))
    return tuple(found)


def _judged(group: Group, tables: Tables) -> Iterator[Pin]:
    """The pins of packages that the tables speak of."""
    names = {*tables.companions.names(), *tables.companion_pins.names(), *tables.neighbours.names()}
    names |= {row.name for row in tables.listed_packages.rows}
    yield from (pin for pin in group.pins if pin.name in names or pin.name.startswith("nvidia-"))


def pythons(group: Group, tables: Tables) -> tuple[PythonTag, ...]:
    """The Pythons that the project is for, as far as any torch has a wheel; one that is named even where none has."""
    known = tuple(row.python for row in tables.pythons.rows if not row.python.free_threaded)
    if group.python is None:
        return known
    if group.python.is_one:
        try:
            return (PythonTag.parse(group.python.spec),)
        except ValueError:
            return known
    return tuple(tag for tag in known if allows(group.python.spec, tag)) or known


def allows(spec: str, python: PythonTag) -> bool:
    """Whether a specifier takes some release of this Python's minor version; one that cannot be read takes all."""
    found = _specifiers(spec)
    if found is None:
        return True
    minor = f"{python.major}.{python.minor}"
    return any(found.contains(f"{minor}.{patch}", prereleases=True) for patch in (0, 1, 5, 9, 12, 20, 99))  # type: ignore[attr-defined]


@lru_cache(maxsize=512)
def _specifiers(spec: str) -> object:
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        return SpecifierSet(spec)
    except InvalidSpecifier:
        return None


def holds(marker: str, world: World) -> bool:
    """Whether a marker is true there; one that cannot be read is."""
    return not marker or _holds(marker, world.os, world.machine, world.python, world.chosen)


@lru_cache(maxsize=8192)
def _holds(marker: str, os: str, machine: str, python: PythonTag, chosen: frozenset[str]) -> bool:
    found = _marker(marker)
    if found is None:
        return True
    world = World(os, machine, python)
    return any(_evaluate(found, world, extra) for extra in sorted(chosen) or [""])


@lru_cache(maxsize=4096)
def _marker(text: str) -> Marker | None:
    from packaging.markers import InvalidMarker, Marker

    if len(text) > _LONGEST:
        return None
    try:
        return Marker(text)
    except (InvalidMarker, RecursionError):
        return None


def _evaluate(marker: Marker, world: World, extra: str) -> bool:
    from packaging.markers import UndefinedComparison, UndefinedEnvironmentName

    version = f"{world.python.major}.{world.python.minor}"
    environment = {
        **_SYSTEMS[world.os],
        "platform_machine": _MACHINES.get((world.os, world.machine), world.machine),
        "python_version": version,
        "python_full_version": f"{version}.5",
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
        "implementation_version": f"{version}.5",
        "platform_release": "",
        "platform_version": "",
        "extra": extra,
    }
    try:
        return marker.evaluate(environment)  # type: ignore[arg-type,unused-ignore]
    except (UndefinedComparison, UndefinedEnvironmentName, ValueError, KeyError):
        return True
