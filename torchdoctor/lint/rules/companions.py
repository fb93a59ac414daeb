"""The rule about torch and the packages that must fit it."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.findings import Finding, Remedy, Text
from torchdoctor.lint.knowledge import (
    accepts,
    build_of,
    is_of_others,
    is_plain,
    is_refused,
    release_for,
    torch_versions,
)
from torchdoctor.lint.model import Pin
from torchdoctor.lint.right_lines import lines_remedy, pin_line, row_for
from torchdoctor.lint.rules.registry import Judged, pinned, rule
from torchdoctor.lint.worlds import World
from torchdoctor.tables.companions import Companion
from torchdoctor.values import Version

_WITH_TORCH = ("torchvision", "torchaudio")  # whose lines stand beside torch's own


@rule("torch-companion-mismatch", severity="warning")
def companion_for_another_torch(judged: Judged) -> Iterator[Finding]:
    """A companion's pin allows no release for the torch that is pinned."""
    names = judged.tables.companions.names()
    for world in judged.with_torch:
        torch = world.find("torch")
        versions = torch_versions(torch, judged.tables) if torch else None
        if torch is None or not versions or not torch.spec or is_of_others(torch, versions, judged.tables):
            continue
        for name in names:
            pin = world.find(name)
            rows = _releases(pin, judged) if pin else ()
            if pin and rows and not _goes_with_one(pin, rows, versions, judged):
                yield _mismatch(torch, pin, rows, versions, judged, world)


def _releases(pin: Pin, judged: Judged) -> tuple[Companion, ...]:
    if pin.exact:
        row = judged.tables.companions.find(pin.name, pin.exact)
        return (row,) if row else ()
    if not pin.spec or not is_plain(pin.spec):
        return ()
    return tuple(row for row in judged.tables.companions.releases(pin.name) if accepts(pin.spec, row.version))


def _goes_with_one(pin: Pin, rows: tuple[Companion, ...], versions: tuple[Version, ...], judged: Judged) -> bool:
    """Whether a release that the pin allows is for one of these, an older one that another table knows among them."""
    stated = judged.tables.companion_pins.releases(pin.name)
    older = [row for row in stated if accepts(pin.spec, row.version)]
    return any(
        any(row.fits(version) for row in rows) or any(accepts(row.spec, version) for row in older)
        for version in versions
    )


def _mismatch(
    torch: Pin, pin: Pin, rows: tuple[Companion, ...], versions: tuple[Version, ...], judged: Judged, world: World
) -> Finding:
    best = release_for(pin.name, versions[0], judged.tables)
    refused = rows[0].is_pinned and rows[0].confidence == "read" and is_refused(judged.group, torch)
    build = build_of(torch, judged.group, world, judged.tables)
    row = row_for(versions[0], build, world, judged.tables) if torch.exact else None
    why = "{name} {version} is for torch {range}" + ("; installers refuse the pair" if refused else "")
    shows_all = judged.group.kind == "lock" or (build is not None and pin.name in _WITH_TORCH)
    remedies = lines_remedy(judged.group, row, judged.tables) if shows_all else ()
    if best and not remedies:
        text = "Beside torch {torch} stands {name} {version}"
        beside = Text(text, torch=versions[0], name=pin.name, version=best)
        remedies = (Remedy(beside, (pin_line(judged.group, pin.name, best),)),)
    return Finding(
        summary=Text("{name}{spec} does not go with torch{torch}", name=pin.name, spec=pin.spec, torch=torch.spec),
        why=Text(why, name=pin.name, version=rows[0].version, range=asked_of(rows[0])),
        evidence=(pinned(torch), pinned(pin)),
        remedies=remedies or (Remedy(Text("No release of {name} is for this torch: leave it out", name=pin.name)),),
        severity="error" if refused else "warning",
        confidence="certain" if rows[0].confidence == "read" else "likely",
        place=pin.place,
    )


def asked_of(row: Companion) -> str:
    """Which torch a release accepts, in words."""
    if row.is_pinned:
        return str(row.torch_min)
    return f"{row.torch_min} to {row.torch_max}" if row.torch_max else f"{row.torch_min} and newer"
