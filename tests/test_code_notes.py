"""What install-cmd says of a build that runs and lacks something all the same."""

from __future__ import annotations

import pytest
from conftest import Run

from torchdoctor.prescribe.code_notes import notes_on_companions, notes_on_libraries
from torchdoctor.prescribe.host import GpuTarget
from torchdoctor.tables import Tables
from torchdoctor.values import Build, GpuArch, Version

T4, V100, A100 = (
    GpuTarget("nvidia", GpuArch.parse(arch), name) for arch, name in (("7.5", "T4"), ("7.0", "V100"), ("8.0", "A100"))
)
RADEON = GpuTarget("amd", None, "Radeon")
MAGMA = "libtorch_cuda_linalg.so of torch {} has no code for T4 (sm_75): see torchdoctor explain library-arch-missing"
LIBRARIES = [
    ("2.14.1", "cu130", (T4,), MAGMA.format("2.14.1")),
    ("2.14.1", "cu130", (A100, T4, T4), MAGMA.format("2.14.1")),
    ("2.15.0", "cu132", (T4,), MAGMA.format("2.15.0")),
    ("2.14.1", "cu130", (A100, RADEON), None),
    ("2.14.1", "cu126", (T4,), None),  # nobody opened that wheel
    ("2.10.0", "cu128", (T4,), None),
]


@pytest.mark.parametrize(("torch", "build", "gpus", "note"), LIBRARIES)
def test_libraries_of_the_chosen_wheel(
    torch: str, build: str, gpus: tuple[GpuTarget, ...], note: str | None, tables: Tables
) -> None:
    row = tables.torch_builds.find(Version.parse(torch), Build.parse(build), "linux", "x86_64")
    assert row is not None
    assert list(map(str, notes_on_libraries(row, gpus, tables))) == ([note] if note else [])


COMPANIONS = [
    (
        ("xformers", "0.0.35"),
        (V100,),
        "xformers 0.0.35 has no code for V100 (sm_70): see torchdoctor explain companion-arch-missing",
    ),
    (("xformers", "0.0.35"), (T4, A100), None),
    (("torchvision", "0.24.1"), (V100,), None),
    (("torchvision", "0.24.1+cu126"), (V100,), None),
    (("unheard-of", "1.0"), (V100,), None),
]


@pytest.mark.parametrize(("release", "gpus", "note"), COMPANIONS)
def test_releases_beside_it(
    release: tuple[str, str], gpus: tuple[GpuTarget, ...], note: str | None, tables: Tables
) -> None:
    row = tables.torch_builds.find(Version.parse("2.10.0"), Build.parse("cu128"), "linux", "x86_64")
    assert row is not None
    assert list(map(str, notes_on_companions(row, [release], gpus, tables))) == ([note] if note else [])


@pytest.mark.parametrize(("gpu", "says"), [("T4", True), ("A100", False)])
def test_install_cmd_explains_it(torchdoctor: Run, gpu: str, says: bool) -> None:
    host = (
        "--os",
        "linux",
        "--machine",
        "x86_64",
        "--python-version",
        "3.12",
        "--libc",
        "glibc-2.35",
        "--driver",
        "580.65.06",
    )
    result = torchdoctor("install-cmd", *host, "--gpu", gpu, "--torch", "==2.14.1", "--explain")
    assert result.returncode == 0
    assert ("libtorch_cuda_linalg.so" in result.stderr) is says
