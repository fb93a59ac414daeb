"""Which drivers would do: the floor of the build's CUDA joined with the branches that support the GPUs."""

from __future__ import annotations

from collections.abc import Iterable

from torchdoctor.prescribe.conditions import Judge
from torchdoctor.prescribe.host import GpuTarget
from torchdoctor.tables.driver_branches import DriverBranch
from torchdoctor.tables.torch_builds import TorchBuild
from torchdoctor.values import DriverVersion, GpuArch


def driver_window(judge: Judge, row: TorchBuild) -> tuple[DriverVersion, int | None] | None:
    """Return the oldest driver that runs the row on all GPUs, and the last branch that does (None: the newest)."""
    line = judge.host.driver_line
    floor = judge.tables.cuda_drivers.floor(row.cuda, line) if row.cuda else None
    branches = judge.branches
    if floor is None or not branches:
        return None
    newest_of_all = max(branch.branch for branch in judge.tables.driver_branches.rows)
    last = branches[-1].branch
    return max(floor, first_for(judge.gpus, branches[0], line)), None if last == newest_of_all else last


def newest_driver(judge: Judge) -> DriverVersion | None:
    """The number of the newest branch that still supports all GPUs, or None."""
    return first_number(judge.branches[-1], judge.host.driver_line) if judge.branches else None


def first_for(gpus: Iterable[GpuTarget], branch: DriverBranch, line: str) -> DriverVersion:
    """The first driver of a branch that drives all of these GPUs: some came with a later one than its first."""
    archs = [gpu.target for gpu in gpus if isinstance(gpu.target, GpuArch)]
    begin = first_number(branch, line)
    later = [branch.since[arch] for arch in archs if arch in branch.since and begin.branch == branch.branch]
    return max([begin, *later], key=lambda number: number.parts)


def first_number(branch: DriverBranch, line: str) -> DriverVersion:
    """The number with which a branch begins, in the numbers of this system."""
    number = branch.windows_from if line == "windows" and branch.windows_from else branch.branch
    return DriverVersion((number,))
