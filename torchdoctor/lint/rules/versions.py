"""Rules about what exists: releases of torch and of its companions, their builds, and the indexes of those."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchdoctor.findings import Evidence, Finding, Remedy, Text
from torchdoctor.lint.knowledge import builds, is_settled, may_be_unknown, parsed_build, rows_of, torch_versions
from torchdoctor.lint.model import IndexUse, Pin
from torchdoctor.lint.right_lines import lines_remedy, row_for
from torchdoctor.lint.rules.registry import Judged, pinned, rule, written
from torchdoctor.lint.torch_indexes import origin, torch_index
from torchdoctor.lint.worlds import World
from torchdoctor.tables import Tables
from torchdoctor.values import Build, Version

_COMPANIONS = ("torchvision", "torchaudio")
_FEW = 6
_NO_BUILD = re.compile(
    r"cu(?:da)?[-_.]?(\d{1,2})\.(\d)(?:\.\d{1,3})?|cuda[-_]?(\d{2})(\d)"
)  # how no label names a CUDA


@rule("index-lacks-version", severity="error")
def release_never_was(judged: Judged) -> Iterator[Finding]:
    """No release of torch has this version, or none that the pin allows has this build."""
    for pin in judged.group.find("torch"):
        versions = torch_versions(pin, judged.tables)
        if versions is None or pin.text.startswith("FROM "):
            continue
        if not versions:
            if not may_be_unknown(pin, judged.tables.torch_builds.versions()):
                yield _no_release(pin, judged)
        elif judged.group.tool not in {"conda", "pixi"} and (build := _lacking(pin, versions, judged)):
            yield _no_build(pin, build, versions, judged)
        elif match := _NO_BUILD.fullmatch(pin.label):
            yield from _misnamed(pin, Build(f"cu{''.join(filter(None, match.groups()))}"), versions, judged)


def _no_release(pin: Pin, judged: Judged) -> Finding:
    near = _nearest(pin, judged.tables.torch_builds.versions())
    return Finding(
        summary=Text("torch {spec}: no such release", spec=pin.spec),
        why=Text(
            "the table of releases, of {date}, goes from {oldest} to {newest} and holds none that this allows",
            date=judged.tables.date,
            oldest=judged.tables.torch_builds.versions()[-1],
            newest=judged.tables.torch_builds.newest(),
        ),
        evidence=(pinned(pin),),
        remedies=(Remedy(Text("The nearest releases: {near}", near=", ".join(map(str, near)))),) if near else (),
        place=pin.place,
    )


def _nearest(pin: Pin, versions: tuple[Version, ...]) -> list[Version]:
    if not pin.exact:
        return list(versions[:1])
    wanted = Version.parse(pin.exact)
    same = [version for version in versions if version.parts[:2] == wanted.parts[:2]]
    below = [version for version in versions if version < wanted][:1]
    return same or below


def _lacking(pin: Pin, versions: tuple[Version, ...], judged: Judged) -> Build | None:
    """The build that the pin asks for and that none of the releases has, on any host the pin is for."""
    asked: set[Build] = set()
    for world in (world for world in judged.hosts if pin in world.pins):
        build = parsed_build(pin.label) if pin.label else _of_index(pin, judged, world)
        if build is None or (build.backend == "cpu" and world.os == "macos"):
            return None
        if _is_of_others(build, pin, judged, world):
            return None
        if not is_of_the_tables(build, judged.tables) and not _is_final(pin, versions, judged, world):
            return None
        rows = judged.tables.torch_builds.for_host(world.os, world.machine)
        if any(row.torch in versions and row.build == build for row in rows):
            return None
        asked.add(build)
    return asked.pop() if len(asked) == 1 else None


def _of_index(pin: Pin, judged: Judged, world: World) -> Build | None:
    found = origin(pin, judged.group, world, judged.tables)
    if found is None or found.torch is None or found.torch.is_preview or judged.group.pre:
        return None
    build = parsed_build(found.torch.build)
    if build is None or not found.is_sure or not found.torch.is_official:
        return None
    is_told = build not in builds(judged.tables) and is_of_the_tables(build, judged.tables)  # of the index itself
    return None if is_told else build


def _is_final(pin: Pin, versions: tuple[Version, ...], judged: Judged, world: World) -> bool:
    """Whether these releases get no further build, and the PyTorch index or PyPI alone is asked for them."""
    found = origin(pin, judged.group, world, judged.tables)
    if found is None or (found.torch and not found.torch.is_official):
        return False
    asked = [torch_index(use.url, judged.tables) for use in judged.group.indexes if use.role != "explicit"]
    if not all(item and item.is_official for item in asked):
        return False
    return not judged.group.pre and all(is_settled(version, judged.tables) for version in versions)


def is_of_the_tables(build: Build, tables: Tables) -> bool:
    """Whether the tables would hold a build of this name: not one older or newer than all they know."""
    known = [row.build for row in tables.torch_builds.rows if row.build.backend == build.backend]
    if build.backend not in {"cuda", "rocm"}:
        return bool(known)
    return min(map(_order, known)) <= _order(build) <= max(map(_order, known))


def _order(build: Build) -> tuple[int, ...]:
    if build.cuda:
        return build.cuda.order
    return tuple(int(part) for part in build.name.removeprefix(build.backend).split(".") if part.isdecimal())


def _is_of_others(build: Build, pin: Pin, judged: Judged, world: World) -> bool:
    """Whether AMD's own builds may be meant: their labels look like those of the PyTorch index."""
    if build.backend != "rocm":
        return False
    found = origin(pin, judged.group, world, judged.tables)
    return found is None or found.torch is None or not found.torch.is_official


def _no_build(pin: Pin, build: Build, versions: tuple[Version, ...], judged: Judged) -> Finding:
    world = next(world for world in judged.hosts if pin in world.pins)
    if len(versions) > 1:
        return _retired(pin, build, judged)
    there = sorted({row.build.name for row in rows_of(versions[0], judged.tables) if row.emit and row.os == world.os})
    row = row_for(versions[0], build, world, judged.tables)
    own = str(versions[0]) if pin.name == "torch" else pin.exact
    return Finding(
        summary=Text("{name} {version} has no build {build}", name=pin.name, version=own, build=build),
        why=Text("builds of {version} for {os}: {there}", version=own, os=world.os, there=", ".join(there)),
        evidence=(pinned(pin), *_index_evidence(pin, judged, world)),
        remedies=lines_remedy(judged.group, row, judged.tables),
        place=pin.place,
    )


def _misnamed(pin: Pin, meant: Build, versions: tuple[Version, ...], judged: Judged) -> Iterator[Finding]:
    """A label that names CUDA as no build does: ``cu11.8``."""
    world = next((world for world in judged.hosts if pin in world.pins), None)
    if world is None or not _is_final(pin, versions, judged, world):
        return
    row = row_for(versions[0], meant, world, judged.tables)
    yield Finding(
        summary=Text("torch {version} has no build {label}", version=versions[0], label=pin.label),
        why=Text("a label names CUDA without a dot: {build}", build=meant),
        evidence=(pinned(pin),),
        remedies=lines_remedy(judged.group, row, judged.tables),
        place=pin.place,
    )


def _index_evidence(pin: Pin, judged: Judged, world: World) -> tuple[Evidence, ...]:
    found = origin(pin, judged.group, world, judged.tables)
    return (written(found.use.url, str(found.use.place)),) if found and found.use and not pin.label else ()


def _retired(pin: Pin, build: Build, judged: Judged) -> Finding:
    rows = [row for row in judged.tables.torch_builds.rows if row.build == build]
    last = max((row.torch for row in rows), default=None)
    world = next(world for world in judged.hosts if pin in world.pins)
    return Finding(
        summary=Text("torch{spec} and the build {build}: no release has both", spec=pin.spec, build=build),
        why=Text("the newest torch in the build {build} is {last}", build=build, last=last)
        if last
        else Text("no release has the build {build}", build=build),
        evidence=(pinned(pin), *_index_evidence(pin, judged, world)),
        remedies=(
            Remedy(
                Text("Name the index of a build that these releases have, or torch {last}", last=last)
                if last
                else Text("Name the index of a build that these releases have")
            ),
        ),
        confidence="likely",
        place=pin.place,
    )


@rule("index-lacks-version", severity="error")
def index_never_was(judged: Judged) -> Iterator[Finding]:
    """The PyTorch index has no folder of this name."""
    for use in _uses(judged):
        found = torch_index(use.url, judged.tables)
        if found is None or not found.is_official or found.is_preview:
            continue
        build = parsed_build(found.build)
        known = builds(judged.tables)
        if found.is_odd or (build and build not in known and is_of_the_tables(build, judged.tables)):
            newest = sorted({item for item in known if item.cuda}, key=_order)[-_FEW:]
            yield Finding(
                summary=Text("the PyTorch index has no build {path}", path=found.path),
                why=Text("the newest builds for CUDA are {newest}", newest=", ".join(map(str, newest))),
                evidence=(written(use.url, str(use.place)),),
                remedies=(Remedy(Text("Name a build that is there; for a host: torchdoctor install-cmd prints it")),),
                place=use.place,
            )


def _uses(judged: Judged) -> Iterator[IndexUse]:
    yield from judged.group.indexes
    yield from (IndexUse(pin.url, "explicit", pin.place) for pin in judged.group.pins if pin.url)


@rule("index-lacks-version", severity="error")
def companion_never_was(judged: Judged) -> Iterator[Finding]:
    """No release of a companion has this version: torchaudio, for one, no longer follows torch."""
    for name in _COMPANIONS:
        for pin in judged.group.find(name):
            if pin.exact and judged.tables.companions.find(name, pin.exact) is None and _was_due(pin, judged.tables):
                newest = judged.tables.companions.releases(name)[0].version
                yield Finding(
                    summary=Text("{name} {version}: no such release", name=name, version=pin.exact),
                    why=Text("the newest {name} is {newest}", name=name, newest=newest),
                    evidence=(pinned(pin),),
                    remedies=_best(judged, name),
                    place=pin.place,
                )


@rule("index-lacks-version", severity="error")
def companion_without_the_build(judged: Judged) -> Iterator[Finding]:
    """A companion's label names a build that its torch never had: the two are built together."""
    if judged.group.tool in {"conda", "pixi"}:
        return
    labels = {pin.label for pin in judged.group.find("torch")}  # which is judged itself
    for name in _COMPANIONS:
        for pin in judged.group.find(name):
            row = judged.tables.companions.find(name, pin.exact) if pin.exact and pin.label not in labels else None
            if row and row.is_pinned and row.labelled == "yes" and row.confidence == "read":
                build = _lacking(pin, (row.torch_min,), judged) if pin.label else None
                if build:
                    yield _no_build(pin, build, (row.torch_min,), judged)


def _was_due(pin: Pin, tables: Tables) -> bool:
    """Whether the tables would hold it: between releases they know, or numbered as a torch of some time ago."""
    version = Version.parse(pin.exact)
    known = [row.version for row in tables.companions.releases(pin.name)]
    torches = tables.torch_builds.versions()
    if known[-1] < version < known[0]:
        return version.parts[:2] != known[0].parts[:2]
    return version in torches and version.parts[:2] < torches[0].parts[:2] and version > known[0]


def _best(judged: Judged, name: str) -> tuple[Remedy, ...]:
    torch = next((pin for pin in judged.group.find("torch") if pin.exact), None)
    best = judged.tables.companions.best(name, Version.parse(torch.exact)) if torch else None
    if best is None or torch is None:
        return ()
    text = "Beside torch {torch} stands {name} {version}"
    return (Remedy(Text(text, torch=torch.exact, name=name, version=best.version), (f"{name}=={best.version}",)),)


@rule("label-without-index", severity="info")
def label_without_index(judged: Judged) -> Iterator[Finding]:
    """A build label is pinned, and no index that is named holds that build: PyPI holds no labelled wheel."""
    group = judged.group
    is_stage = group.image is not None and bool(group.image.name)  # whose commands are judged one by one
    if group.kind == "lock" or group.tool in {"conda", "pixi"} or is_stage:
        return
    for pin in group.find("torch"):
        worlds = [world for world in judged.hosts if pin in world.pins]
        if not pin.label or pin.stray or pin.url is not None or parsed_build(pin.label) is None or not worlds:
            continue
        if group.bindings.get("torch"):
            continue
        asked = [(use, torch_index(use.url, judged.tables)) for use in group.indexes if use.role != "explicit"]
        all_named = [*(found for _, found in asked), *(torch_index(use.url, judged.tables) for use in group.elsewhere)]
        if any(found is None or not found.build or found.build == pin.label for found in all_named):
            continue
        yield _without_index(pin, asked[0][0] if asked else None, judged)


def _without_index(pin: Pin, use: IndexUse | None, judged: Judged) -> Finding:
    build = parsed_build(pin.label)
    url = judged.tables.indexes.url("pytorch", variant=build.name if build else pin.label)
    line = {"requirements": f"--extra-index-url {url}"}.get(judged.group.kind, url)
    is_known = build in builds(judged.tables)
    wanted = (
        Text("Name the index of the build") if is_known else Text("Name the index that holds {label}", label=pin.label)
    )
    why = "PyPI takes no wheel with a label: only an index of that build holds it"
    is_told = judged.group.kind in {"dockerfile", "pyproject"} or use is not None
    return Finding(
        summary=Text("torch is pinned to +{label}, and no index of {label} is named", label=pin.label),
        why=Text(why) if use is None else Text("the index that is named holds another build; {why}", why=why),
        evidence=(pinned(pin), *((written(use.url, str(use.place)),) if use else ())),
        remedies=(Remedy(wanted, (line,) if is_known else ()),),
        severity="error" if is_told else "info",
        confidence="certain" if use else "likely",
        place=pin.place,
    )
