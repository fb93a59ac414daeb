"""The pixi writer: packages of conda-forge in pixi.toml, the platform declared to have a driver for their CUDA.

Channels and platforms that the file has stay. Where it has other platforms, what is added is for this one alone: its
CUDA exists on few of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from torchdoctor.errors import UsageError
from torchdoctor.prescribe.plan import Pin, Plan
from torchdoctor.prescribe.shells import join
from torchdoctor.prescribe.writers import toml
from torchdoctor.prescribe.writers.standing import holds
from torchdoctor.prescribe.writing import Writing, Written
from torchdoctor.readers.project_torch import Pixi, Stand
from torchdoctor.tables.torch_builds import TorchBuild
from torchdoctor.values import CudaVersion

_PLATFORMS = {
    ("linux", "x86_64"): "linux-64",
    ("linux", "aarch64"): "linux-aarch64",
    ("windows", "x86_64"): "win-64",
    ("macos", "x86_64"): "osx-64",
    ("macos", "arm64"): "osx-arm64",
}
_CHANNEL, _CUDA, _TORCH = "conda-forge", "cuda-version", "pytorch"


def write(plan: Plan, writing: Writing) -> Written:
    """Return the lines of pixi's file; without ``cuda`` on the platform pixi takes builds for the CPU.

    That is pyproject.toml where its tables lie in there: a pixi.toml beside it would take their place, all of them.
    """
    if plan.row is None:
        raise UsageError("conda-forge has no torch for a Jetson before JetPack 7: use --tool pip")
    in_pyproject = writing.kept is not None and writing.kept.in_pyproject
    file = writing.file("pyproject.toml" if in_pyproject else "pixi.toml")
    manifest = ("--manifest-path", file) if writing.in_project else ()
    pixi = (writing.kept.pixi if writing.kept else None) or Pixi()
    lines = (*_head(plan.row, pixi), "", *_dependencies(plan, plan.row, pixi), *_of_pypi(plan, writing))
    return Written((join(("pixi", "install", *manifest), writing.shell),), file, lines)


def _of_pypi(plan: Plan, writing: Writing) -> Iterator[str]:
    """What the file takes from PyPI goes: two owners of one folder overwrite each other's files."""
    names = {"torch", *(pin.name for pin in plan.pins)}
    for stand in writing.kept.stands if writing.kept else ():
        if stand.name in names:
            yield f"# no line for {stand.name} in {stand.table}: conda-forge's takes its place"


def _head(row: TorchBuild, pixi: Pixi) -> Iterator[str]:
    """The first table: its channels and platforms as they are, with what torch needs among them."""
    yield f"[{pixi.header}]"
    yield f"channels = {toml.value(_channels(pixi))}"
    yield f"platforms = {toml.value(_platforms(row, pixi))}"


def _channels(pixi: Pixi) -> list[Any]:
    """With conda-forge before all where it is missing, or behind a channel that would give an old torch."""
    names = [str(_named(entry, "channel")).rstrip("/") for entry in pixi.channels]
    ours = [entry for name, entry in zip(names, pixi.channels, strict=True) if name.rpartition("/")[2] == _CHANNEL]
    others = [entry for entry in pixi.channels if entry not in ours]
    first = pixi.channels.index(ours[0]) if ours else 0
    is_behind = any(name in pixi.ended for name in names[:first])
    return [*(ours or [_CHANNEL]), *others] if is_behind or not ours else list(pixi.channels)


def _platforms(row: TorchBuild, pixi: Pixi) -> list[Any]:
    """With this platform among them, and its CUDA declared."""
    name = _PLATFORMS[row.os, row.machine]
    mine = next((entry for entry in pixi.platforms if _named(entry, "platform") == name), None)
    wanted = mine if mine is not None else name
    if row.cuda:
        said = mine if isinstance(mine, Mapping) else {}
        wanted = {"platform": name, **said, "cuda": _declared(said.get("cuda"), f"{row.cuda.major}.0")}
    if mine is None:
        return [*pixi.platforms, wanted]
    return [wanted if entry is mine else entry for entry in pixi.platforms]


def _declared(said: object, needed: str) -> str:
    """The CUDA that the file declares, where it is one that serves."""
    try:
        full = str(said) if "." in str(said) else f"{said}.0"
        serves = CudaVersion.parse(full) >= CudaVersion.parse(needed)
    except ValueError:
        return needed
    return str(said) if serves else needed


def _named(entry: Any, key: str) -> Any:
    return entry.get(key) if isinstance(entry, Mapping) else entry


def _dependencies(plan: Plan, row: TorchBuild, pixi: Pixi) -> Iterator[str]:
    """The table, for this platform alone where the file has others or names torch there, and what gives way to it."""
    here = [stand for stand in pixi.conda if not stand.marker or holds(stand.marker, plan)]
    name = _PLATFORMS[row.os, row.machine]
    others = [entry for entry in pixi.platforms if _named(entry, "platform") != name]
    prefix = pixi.header.rpartition(".")[0] + "." if "." in pixi.header else ""
    common, own = f"[{prefix}dependencies]", f"[{prefix}target.{name}.dependencies]"
    table = own if others or any(stand.table == own for stand in here) else common
    pins = {pin.name: _version(pin) for pin in plan.pins}
    if row.cuda:
        pins[_CUDA] = f"{row.cuda}.*"
    if table == own and any((stand.table, stand.name) == (common, _TORCH) for stand in here):
        pins.setdefault(_TORCH, _version(plan.pins[0]))  # over the one for all platforms
    yield table
    yield from (f"{package} = {toml.text(version)}" for package, version in pins.items())
    over = {table, common} if table == own else {table}
    for stand in here:
        if not (stand.name in pins and stand.table in over) and _is_of_torch(stand, pins):
            yield _gives_way(stand, plan.pins[0].name, for_others=bool(others) and not stand.marker)


def _version(pin: Pin) -> str:
    return f"=={pin.version}" if pin.version else "*"


def _is_of_torch(stand: Stand, pins: Mapping[str, str]) -> bool:
    return stand.name in pins or stand.name.startswith(_TORCH)


def _gives_way(stand: Stand, kind: str, *, for_others: bool) -> str:
    taker = kind if stand.name.startswith(_TORCH) else "the line above"
    line = f"# no line for {stand.name} in {stand.table}: {taker} takes its place"
    return f"{line} (other platforms keep theirs in tables of their own)" if for_others else line
