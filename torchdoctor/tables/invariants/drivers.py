"""What must hold between CUDA releases and driver branches."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from torchdoctor.tables import Tables
from torchdoctor.tables.cuda_drivers import FILE as CUDA_DRIVERS
from torchdoctor.tables.driver_branches import FILE as BRANCHES
from torchdoctor.tables.invariants.fault import Fault, fault
from torchdoctor.tables.jetpacks import FILE as JETPACKS


def driver_floors_never_fall(tables: Tables) -> Iterator[Fault]:
    """A newer CUDA runs on no older driver."""
    rows = sorted(tables.cuda_drivers.rows, key=lambda row: row.toolkit)
    for os in ("linux", "windows"):
        for older, newer in pairwise(rows):
            if newer.floor(os) < older.floor(os):
                yield fault(CUDA_DRIVERS.name, newer, f"its {os} floor is below that of {older.key}")


def floors_are_one_per_cuda(tables: Tables) -> Iterator[Fault]:
    """Every update of a CUDA version has the same floor."""
    first: dict[object, object] = {}
    for row in tables.cuda_drivers.rows:
        floors = (row.linux_floor, row.windows_floor)
        if first.setdefault(row.cuda, floors) != floors:
            yield fault(CUDA_DRIVERS.name, row, f"another row of CUDA {row.cuda} has other floors")


def printed_minimums_belong_to_a_branch_of_that_cuda(tables: Tables) -> Iterator[Fault]:
    """The driver a toolkit asks for is of the branch that speaks its CUDA."""
    for row in tables.cuda_drivers.rows:
        for os in ("linux", "windows"):
            driver = row.exact(os)
            branch = tables.driver_branches.of(driver, os) if driver else None
            if driver and (branch is None or branch.cuda != row.cuda):
                yield fault(CUDA_DRIVERS.name, row, f"{driver} ({os}) is of branch {branch}, which is of another CUDA")


def the_cuda_of_branches_rises(tables: Tables) -> Iterator[Fault]:
    """A newer branch speaks no older CUDA."""
    for older, newer in pairwise(sorted(tables.driver_branches.rows, key=lambda row: row.branch)):
        if newer.cuda < older.cuda:
            yield fault(BRANCHES.name, newer, f"CUDA {newer.cuda} is older than that of branch {older.key}")


def windows_numbers_do_not_overlap(tables: Tables) -> Iterator[Fault]:
    """A Windows driver number is of one branch."""
    for older, newer in pairwise(sorted(tables.driver_branches.rows, key=lambda row: row.branch)):
        if newer.windows_from and older.windows_to and newer.windows_from <= older.windows_to:
            yield fault(BRANCHES.name, newer, f"its Windows numbers begin before those of {older.key} end")


def flavours_are_of_supported_gpus(tables: Tables) -> Iterator[Fault]:
    """What a kernel module's flavour drives, its branch drives."""
    for row in tables.driver_branches.rows:
        if not set(row.open_only) <= set(row.open_archs) <= set(row.archs) or not set(row.since) <= set(row.archs):
            yield fault(BRANCHES.name, row, "open_only, open_archs or since names an architecture outside archs")


def a_jetson_driver_is_no_other_driver(tables: Tables) -> Iterator[Fault]:
    """Their CUDA must be the release's own, wherever the number also is one of a branch."""
    for row in tables.jetpacks.rows:
        branch = tables.driver_branches.of(row.driver, "linux") if row.driver else None
        if branch and branch.cuda != row.cuda:
            yield fault(JETPACKS.name, row, f"driver {row.driver} is also of branch {branch.key}, of another CUDA")


def jetpacks_resolve(tables: Tables) -> Iterator[Fault]:
    """The Python, CUDA and capabilities of a Jetson release stand in their own tables."""
    covers = tables.coverage.covers
    for row in tables.jetpacks.rows:
        if row.index_path and tables.pythons.range(row.python) is None:
            yield fault(JETPACKS.name, row, f"Python {row.python} is not in python_support.csv")
        if tables.cuda_drivers.floor_row(row.cuda, "linux") is None:
            yield fault(JETPACKS.name, row, f"CUDA {row.cuda} is not in cuda_drivers.csv")
        for arch in row.capabilities:
            if not covers(arch, arch, None):
                yield fault(JETPACKS.name, row, f"no code is known to run on {arch}")


def every_cuda_has_a_toolkit(tables: Tables) -> Iterator[Fault]:
    """What nvcc of each CUDA can do is known."""
    by_cuda = defaultdict(list)
    for row in tables.cuda_drivers.rows:
        by_cuda[row.cuda].append(row)
    for cuda, rows in by_cuda.items():
        if tables.toolkits.of(cuda) is None:
            yield fault(CUDA_DRIVERS.name, rows[0], f"CUDA {cuda} is not in cuda_toolkits.csv")
