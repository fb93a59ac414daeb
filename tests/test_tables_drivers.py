"""Look-ups over drivers, their branches, toolkits and the ways nvidia-smi fails."""

from __future__ import annotations

import pytest

from torchdoctor.tables import Tables
from torchdoctor.values import CudaVersion, DriverVersion, GpuArch


@pytest.mark.parametrize(
    ("cuda", "os", "floor", "exact"),
    [
        ("10.2", "linux", "440.33", "440.33"),
        ("11.0", "linux", "450.80.02", "450.36.06"),
        ("11.8", "linux", "450.80.02", "520.61.05"),
        ("11.8", "windows", "452.39", "520.06"),
        ("12.6", "linux", "525.60.13", "560.28.03"),
        ("12.6", "windows", "528.33", "560.76"),
        ("12.8", "linux", "525.60.13", "570.26"),
        ("13.0", "linux", "580", "580.65.06"),
        ("13.0", "windows", "580", None),
        ("13.5", "linux", "580", "620"),
        ("12.7", "linux", None, None),
        ("13.9", "linux", None, None),
        ("14.0", "windows", None, None),
    ],
)
def test_driver_floors(tables: Tables, cuda: str, os: str, floor: str | None, exact: str | None) -> None:
    drivers, version = tables.cuda_drivers, CudaVersion.parse(cuda)
    assert drivers.floor(version, os) == (DriverVersion.parse(floor) if floor else None)
    assert drivers.exact(version, os) == (DriverVersion.parse(exact) if exact else None)
    row = drivers.floor_row(version, os)
    assert (row is None) == (floor is None)


def test_the_table_of_releases(tables: Tables) -> None:
    assert len(tables.cuda_drivers.rows) == 66
    assert max(row.cuda for row in tables.cuda_drivers.rows) == CudaVersion(13, 5)
    tegra = DriverVersion.parse("580.00")
    floor = tables.cuda_drivers.floor(CudaVersion(13, 2), "linux")
    assert floor is not None
    assert tegra >= floor
    row = tables.cuda_drivers.floor_row(CudaVersion(12, 6), "windows")
    assert row is not None
    assert "527.41" in row.notes


@pytest.mark.parametrize(
    ("driver", "os", "branch", "cuda"),
    [
        ("470.256.02", "linux", 470, "11.4"),
        ("550.163.01", "linux", 550, "12.4"),
        ("565.57.01", "linux", 565, "12.7"),
        ("580.00", "linux", 580, "13.0"),
        ("620.70.06", "linux", 620, "13.5"),
        ("447.10", "linux", None, None),
        ("540.4.0", "linux", None, None),
        ("630.10", "linux", None, None),
        ("526.98", "windows", 525, "12.0"),
        ("572.83", "windows", 570, "12.8"),
        ("576.57", "windows", 575, "12.9"),
        ("581.29", "windows", 580, "13.0"),
        ("591.59", "windows", 590, "13.1"),
        ("596.21", "windows", 595, "13.2"),
        ("616.10", "windows", 615, "13.4"),
        ("512.15", "windows", 510, "11.6"),
        ("640.10", "windows", None, None),
    ],
)
def test_the_branch_of_a_driver(tables: Tables, driver: str, os: str, branch: int | None, cuda: str | None) -> None:
    row = tables.driver_branches.of(DriverVersion.parse(driver), os)
    assert (row.branch if row else None) == branch
    assert (str(row.cuda) if row else None) == cuda


@pytest.mark.parametrize(
    ("branch", "arch", "supported", "flavours"),
    [
        (390, "2.1", True, ("proprietary",)),
        (470, "3.7", True, ("proprietary",)),
        (495, "3.7", False, ()),
        (450, "8.0", True, ("proprietary",)),
        (450, "8.6", False, ()),
        (515, "8.6", True, ("open", "proprietary")),
        (515, "8.9", False, ()),
        (520, "9.0", True, ("open", "proprietary")),
        (550, "12.0", False, ()),
        (570, "12.0", True, ("open",)),
        (570, "10.0", True, ("open",)),
        (570, "10.3", False, ()),
        (580, "6.1", True, ("proprietary",)),
        (580, "12.1", True, ("open",)),
        (580, "11.0", True, ("open",)),
        (590, "7.0", False, ()),
        (590, "7.5", True, ("open", "proprietary")),
        (610, "10.7", False, ()),
        (615, "10.7", True, ("open",)),
    ],
)
def test_what_a_branch_drives(
    tables: Tables, branch: int, arch: str, supported: bool, flavours: tuple[str, ...]
) -> None:  # fmt: skip
    row = next(row for row in tables.driver_branches.rows if row.branch == branch)
    assert row.supports(GpuArch.parse(arch)) is supported
    assert row.flavours(GpuArch.parse(arch)) == flavours


def test_branches_of_a_gpu_and_their_end_of_life(tables: Tables) -> None:
    branches = tables.driver_branches
    assert len(branches.rows) == 31
    assert [row.branch for row in branches.branches_supporting(GpuArch(7, 0))][-1] == 580
    assert next(row.branch for row in branches.branches_supporting(GpuArch(12, 0))) == 570
    by_number = {row.branch: row for row in branches.rows}
    r580, r535, r590 = by_number[580], by_number[535], by_number[590]
    assert {str(arch): str(driver) for arch, driver in r580.since.items()} == {"10.3": "580.82.07", "12.1": "580.94.13"}
    assert [r535.is_end_of_life(day) for day in ("2026-05-31", "2026-06-15", "2026-07-01")] == [False, False, True]
    assert not r590.is_end_of_life("2099-01-01")


@pytest.mark.parametrize(
    ("cuda", "oldest", "newest", "gcc", "clang", "msc"),
    [
        ("11.2", "3.5", "8.6", 10, 12, (1910, 1929)),
        ("12.6", "5.0", "9.0", 13, 19, (1910, 1949)),
        ("12.8", "5.0", "12.0", 14, 20, (1910, 1949)),
        ("13.5", "7.5", "12.1", 16, 23, (1920, 1959)),
    ],
)
def test_toolkits(
    tables: Tables, cuda: str, oldest: str, newest: str, gcc: int, clang: int, msc: tuple[int, int]
) -> None:  # fmt: skip
    row = tables.toolkits.of(CudaVersion.parse(cuda))
    assert row is not None
    assert (str(row.arch_min), str(row.arch_max)) == (oldest, newest)
    assert (row.gcc_max, row.clang_below, (row.msc_min, row.msc_max)) == (gcc, clang, msc)
    assert tables.toolkits.of(CudaVersion(14, 0)) is None


@pytest.mark.parametrize(
    ("text", "rc", "outcome"),
    [
        (
            "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that ...",
            9,
            "no-driver",
        ),
        ("NVIDIA-SMI couldn't find libnvidia-ml.so library in your system. Please make sure that ...", 12, "no-nvml"),
        (
            "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 535.161",
            18,
            "version-mismatch",
        ),
        ("Failed to initialize NVML: Driver/library version mismatch", 255, "version-mismatch"),
        ("Failed to initialize NVML: Insufficient Permissions", 4, "permission"),
        ("Failed to initialize NVML: GPU access blocked by the operating system", 17, "blocked"),
        ("Failed to initialize NVML: GPU is lost", 15, "gpu-lost"),
        ("Unable to determine the device handle for GPU0000:0B:00.0: Unknown Error", 255, "gpu-lost"),
        (
            "Unable to determine the device handle for GPU 0000:0B:00.0: GPU is lost.  Reboot the system",
            None,
            "gpu-lost",
        ),
        ("Failed to initialize NVML: Unknown Error", 255, "unknown-error"),
        ("No devices were found", None, "no-devices"),
        (
            "Failed to initialize NVML: No supported GPUs were found\nUnable to determine the number of GPUs",
            255,
            "no-supported-gpus",
        ),
        ("bash: nvidia-smi: command not found", None, "not-found"),
        ("sh: 1: nvidia-smi: not found", 127, "not-found"),
        ("'nvidia-smi' is not recognized as an internal or external command,", 1, "not-found"),
        ("", 9, "no-driver"),
        ("", 18, "version-mismatch"),
        ("", 255, None),
        ("", 0, None),
        ("", None, None),
        ("| NVIDIA-SMI 535.183.01    Driver Version: 535.183.01    CUDA Version: 12.2 |", 0, None),
    ],
)
def test_how_nvidia_smi_failed(tables: Tables, text: str, rc: int | None, outcome: str | None) -> None:
    assert tables.smi_outcomes.classify(text, rc) == outcome
    assert outcome is None or tables.smi_outcomes.rows_of(outcome)
