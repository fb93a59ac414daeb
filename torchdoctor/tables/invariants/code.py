"""What must hold of the measured code of libraries: it agrees with what the other tables say."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from torchdoctor.tables import Tables
from torchdoctor.tables.companion_code import FILE as COMPANIONS
from torchdoctor.tables.device_code import FILE as LIBRARIES
from torchdoctor.tables.device_code import LibraryCode
from torchdoctor.tables.invariants.fault import Fault, fault
from torchdoctor.values import GpuArch


def measured_code_is_the_builds(tables: Tables) -> Iterator[Fault]:
    """What at least half of the fat binaries of torch's main libraries have is what the build is said to hold."""
    wheels: dict[object, list[LibraryCode]] = defaultdict(list)
    for row in tables.device_code.rows:
        if row.main:
            wheels[row.torch, row.build, row.os, row.machine].append(row)
    for rows in wheels.values():
        first = rows[0]
        build = tables.torch_builds.find(first.torch, first.build, first.os, first.machine)
        if build is not None and _main(rows) != set(build.code):
            yield fault(LIBRARIES.name, first, "torch_builds.csv has other code for this build")


def _main(rows: list[LibraryCode]) -> set[GpuArch]:
    counted: Counter[GpuArch] = Counter()
    for row in rows:
        for name, count in row.code.items():
            counted[GpuArch.parse(name)] += count
    return {arch for arch, count in counted.items() if 2 * count >= sum(row.fatbins for row in rows)}


def ptx_has_a_known_version(tables: Tables) -> Iterator[Fault]:
    """PTX of a companion is of a version that the table of versions has, and no version stands where there is none."""
    for row in tables.companion_code.rows:
        is_known = tables.ptx_versions.cuda(row.ptx_isa) is not None
        if bool(row.ptx) != is_known:
            yield fault(COMPANIONS.name, row, f"PTX version {row.ptx_isa!r} does not go with the PTX listed")
