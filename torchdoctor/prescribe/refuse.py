"""When nothing runs: name the single condition in the way and the smallest change that would lift it."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence

from torchdoctor.facts import Unknown
from torchdoctor.findings import Text
from torchdoctor.prescribe.conditions import Judge, Obstacle
from torchdoctor.prescribe.drivers import driver_window
from torchdoctor.tables.torch_builds import TorchBuild
from torchdoctor.values import DriverVersion, PythonTag, Version

# What a person can change, easiest first; the rest only explains.
_CHANGES = ("unsure", "companion", "driver", "python", "libc", "os")


def refuse(judge: Judge, rows: Sequence[TorchBuild], backend: str) -> tuple[Text, Text | None]:
    """Return why nothing runs here, and the smallest change (None when no single change helps)."""
    if not rows:
        return _no_rows(judge, backend)
    rows = [row for row in rows if judge.is_wished(row)]
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
    if kind == "libc":
        return Text("use a system with glibc {needs} or newer", needs=obstacle.needs)
    if kind == "os":
        return Text("update macOS to {needs} or newer", needs=obstacle.needs)
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
        python = "" if isinstance(judge.host.python, Unknown) else f" with wheels for Python {judge.host.python}"
        what = _builds(judge, failures)
        return Text("no official {what}{python} has code for {gpu}", what=what, python=python, gpu=gpu), None
    obstacle = next(item for _, found in failures for item in found if item.kind == kind)
    return Text("no build runs here: {reason}", reason=obstacle.text), None


def _builds(judge: Judge, failures: list[tuple[TorchBuild, tuple[Obstacle, ...]]]) -> str:
    """What was looked through: all builds, those of one variant, those of the versions asked for."""
    variants = {row.build.name for row, _ in failures}
    variant = f"{variants.pop()} build" if len(variants) == 1 else "build"
    return variant if judge.wish.torch is None else f"{variant} of torch {judge.wish.torch}"
