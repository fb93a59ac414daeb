"""The lines that are right, in the syntax of the file that is judged: the writers of install-cmd write them."""

from __future__ import annotations

from torchdoctor.errors import UsageError
from torchdoctor.findings import Remedy, Text
from torchdoctor.lint.model import Group
from torchdoctor.lint.worlds import World
from torchdoctor.prescribe.plan import Pin, Plan, Source
from torchdoctor.prescribe.writers import write
from torchdoctor.prescribe.writing import Writing
from torchdoctor.tables import Tables
from torchdoctor.tables.torch_builds import TorchBuild
from torchdoctor.values import Build, Version

_TOOLS = {"uv": "uv-project", "poetry": "poetry", "pdm": "pdm", "hatch": "hatch"}
_COMPANIONS = ("torchvision", "torchaudio")


def right_lines(group: Group, row: TorchBuild, tables: Tables, python: Version | None = None) -> tuple[str, ...]:
    """Lines that install this build with the companions the group names; none where its tool cannot say it."""
    names = [name for name in _COMPANIONS if group.find(name)]
    found = [
        (name, tables.companions.best(name, row.torch, row.cuda, os=row.os, backend=row.build.backend, python=python))
        for name in names
    ]
    is_default = row.on_pypi and (row.os == "macos" or "pytorch" not in row.indexes)
    label = "" if is_default else row.build.name
    pins = [Pin("torch", str(row.torch), label)]
    pins += [Pin(name, str(best.version), label if best.labelled == "yes" else "") for name, best in found if best]
    variant = "cpu" if row.build.name == "mps" else row.build.name
    url = tables.indexes.url("pytorch", variant=variant)
    plan = Plan(tuple(pins), None if is_default else Source(f"pytorch-{variant}", url), row=row, os=row.os)
    try:
        done = write(plan, Writing(tool=_tool(group), shell="posix"))  # noqa: S604 - whose quoting
    except UsageError:
        return ()
    return done.lines + (done.commands if _tool(group) in {"poetry", "uv-project", "pdm"} else ())


def _tool(group: Group) -> str:
    if group.kind == "dockerfile":
        return "dockerfile"
    return _TOOLS.get(group.tool, "requirements") if group.kind == "pyproject" else "requirements"


def row_for(version: Version, build: Build | None, world: World, tables: Tables) -> TorchBuild | None:
    """The row of a release in this build, or else in the advertised build nearest to it, for a world."""
    rows = [row for row in tables.torch_builds.for_host(world.os, world.machine) if row.torch == version and row.emit]
    if build is None:
        return next((row for row in rows if row.on_pypi), next(iter(rows), None))
    exact = next((row for row in rows if row.build == build), None)
    same = [row for row in rows if row.build.backend == build.backend and row.advertised]
    if build.cuda is not None:
        wanted = build.cuda
        same.sort(key=lambda row: (row.cuda is None or row.cuda > wanted, row.cuda.order if row.cuda else ()))
        below = [row for row in same if row.cuda and row.cuda <= wanted]
        same = [below[-1]] if below else same
    return exact or next(iter(same), None)


def lines_remedy(group: Group, row: TorchBuild | None, tables: Tables) -> tuple[Remedy, ...]:
    """The remedy that shows the lines; none where there are none."""
    if group.kind == "lock":
        return lock_again(group)
    lines = right_lines(group, row, tables) if row else ()
    if not lines or not row:
        return ()
    text = "Lines that are right for torch {torch} in the build {build}"
    return (Remedy(Text(text, torch=row.torch, build=row.build), lines),)


def lock_again(group: Group) -> tuple[Remedy, ...]:
    """What is to be done about a lock: it is made from another file."""
    commands = (f"{group.tool} lock",) if group.tool != "pip" else ()
    return (Remedy(Text("Mend it in the file that the lock is made from, then lock again"), commands),)


def pin_line(group: Group, name: str, version: object) -> str:
    """One pin in the syntax of the file."""
    if group.kind in {"conda", "pixi"} and group.tool in {"conda", "pixi"}:
        return f"{name}={version}" if group.tool == "conda" else f'{name} = "=={version}"'
    return f'{name} = "{version}"' if group.tool == "poetry" else f"{name}=={version}"
