"""What one table names in another, and what every row has."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from torchdoctor.tables import Tables
from torchdoctor.tables.companions import FILE as COMPANIONS
from torchdoctor.tables.describe import table_files
from torchdoctor.tables.invariants.fault import Fault, fault
from torchdoctor.tables.python_support import FILE as PYTHONS
from torchdoctor.tables.torch_builds import FILE as BUILDS
from torchdoctor.values import PythonTag, Version


def builds_resolve(tables: Tables) -> Iterator[Fault]:
    """The indexes, Pythons and CUDA versions of a build stand in their own tables.

    A build whose code nobody has read yet may be of a CUDA that the tables do not know either: no host gets it.
    """
    for row in tables.torch_builds.rows:
        for name in row.indexes:
            if tables.indexes.find(name) is None:
                yield fault(BUILDS.name, row, f"index {name} is not in indexes.csv")
        for tag in row.pythons:
            if tables.pythons.range(tag) is None:
                yield fault(BUILDS.name, row, f"Python {tag} is not in python_support.csv")
        if row.cuda != row.build.cuda:
            yield fault(BUILDS.name, row, f"CUDA {row.cuda} is not that of {row.build}")
        is_known = row.cuda is None or tables.cuda_drivers.floor_row(row.cuda, row.os) is not None
        if not is_known and row.code_confidence != "unknown":
            yield fault(BUILDS.name, row, f"CUDA {row.cuda} is not in cuda_drivers.csv")


def companions_resolve(tables: Tables) -> Iterator[Fault]:
    """The torch versions that a companion names exist, and it fits those it was published for."""
    torch = set(tables.torch_builds.versions())
    for row in tables.companions.rows:
        named = {row.torch_min, *row.listed_for} | ({row.torch_max} if row.torch_max else set())
        for version in sorted(named - torch):
            yield fault(COMPANIONS.name, row, f"torch {version} is not in torch_builds.csv")
        for version in row.listed_for:
            if not row.fits(version):
                yield fault(COMPANIONS.name, row, f"it is listed for torch {version} and does not fit it")


def python_support_agrees_with_the_builds(tables: Tables) -> Iterator[Fault]:
    """The first and the last torch of a Python are those of its builds."""
    torch: dict[PythonTag, list[Version]] = defaultdict(list)
    for build in tables.torch_builds.rows:
        for tag in build.pythons:
            torch[tag].append(build.torch)
    for row in tables.pythons.rows:
        found = torch[row.python]
        if not found or (row.first_torch, row.last_torch) != (min(found), max(found)):
            yield fault(PYTHONS.name, row, "first_torch and last_torch are not those of torch_builds.csv")


def rows_have_source_and_day(tables: Tables) -> Iterator[Fault]:
    """Every row says where it comes from, and was checked no later than the tables."""
    for file in table_files():
        for row in file.load(tables.root, tables.over):
            if not row.source or not row.checked or row.checked > tables.date:
                yield fault(file.name, row, f"no source, or checked after {tables.date}")
