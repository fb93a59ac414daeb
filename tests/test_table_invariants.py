"""The invariants of the tables: they hold, and each is shown to notice a wrong row and to name it."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

import pytest
from conftest import ROOT

from torchdoctor.records import field, record
from torchdoctor.tables import Tables
from torchdoctor.tables.describe import table_files
from torchdoctor.tables.invariants import INVARIANTS, Invariant, builds, code, drivers, faults, gpus, references
from torchdoctor.values import DriverVersion

FOLDER = ROOT / "compat_tables"
FILES = {file.name: file for file in table_files()}


@record(frozen=True)
class Wrong:
    """One wrong edit: in the row of ``file`` whose cells start with ``key``, set columns to values."""

    file: str
    key: dict[str, str]
    cells: dict[str, str] = field(default_factory=dict)


CU126 = {"torch": "2.14.1", "build": "cu126", "os": "linux", "machine": "x86_64"}
CASES: list[tuple[Invariant, Wrong]] = [
    (drivers.driver_floors_never_fall, Wrong("cuda_drivers.csv", {"toolkit": "12.9.1"}, {"linux_floor": "450.80.02"})),
    (drivers.floors_are_one_per_cuda, Wrong("cuda_drivers.csv", {"toolkit": "13.0.3"}, {"windows_floor": "581"})),
    (
        drivers.printed_minimums_belong_to_a_branch_of_that_cuda,
        Wrong("cuda_drivers.csv", {"toolkit": "12.4.0"}, {"windows_min": "555.85"}),
    ),
    (drivers.the_cuda_of_branches_rises, Wrong("driver_branches.csv", {"branch": "550"}, {"cuda": "11.9"})),
    (drivers.windows_numbers_do_not_overlap, Wrong("driver_branches.csv", {"branch": "575"}, {"windows_from": "573"})),
    (drivers.flavours_are_of_supported_gpus, Wrong("driver_branches.csv", {"branch": "520"}, {"open_only": "12.0"})),
    (
        gpus.the_last_branch_of_a_gpu_supports_it,
        Wrong("gpu_models.csv", {"name": "Tesla K80"}, {"last_driver_branch": "495"}),
    ),
    (
        gpus.the_last_branch_of_a_gpu_supports_it,
        Wrong("gpu_models.csv", {"name": "Tesla T4"}, {"last_driver_branch": "999"}),
    ),
    (gpus.a_pci_id_has_one_capability, Wrong("gpu_models.csv", {"name": "GeForce GT 730"}, {"pci_capabilities": ""})),
    (gpus.tegra_is_tegra_everywhere, Wrong("gpu_models.csv", {"name": "NVIDIA GB10"}, {"tegra": "yes"})),
    (gpus.code_runs_on_its_own_architecture, Wrong("code_coverage.csv", {"code": "8.6"}, {"device_from": "8.7"})),
    (references.builds_resolve, Wrong("torch_builds.csv", CU126, {"indexes": "pytorch nowhere"})),
    (references.builds_resolve, Wrong("torch_builds.csv", CU126, {"cuda": "12.7"})),
    (
        references.companions_resolve,
        Wrong("torch_companions.csv", {"name": "torchvision", "version": "0.28.0"}, {"torch_max": "2.13.7"}),
    ),
    (drivers.jetpacks_resolve, Wrong("jetpacks.csv", {"l4t": "36.4.3"}, {"python": "3.2"})),
    (drivers.every_cuda_has_a_toolkit, Wrong("cuda_toolkits.csv", {"cuda_min": "11.1"}, {"cuda_max": "11.2"})),
    (
        builds.one_pypi_default_per_platform,
        Wrong("torch_builds.csv", CU126, {"on_pypi": "yes", "indexes": "pypi pytorch"}),
    ),
    (builds.one_pypi_default_per_platform, Wrong("torch_builds.csv", {**CU126, "build": "cu130"}, {"on_pypi": "no"})),
    (builds.code_is_within_its_toolkit, Wrong("torch_builds.csv", CU126, {"code": "5.0 12.0"})),
    (
        builds.code_is_within_its_toolkit,
        Wrong("torch_builds.csv", {**CU126, "torch": "2.7.1", "build": "cu128"}, {"code": "7.5"}),
    ),
    (
        builds.a_newer_torch_loses_no_code_silently,
        Wrong("torch_builds.csv", CU126, {"code": "5.0 6.0 7.0 7.5 8.0 8.6"}),
    ),
    (
        builds.a_newer_torch_loses_no_code_silently,
        Wrong("torch_builds.csv", {**CU126, "torch": "2.11.0", "build": "cu128"}, {"notes": "nothing is lost"}),
    ),
    (builds.code_lists_fit_the_backend, Wrong("torch_builds.csv", CU126, {"code_confidence": "unknown"})),
    (
        builds.code_lists_fit_the_backend,
        Wrong("torch_builds.csv", {**CU126, "build": "rocm7.2"}, {"gfx_broken": "gfx803"}),
    ),
    (
        builds.code_lists_fit_the_backend,
        Wrong("torch_builds.csv", {**CU126, "build": "cpu"}, {"code_confidence": "read"}),
    ),
    (builds.minimums_fit_the_system, Wrong("torch_builds.csv", CU126, {"glibc_min": ""})),
    (builds.unpublished_rows_say_why, Wrong("torch_builds.csv", {**CU126, "build": "cu134"}, {"notes": ""})),
    (
        references.python_support_agrees_with_the_builds,
        Wrong("python_support.csv", {"python": "3.9"}, {"last_torch": "2.9.1"}),
    ),
    (
        code.measured_code_is_the_builds,
        Wrong("torch_builds.csv", {**CU126, "build": "cu130"}, {"code": "8.0 8.6 9.0 10.0 12.0"}),
    ),
    (
        code.ptx_has_a_known_version,
        Wrong("companion_code.csv", {"package": "xformers", "version": "0.0.35"}, {"ptx_isa": ""}),
    ),
    (drivers.a_jetson_driver_is_no_other_driver, Wrong("jetpacks.csv", {"l4t": "36.4.3"}, {"driver": "550.54.15"})),
    (references.rows_have_source_and_day, Wrong("indexes.csv", {"id": "pypi"}, {"checked": "2999-01-01"})),
]


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
    found = list(invariant(mutated(tmp_path, wrong)))
    assert found
    keys = {row.key for row in FILES[found[0].file].load(tmp_path / "tables")}
    assert {one.key for one in found if one.file == found[0].file} <= keys


def test_an_untouched_copy_breaks_nothing(tmp_path: Path) -> None:
    copy = mutated(tmp_path, Wrong("torch_builds.csv", CU126))
    assert list(faults(copy)) == []


def test_every_invariant_has_a_case_it_notices() -> None:
    assert {invariant for invariant, _ in CASES} == set(INVARIANTS)


def test_every_function_of_the_package_that_yields_faults_is_in_the_list() -> None:
    named = {
        value
        for module in (builds, code, drivers, gpus, references)
        for value in vars(module).values()
        if getattr(value, "__annotations__", {}).get("return") == "Iterator[Fault]"
    }
    assert named == set(INVARIANTS)


def test_tegra_drivers_pass_the_floor_of_their_cuda(tables: Tables) -> None:
    """A Jetson on server CUDA must not look too old: 580.00 has two parts and no data-center number."""
    for row in tables.jetpacks.rows:
        if row.cuda_stack == "SBSA" and row.driver:
            floor = tables.cuda_drivers.floor(row.cuda, "linux")
            assert floor is not None
            assert row.driver >= floor, row.key
    assert DriverVersion.parse("579.99") < DriverVersion.parse("580.00")
