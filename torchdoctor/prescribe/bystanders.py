"""What to say of the packages beside the chosen torch: those that it breaks, and a release made for an older one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchdoctor.facts import Unknown
from torchdoctor.findings import Text
from torchdoctor.prescribe.choose import Choice
from torchdoctor.prescribe.companions import release_beside
from torchdoctor.prescribe.conditions import Wish
from torchdoctor.prescribe.host import COMPANIONS, Host
from torchdoctor.prescribe.plan import Plan
from torchdoctor.tables import Tables
from torchdoctor.tables.torch_builds import TorchBuild

if TYPE_CHECKING:
    from packaging.requirements import Requirement

_STAYS = "{name} {installed} stays: whether it loads beside torch {torch} is not known (--with moves it)"
_NONE = "no {name} is known for torch {torch}: {name} {installed} stays and may not load beside it"
_NOT_TOLD = "which {name} goes with torch {torch} is not in the tables: {name} {installed} stays"
_BESIDE_NIGHTLY = "{name} {installed} stays and may not load beside a nightly torch"
_SYSTEMS = {"linux": ("linux", "Linux"), "windows": ("win32", "Windows"), "macos": ("darwin", "Darwin")}


def broken_by(choice: Choice, plan: Plan, tables: Tables) -> Iterator[Text]:
    """What to say of packages that stay, where torch changes: installers do not ask them, or say a word at most."""
    row = choice.row
    if row is None or not any(pin.name == "torch" for pin in plan.changes):
        return
    moved = {pin.name for pin in (*plan.pins, *plan.elsewhere)}
    coming = _nightly(tables) if plan.pre else f"{row.torch}+{row.build.name}"
    for name, line in choice.host.requirers:
        if name not in moved and (wanted := _broken(line, choice.host, coming)):
            text = "{name} requires torch{wanted}: torch {torch} breaks that"
            yield Text(text, name=name, wanted=wanted, torch="nightly" if plan.pre else row.torch)
    if not plan.pre and _public(choice.host) == str(row.torch):
        return  # what loads beside this version does beside its other builds
    for item in choice.host.installed:
        if item.name not in {*moved, *COMPANIONS} and tables.companions.find(item.name, item.version) is None:
            text = _BESIDE_NIGHTLY if plan.pre else _what_stays(item.name, choice, row, tables)
            yield Text(text, name=item.name, installed=item.version, torch=row.torch)


def _what_stays(name: str, choice: Choice, row: TorchBuild, tables: Tables) -> str:
    """What to say of one that is in no table: one begins later than this torch, and tells nothing of it."""
    if release_beside(row, name, tables, choice.host) is not None:
        return _STAYS
    is_told = any(release.torch_min <= row.torch for release in tables.companions.releases(name))
    return _NONE if is_told else _NOT_TOLD


def _nightly(tables: Tables) -> str:
    """The least version that a nightly has: it comes before the release after the newest."""
    major, minor = max(row.torch for row in tables.torch_builds.rows).parts[:2]
    return f"{major}.{minor + 1}.0.dev0"


def _public(host: Host) -> str:
    return host.torch.partition("+")[0] if isinstance(host.torch, str) else ""


def made_for_older(choice: Choice, plan: Plan, wish: Wish, tables: Tables) -> Iterator[Text]:
    """That a companion which is numbered as torch is has no release of this number, where one goes beside it."""
    row = choice.row
    for pin in (*plan.pins, *plan.elsewhere) if row else ():
        release = tables.companions.find(pin.name, pin.version) if pin.name in COMPANIONS else None
        if row is None or release is None or not (pin in plan.changes or pin.name in wish.companions):
            continue
        first, is_numbered = release.torch_min, release.version.parts[:2] == release.torch_min.parts[:2]
        if is_numbered and release.torch_max is None and first.parts[:2] != row.torch.parts[:2]:
            text = "there is no {name} {torch}: {name} {version} goes with torch {first} and later"
            yield Text(text, name=pin.name, torch=row.torch, version=pin.version, first=first)


def _broken(line: str, host: Host, coming: str) -> str:
    """What the line requires, where the torch that is there has it and the new one has not; else empty."""
    requirement = read_requirement(line)
    if requirement is None or not counts(requirement, host):
        return ""
    there = host.torch if isinstance(host.torch, str) else ""
    if there and not _takes(requirement, there):
        return ""  # broken already
    return "" if _takes(requirement, coming) else str(requirement.specifier)


def read_requirement(line: str) -> Requirement | None:
    """The requirement; None where the line is none."""
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        return Requirement(line)
    except InvalidRequirement:
        return None


def counts(requirement: Requirement, host: Host) -> bool:
    """Whether the marker holds on this host; one for an extra does not, since who asked for it is not known."""
    if requirement.marker is None:
        return True
    system, platform = _SYSTEMS.get(str(host.os), ("", ""))
    of_host = {"extra": "", "sys_platform": system, "platform_system": platform, "platform_machine": str(host.machine)}
    if not isinstance(host.python, Unknown):
        version = f"{host.python.major}.{host.python.minor}"
        of_host |= {"python_version": version, "python_full_version": f"{version}.0"}
    return requirement.marker.evaluate(of_host)


def _takes(requirement: Requirement, version: str) -> bool:
    from packaging.version import InvalidVersion

    try:
        return requirement.specifier.contains(version, prereleases=True)
    except InvalidVersion:
        return True
