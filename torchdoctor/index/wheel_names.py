"""The name of a wheel file, taken apart: version, local label, Pythons, system, machine and lowest C library."""

from __future__ import annotations

import re
from typing import NamedTuple

from torchdoctor.values import PythonTag, Version

# The glibc that the first manylinux names stand for (PEP 513, 571, 599).
_MANYLINUX = {"manylinux1": Version((2, 5)), "manylinux2010": Version((2, 12)), "manylinux2014": Version((2, 17))}
_LINUX = re.compile(r"(?:(manylinux(?:1|2010|2014))|manylinux_(\d{1,2})_(\d{1,3})|linux)_(x86_64|aarch64)")
_MACOS = re.compile(r"macosx_(\d{1,2})_(\d{1,2})_(x86_64|arm64)")
_WINDOWS = {"win_amd64": "x86_64", "win_arm64": "arm64"}
_PROJECT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._]{0,60}")
_PUBLIC = re.compile(r"\d{1,4}(\.\d{1,9}){0,3}")
_LABEL = re.compile(r"[a-z0-9]+([._][a-z0-9]+)*")
_CPYTHON = re.compile(r"cp3\d{1,2}")
_PLAIN, _BUILD_TAGGED = 5, 6  # parts of a name without and with a build tag


class Platform(NamedTuple):
    """What a platform tag says: the lowest glibc or macOS is None where it says none; ``any`` is every system."""

    os: str
    machine: str
    glibc: Version | None = None
    macos: Version | None = None

    def serves(self, os: str, machine: str) -> bool:
        """Whether a wheel for this platform is one for that host."""
        return self.os == "any" or (self.os, self.machine) == (os, machine)


class WheelName(NamedTuple):
    """A final release; ``pythons`` are those it is compiled for, ``since`` the lowest one of a stable ABI."""

    project: str
    version: Version
    label: str
    pythons: tuple[PythonTag, ...]
    since: PythonTag | None
    platforms: tuple[Platform, ...]

    def accepts(self, python: PythonTag) -> bool:
        """Whether this Python installs it; a wheel without compiled code is for every one."""
        if self.since:
            return python >= self.since and not python.free_threaded
        return not self.pythons or python in self.pythons


def parse_wheel_name(name: str) -> WheelName | None:
    """Take the name apart; None for anything but the wheel of a final release (nightlies, variants, archives)."""
    parts = name.removesuffix(".whl").split("-")
    if len(parts) == _BUILD_TAGGED and parts[2][:1].isdecimal():
        del parts[2]
    if not name.endswith(".whl") or len(parts) != _PLAIN:
        return None
    project, full, python, abi, platform = parts
    version, _, label = full.partition("+")
    if not _PROJECT.fullmatch(project) or not _PUBLIC.fullmatch(version) or (label and not _LABEL.fullmatch(label)):
        return None
    platforms = tuple(found for tag in platform.split(".") if (found := _platform(tag)))
    pythons = _pythons(python, abi)
    if pythons is None or not platforms:
        return None
    stable = abi == "abi3" and pythons
    return WheelName(
        project=re.sub(r"[-_.]+", "-", project).lower(),
        version=Version.parse(version),
        label=label,
        pythons=() if stable else pythons,
        since=min(pythons) if stable else None,
        platforms=platforms,
    )


def _pythons(python: str, abi: str) -> tuple[PythonTag, ...] | None:
    """The Pythons of both tags: empty for py3-none, None for what no CPython 3 installs."""
    tags = python.split(".")
    if "py3" in tags:
        return () if abi == "none" else None
    tags = [tag for tag in tags if _CPYTHON.fullmatch(tag)]
    is_free = re.fullmatch(r"cp3\d{1,2}t", abi) is not None
    return tuple(PythonTag.parse(tag + ("t" if is_free else "")) for tag in tags) or None


def _platform(tag: str) -> Platform | None:
    if tag == "any":
        return Platform("any", "")
    if tag in _WINDOWS:
        return Platform("windows", _WINDOWS[tag])
    if match := _MACOS.fullmatch(tag):
        return Platform("macos", match[3], macos=Version((int(match[1]), int(match[2]))))
    if match := _LINUX.fullmatch(tag):
        numbered = Version((int(match[2]), int(match[3]))) if match[2] else None
        return Platform("linux", match[4], glibc=_MANYLINUX.get(match[1] or "", numbered))
    return None
