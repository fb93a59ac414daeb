"""Rules about the Python that a project, an environment or an image is for."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.findings import Finding, Remedy, Text
from torchdoctor.lint.knowledge import build_of, may_be_unknown, torch_versions
from torchdoctor.lint.model import Pin, PythonWish
from torchdoctor.lint.rules.registry import Judged, pinned, rule, written
from torchdoctor.lint.worlds import allows
from torchdoctor.tables.torch_builds import TorchBuild
from torchdoctor.values import PythonTag, Version

_LOCKERS = {"uv", "poetry", "pdm"}  # what must find a wheel for every Python that the project allows


@rule("python-unsupported", severity="error")
def python_without_a_wheel(judged: Judged) -> Iterator[Finding]:
    """No wheel of the torch that is allowed is for the Python that is named."""
    python = judged.group.python
    if python is None or judged.group.kind == "lock" or judged.group.tool in {"conda", "pixi"}:
        return
    for pin in judged.group.find("torch"):
        if pin.python and python.is_one and pin.python != python.spec:
            yield _finding(pin, python, [PythonTag.parse(pin.python)], judged)
            continue
        versions = torch_versions(pin, judged.tables)
        if versions:
            yield from _judged(pin, versions, python, judged)


def _judged(pin: Pin, versions: tuple[Version, ...], python: PythonWish, judged: Judged) -> Iterator[Finding]:
    wheels: dict[PythonTag, bool] = {}
    for world in (world for world in judged.worlds if pin in world.pins):
        build = build_of(pin, judged.group, world, judged.tables)
        rows = [
            row
            for row in judged.tables.torch_builds.for_host(world.os, world.machine)
            if row.torch in versions and (build is None or row.build == build)
        ]
        if not rows:  # there is no such build for any Python: another finding
            continue
        has = any(not row.pythons or world.python in row.pythons for row in rows)
        wheels[world.python] = wheels.get(world.python, False) or has
    if not wheels:
        return
    known = {row.python for row in judged.tables.pythons.rows}
    if not known >= wheels.keys() and may_be_unknown(pin, judged.tables.torch_builds.versions()):
        return
    fitting = sorted({tag for row in _rows(versions, judged) for tag in row.pythons if not tag.free_threaded})
    if not any(wheels.values()):
        yield _finding(pin, python, fitting, judged)
    elif judged.group.tool in _LOCKERS and not python.is_one and not wheels[min(wheels)]:
        yield _too_wide(pin, python, min(tag for tag, has in wheels.items() if has), min(wheels))


def _rows(versions: tuple[Version, ...], judged: Judged) -> Iterator[TorchBuild]:
    yield from (row for row in judged.tables.torch_builds.rows if row.torch in versions)


def _finding(pin: Pin, python: PythonWish, fitting: list[PythonTag], judged: Judged) -> Finding:
    what = f"torch {pin.exact}" if pin.exact else f"torch{pin.spec}"
    return Finding(
        summary=Text("{what} has no wheel for Python {python}", what=what, python=python.spec),
        why=Text("its wheels are for Python {fitting}", fitting=", ".join(map(str, fitting)) or "other versions"),
        evidence=(pinned(pin), written(f"Python {python.spec}", str(python.place))),
        remedies=(
            Remedy(
                Text(
                    "Take Python {fitting}, or a torch that has wheels for {python}: {range}",
                    fitting=fitting[-1] if fitting else "another",
                    python=python.spec,
                    range=_range(python, judged),
                )
            ),
        ),
        place=python.place if python.place.file == judged.group.place.file else pin.place,
    )


def _range(python: PythonWish, judged: Judged) -> str:
    """From which torch to which there are wheels for any Python that the wish allows."""
    named = [row for row in judged.tables.pythons.rows if not row.python.free_threaded]
    rows = [row for row in named if _allows(python, row.python)]
    if not rows:
        return "none so far"
    return f"{min(row.first_torch for row in rows)} to {max(row.last_torch for row in rows)}"


def _allows(python: PythonWish, tag: PythonTag) -> bool:
    if not python.is_one:
        return allows(python.spec, tag)
    try:
        return PythonTag.parse(python.spec) == tag
    except ValueError:
        return False


def _above(python: PythonWish) -> str:
    """What the range says of its end."""
    parts = (part.strip() for part in python.spec.split(","))
    return "".join(f",{part}" for part in parts if part.startswith(("<", "!=")))


def _too_wide(pin: Pin, python: PythonWish, lowest: PythonTag, without: PythonTag) -> Finding:
    return Finding(
        summary=Text(
            "Python {python} takes in {without}, for which torch has no wheel", python=python.spec, without=without
        ),
        why=Text(
            "a lock must serve every Python that the project allows; {spec} has wheels from {lowest} on",
            spec=f"torch{pin.spec}",
            lowest=lowest,
        ),
        evidence=(pinned(pin), written(f"Python {python.spec}", str(python.place))),
        remedies=(
            Remedy(
                Text("Begin the range at {lowest}", lowest=lowest), (f'{python.key} = ">={lowest}{_above(python)}"',)
            ),
        ),
        confidence="likely",
        place=python.place,
    )


@rule("python-unsupported", severity="error")
def python_without_a_package(judged: Judged) -> Iterator[Finding]:
    """conda-forge has no package of the torch that is asked for, for the Python that is named."""
    python, group = judged.group.python, judged.group
    names = [channel.name for channel in group.channels]
    if python is None or not python.is_one or group.tool not in {"conda", "pixi"} or _is_dead(names):
        return
    tables = judged.tables.of_conda()
    tag = PythonTag.parse(python.spec)
    for pin in group.find("torch"):
        versions = torch_versions(pin, judged.tables) or ()
        platforms = set(group.platforms)
        rows = [row for row in tables.torch_builds.rows if row.torch in versions and (row.os, row.machine) in platforms]
        complete = {row.torch for row in rows} == set(versions)
        if pin.spec and rows and complete and not any(tag in row.pythons for row in rows):
            fitting = sorted({other for row in rows for other in row.pythons})
            yield _finding(pin, python, fitting, judged)


def _is_dead(names: list[str]) -> bool:
    return any(name.rpartition("/")[2] in {"pytorch", "nvidia", "defaults"} for name in names)
