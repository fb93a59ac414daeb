"""The rule about packages that ask for one torch by name: xformers, vLLM, Torch-TensorRT, older TorchCodec."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchdoctor.findings import Finding, Remedy, Row, Text
from torchdoctor.lint.knowledge import accepts, is_of_others, is_plain, is_refused, release_for, torch_versions
from torchdoctor.lint.model import DIRECT, Group, Pin
from torchdoctor.lint.right_lines import lock_again, pin_line
from torchdoctor.lint.rules.registry import Judged, pinned, rule
from torchdoctor.lint.torch_indexes import origin
from torchdoctor.lint.worlds import World
from torchdoctor.tables.companion_pins import CompanionPin
from torchdoctor.values import Version

_JUDGED_ON = ("linux", "x86_64")  # of whose wheels the table speaks: elsewhere some have none, and compile
_ONE = re.compile(r"={2,3}[^*]+")  # a specifier of one release


@rule("torch-companion-mismatch", severity="warning")
def asks_for_another_torch(judged: Judged) -> Iterator[Finding]:
    """A companion's pin leaves only releases that ask for another torch than the one that is pinned."""
    if judged.group.tool in {"conda", "pixi"}:  # whose packages are built anew, against torch versions of their own
        return
    for world in (world for world in judged.with_torch if (world.os, world.machine) == _JUDGED_ON):
        torch = world.find("torch")
        versions = torch_versions(torch, judged.tables) if torch and torch.spec else None
        if torch is None or not versions or is_of_others(torch, versions, judged.tables):
            continue
        for name in judged.tables.companion_pins.names():
            pin = world.find(name)
            rows = _misfits(pin, versions, judged) if pin else ()
            if pin and rows:
                yield _asked_for(torch, pin, rows, versions, judged, world)


def _misfits(pin: Pin, versions: tuple[Version, ...], judged: Judged) -> tuple[CompanionPin, ...]:
    """The releases that a pin allows, newest first, where surely none goes with any of these versions of torch."""
    if not pin.spec or pin.label or pin.url == DIRECT or not is_plain(pin.spec, posts=True):
        return ()
    known = judged.tables.companion_pins.releases(pin.name)
    rows = tuple(row for row in known if accepts(pin.spec, row.version))
    if not rows or any(accepts(row.spec, version) for row in rows for version in versions):
        return ()
    if _ONE.fullmatch(pin.spec):
        return rows
    is_open = rows[-1] is known[-1] or (rows[0] is known[0] and _may_come(known[0], versions, judged))
    return () if is_open or _is_in(pin, judged) else rows


def _may_come(newest: CompanionPin, versions: tuple[Version, ...], judged: Judged) -> bool:
    """Whether a release after the newest may take one of these: none goes back behind the torch of this one."""
    taken = [version for version in judged.tables.torch_builds.versions() if accepts(newest.spec, version)]
    return not taken or versions[0] >= taken[-1]


def _is_in(pin: Pin, judged: Judged) -> bool:
    """Whether the range holds a release that another table speaks of."""
    return any(accepts(pin.spec, row.version) for row in judged.tables.companions.releases(pin.name))


def _asked_for(
    torch: Pin,
    pin: Pin,
    rows: tuple[CompanionPin, ...],
    versions: tuple[Version, ...],
    judged: Judged,
    world: World,
) -> Finding:
    row = rows[0]
    is_sure = origin(pin, judged.group, world, judged.tables) is not None
    refused = is_sure and row.stated == "metadata" and is_refused(judged.group, torch)
    return Finding(
        summary=Text("{name}{spec} does not go with torch{torch}", name=pin.name, spec=pin.spec, torch=torch.spec),
        why=Text(
            "{name} {version} asks for torch{wanted}" + _how(row, judged.group, torch, refused=refused),
            name=pin.name,
            version=row.version,
            wanted=row.spec,
        ),
        evidence=(pinned(torch), pinned(pin)),
        remedies=_remedies(pin, row, versions, judged),
        row=Row("companion_pins", row.key, row.source),
        severity="error" if refused else "warning",
        confidence="certain" if refused else "likely",
        place=pin.place,
    )


def _how(row: CompanionPin, group: Group, torch: Pin, *, refused: bool) -> str:
    """What becomes of the pair."""
    if row.stated == "readme":
        return " in its README: its library does not load beside another"
    if torch.text.startswith("FROM "):
        return ": its install puts that one in the place of the image's"
    if refused and group.image is not None and group.image.name:
        return ": of the two installs the later one decides which torch is there"
    return ": installers refuse the pair" if refused else " and is built for it"


def _remedies(pin: Pin, row: CompanionPin, versions: tuple[Version, ...], judged: Judged) -> tuple[Remedy, ...]:
    if judged.group.kind == "lock":
        return lock_again(judged.group)
    found = ((version, release_for(pin.name, version, judged.tables)) for version in versions)
    other = Remedy(Text("Or pin the torch that it asks for: torch{wanted}", wanted=row.spec))
    for version, best in found:
        if best:
            beside = Text("Beside torch {torch} stands {name} {best}", torch=version, name=pin.name, best=best)
            return (Remedy(beside, (pin_line(judged.group, pin.name, best),)), other)
    return (Remedy(Text("Pin the torch that it asks for, torch{wanted}, or leave torch to it", wanted=row.spec)),)
