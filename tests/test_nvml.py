"""The NVML rung against a stand-in library made with a C compiler: the real loading code, the real binding."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest
from broken_hosts import compiled

from torchdoctor import nvml, nvml_samples
from torchdoctor.nvml_samples import KEY, Sampler, with_telemetry
from torchdoctor.recording import Answer

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
    assert (first["firmware"], first["clock_limit"], first["pcie_width"]) == ("96.00.61.00.01", 1980, 16)
    assert first["power_limit"] is None  # this stub supports no such question
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


# --------------------------------------------------------------------------------------------------------- who uses it


@pytest.mark.parametrize(("busy", "draw", "count"), [(0, 0, 0), (2, 0, 2), (3, 1, 2), (2, 2, 0)])
def test_processes_that_compute_are_counted_and_a_desktop_is_not(
    library: Library, busy: int, draw: int, count: int
) -> None:
    library(BUSY=busy, DRAW=draw)
    assert nvml.finish(nvml.start()).value["gpus"][0]["processes"] == count


def used(index: int, processes: int | None, **more: Any) -> dict[str, Any]:
    return {
        "index": index,
        "pci": f"00000000:0{index}:00.0",
        "uuid": f"GPU-{index}",
        "processes": processes,
        "mig": 0,
        **more,
    }


@pytest.mark.parametrize(
    ("gpus", "names"),
    [
        ([used(0, 0), used(1, None)], []),
        ([used(0, 0), used(1, 3)], ["0000:01:00.0", "1"]),
        ([used(4, 1)], ["0000:04:00.0", "4", "cuda:0"]),
        ([used(4, 1, mig=1)], []),
        ([{"index": 0, "error": "NVML_ERROR_GPU_IS_LOST"}], []),
    ],
    ids=["idle or unknown", "the second", "alone", "MIG", "lost"],
)
def test_a_busy_gpu_is_named_in_every_way_that_torch_may_know(gpus: list[dict[str, Any]], names: list[str]) -> None:
    assert list(nvml.busy(gpus)) == names


def test_an_older_driver_lacks_a_function() -> None:
    import pynvml

    def lacking() -> NoReturn:
        raise pynvml.NVMLLibraryMismatchError("unversioned function called and the pyNVML version does not match")

    assert nvml.attempt(pynvml, lacking) is None


def test_what_is_no_list_of_gpus_has_none() -> None:
    for answer in (None, Answer(absent=True), Answer("x"), Answer({"gpus": 7}), Answer({"gpus": [None]})):
        assert list(nvml.gpus_of(answer)) == []


# ------------------------------------------------------------------------------------------------------------- samples

GPUS = [{"index": 0, "error": ""}]


def until(sampler: Sampler, lines: int) -> None:
    """Wait until the child wrote so many."""
    file, limit = sampler._file, time.monotonic() + 20  # noqa: SLF001 - what is watched is its file
    assert file is not None
    while Path(f"/proc/self/fd/{file.fileno()}").read_bytes().count(b"\n") < lines and time.monotonic() < limit:
        time.sleep(0.02)


def test_clock_power_heat_and_link_are_read_meanwhile(library: Library) -> None:
    library(GPUS=2)
    with Sampler(GPUS) as sampler:
        until(sampler, 2)
        child = sampler._child  # noqa: SLF001 - whether it is gone
    first, second = sampler.samples[:2]
    assert second["time"] - first["time"] == pytest.approx(nvml_samples.INTERVAL, abs=0.15)
    assert abs(first.pop("time") - time.time()) < 30
    assert first == {
        "pci": "00000000:65:00.0", "uuid": "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6", "device": None,
        "clock_mhz": 1755, "power_w": 698.5, "power_limit_w": None, "temperature_c": 61,
        "throttle": ["applications_clocks_setting", "hw_thermal_slowdown", "sw_power_cap"],
        "pcie_gen": 5, "pcie_width": 16,
    }  # fmt: skip
    assert child is not None
    assert child.returncode == 0


def test_a_hang_keeps_what_was_read_before(library: Library) -> None:
    library(FREEZE=1)
    with Sampler(GPUS) as sampler:
        until(sampler, 1)
        time.sleep(2 * nvml_samples.INTERVAL)
        child, started = sampler._child, time.monotonic()  # noqa: SLF001 - whether it is gone
    assert time.monotonic() - started < 4
    assert [(sample["clock_mhz"], sample["device"]) for sample in sampler.samples] == [(1755, "cuda:0")]
    assert child is not None
    assert child.returncode == -9


def test_a_driver_that_refuses_leaves_no_samples_and_no_crash(library: Library) -> None:
    library(CODE=9)
    with Sampler(GPUS) as sampler:
        child = sampler._child  # noqa: SLF001 - how it ended
        assert child is not None
        child.wait(20)
    assert (sampler.samples, child.returncode) == ([], 1)


@pytest.mark.parametrize("gpus", [[], [{"index": 0, "error": "NVML_ERROR_GPU_IS_LOST"}]], ids=["none", "lost"])
def test_without_a_gpu_no_child_is_started(gpus: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise AssertionError("a child was started")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    answer = Answer({"runs": []})
    assert with_telemetry(lambda: answer, gpus) is answer


def test_no_more_samples_than_allowed(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """The interval doubles after each so many rounds, and there is a last one."""
    waits: list[float] = []

    class Never:
        def wait(self, seconds: float) -> bool:
            waits.append(seconds)
            return False

    library()
    monkeypatch.setattr("pynvml.nvmlInit", lambda: None)
    monkeypatch.setattr("pynvml.nvmlDeviceGetCount", lambda: 1)
    monkeypatch.setattr(nvml_samples, "_handles", lambda _: [({"device": "cuda:0"}, None)])
    monkeypatch.setattr(nvml_samples, "_sample", lambda *_: {})
    taken = list(nvml_samples.taken(Never()))  # type: ignore[arg-type]
    assert len(taken) == nvml_samples.MOST
    assert waits[0] == waits[nvml_samples.THINNED - 1] == nvml_samples.INTERVAL
    assert waits[nvml_samples.THINNED] == 2 * nvml_samples.INTERVAL


def test_only_samples_of_the_measured_time_are_kept(library: Library) -> None:
    library()

    def prove() -> Answer:
        time.sleep(1.0)
        now = time.time()
        series = {"started": now - 0.3, "ended": now}
        return Answer({"runs": [{"events": [["stage", {}], ["bench-series", series]], "ended": {}}]})

    kept = with_telemetry(prove, GPUS).value
    assert 1 <= len(kept[KEY]) <= 3
    (window,) = [fields for kind, fields in kept["runs"][0]["events"] if kind == "bench-series"]
    assert all(window["started"] <= sample["time"] <= window["ended"] for sample in kept[KEY])
