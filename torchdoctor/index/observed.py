"""What the files of a page show: which builds of torch there are, and which releases of its companions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from torchdoctor.index.pages import IndexFile
from torchdoctor.index.wheel_names import Platform, WheelName, parse_wheel_name
from torchdoctor.values import Build, PythonTag, Version

BuildKey = tuple[str, str, str, str]  # torch, build (empty: the wheel carries no label), os, machine


class SeenBuild:
    """The wheels of one build on one platform."""

    def __init__(self) -> None:
        self.pythons: dict[PythonTag, Version | None] = {}  # with the lowest macOS of each
        self.glibc: set[Version] = set()
        self.files: list[IndexFile] = []

    def add(self, file: IndexFile, wheel: WheelName, platform: Platform) -> None:
        """Take one wheel into account."""
        for tag in wheel.pythons:
            self.pythons[tag] = platform.macos
        if platform.glibc:
            self.glibc.add(platform.glibc)
        self.files.append(file)

    @property
    def uploaded(self) -> str:
        """The day of the first upload, where the page tells it."""
        return min((file.uploaded for file in self.files if file.uploaded), default="")

    @property
    def tags(self) -> list[PythonTag]:
        """The Pythons there are wheels for."""
        return sorted(self.pythons)


class SeenRelease(NamedTuple):
    """The wheels of one release of a companion, by platform, and the builds that their labels name."""

    files: dict[Platform, IndexFile]
    labels: set[str]
    has_code: bool  # a wheel for Linux or Windows, where labels are used

    @property
    def labelled(self) -> str:
        """Whether the wheels carry the label of a build, as a cell."""
        return "yes" if self.labels else "no" if self.has_code else "unknown"


class Passed(Counter[str]):
    """How many files were not looked at, by reason."""


def wheels_of(files: Iterable[IndexFile], project: str, passed: Passed) -> list[tuple[IndexFile, WheelName]]:
    """The wheels of final releases that were not taken back."""
    found = []
    for file in files:
        wheel = parse_wheel_name(file.name)
        if wheel is None or wheel.project != project:
            passed["nightlies, release candidates, archives and other names"] += file.name.endswith(".whl")
        elif file.yanked:
            passed["yanked"] += 1
        else:
            found.append((file, wheel))
    return found


def seen_builds(wheels: Iterable[tuple[IndexFile, WheelName]], passed: Passed) -> dict[BuildKey, SeenBuild]:
    """The builds of torch among wheels."""
    found: dict[BuildKey, SeenBuild] = {}
    for file, wheel in wheels:
        for platform in _lowest(wheel.platforms):
            build = _build(wheel.label, platform)
            if build is None:
                passed[f"label +{wheel.label}"] += 1
                continue
            key = (str(wheel.version), build, platform.os, platform.machine)
            found.setdefault(key, SeenBuild()).add(file, wheel, platform)
    return found


def _lowest(platforms: Iterable[Platform]) -> Iterable[Platform]:
    """One platform a system and machine: a wheel that names several is installed where any of them is met."""
    best: dict[tuple[str, str], Platform] = {}
    for one in sorted(platforms, key=lambda one: one.glibc or one.macos or Version(())):
        best.setdefault((one.os, one.machine), one)
    return best.values()


def _build(label: str, platform: Platform) -> str | None:
    """The build of a wheel: macOS has one without a label; elsewhere no label leaves it open."""
    if platform.os == "macos":
        return "mps" if platform.machine == "arm64" else "cpu"
    if not label:
        return ""
    try:
        build = Build.parse(label).name
    except ValueError:
        return None
    return build if build == label else None


def seen_releases(wheels: Iterable[tuple[IndexFile, WheelName]]) -> dict[Version, SeenRelease]:
    """The releases of a companion among wheels."""
    found: dict[Version, SeenRelease] = {}
    for file, wheel in wheels:
        seen = found.get(wheel.version) or SeenRelease({}, set(), has_code=False)
        for platform in wheel.platforms:
            seen.files.setdefault(platform, file)
        if wheel.label:
            seen.labels.add(wheel.label)
        has_code = seen.has_code or any(one.os in {"linux", "windows"} for one in wheel.platforms)
        found[wheel.version] = seen._replace(has_code=has_code)
    return found
