"""The rule about torch and the packages that must fit it."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.findings import Finding, Remedy, Text
from torchdoctor.lint.knowledge import accepts, build_of, is_plain, parsed_build, rows_of, torch_versions
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
        if torch is None or not versions or not torch.spec or _is_of_others(torch, versions, judged):
            continue
        for name in names:
            pin = world.find(name)
            rows = _releases(pin, judged) if pin else ()
            if pin and rows and not any(row.fits(version) for row in rows for version in versions):
                yield _mismatch(torch, pin, rows, versions, judged, world)


def _is_of_others(torch: Pin, versions: tuple[Version, ...], judged: Judged) -> bool:
    """Whether the label is none of the PyTorch index: AMD pairs its own builds in its own way."""
    build = parsed_build(torch.label)
    rows = (row for version in versions for row in rows_of(version, judged.tables))
    return bool(torch.label) and not any(row.build == build for row in rows)


def _releases(pin: Pin, judged: Judged) -> tuple[Companion, ...]:
    if pin.exact:
        row = judged.tables.companions.find(pin.name, pin.exact)
        return (row,) if row else ()
    if not pin.spec or not is_plain(pin.spec):
        return ()
    return tuple(row for row in judged.tables.companions.releases(pin.name) if accepts(pin.spec, row.version))


def _mismatch(
    torch: Pin, pin: Pin, rows: tuple[Companion, ...], versions: tuple[Version, ...], judged: Judged, world: World
) -> Finding:
    best = judged.tables.companions.best(pin.name, versions[0])
    is_there = torch.text.startswith("FROM ")  # in the base image: an installer takes another torch in its place
    is_refused = not is_there and rows[0].is_pinned and rows[0].confidence == "read" and judged.group.kind != "lock"
    build = build_of(torch, judged.group, world, judged.tables)
    row = row_for(versions[0], build, world, judged.tables) if torch.exact else None
    why = "{name} {version} is for torch {range}" + ("; installers refuse the pair" if is_refused else "")
    shows_all = judged.group.kind == "lock" or (build is not None and pin.name in _WITH_TORCH)
    remedies = lines_remedy(judged.group, row, judged.tables) if shows_all else ()
    if best and not remedies:
        text = "Beside torch {torch} stands {name} {version}"
        beside = Text(text, torch=versions[0], name=pin.name, version=best.version)
        remedies = (Remedy(beside, (pin_line(judged.group, pin.name, best.version),)),)
    return Finding(
        summary=Text("{name}{spec} does not go with torch{torch}", name=pin.name, spec=pin.spec, torch=torch.spec),
        why=Text(why, name=pin.name, version=rows[0].version, range=_range(rows[0])),
        evidence=(pinned(torch), pinned(pin)),
        remedies=remedies or (Remedy(Text("No release of {name} is for this torch: leave it out", name=pin.name)),),
        severity="error" if is_refused else "warning",
        confidence="certain" if rows[0].confidence == "read" else "likely",
        place=pin.place,
    )


def _range(row: Companion) -> str:
    if row.is_pinned:
        return str(row.torch_min)
    return f"{row.torch_min} to {row.torch_max}" if row.torch_max else f"{row.torch_min} and newer"
