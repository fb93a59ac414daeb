"""The stand-in for the driver's library, and what torch says of each of its answers: the fake torch, and a real one.

The real one is a CUDA build (5 GB), named by TORCHDOCTOR_CUDA_PYTHON; it needs no GPU.
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import fake_torch
import pytest
from broken_hosts import Host, Stubs, compile_all, real_torch

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a libcuda.so.1 is of Linux")

_UNEXPECTED = (
    "Unexpected error from cudaGetDeviceCount(). Did you run some cuda functions before calling NumCudaDevices() that "
    "might have already set an error? Error "
)
_NOT_STARTED = "CUDA driver initialization failed, you might not have a CUDA gpu."
_OLD = (
    "The NVIDIA driver on your system is too old (found version {}). Please update your GPU driver by downloading and "
    "installing a new version from the URL: http://www.nvidia.com/Download/index.aspx Alternatively, go to: "
    "https://pytorch.org to install a PyTorch version that has been compiled with your version of the CUDA driver."
)
_UNKNOWN = (
    "CUDA unknown error - this may be due to an incorrectly set up environment, e.g. changing env variable "
    "CUDA_VISIBLE_DEVICES after program start. Setting the available devices to be zero."
)
# (number, CUDA of the driver): what a build for CUDA 13.0 says. Without a GPU torch is silent until it is used.
SAID = {
    (3, 13000): _NOT_STARTED,
    (35, 12020): _OLD.format(12020),
    (0, 12080): _OLD.format(12080),
    (46, 13000): _UNEXPECTED + "46: CUDA-capable device(s) is/are busy or unavailable",
    (100, 13000): "No CUDA GPUs are available",
    (101, 13000): _UNEXPECTED + "101: invalid device ordinal",
    (802, 13000): _UNEXPECTED + "802: system not yet initialized",
    (803, 13000): _UNEXPECTED + "803: system has unsupported display driver / cuda driver combination",
    (804, 13000): _UNEXPECTED + "804: forward compatibility was attempted on non supported HW",
    (999, 13000): _UNKNOWN,
}
SILENT = {100}

# Each answer is asked for in a process of its own: a driver is started once. Torch is imported before, for all of them.
_ASK = """\
import json, os, sys, warnings
import torch

def ask():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        told = {"available": torch.cuda.is_available(), "error": ""}
        try:
            torch.cuda.init()
        except Exception as error:
            told["error"] = str(error)
    return dict(told, warnings=[str(item.message) for item in caught])

answers = []
for code, version in json.loads(sys.argv[1]):
    inner, outer = os.pipe()
    if not os.fork():
        os.environ.update(STUB_CUDA_CODE=str(code), STUB_CUDA_VERSION=str(version))
        os.write(outer, json.dumps(ask()).encode())
        os._exit(0)
    os.close(outer)
    answers.append(json.loads(os.read(inner, 65536)))
    os.wait()
print(json.dumps(answers))
"""


@pytest.fixture(scope="module")
def stubs(tmp_path_factory: pytest.TempPathFactory) -> Stubs:
    return compile_all(tmp_path_factory.mktemp("stubs"))


def answers_of(python: str, stubs: Stubs) -> dict[tuple[int, int], dict[str, Any]]:
    env = {**os.environ, "LD_LIBRARY_PATH": str(stubs.libcuda.parent), "PYTHONWARNINGS": "ignore"}
    command = [python, "-c", _ASK, json.dumps(list(SAID))]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=env, timeout=180)
    return dict(zip(SAID, json.loads(done.stdout.splitlines()[-1]), strict=True))


def assert_torch_says_it(answers: dict[tuple[int, int], dict[str, Any]]) -> None:
    for (code, version), told in answers.items():
        said = SAID[code, version]
        warned = [] if code in SILENT else [f"CUDA initialization: {said}"]
        assert told["available"] is False, code
        assert told["error"] == said
        assert [text.partition(" (Triggered")[0] for text in told["warnings"]] == warned


def test_the_fake_torch_says_what_torch_says(tmp_path: Path, stubs: Stubs) -> None:
    host = Host(tmp_path)
    fake_torch.install(host.site, fake_torch.CUDA, runtime=stubs.libcudart)
    assert_torch_says_it(answers_of(host.python, stubs))


@pytest.mark.torch
@pytest.mark.slow
def test_a_real_torch_says_it_too(stubs: Stubs) -> None:
    answers = answers_of(real_torch("TORCHDOCTOR_CUDA_PYTHON"), stubs)
    assert_torch_says_it(answers)
    for (code, version), told in answers.items():
        print(f"{code} (driver {version}): {told['error']}")  # noqa: T201 - for the note of a run by hand


def test_the_fake_torch_without_a_driver_and_with_one_in_order(tmp_path: Path, stubs: Stubs) -> None:
    host = Host(tmp_path)
    fake_torch.install(host.site, fake_torch.CUDA, runtime=stubs.libcudart)
    code = "import torch; print(torch.cuda.is_available(), torch.cuda.device_count()); torch.cuda.init()"

    def said(**env: str) -> tuple[str, str]:
        done = subprocess.run([host.python, "-c", code], capture_output=True, text=True, check=False, env=env)
        return done.stdout.strip(), done.stderr.strip().rpartition("\n")[2]

    no_driver = "RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and "
    alone, error = said()
    assert alone == "False 0"
    assert error.startswith(no_driver)
    assert said(LD_LIBRARY_PATH=str(stubs.libcuda.parent), STUB_CUDA_DEVICES="2") == ("True 2", "")


# -------------------------------------------------------------------------------------------------- the library itself


@pytest.fixture
def libcuda(stubs: Stubs) -> ctypes.CDLL:
    return ctypes.CDLL(str(stubs.libcuda))


def counted(libcuda: ctypes.CDLL) -> tuple[int, int, int]:
    count = ctypes.c_int(-1)
    return libcuda.cuInit(0), libcuda.cuDeviceGetCount(ctypes.byref(count)), count.value


@pytest.mark.parametrize(
    ("stage", "expected"), [("", (999, 999, -1)), ("init", (999, 999, -1)), ("count", (0, 999, -1)), ("no", (0, 0, 3))]
)
def test_the_stage_that_fails(
    libcuda: ctypes.CDLL, monkeypatch: pytest.MonkeyPatch, stage: str, expected: tuple[int, int, int]
) -> None:
    for name, value in (("CODE", "999"), ("STAGE", stage), ("DEVICES", "3")):
        monkeypatch.setenv(f"STUB_CUDA_{name}", value)
    assert counted(libcuda) == expected


def test_a_device(libcuda: ctypes.CDLL) -> None:
    name, major, memory = ctypes.create_string_buffer(64), ctypes.c_int(), ctypes.c_size_t()
    assert libcuda.cuDeviceGetName(name, 64, 0) == 0
    assert libcuda.cuDeviceGetAttribute(ctypes.byref(major), 75, 0) == 0
    assert libcuda.cuDeviceTotalMem_v2(ctypes.byref(memory), 0) == 0
    assert (name.value, major.value, memory.value) == (b"NVIDIA RTX A5000", 8, 24 << 30)


def test_functions_are_handed_out_by_name_and_edition(libcuda: ctypes.CDLL) -> None:
    """Runtimes of CUDA 11 ask for an older edition of the function that hands out functions, with other arguments."""

    def address(name: str, version: int) -> int:
        found = ctypes.c_void_p()
        assert libcuda.cuGetProcAddress(name.encode(), ctypes.byref(found), version, ctypes.c_ulonglong(0)) == 0
        return found.value or 0

    def own(name: str) -> int:
        return ctypes.cast(getattr(libcuda, name), ctypes.c_void_p).value or 0

    assert address("cuInit", 2000) == own("cuInit")
    assert address("cuDeviceTotalMem", 3020) == own("cuDeviceTotalMem_v2")
    assert address("cuGetProcAddress", 11030) == own("cuGetProcAddress")
    assert address("cuGetProcAddress", 12000) == own("cuGetProcAddress_v2")
    other = address("cuMemAlloc", 3020)
    assert ctypes.CFUNCTYPE(ctypes.c_int)(other)() == 801
