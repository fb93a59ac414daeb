"""The pixi writer: packages of conda-forge in pixi.toml, the platform declared to have a driver for their CUDA."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.errors import UsageError
from torchdoctor.prescribe.plan import Plan
from torchdoctor.prescribe.shells import join
from torchdoctor.prescribe.writers import toml
from torchdoctor.prescribe.writing import Writing, Written

_PLATFORMS = {
    ("linux", "x86_64"): "linux-64",
    ("linux", "aarch64"): "linux-aarch64",
    ("windows", "x86_64"): "win-64",
    ("macos", "x86_64"): "osx-64",
    ("macos", "arm64"): "osx-arm64",
}


def write(plan: Plan, writing: Writing) -> Written:
    """Return the lines of pixi's file; without ``cuda`` on the platform pixi takes builds for the CPU.

    That is pyproject.toml where its tables lie in there: a pixi.toml beside it would take their place, all of them.
    """
    in_pyproject = writing.kept is not None and writing.kept.in_pyproject
    file = writing.file("pyproject.toml" if in_pyproject else "pixi.toml")
    manifest = ("--manifest-path", file) if writing.in_project else ()
    lines = (*_lines(plan, "tool.pixi." if in_pyproject else ""), *_of_pypi(plan, writing))
    return Written((join(("pixi", "install", *manifest), writing.shell),), file, lines)


def _of_pypi(plan: Plan, writing: Writing) -> Iterator[str]:
    """What the file takes from PyPI goes: two owners of one folder overwrite each other's files."""
    names = {"torch", *(pin.name for pin in plan.pins)}
    for stand in writing.kept.stands if writing.kept else ():
        if stand.name in names:
            yield f"# no line for {stand.name} in {stand.table}: conda-forge's takes its place"


def _lines(plan: Plan, prefix: str) -> Iterator[str]:
    row = plan.row
    if row is None:
        raise UsageError("conda-forge has no torch for a Jetson before JetPack 7: use --tool pip")
    platform = {"platform": _PLATFORMS[row.os, row.machine]}
    if row.cuda:
        platform["cuda"] = f"{row.cuda.major}.0"
    yield f"[{prefix}workspace]"
    yield 'channels = ["conda-forge"]'
    yield f"platforms = [{toml.inline(platform)}]" if row.cuda else f"platforms = {toml.array([platform['platform']])}"
    yield ""
    yield f"[{prefix}dependencies]"
    for pin in plan.pins:
        yield f"{pin.name} = {toml.text(f'=={pin.version}' if pin.version else '*')}"
    if row.cuda:
        yield f"cuda-version = {toml.text(f'{row.cuda}.*')}"
