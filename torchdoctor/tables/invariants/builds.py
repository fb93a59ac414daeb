"""What must hold of the torch builds among themselves."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from torchdoctor.tables import Tables
from torchdoctor.tables.invariants.fault import Fault, fault
from torchdoctor.tables.torch_builds import FILE as BUILDS
from torchdoctor.tables.torch_builds import TorchBuild
from torchdoctor.values import Version

_LOSES = "loses: "


def one_pypi_default_per_platform(tables: Tables) -> Iterator[Fault]:
    """Windows on Arm has no wheel on PyPI; every other platform has exactly one for each torch, or one unknown yet."""
    groups: dict[tuple[Version, str, str], list[TorchBuild]] = defaultdict(list)
    for row in tables.torch_builds.rows:
        groups[row.torch, row.os, row.machine].append(row)
        if bool(row.on_pypi) != ("pypi" in row.indexes):
            yield fault(BUILDS.name, row, "on_pypi and indexes do not agree")
    for (torch, os, machine), rows in groups.items():
        count = sum(row.on_pypi is True for row in rows)
        open_ = any(row.on_pypi is None for row in rows)
        if count != ((os, machine) != ("windows", "arm64")) and not (open_ and count == 0):
            yield fault(BUILDS.name, rows[0], f"{count} builds of torch {torch} for {os} {machine} are on PyPI")


def code_is_within_its_toolkit(tables: Tables) -> Iterator[Fault]:
    """No build holds code that the nvcc of its CUDA cannot make."""
    for row in tables.torch_builds.rows:
        toolkit = tables.toolkits.of(row.cuda) if row.cuda else None
        known = set(toolkit.archs) if toolkit else set()
        for arch in (*row.code, *row.ptx):
            if arch not in known:
                yield fault(BUILDS.name, row, f"nvcc of CUDA {row.cuda} makes no code for {arch}")
        if row.ptx and row.code and max(row.ptx) > max(row.code):
            yield fault(BUILDS.name, row, "its PTX is for a newer architecture than its code")


def _code_of(row: TorchBuild) -> set[str]:
    working = {gfx.name for gfx in row.gfx if gfx not in row.gfx_broken}
    return {str(arch) for arch in row.code} | {f"{arch}+PTX" for arch in row.ptx} | working


def a_newer_torch_loses_no_code_silently(tables: Tables) -> Iterator[Fault]:
    """What a newer torch of the same variant no longer holds is said in its notes."""
    series: dict[tuple[str, str, str], list[TorchBuild]] = defaultdict(list)
    for row in sorted(tables.torch_builds.rows, key=lambda row: row.torch):
        if _code_of(row):
            series[row.build.name, row.os, row.machine].append(row)
    for rows in series.values():
        for older, newer in pairwise(rows):
            noted = {word for note in newer.notes.split("; ") if note.startswith(_LOSES) for word in note.split()}
            lost = _code_of(older) - _code_of(newer) - noted
            if lost:
                yield fault(BUILDS.name, newer, f"no note says that {' '.join(sorted(lost))} of {older.torch} is lost")


def code_lists_fit_the_backend(tables: Tables) -> Iterator[Fault]:
    """CUDA builds list code, ROCm builds gfx ids, others nothing; none where the list is unknown."""
    for row in tables.torch_builds.rows:
        backend, sure = row.build.backend, row.code_confidence not in {"unknown", "none"}
        listed = {"cuda": row.code, "rocm": row.gfx}.get(backend, ())
        stray = (row.code or row.ptx) if backend != "cuda" else row.gfx
        if bool(listed) != sure or stray or not set(row.gfx_broken) <= set(row.gfx):
            yield fault(BUILDS.name, row, f"its code lists do not fit {backend} and code_confidence")
        if (row.code_confidence == "none") != (backend not in {"cuda", "rocm"}):
            yield fault(BUILDS.name, row, "code_confidence is none for builds without GPU code, and only for those")


def minimums_fit_the_system(tables: Tables) -> Iterator[Fault]:
    """Linux has a lowest glibc, macOS a lowest macOS, and neither has the other's."""
    for row in tables.torch_builds.rows:
        wrong = (row.glibc_min is None) == (row.os == "linux") or (row.os_min is None) == (row.os == "macos")
        if wrong or (row.windows_min and row.os != "windows") or not set(row.os_min_exceptions) <= set(row.pythons):
            yield fault(BUILDS.name, row, f"glibc_min, os_min or windows_min does not fit {row.os}")


def unpublished_rows_say_why(tables: Tables) -> Iterator[Fault]:
    """A row that is never to be printed has a note."""
    for row in tables.torch_builds.rows:
        if not row.emit and not row.notes:
            yield fault(BUILDS.name, row, "emit is no, and no note says why")
