"""The NVML rung against a stand-in library made with a C compiler: the real loading code, the real binding."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from broken_hosts import compiled

from torchdoctor import nvml

pytest.importorskip("pynvml", reason="nvidia-ml-py is not installed")
Library = Callable[..., None]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the stand-in for libnvidia-ml.so.1."""
    return compiled("libnvidia-ml.c", tmp_path_factory.mktemp("nvml"), "libnvidia-ml.so.1").parent


@pytest.fixture
def library(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Library:
    """Let the loader find the stand-in, which answers as the given variables of its own say."""
    monkeypatch.setenv("LD_LIBRARY_PATH", str(folder))

    def answer(**variables: str | int) -> None:
        for name, value in variables.items():
            monkeypatch.setenv(f"STUB_NVML_{name}", str(value))

    return answer


def test_without_the_library_nothing_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvml, "_SONAME", "libno-such-library.so.1")
    assert nvml.start() is None
    assert nvml.finish(None).absent


def test_driver_and_gpus(library: Library) -> None:
    library(GPUS=2, MIG=1)
    answer = nvml.finish(nvml.start())
    assert answer.error == ""
    told = answer.value
    assert (told["error"], told["driver"], told["cuda"]) == ("", "580.95.05", 13000)
    first, second = told["gpus"]
    assert first["name"] == "NVIDIA H100 80GB HBM3"
    assert (first["cc"], first["pci"], first["pci_id"]) == ([9, 0], "00000000:65:00.0", "2330")
    assert (first["mig"], first["mig_instances"], first["memory"]) == (1, 1, 85520809984)
    assert second == {"index": 1, "error": "NVML_ERROR_GPU_IS_LOST"}


@pytest.mark.parametrize("state", [1, 2, 3])
def test_state_of_the_fabric(library: Library, state: int) -> None:
    library(FABRIC=state)
    assert nvml.finish(nvml.start()).value["gpus"][0]["fabric"] == state


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (4, "NVML_ERROR_NO_PERMISSION"),
        (9, "NVML_ERROR_DRIVER_NOT_LOADED"),
        (17, "NVML_ERROR_OPERATING_SYSTEM"),
        (18, "NVML_ERROR_LIB_RM_VERSION_MISMATCH"),
        (999, "NVML_ERROR_UNKNOWN"),
        (12345, "NVML error 12345"),
    ],
)
def test_refusals_by_name(library: Library, code: int, error: str) -> None:
    library(CODE=code)
    assert nvml.finish(nvml.start()).value == {"error": error}


def test_a_hang_costs_its_deadline_only(library: Library) -> None:
    library(FAULT="hang")
    started = time.monotonic()
    assert nvml.finish(nvml.start(), 1.0).error == "no answer in 1 s"
    assert time.monotonic() - started < 5


def test_a_crash_is_an_answer(library: Library) -> None:
    library(FAULT="abort")
    assert nvml.finish(nvml.start()).error == "ended with status -6 and no answer"
