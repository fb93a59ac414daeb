"""The NVML rung against a stand-in library made with a C compiler: the real loading code, the real binding."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from torchdoctor import nvml

pytest.importorskip("pynvml", reason="nvidia-ml-py is not installed")
Build = Callable[[str], None]

_HEALTHY = r"""
#include <string.h>
#include <unistd.h>
#include <stdlib.h>
typedef struct { char legacy[16]; unsigned domain, bus, device, id, sub; char bus_id[32]; } pci_t;
typedef struct { unsigned long long total, free, used; } memory_t;
int nvmlInitWithFlags(unsigned flags) { INIT }
int nvmlInit_v2(void) { INIT }
int nvmlSystemGetDriverVersion(char *text, unsigned n) { strncpy(text, "580.95.05", n); return 0; }
int nvmlSystemGetCudaDriverVersion_v2(int *n) { *n = 13000; return 0; }
int nvmlDeviceGetCount_v2(unsigned *n) { *n = 2; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **h) { if (i == 1) return 15; *h = (void *)0x1; return 0; }
int nvmlDeviceGetName(void *h, char *text, unsigned n) { strncpy(text, "NVIDIA H100 80GB HBM3", n); return 0; }
#define UUID "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6"
int nvmlDeviceGetUUID(void *h, char *text, unsigned n) { strncpy(text, UUID, n); return 0; }
int nvmlDeviceGetPciInfo_v3(void *h, pci_t *p) { strcpy(p->bus_id, "00000000:65:00.0"); p->id = 0x233010DE; return 0; }
int nvmlDeviceGetMemoryInfo(void *h, memory_t *m) { m->total = 85520809984ULL; return 0; }
int nvmlDeviceGetCudaComputeCapability(void *h, int *major, int *minor) { *major = 9; *minor = 0; return 0; }
int nvmlDeviceGetMigMode(void *h, unsigned *now, unsigned *next) { *now = *next = 1; return 0; }
int nvmlDeviceGetMaxMigDeviceCount(void *h, unsigned *n) { *n = 7; return 0; }
int nvmlDeviceGetMigDeviceHandleByIndex(void *h, unsigned i, void **m) { return i ? 6 : 0; }
int nvmlDeviceGetPersistenceMode(void *h, unsigned *mode) { *mode = 1; return 0; }
"""


@pytest.fixture
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Build:
    """Make a libnvidia-ml.so.1 whose nvmlInit has the given body, and let the loader find it."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or sys.platform == "win32":
        pytest.skip("no C compiler")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))

    def make(init: str) -> None:
        (tmp_path / "nvml.c").write_text(_HEALTHY.replace("INIT", init))
        subprocess.run(
            [compiler, "-shared", "-fPIC", "-o", tmp_path / "libnvidia-ml.so.1", tmp_path / "nvml.c"], check=True
        )

    return make


def test_without_the_library_nothing_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvml, "_SONAME", "libno-such-library.so.1")
    assert nvml.start() is None
    assert nvml.finish(None).absent


def test_driver_and_gpus(build: Build) -> None:
    build("return 0;")
    answer = nvml.finish(nvml.start())
    assert answer.error == ""
    told = answer.value
    assert (told["error"], told["driver"], told["cuda"]) == ("", "580.95.05", 13000)
    first, second = told["gpus"]
    assert first["name"] == "NVIDIA H100 80GB HBM3"
    assert (first["cc"], first["pci"], first["pci_id"]) == ([9, 0], "00000000:65:00.0", "2330")
    assert (first["mig"], first["mig_instances"], first["memory"]) == (1, 1, 85520809984)
    assert second == {"index": 1, "error": "NVML_ERROR_GPU_IS_LOST"}


@pytest.mark.parametrize(
    ("init", "error"),
    [("return 9;", "NVML_ERROR_DRIVER_NOT_LOADED"), ("return 18;", "NVML_ERROR_LIB_RM_VERSION_MISMATCH")],
)
def test_refusals_by_name(build: Build, init: str, error: str) -> None:
    build(init)
    assert nvml.finish(nvml.start()).value == {"error": error}


def test_a_hang_costs_its_deadline_only(build: Build) -> None:
    build("sleep(60); return 0;")
    started = time.monotonic()
    assert nvml.finish(nvml.start(), 1.0).error == "no answer in 1 s"
    assert time.monotonic() - started < 5


def test_a_crash_is_an_answer(build: Build) -> None:
    build("abort(); return 0;")
    assert nvml.finish(nvml.start()).error == "ended with status -6 and no answer"
