"""Which drivers would do: the floor of the build's CUDA joined with the branches that support the GPUs."""

from __future__ import annotations

from collections.abc import Sequence

from torchdoctor.prescribe.host import GpuTarget
from torchdoctor.tables import Tables
from torchdoctor.tables.driver_branches import DriverBranch
from torchdoctor.tables.torch_builds import TorchBuild
from torchdoctor.values import DriverVersion, GpuArch


def driver_window(
    tables: Tables, row: TorchBuild, gpus: Sequence[GpuTarget], line: str
) -> tuple[DriverVersion, int | None] | None:
    """Return the oldest driver that runs the row on all GPUs, and the last branch that does (None: the newest)."""
    floor = tables.cuda_drivers.floor(row.cuda, line) if row.cuda else None
    branches = _supporting(tables, gpus)
    if floor is None or not branches:
        return None
    oldest = max(floor, _first_number(branches[0], line))
    newest_of_all = max(branch.branch for branch in tables.driver_branches.rows)
    return oldest, None if branches[-1].branch == newest_of_all else branches[-1].branch


def newest_driver(tables: Tables, gpus: Sequence[GpuTarget], line: str) -> DriverVersion | None:
    """The newest branch's number that still supports all these GPUs, or None."""
    branches = _supporting(tables, gpus)
    return _first_number(branches[-1], line) if branches else None


def _supporting(tables: Tables, gpus: Sequence[GpuTarget]) -> list[DriverBranch]:
    archs = [gpu.target for gpu in gpus if isinstance(gpu.target, GpuArch)]
    return [branch for branch in tables.driver_branches.rows if all(branch.supports(arch) for arch in archs)]


def _first_number(branch: DriverBranch, line: str) -> DriverVersion:
    number = branch.windows_from if line == "windows" and branch.windows_from else branch.branch
    return DriverVersion((number,))
