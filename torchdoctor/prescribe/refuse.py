"""When nothing runs: name the single condition in the way and the smallest change that would lift it."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence

from torchdoctor.facts import Unknown
from torchdoctor.findings import Text
from torchdoctor.prescribe.conditions import Judge, Obstacle
from torchdoctor.prescribe.drivers import driver_window
from torchdoctor.tables import Tables
from torchdoctor.tables.torch_builds import TorchBuild
from torchdoctor.values import DriverVersion, PythonTag, Version

# What a person can change, easiest first; the rest only explains.
_CHANGES = ("unsure", "companion", "project", "path", "driver", "python", "libc", "os", "broken")

_TO_WHAT_IT_NEEDS = {
    "project": 'set requires-python = ">={needs}" in pyproject.toml',
    "libc": "use a system with glibc {needs} or newer",
    "os": "update macOS to {needs} or newer",
    "broken": "{needs}",
    "path": "make the environment in a short folder, such as C:\\venv, or have long paths allowed",
}


def is_of_conda(tables: Tables) -> bool:
    """Whether these are the tables of conda-forge's packages."""
    return any(row.is_of_conda for row in tables.torch_builds.rows[:1])


NO_GPU_SERVED = Text("a GPU is required and no GPU of this host can be served")


def refuse(judge: Judge, rows: Sequence[TorchBuild], backend: str) -> tuple[Text, Text | None]:
    """Return why nothing runs here, and the smallest change (None when no single change helps)."""
    if not rows:
        return _no_rows(judge, backend)
    limit = _limit(judge, rows, backend)
    if limit:
        return limit
    rows = [row for row in rows if judge.is_wished(row)]
    if not rows and _asks_for_a_newer_one(judge):
        return _newer(judge)
    if not rows:
        return Text(
            "no {backend} build of torch {spec} exists for this system", backend=backend, spec=judge.wish.torch
        ), None
    failures = [(row, tuple(judge.obstacles(row))) for row in rows]
    alone: dict[str, list[tuple[TorchBuild, Obstacle]]] = {}
    for row, found in failures:
        kinds = {_changed_by(obstacle) for obstacle in found}
        if len(kinds) == 1:
            alone.setdefault(kinds.pop(), []).append((row, found[0]))
    for kind in _CHANGES:
        if kind in alone:
            return _one_change(judge, kind, alone[kind])
    return _explain(judge, failures)


def _limit(judge: Judge, rows: Sequence[TorchBuild], backend: str) -> tuple[Text, Text | None] | None:
    """The words where --max-cuda alone is in the way, or keeps out all that was asked for; else None."""
    most = judge.wish.max_cuda
    free = judge.with_wish(judge.wish._replace(max_cuda=None))
    above = [row for row in rows if row.cuda and most and row.cuda > most and free.is_wished(row)]
    running = [row for row in above if free.obstacle(row) is None]
    if running:
        row = min(running, key=lambda row: row.cuda.order if row.cuda else ())
        text = "torch {torch} {build} is for CUDA {cuda}, which is above --max-cuda {most}"
        said = Text(text, torch=row.torch, build=row.build, cuda=row.cuda, most=most)
        return said, Text("ask for --max-cuda {cuda}", cuda=row.cuda)
    if above and not any(judge.is_wished(row) for row in rows):
        return Text("every {backend} build asked for is above --max-cuda {most}", backend=backend, most=most), None
    return None


def _asks_for_a_newer_one(judge: Judge) -> bool:
    """Whether the versions asked for begin above the newest one of the tables."""
    newest = judge.tables.torch_builds.newest()
    return any(_begins_above(clause.operator, clause.version, newest) for clause in judge.wish.torch or ())


def _begins_above(operator: str, version: str, newest: Version) -> bool:
    try:
        first = Version.parse(version.partition("+")[0].removesuffix(".*"))
    except ValueError:  # a nightly or a release candidate: no table holds those
        return False
    first = Version((*first.parts, *(0,) * (len(newest.parts) - len(first.parts))))  # 2.15 is 2.15.0
    return operator not in {"<", "<=", "!="} and (first > newest or (operator == ">" and first == newest))


def _newer(judge: Judge) -> tuple[Text, Text | None]:
    tables = judge.tables
    if is_of_conda(tables):
        known = "conda-forge has no torch {spec}: of {day}, the tables know its packages up to {newest}"
        return Text(known, spec=judge.wish.torch, day=tables.date, newest=tables.torch_builds.newest()), None
    text = Text(
        "torch {spec} is newer than the tables: of {day}, they know torch up to {newest}",
        spec=judge.wish.torch,
        day=tables.date,
        newest=tables.torch_builds.newest(),
    )
    return text, Text("refresh them: torchdoctor tables refresh --from INDEX --write")


def _changed_by(obstacle: Obstacle) -> str:
    """What one would change: another driver lifts both a floor and a branch that does not know the GPU."""
    return "driver" if obstacle.kind == "branch" else obstacle.kind


def _no_rows(judge: Judge, backend: str) -> tuple[Text, Text | None]:
    host = judge.host
    if host.bits != 64:  # noqa: PLR2004 - the word size
        return Text("a {bits}-bit Python has no torch wheel", bits=host.bits), Text("use a 64-bit Python")
    if host.implementation.lower() != "cpython":
        return Text("{implementation} has no torch wheel", implementation=host.implementation), Text("use CPython")
    where = f"{host.os} {host.machine}"
    if is_of_conda(judge.tables):
        return Text("conda-forge has no {backend} build for {where}", backend=backend, where=where), None
    text = Text("no official {backend} build exists for {where}", backend=backend, where=where)
    amd = [gpu.target for gpu in judge.gpus if gpu.vendor == "amd"]
    if host.os == "windows" and any(judge.tables.amd_gpus.has_windows_wheels(gfx) for gfx in amd):
        return text, Text("take AMD's own Windows wheels for {gfx}", gfx=amd[0])
    return text, None


def _one_change(judge: Judge, kind: str, single: list[tuple[TorchBuild, Obstacle]]) -> tuple[Text, Text | None]:
    row, obstacle = _smallest(judge, kind, single)
    text = Text("torch {torch} {build}: {reason}", torch=row.torch, build=row.build, reason=obstacle.text)
    return text, _change(judge, kind, row, obstacle)


def _smallest(judge: Judge, kind: str, single: list[tuple[TorchBuild, Obstacle]]) -> tuple[TorchBuild, Obstacle]:
    """The row that asks least of the system; where nothing is there yet, the newest torch, which stands first."""
    if kind in {"libc", "os"}:
        return min(single, key=lambda item: Version.parse(item[1].needs))
    if kind == "driver" and isinstance(judge.host.driver, DriverVersion):
        return min(single, key=lambda item: _oldest_driver(judge, item[0]))
    return single[0]


def _oldest_driver(judge: Judge, row: TorchBuild) -> tuple[int, ...]:
    window = driver_window(judge, row)
    return window[0].parts if window else (sys.maxsize,)


def _change(judge: Judge, kind: str, row: TorchBuild, obstacle: Obstacle) -> Text | None:
    if kind == "driver":
        return _change_driver(judge, row)
    if kind == "python":
        return Text("use Python {needs}", needs=_nearest(judge, row))
    if kind in _TO_WHAT_IT_NEEDS:
        return Text(_TO_WHAT_IT_NEEDS[kind], needs=obstacle.needs)
    if kind == "unsure":
        return Text("add --allow-inferred to take it all the same")
    return Text("ask for another version")


def _nearest(judge: Judge, row: TorchBuild) -> PythonTag:
    tag = judge.pythons[0]
    same_kind = [other for other in row.pythons if other.free_threaded == tag.free_threaded] or list(row.pythons)
    return min(same_kind, key=lambda other: abs(other.minor - tag.minor))


def _change_driver(judge: Judge, row: TorchBuild) -> Text | None:
    window = driver_window(judge, row)
    if window is None:
        return None
    first, last = window
    if last is not None:
        return Text("use an NVIDIA driver from {first} up to branch {last}", first=first, last=last)
    if isinstance(judge.host.driver, DriverVersion):
        return Text("update the NVIDIA driver to {first} or newer", first=first)
    return Text("install an NVIDIA driver, {first} or newer", first=first)


def _explain(judge: Judge, failures: list[tuple[TorchBuild, tuple[Obstacle, ...]]]) -> tuple[Text, Text | None]:
    """No single change helps: say the condition that most rows share and cannot be changed."""
    kinds = Counter(obstacle.kind for _, found in failures for obstacle in found)
    always = [kind for kind, count in kinds.items() if count == len(failures)]
    kind = "kernels" if "kernels" in always else (always or [kinds.most_common(1)[0][0]])[0]
    if kind == "kernels":
        gpu = next((gpu for gpu in judge.gpus if not any(judge.serves(row, gpu) for row, _ in failures)), judge.gpus[0])
        of_conda = is_of_conda(judge.tables)
        kind, files = ("conda-forge", "packages") if of_conda else ("official", "wheels")
        python = "" if isinstance(judge.host.python, Unknown) else f" with {files} for Python {judge.host.python}"
        what = _builds(judge, failures)
        text = "no {kind} {what}{python} has code for {gpu}"
        return Text(text, kind=kind, what=what, python=python, gpu=gpu), None
    obstacle = next(item for _, found in failures for item in found if item.kind == kind)
    return Text("no build runs here: {reason}", reason=obstacle.text), None


def _builds(judge: Judge, failures: list[tuple[TorchBuild, tuple[Obstacle, ...]]]) -> str:
    """What was looked through: all builds, those of one variant, those of the versions asked for."""
    variants = {row.build.name for row, _ in failures}
    variant = f"{variants.pop()} build" if len(variants) == 1 else "build"
    return variant if judge.wish.torch is None else f"{variant} of torch {judge.wish.torch}"
