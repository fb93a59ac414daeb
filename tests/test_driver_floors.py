"""The driver floors of our tables against NVIDIA's own runtimes: which driver versions each of them accepts.

The runtimes are small wheels (6 MB together) from the package index that pip is set to; the driver is a stand-in that
names its CUDA version and has no GPU. A runtime that accepts it goes on to ask for GPUs (100); another says 35.
"""

from __future__ import annotations

import functools
import json
import os
import platform
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import pytest
from broken_hosts import compiled

from torchdoctor.tables import Tables
from torchdoctor.values import CudaVersion

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not sys.platform.startswith("linux") or platform.machine() != "x86_64", reason="the wheels are of Linux x86-64"
    ),
]

# wheel and version: the CUDA it is of
RUNTIMES = {
    ("nvidia-cuda-runtime-cu11", "11.8.89"): "11.8",
    ("nvidia-cuda-runtime-cu12", "12.1.105"): "12.1",
    ("nvidia-cuda-runtime-cu12", "12.6.77"): "12.6",
    ("nvidia-cuda-runtime-cu12", "12.8.90"): "12.8",
    ("nvidia-cuda-runtime", "13.0.96"): "13.0",
}
ACCEPTED, TOO_OLD = 100, 35

# A process starts a driver once, so each pair of runtime and driver gets its own.
_ASK = """\
import ctypes, json, os, sys
library, versions = sys.argv[1], json.loads(sys.argv[2])
answers = []
for version in versions:
    inner, outer = os.pipe()
    if not os.fork():
        os.environ.update(STUB_CUDA_CODE="100", STUB_CUDA_VERSION=str(version))
        os.write(outer, b"%d" % ctypes.CDLL(library).cudaGetDeviceCount(ctypes.byref(ctypes.c_int())))
        os._exit(0)
    os.close(outer)
    answers.append(int(os.read(inner, 100)))
    os.wait()
print(json.dumps(answers))
"""


@functools.cache
def runtime(name: str, version: str) -> Path:
    """The libcudart of a wheel, kept between runs; skips, with pip's own words, where the wheel cannot be had."""
    kept = Path(os.environ.get("TORCHDOCTOR_TEST_CACHE") or f"{tempfile.gettempdir()}/torchdoctor-test-wheels")
    folder = kept / f"{name}-{version}"
    options = ["--quiet", "--retries", "1", "--no-deps", "--only-binary=:all:", "--dest", str(folder)]
    command = [sys.executable, "-m", "pip", "download", *options, f"{name}=={version}"]
    if not list(folder.glob("*.whl")):
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"{name} {version} cannot be downloaded: {(done.stderr.splitlines() or ['?'])[-1]}")
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        member = next(item for item in wheel.namelist() if "/lib/libcudart.so" in item)
        return Path(wheel.extract(member, folder))


@pytest.fixture(scope="module")
def libcuda(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled("libcuda.c", tmp_path_factory.mktemp("libcuda"), "libcuda.so.1")


def answers(library: Path, libcuda: Path, drivers: list[CudaVersion]) -> dict[CudaVersion, int]:
    """What a runtime says to drivers of these CUDA versions."""
    numbers = [1000 * driver.major + 10 * driver.minor for driver in drivers]
    env = {**os.environ, "LD_LIBRARY_PATH": str(libcuda.parent)}
    command = [sys.executable, "-c", _ASK, str(library), json.dumps(numbers)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=env, timeout=60)
    return dict(zip(drivers, json.loads(done.stdout), strict=True))


@pytest.mark.parametrize(("wheel", "cuda"), RUNTIMES.items(), ids=RUNTIMES.values())
def test_floor_of_the_tables(wheel: tuple[str, str], cuda: str, libcuda: Path, tables: Tables) -> None:
    """Every driver branch that our tables know is accepted or refused as their floor for this CUDA says."""
    floor = tables.cuda_drivers.floor(CudaVersion.parse(cuda), "linux")
    assert floor is not None
    branches = tables.driver_branches.rows
    said = answers(runtime(*wheel), libcuda, [branch.cuda for branch in branches])
    expected = {branch.branch: ACCEPTED if branch.branch >= floor.branch else TOO_OLD for branch in branches}
    assert {branch.branch: said[branch.cuda] for branch in branches} == expected
    assert {ACCEPTED, TOO_OLD} == set(said.values())


@pytest.mark.parametrize(("wheel", "cuda"), RUNTIMES.items(), ids=RUNTIMES.values())
def test_driver_of_cuda_12_0(wheel: tuple[str, str], cuda: str, libcuda: Path) -> None:
    driver = CudaVersion(12, 0)
    expected = TOO_OLD if cuda == "13.0" else ACCEPTED
    assert answers(runtime(*wheel), libcuda, [driver]) == {driver: expected}
