"""What must hold across rows and tables. Each invariant yields what breaks it; each is shown to notice a wrong row."""

from __future__ import annotations

import csv
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from conftest import ROOT

from torchdoctor.records import field, record
from torchdoctor.tables import Tables
from torchdoctor.tables.describe import table_files
from torchdoctor.tables.torch_builds import TorchBuild
from torchdoctor.values import DriverVersion, GpuArch, PythonTag, Version

FOLDER = ROOT / "compat_tables"
FILES = {file.name: file for file in table_files()}
Invariant = Callable[[Tables], Iterator[str]]


def driver_floors_never_fall(tables: Tables) -> Iterator[str]:
    rows = sorted(tables.cuda_drivers.rows, key=lambda row: row.toolkit)
    for os in ("linux", "windows"):
        for older, newer in pairwise(rows):
            if newer.floor(os) < older.floor(os):
                yield f"{os}: {newer.key} asks for less than {older.key}"


def floors_are_one_per_cuda(tables: Tables) -> Iterator[str]:
    floors = defaultdict(set)
    for row in tables.cuda_drivers.rows:
        floors[row.cuda].add((row.linux_floor, row.windows_floor))
    yield from (str(cuda) for cuda, pairs in floors.items() if len(pairs) > 1)


def printed_minimums_belong_to_a_branch_of_that_cuda(tables: Tables) -> Iterator[str]:
    for row in tables.cuda_drivers.rows:
        for os in ("linux", "windows"):
            driver = row.exact(os)
            branch = tables.driver_branches.of(driver, os) if driver else None
            if driver and (branch is None or branch.cuda != row.cuda):
                yield f"{row.key}: {driver} is of branch {branch}"


def the_cuda_of_branches_rises(tables: Tables) -> Iterator[str]:
    rows = sorted(tables.driver_branches.rows, key=lambda row: row.branch)
    yield from (newer.key for older, newer in pairwise(rows) if newer.cuda < older.cuda)


def windows_numbers_do_not_overlap(tables: Tables) -> Iterator[str]:
    for older, newer in pairwise(sorted(tables.driver_branches.rows, key=lambda row: row.branch)):
        if newer.windows_from and older.windows_to and newer.windows_from <= older.windows_to:
            yield newer.key


def flavours_are_of_supported_gpus(tables: Tables) -> Iterator[str]:
    for row in tables.driver_branches.rows:
        if not set(row.open_only) <= set(row.open_archs) <= set(row.archs) or not set(row.since) <= set(row.archs):
            yield row.key


def the_last_branch_of_a_gpu_supports_it(tables: Tables) -> Iterator[str]:
    newest = max(row.branch for row in tables.driver_branches.rows)
    for model in tables.gpu_models.rows:
        last = model.last_driver_branch or newest
        later = [row for row in tables.driver_branches.rows if row.branch > last]
        for arch in () if model.tegra else model.capabilities:
            row = tables.driver_branches.by_number(last)
            if row is None or not row.supports(arch) or any(branch.supports(arch) for branch in later):
                yield f"{model.key}: {arch} and branch {last}"


def a_pci_id_has_one_capability(tables: Tables) -> Iterator[str]:
    found: dict[str, set[GpuArch]] = defaultdict(set)
    for model in tables.gpu_models.rows:
        if not set(model.pci_capabilities) <= set(model.pci_ids):
            yield model.key
        for pci in model.pci_ids:
            decided = model.pci_capabilities.get(pci)
            found[pci] |= {decided} if decided else set(model.capabilities)
    yield from (pci for pci, archs in found.items() if len(archs) > 1)


def tegra_is_tegra_everywhere(tables: Tables) -> Iterator[str]:
    for model in tables.gpu_models.rows:
        if model.tegra != all(tables.coverage.is_tegra(arch) for arch in model.capabilities):
            yield model.key


def code_runs_on_its_own_architecture(tables: Tables) -> Iterator[str]:
    for row in tables.coverage.rows:
        if not row.covers(row.code, None) or row.device_from >= row.device_below:
            yield row.key


def references_resolve(tables: Tables) -> Iterator[str]:
    torch = set(tables.torch_builds.versions())
    for build in tables.torch_builds.rows:
        yield from (f"{build.key}: index {name}" for name in build.indexes if tables.indexes.find(name) is None)
        yield from (f"{build.key}: Python {tag}" for tag in build.pythons if tables.pythons.range(tag) is None)
        if build.cuda and (
            build.cuda != build.build.cuda or tables.cuda_drivers.floor_row(build.cuda, build.os) is None
        ):
            yield f"{build.key}: CUDA {build.cuda}"
    for row in tables.companions.rows:
        named = {row.torch_min, *row.listed_for} | ({row.torch_max} if row.torch_max else set())
        yield from (f"{row.key}: torch {version}" for version in named - torch)
        yield from (f"{row.key}: listed for {version}" for version in row.listed_for if not row.fits(version))
    for jetson in tables.jetpacks.rows:
        if jetson.index_path and tables.pythons.range(jetson.python) is None:
            yield f"{jetson.key}: Python {jetson.python}"
        if tables.cuda_drivers.floor_row(jetson.cuda, "linux") is None:
            yield f"{jetson.key}: CUDA {jetson.cuda}"
        yield from (
            f"{jetson.key}: {arch}" for arch in jetson.capabilities if not tables.coverage.covers(arch, arch, None)
        )
    for cuda in {row.cuda for row in tables.cuda_drivers.rows}:
        if tables.toolkits.of(cuda) is None:
            yield f"no toolkit row for CUDA {cuda}"


def one_pypi_default_per_platform(tables: Tables) -> Iterator[str]:
    """Windows on Arm has no wheel on PyPI; every other platform with rows has exactly one for each torch."""
    counts: dict[tuple[Version, str, str], int] = defaultdict(int)
    for row in tables.torch_builds.rows:
        counts[row.torch, row.os, row.machine] += row.on_pypi
        if row.on_pypi != ("pypi" in row.indexes):
            yield row.key
    for (torch, os, machine), count in counts.items():
        if count != ((os, machine) != ("windows", "arm64")):
            yield f"{torch} {os} {machine}: {count}"


def code_is_within_its_toolkit(tables: Tables) -> Iterator[str]:
    for row in tables.torch_builds.rows:
        toolkit = tables.toolkits.of(row.cuda) if row.cuda else None
        known = set(toolkit.archs) if toolkit else set()
        yield from (f"{row.key}: {arch}" for arch in (*row.code, *row.ptx) if arch not in known)
        if row.ptx and row.code and max(row.ptx) > max(row.code):
            yield f"{row.key}: PTX above the code"


def code_of(row: TorchBuild) -> set[str]:
    return (
        {str(arch) for arch in row.code}
        | {f"{arch}+PTX" for arch in row.ptx}
        | {gfx.name for gfx in row.gfx if gfx not in row.gfx_broken}
    )


def a_newer_torch_loses_no_code_silently(tables: Tables) -> Iterator[str]:
    series: dict[tuple[str, str, str], list[TorchBuild]] = defaultdict(list)
    for row in sorted(tables.torch_builds.rows, key=lambda row: row.torch):
        if code_of(row):
            series[row.build.name, row.os, row.machine].append(row)
    for rows in series.values():
        for older, newer in pairwise(rows):
            noted = {word for note in newer.notes.split("; ") if note.startswith("loses: ") for word in note.split()}
            lost = code_of(older) - code_of(newer) - noted
            if lost:
                yield f"{newer.key}: {sorted(lost)}"


def code_lists_fit_the_backend(tables: Tables) -> Iterator[str]:
    for row in tables.torch_builds.rows:
        backend, sure = row.build.backend, row.code_confidence not in {"unknown", "none"}
        listed = {"cuda": row.code, "rocm": row.gfx}.get(backend, ())
        stray = (row.code or row.ptx) if backend != "cuda" else row.gfx
        if bool(listed) != sure or stray or not set(row.gfx_broken) <= set(row.gfx):
            yield row.key
        if (row.code_confidence == "none") != (backend not in {"cuda", "rocm"}):
            yield row.key


def minimums_fit_the_system(tables: Tables) -> Iterator[str]:
    for row in tables.torch_builds.rows:
        wrong = (row.glibc_min is None) == (row.os == "linux") or (row.os_min is None) == (row.os == "macos")
        if wrong or (row.windows_min and row.os != "windows") or not set(row.os_min_exceptions) <= set(row.pythons):
            yield row.key


def unpublished_rows_say_why(tables: Tables) -> Iterator[str]:
    yield from (row.key for row in tables.torch_builds.rows if not row.emit and not row.notes)


def python_support_agrees_with_the_builds(tables: Tables) -> Iterator[str]:
    torch: dict[PythonTag, list[Version]] = defaultdict(list)
    for build in tables.torch_builds.rows:
        for tag in build.pythons:
            torch[tag].append(build.torch)
    for row in tables.pythons.rows:
        if (row.first_torch, row.last_torch) != (min(torch[row.python]), max(torch[row.python])):
            yield row.key


def a_jetson_driver_is_no_other_driver(tables: Tables) -> Iterator[str]:
    """Their CUDA must be the release's own, wherever the number also is one of a branch."""
    for row in tables.jetpacks.rows:
        branch = tables.driver_branches.of(row.driver, "linux") if row.driver else None
        if branch and branch.cuda != row.cuda:
            yield row.key


def rows_have_source_and_day(tables: Tables) -> Iterator[str]:
    for file in FILES.values():
        for row in file.load(tables.root):
            if not row.source or not row.checked or row.checked > tables.date:
                yield f"{file.name}: {row.key}"


@record(frozen=True)
class Wrong:
    """One wrong edit: in the row of ``file`` whose cells start with ``key``, set columns to values."""

    file: str
    key: dict[str, str]
    cells: dict[str, str] = field(default_factory=dict)


CU126 = {"torch": "2.14.1", "build": "cu126", "os": "linux", "machine": "x86_64"}
CASES: list[tuple[Invariant, Wrong]] = [
    (driver_floors_never_fall, Wrong("cuda_drivers.csv", {"toolkit": "12.9.1"}, {"linux_floor": "450.80.02"})),
    (floors_are_one_per_cuda, Wrong("cuda_drivers.csv", {"toolkit": "13.0.3"}, {"windows_floor": "581"})),
    (
        printed_minimums_belong_to_a_branch_of_that_cuda,
        Wrong("cuda_drivers.csv", {"toolkit": "12.4.0"}, {"windows_min": "555.85"}),
    ),
    (the_cuda_of_branches_rises, Wrong("driver_branches.csv", {"branch": "550"}, {"cuda": "11.9"})),
    (windows_numbers_do_not_overlap, Wrong("driver_branches.csv", {"branch": "575"}, {"windows_from": "573"})),
    (flavours_are_of_supported_gpus, Wrong("driver_branches.csv", {"branch": "520"}, {"open_only": "12.0"})),
    (
        the_last_branch_of_a_gpu_supports_it,
        Wrong("gpu_models.csv", {"name": "Tesla K80"}, {"last_driver_branch": "495"}),
    ),
    (
        the_last_branch_of_a_gpu_supports_it,
        Wrong("gpu_models.csv", {"name": "Tesla T4"}, {"last_driver_branch": "999"}),
    ),
    (a_pci_id_has_one_capability, Wrong("gpu_models.csv", {"name": "GeForce GT 730"}, {"pci_capabilities": ""})),
    (tegra_is_tegra_everywhere, Wrong("gpu_models.csv", {"name": "NVIDIA GB10"}, {"tegra": "yes"})),
    (code_runs_on_its_own_architecture, Wrong("code_coverage.csv", {"code": "8.6"}, {"device_from": "8.7"})),
    (references_resolve, Wrong("torch_builds.csv", CU126, {"indexes": "pytorch nowhere"})),
    (references_resolve, Wrong("torch_builds.csv", CU126, {"cuda": "12.7"})),
    (
        references_resolve,
        Wrong("torch_companions.csv", {"name": "torchvision", "version": "0.28.0"}, {"torch_max": "2.13.7"}),
    ),
    (references_resolve, Wrong("jetpacks.csv", {"l4t": "36.4.3"}, {"python": "3.2"})),
    (references_resolve, Wrong("cuda_toolkits.csv", {"cuda_min": "11.1"}, {"cuda_max": "11.2"})),
    (one_pypi_default_per_platform, Wrong("torch_builds.csv", CU126, {"on_pypi": "yes", "indexes": "pypi pytorch"})),
    (one_pypi_default_per_platform, Wrong("torch_builds.csv", {**CU126, "build": "cu130"}, {"on_pypi": "no"})),
    (code_is_within_its_toolkit, Wrong("torch_builds.csv", CU126, {"code": "5.0 12.0"})),
    (
        code_is_within_its_toolkit,
        Wrong("torch_builds.csv", {**CU126, "torch": "2.7.1", "build": "cu128"}, {"code": "7.5"}),
    ),
    (a_newer_torch_loses_no_code_silently, Wrong("torch_builds.csv", CU126, {"code": "5.0 6.0 7.0 7.5 8.0 8.6"})),
    (
        a_newer_torch_loses_no_code_silently,
        Wrong("torch_builds.csv", {**CU126, "torch": "2.11.0", "build": "cu128"}, {"notes": "nothing is lost"}),
    ),
    (code_lists_fit_the_backend, Wrong("torch_builds.csv", CU126, {"code_confidence": "unknown"})),
    (code_lists_fit_the_backend, Wrong("torch_builds.csv", {**CU126, "build": "rocm7.2"}, {"gfx_broken": "gfx803"})),
    (code_lists_fit_the_backend, Wrong("torch_builds.csv", {**CU126, "build": "cpu"}, {"code_confidence": "read"})),
    (minimums_fit_the_system, Wrong("torch_builds.csv", CU126, {"glibc_min": ""})),
    (unpublished_rows_say_why, Wrong("torch_builds.csv", {**CU126, "build": "cu134"}, {"notes": ""})),
    (python_support_agrees_with_the_builds, Wrong("python_support.csv", {"python": "3.9"}, {"last_torch": "2.9.1"})),
    (a_jetson_driver_is_no_other_driver, Wrong("jetpacks.csv", {"l4t": "36.4.3"}, {"driver": "550.54.15"})),
    (rows_have_source_and_day, Wrong("indexes.csv", {"id": "pypi"}, {"checked": "2999-01-01"})),
]
INVARIANTS = list(dict.fromkeys(invariant for invariant, _ in CASES))


def mutated(folder: Path, wrong: Wrong) -> Tables:
    """A copy of the tables with one wrong edit."""
    shutil.copytree(FOLDER, folder / "tables")
    path = folder / "tables" / wrong.file
    with path.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    hit = [row for row in rows if all(row[column] == text for column, text in wrong.key.items())]
    assert len(hit) == 1
    assert set(wrong.cells) <= set(hit[0])
    hit[0].update(wrong.cells)
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, FILES[wrong.file].columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return Tables(folder / "tables")


@pytest.mark.parametrize("invariant", INVARIANTS, ids=lambda invariant: invariant.__name__)
def test_the_tables_hold_it(tables: Tables, invariant: Invariant) -> None:
    assert list(invariant(tables)) == []


@pytest.mark.parametrize(("invariant", "wrong"), CASES, ids=lambda value: getattr(value, "__name__", None))
def test_it_notices_a_wrong_row(tmp_path: Path, invariant: Invariant, wrong: Wrong) -> None:
    assert list(invariant(mutated(tmp_path, wrong))) != []


def test_an_untouched_copy_breaks_nothing(tmp_path: Path) -> None:
    copy = mutated(tmp_path, Wrong("torch_builds.csv", CU126))
    assert [broken for invariant in INVARIANTS for broken in invariant(copy)] == []


def test_every_invariant_of_this_file_is_in_the_list() -> None:
    named = {
        name
        for name, value in globals().items()
        if callable(value) and getattr(value, "__annotations__", {}).get("return") == "Iterator[str]"
    }
    assert named == {invariant.__name__ for invariant in INVARIANTS}


def test_tegra_drivers_pass_the_floor_of_their_cuda(tables: Tables) -> None:
    """A Jetson on server CUDA must not look too old: 580.00 has two parts and no data-center number."""
    for row in tables.jetpacks.rows:
        if row.cuda_stack == "SBSA" and row.driver:
            floor = tables.cuda_drivers.floor(row.cuda, "linux")
            assert floor is not None
            assert row.driver >= floor, row.key
    assert DriverVersion.parse("579.99") < DriverVersion.parse("580.00")
