"""The benchmark's part in the examined interpreter: its clockwork by itself, and whole in a real torch."""

from __future__ import annotations

import ast
import json
import os
import random
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest
from conftest import ROOT

from torchdoctor.benchmark import summarise
from torchdoctor.target import bench, bench_data, bench_devices, bench_rates, bench_timing, smoke_init
from torchdoctor.target.smoke_devices import Device

Events = list[tuple[str, dict[str, Any]]]
GIB = 1 << 30
PARTS = sorted((ROOT / "torchdoctor" / "target").glob("bench*.py"))

# ------------------------------------------------------------------------------------------------- stand-ins for torch


class FakeGpu:
    """A module such as torch.cuda: two GPUs, some memory, some processes."""

    def __init__(self, **answers: Any) -> None:
        self.answers = {"capability": (8, 0), "free": 70 * GIB, "processes": [], "initialised": True, **answers}
        self.current = -1
        self.asked: list[str] = []

    def init(self) -> None:
        pass

    def is_available(self) -> bool:
        return True

    def is_initialized(self) -> bool:
        return bool(self.answers["initialised"])

    def device_count(self) -> int:
        return 2

    def set_device(self, index: int) -> None:
        self.current = index

    def get_device_capability(self, _index: int) -> tuple[int, int]:
        major, minor = self.answers["capability"]
        return major, minor

    def get_device_properties(self, index: int) -> Any:
        major, minor = self.answers["capability"]
        usual = {"name": f"NVIDIA Test {index}", "major": major, "minor": minor, "multi_processor_count": 108}
        return SimpleNamespace(**{**usual, **self.answers.get("properties", {})})

    def mem_get_info(self, _index: int) -> tuple[int, int]:
        return self.answers["free"], 80 * GIB

    def memory_reserved(self, _index: int) -> int:
        return int(self.answers.get("reserved", 0))

    def list_gpu_processes(self, index: int) -> str:
        lines = [f"process {pid:>10d} uses      400.000 MB GPU memory" for pid in self.answers["processes"]]
        return "\n".join([f"GPU:{index}", *(lines or ["no processes are running"])])

    def clock_rate(self, _index: int) -> float:
        return self.read("clock_rate")

    def power_draw(self, _index: int) -> float:
        return self.read("power_draw")

    def temperature(self, _index: int) -> float:
        return self.read("temperature")

    def read(self, name: str) -> float:
        self.asked.append(name)
        if name not in self.answers:
            raise ModuleNotFoundError("pynvml")
        return float(self.answers[name])


def fake_torch(hip: str | None = None, **answers: Any) -> Any:
    mps = SimpleNamespace(get_name=lambda: "Apple Test")
    version, backends = SimpleNamespace(hip=hip), SimpleNamespace(mps=mps)
    return SimpleNamespace(cuda=FakeGpu(**answers), backends=backends, version=version, get_num_threads=lambda: 2)


def devices_of(torch: Any, wanted: list[str]) -> list[Device]:
    facts: dict[str, Any] = {"backend": "rocm" if torch.version.hip else "cuda", "warnings": []}
    return smoke_init.start(lambda *_: None, torch, facts, wanted)[1]


def gpu(hip: str | None = None, **answers: Any) -> Device:
    return devices_of(fake_torch(hip, **answers), ["cuda:1"])[0]


# ------------------------------------------------------------------------------------------------------------- devices


def test_the_cpu_comes_first_and_some_devices_may_be_asked_for() -> None:
    names = [device.name for device in devices_of(fake_torch(), [])]
    assert names == ["cpu", "cuda:0", "cuda:1"]
    assert [device.name for device in devices_of(fake_torch(), ["cuda:1", "cuda:9"])] == ["cuda:1"]


@pytest.mark.parametrize(
    ("device", "formats", "mixed"),
    [
        (gpu(capability=(6, 1)), ["fp32"], ""),
        (gpu(capability=(7, 5)), ["fp16", "fp32"], "fp16"),
        (gpu(capability=(9, 0)), ["bf16", "fp16", "tf32", "fp32"], "bf16"),
        (gpu("6.3", capability=(9, 4)), ["bf16", "fp16", "fp32"], "bf16"),
        (Device(fake_torch(), "mps", None), ["fp16", "fp32"], ""),
        (Device(fake_torch(), "xpu", 0), ["bf16", "fp16", "fp32"], ""),
        (Device(fake_torch(), "cpu", None), ["fp32"], ""),
    ],
    ids=["pascal", "turing", "hopper", "rocm", "mps", "xpu", "cpu"],
)
def test_formats_follow_the_capability(device: Device, formats: list[str], mixed: str) -> None:
    assert (bench_devices.formats(device), bench_devices.mixed(device)) == (formats, mixed)


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        ({}, ""),
        ({"processes": [4711]}, ""),
        ({"processes": [4711], "initialised": False}, "process 4711 uses it"),
        ({"processes": [os.getpid(), 4711, 4712]}, "process 4711, 4712 uses it"),
        ({"processes": [4711, 4712]}, "process 4712 uses it"),
        ({"free": 50 * GIB}, "29.0 of its 80.0 GiB are in use"),
        ({"free": 50 * GIB, "reserved": 20 * GIB}, ""),
        ({"free": 78 * GIB}, ""),
    ],
    ids=["idle", "ours in a container", "not ours", "ours and others", "one may be ours", "memory", "own", "screen"],
)  # fmt: skip
def test_a_gpu_that_another_process_uses_is_noticed(answers: dict[str, Any], reason: str) -> None:
    assert bench_devices.busy(gpu(**answers)) == reason


def test_a_device_is_described_with_its_address_where_torch_tells_it() -> None:
    old = gpu().describe()
    assert (old["model"], old["units"], old["capability"], old["pci"]) == ("NVIDIA Test 1", 108, "8.0", None)
    assert (old["free"], old["memory"], old["error"]) == (70 * GIB, 80 * GIB, None)
    numbers = {"pci_domain_id": 0, "pci_bus_id": 0xC1, "pci_device_id": 0, "uuid": "abc", "multi_processor_count": 132}
    new = gpu(properties=numbers).describe()
    assert (new["pci"], new["uuid"], new["units"]) == ("0000:c1:00.0", "abc", 132)
    cpu = Device(fake_torch(), "cpu", None).describe()
    assert (cpu["model"], cpu["threads"], cpu["error"]) == (None, 2, None)
    assert Device(fake_torch(), "mps", None).describe()["model"] == "Apple Test"


def test_clock_and_power_are_read_where_the_vendors_library_is() -> None:
    full = gpu(clock_rate=1755, power_draw=650_000, temperature=61)
    assert bench_devices.conditions(full) == {"clock_mhz": 1755.0, "power_w": 650.0, "temperature_c": 61.0}
    bare = gpu()
    assert bench_devices.conditions(bare) == {}
    assert bare.module.asked == ["clock_rate"]


# -------------------------------------------------------------------------------------------------------------- timing


class Clock:
    """A clock that only work moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    fake = SimpleNamespace(monotonic=clock, perf_counter=clock, time=clock)
    for module in (bench_timing, bench):
        monkeypatch.setattr(module, "time", fake)
    return clock


def working(clock: Clock, durations: Iterator[float]) -> Callable[[int], None]:
    def steps(count: int) -> None:
        clock.now += sum(next(durations) for _ in range(count))

    return steps


def repeated(*durations: float) -> Iterator[float]:
    while True:
        yield from durations


CPU = Device(fake_torch(), "cpu", None)


def test_steady_work_is_measured_in_few_blocks(clock: Clock) -> None:
    told = bench_timing.measure(CPU, working(clock, repeated(0.001)), 5.0)
    assert told["samples"] == pytest.approx([0.001] * bench_timing.ENOUGH)
    assert told["settled"]
    assert told["block_steps"] * 0.001 >= bench_timing.SHORTEST
    assert clock.now - 1000 < 0.6
    assert told["ended"] > told["started"]


def test_wild_work_uses_its_time_and_no_more(clock: Clock) -> None:
    told = bench_timing.measure(CPU, working(clock, repeated(0.02, 0.05, 0.09, 0.03, 0.3)), 5.0)
    assert 4.9 < clock.now - 1000 < 5.4
    assert len(told["samples"]) > 20


def test_a_cpu_too_slow_for_its_time_is_still_measured_warm(clock: Clock) -> None:
    told = bench_timing.measure(CPU, working(clock, iter([7.0, 0.5, 0.5])), 1.0)
    assert (told["first"], told["samples"], told["settled"]) == (7.0, [0.5], False)
    assert clock.now - 1000 == 7.5


def test_work_that_warms_up_is_not_measured_cold(clock: Clock) -> None:
    cold = [0.5, 0.2, 0.1, *[0.04 - 0.001 * number for number in range(20)]]

    def durations() -> Iterator[float]:
        yield from cold
        yield from repeated(0.02)

    told = bench_timing.measure(CPU, working(clock, durations()), 5.0)
    assert told["first"] == 0.5
    assert told["settled"]
    assert told["samples"] == pytest.approx([0.02] * len(told["samples"]))


def test_a_long_series_is_bounded(clock: Clock) -> None:
    draw = random.Random(1)  # noqa: S311 - a fixed sample, no secret
    wild = iter(lambda: draw.lognormvariate(-6, 3), None)
    told = bench_timing.measure(CPU, working(clock, wild), 600.0)
    assert len(told["samples"]) <= bench_timing.MOST
    assert sum(told["samples"]) * told["block_steps"] > 300


def test_a_gpu_is_timed_by_its_events_while_its_clock_is_read(clock: Clock) -> None:
    """Events pass in the order record, work, record, look, wait; what loading libraries takes is not counted."""
    order: list[str] = []

    class Event:
        def __init__(self, *, enable_timing: bool) -> None:
            assert enable_timing

        def record(self) -> None:
            order.append("record")
            self.at = clock.now

        def synchronize(self) -> None:
            order.append("wait")

        def elapsed_time(self, other: Event) -> float:
            return 1000 * (other.at - self.at)

    device = gpu(clock_rate=1500, power_draw=300_000, temperature=50)
    device.module.Event = Event

    def read(name: str) -> float:
        order.append("look")
        return float(device.module.answers[name])

    device.module.read = read

    def durations() -> Iterator[float]:
        yield 3.0
        yield from repeated(0.002)

    told = bench_timing.measure(device, working(clock, durations()), 1.0)
    assert told["first"] == pytest.approx(3.0)
    assert told["samples"] == pytest.approx([0.002] * len(told["samples"]))
    assert told["conditions"] == {"clock_mhz": 1500, "power_w": 300, "temperature_c": 50}
    assert order[:6] == ["record", "record", "look", "look", "look", "wait"]


# ----------------------------------------------------------------------------------------------------------- the order


def events_of(monkeypatch: pytest.MonkeyPatch, torch: Any, request: dict[str, Any], **parts: Any) -> Events:
    """What main tells with a torch that is not there and parts that do nothing, but for those given."""
    told: Events = []
    names = [name for name in vars(bench.Run) if name in {"loss", "training", "series"}]
    for name in names:
        monkeypatch.setattr(bench.Run, name, parts.get(name, lambda *_: None))
    monkeypatch.setattr(bench_rates, "matmul", lambda *_: {})
    monkeypatch.setattr(bench_rates, "copy", lambda *_: {})
    monkeypatch.setattr(bench_rates, "transfer", parts.get("transfer", lambda *_: {}))
    monkeypatch.setattr(bench_data, "waiting", lambda *_: {})
    monkeypatch.setattr(bench_data, "usable_cpus", lambda: 4)
    monkeypatch.setattr(bench_devices, "works", lambda _: parts.get("works", True))
    monkeypatch.setattr(bench_devices, "clear", lambda _: None)
    devices = devices_of(torch, request.get("devices", []))
    bench.main(lambda kind, fields: told.append((kind, dict(fields))), request, devices)
    return told


def stages(told: Events, device: str) -> list[str]:
    return [fields["id"] for kind, fields in told if kind == "stage" and fields["device"] == device]


def test_every_step_is_named_before_it_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    told = events_of(monkeypatch, fake_torch(), {"seconds": 60, "profile": "bench"})
    assert stages(told, "cpu") == [
        "bench-device", "bench-loss", "bench-throughput", "bench-overhead", "bench-matmul-fp32", "bench-copy",
        "bench-data-0", "bench-data-2",
    ]  # fmt: skip
    assert stages(told, "cuda:0") == [
        "bench-device", "bench-loss", "bench-throughput", "bench-overhead", "bench-throughput-bf16",
        "bench-matmul-bf16", "bench-matmul-fp16", "bench-matmul-tf32", "bench-matmul-fp32", "bench-copy",
        "bench-h2d-pinned", "bench-h2d-pageable", "bench-d2h-pinned", "bench-data-0", "bench-data-2",
    ]  # fmt: skip
    assert stages(told, "cuda:1") == stages(told, "cuda:0")
    assert [kind for kind, _ in told][-1] == "bench-done"


def test_the_check_takes_the_short_way(monkeypatch: pytest.MonkeyPatch) -> None:
    told = events_of(monkeypatch, fake_torch(capability=(6, 1)), {"seconds": 3, "sweep": True})
    short = ["bench-device", "bench-loss", "bench-throughput", "bench-overhead"]
    assert [stages(told, name) for name in ("cpu", "cuda:0", "cuda:1")] == [short, short, short]


@pytest.mark.parametrize("known", [True, False], ids=["told by the asker", "seen here"])
def test_a_busy_gpu_is_left_alone_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch, known: bool) -> None:
    request: dict[str, Any] = {"devices": ["cuda:0"], "busy": {"cuda:0": "process 9 uses it"}} if known else {}
    processes = [] if known else [8, 9]
    told = events_of(monkeypatch, fake_torch(processes=processes), {"devices": ["cuda:0"], **request})
    assert [kind for kind, _ in told] == ["bench-plan", "stage", "bench-skipped", "bench-done"]
    assert told[2][1] == {"device": "cuda:0", "reason": "process 9 uses it"}
    forced = events_of(monkeypatch, fake_torch(processes=processes), {"devices": ["cuda:0"], "force": True, **request})
    assert ("bench-device", "process 9 uses it") in [(kind, fields.get("busy")) for kind, fields in forced]
    assert "bench-throughput" in stages(forced, "cuda:0")


@pytest.mark.parametrize("name", ["0000:65:00.0", "8932f937-d72c"], ids=["address", "uuid"])
def test_the_asker_names_a_busy_gpu_as_nvml_does(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    properties = {"pci_domain_id": 0, "pci_bus_id": 0x65, "pci_device_id": 0, "uuid": "8932f937-d72c"}
    request = {"devices": ["cuda:1"], "busy": {name: "another process computes on it"}}
    told = events_of(monkeypatch, fake_torch(properties=properties), request)
    assert told[2] == ("bench-skipped", {"device": "cuda:1", "reason": "another process computes on it"})
    other = {"devices": ["cuda:1"], "busy": {"0000:66:00.0": "another process computes on it"}}
    assert "bench-throughput" in stages(events_of(monkeypatch, fake_torch(properties=properties), other), "cuda:1")
    assert "bench-throughput" in stages(
        events_of(monkeypatch, fake_torch("6.3", properties=properties), request), "cuda:1"
    )


def refusing(*_: Any) -> NoReturn:
    raise RuntimeError("CUDA error: an illegal memory access was encountered " + 1000 * "x")


def test_a_failure_is_an_answer_and_the_next_part_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    told = events_of(monkeypatch, fake_torch(), {"devices": ["cuda:0"]}, loss=refusing)
    (failed,) = [fields for kind, fields in told if kind == "bench-failed"]
    assert (failed["device"], failed["stage"]) == ("cuda:0", "bench-loss")
    assert failed["error"].startswith("RuntimeError: CUDA error: an illegal memory access")
    assert len(failed["error"]) <= 1000
    assert failed["library"] == "libtorch_cuda"
    assert "bench-throughput" in stages(told, "cuda:0")


def unwritten(*_: Any) -> NoReturn:
    raise RuntimeError("\"addmm_cuda\" not implemented for 'BFloat16'")


def test_what_torch_was_not_made_for_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    told = events_of(monkeypatch, fake_torch(), {"devices": ["cuda:0"]}, loss=unwritten, works=False)
    (skipped,) = [fields for kind, fields in told if kind == "bench-skipped"]
    assert (skipped["stage"], skipped["reason"][:33]) == ("bench-loss", 'RuntimeError: "addmm_cuda" not im')
    assert "bench-throughput" in stages(told, "cuda:0")
    assert "bench-failed" not in dict(told)


@pytest.mark.parametrize("request_", [{}, {"profile": "bench", "seconds": 60, "sweep": True}], ids=["check", "bench"])
def test_every_part_is_planned_before_it_is_reached(monkeypatch: pytest.MonkeyPatch, request_: dict[str, Any]) -> None:
    told = events_of(monkeypatch, fake_torch(), request_, works=False)
    planned: list[tuple[str, str]] = []
    for kind, fields in told:
        planned += [tuple(stage) for stage in fields["stages"]] if kind == "bench-plan" else []
        if kind == "stage":
            assert (fields["id"], fields["device"]) in planned or fields["id"].startswith("bench-sweep-")
    reached = [(fields["id"], fields["device"]) for kind, fields in told if kind == "stage"]
    assert set(planned) <= set(reached)


@pytest.mark.parametrize(
    ("stage", "library"),
    [("matmul-bf16", "libcublas"), ("copy", "libcudart"), ("h2d-pinned", "libcudart"), ("throughput", "libtorch_cuda")],
)
def test_every_part_names_the_library_that_does_its_work(stage: str, library: str) -> None:
    run = bench.Run(lambda *_: None, gpu(), 1.0, bench.BENCH)
    assert run.place("bench-" + stage) == {"device": "cuda:1", "library": library}


def test_one_transfer_that_fails_leaves_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pinned memory may be refused where pageable memory is not."""
    moved: list[str] = []

    def transfer(_: Any, name: str, _seconds: float) -> dict[str, Any]:
        moved.append(name)
        return refusing() if name.startswith("h2d-pinned") else {}

    request = {"devices": ["cuda:0"], "profile": "bench"}
    told = events_of(monkeypatch, fake_torch(), request, transfer=transfer)
    assert [fields["stage"] for kind, fields in told if kind == "bench-failed"] == ["bench-h2d-pinned"]
    assert moved == ["h2d-pinned", "h2d-pageable", "d2h-pinned"]


def test_a_device_that_is_not_there_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    told = events_of(monkeypatch, fake_torch(), {"devices": ["cuda:7"]})
    assert told[0] == ("bench-skipped", {"device": "cuda:7", "reason": "this torch has no such device"})


def test_a_device_that_computes_no_more_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    told = events_of(monkeypatch, fake_torch(), {"devices": ["cuda:0", "cuda:1"]}, loss=refusing, works=False)
    assert stages(told, "cuda:0") == ["bench-device", "bench-loss"]
    reasons = [fields["reason"] for kind, fields in told if kind == "bench-skipped"]
    assert reasons == ["it computes nothing any more after the failure of loss"] * 2


def test_a_cpu_out_of_time_skips_the_rest(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    def slow(*_: Any) -> None:
        clock.now += 50

    told = events_of(monkeypatch, fake_torch(), {"devices": ["cpu"], "seconds": 3}, loss=slow)
    assert stages(told, "cpu") == ["bench-device", "bench-loss"]
    assert [fields["reason"] for kind, fields in told if kind == "bench-skipped"] == [
        "no time was left for throughput",
        "no time was left for overhead",
    ]


# ----------------------------------------------------------------------------------------------------- data and limits


@pytest.mark.parametrize(
    ("files", "cpus"),
    [
        ({}, 16),
        ({"/g/cpu.max": "max 100000"}, 16),
        ({"/g/cpu.max": "250000 100000"}, 2),
        ({"/g/cpu.max": "50000 100000"}, 1),
        ({"/g/cpu.max": "nonsense"}, 16),
        ({"/sys/fs/cgroup/cpu/cpu.cfs_quota_us": "400000", "/sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000"}, 4),
        ({"/sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1", "/sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000"}, 16),
    ],
    ids=["no group", "no limit", "quota", "half a processor", "unreadable", "version 1", "version 1 without limit"],
)
def test_a_quota_limits_the_usable_processors(
    files: dict[str, str], cpus: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(path: str, _limit: int) -> str:
        if path not in files:
            raise FileNotFoundError(path)
        return files[path] + "\n"

    monkeypatch.setattr(bench_data, "read", read)
    monkeypatch.setattr(bench_data, "cgroups", lambda: iter(["/g"]))
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(16)), raising=False)
    assert bench_data.usable_cpus() == cpus


def swept(monkeypatch: pytest.MonkeyPatch, device: Device, cpus: int, room: int | None) -> dict[str, Any]:
    monkeypatch.setattr(bench_data, "usable_cpus", lambda: cpus)
    monkeypatch.setattr(bench_data, "shm_free", lambda: room)
    monkeypatch.setattr(bench_data, "rate", rated)
    return list(bench_data.sweep(device, 5.0, lambda _: None))[-1]


def rated(_torch: Any, workers: int, *_: Any) -> float:
    if workers == 8:
        raise RuntimeError("DataLoader worker is killed by signal: Bus error")
    return 1.0 + workers


@pytest.mark.parametrize(("cpus", "counts"), [(1, [0, 1]), (2, [0, 1, 2]), (6, [0, 1, 2, 4, 6]), (64, [0, 1, 2, 4, 8])])
def test_the_sweep_stays_within_the_usable_processors(
    monkeypatch: pytest.MonkeyPatch, cpus: int, counts: list[int]
) -> None:
    rows = swept(monkeypatch, CPU, cpus, None)["rows"]
    assert [row["workers"] for row in rows] == counts
    pinned = swept(monkeypatch, gpu(), cpus, None)["rows"]
    assert [(row["workers"], row["pin"]) for row in pinned] == [
        (count, pin) for count in counts for pin in (False, True)
    ]


def test_the_sweep_asks_no_more_of_shared_memory_than_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    told = swept(monkeypatch, CPU, 4, 64 << 20)
    tried = {row["workers"]: row["batches_per_s"] for row in told["rows"]}
    assert tried == {0: 1.0, 1: 2.0, 2: None, 4: None}
    assert "has room for 64 MiB, and this needs 128" in told["rows"][3]["reason"]


def test_a_setting_that_fails_leaves_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = swept(monkeypatch, CPU, 64, None)["rows"]
    assert [row["batches_per_s"] for row in rows] == [1.0, 2.0, 3.0, 5.0, None]
    assert rows[-1]["reason"] == "RuntimeError: DataLoader worker is killed by signal: Bus error"


@pytest.mark.parametrize("path", PARTS, ids=lambda path: path.stem)
def test_the_parts_keep_to_old_syntax(path: Path) -> None:
    ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 8))


# --------------------------------------------------------------------------------------------------------- a real torch

HARNESS = """
import sys, json
sys.path.insert(0, {root!r})
import resource, torch
from torchdoctor.target.smoke_devices import Device
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
def tell(kind, fields):
    print("EVENT", json.dumps([kind, fields]), flush=True)
"""


@pytest.fixture(scope="session")
def torch_python() -> str:
    """The interpreter named by TORCHDOCTOR_TEST_PYTHON, else our own, if it holds a torch."""
    python = os.environ.get("TORCHDOCTOR_TEST_PYTHON", sys.executable)
    found = subprocess.run([python, "-c", "import torch"], capture_output=True, check=False)
    if found.returncode:
        pytest.skip(f"{python} holds no torch (TORCHDOCTOR_TEST_PYTHON names one that does)")
    return python


def told_by(python: str, code: str) -> Events:
    """Run code after the harness, handed over on standard input as the product does it, and collect what it tells."""
    program = HARNESS.format(root=str(ROOT)) + textwrap.dedent(code)
    done = subprocess.run([python, "-B", "-"], input=program, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stderr[-3000:]
    lines = [line for line in done.stdout.splitlines() if line.startswith("EVENT ")]
    return [(kind, fields) for kind, fields in (json.loads(line[6:]) for line in lines)]


@pytest.mark.torch
@pytest.mark.slow
def test_the_check_on_a_cpu(torch_python: str) -> None:
    told = told_by(
        torch_python,
        """
        from torchdoctor.target.bench import main
        main(tell, {"seconds": 3, "sweep": True, "force": False, "profile": "check"}, [Device(torch, "cpu", None)])
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        tell("memory", {"mib": (after - before) / (1024 if sys.platform == "linux" else 1 << 20)})
        """,
    )
    assert [kind for kind, _ in told][-2:] == ["bench-done", "memory"]
    assert told[-1][1]["mib"] < 300
    result = summarise({"kind": kind, **fields} for kind, fields in told)
    assert result.seconds is not None
    assert result.seconds < 5  # 3, and what one step may last on a loaded host
    (loss,) = result.losses
    assert loss.finite
    assert loss.fell is not False
    assert loss.agrees is not False
    assert loss.first == pytest.approx(2.3, abs=0.1)
    assert all(item.reason.startswith("no time was left") for item in result.missing)  # on a loaded host
    figures = {figure.name: figure for figure in result.figures}
    assert stages(told, "cpu") == ["bench-device", "bench-loss", *(f"bench-{name}" for name in figures)]
    assert figures["throughput"].items_per_step == 512
    assert 0 < figures["throughput"].samples <= 400
    assert figures["throughput"].rate > 100
    if "overhead" in figures:
        assert figures["overhead"].seconds < figures["throughput"].seconds


@pytest.mark.torch
@pytest.mark.slow
def test_the_whole_benchmark_on_a_cpu(torch_python: str) -> None:
    told = told_by(
        torch_python,
        """
        from torchdoctor.target import bench, bench_rates
        def refuse(device, seconds):
            raise MemoryError("no room")
        bench_rates.copy = refuse
        bench.main(tell, {"seconds": 15, "sweep": True, "profile": "bench"}, [Device(torch, "cpu", None)])
        """,
    )
    result = summarise({"kind": kind, **fields} for kind, fields in told)
    assert {figure.name for figure in result.figures} == {"overhead", "throughput", "matmul"}
    assert [(item.stage, item.reason) for item in result.missing if item.failed] == [
        ("bench-copy", "MemoryError: no room")
    ]
    (matmul,) = [figure for figure in result.figures if figure.name == "matmul"]
    assert matmul.flops_per_step == 2 * 1024**3
    assert matmul.rate > 1e8
    assert all(0 <= wait.waiting_share < 1 for wait in result.waits)
    assert result.sweep is not None
    assert result.sweep.recommended is not None
    assert [row.workers for row in result.sweep.rows][:2] == [0, 1]


@pytest.mark.torch
@pytest.mark.slow
def test_the_way_of_a_gpu_walked_on_a_cpu(torch_python: str) -> None:
    """Every call of the GPU's way, with torch's own functions on CPU tensors behind a stand-in for torch.cuda."""
    told = told_by(
        torch_python,
        """
        import time, warnings
        warnings.simplefilter("ignore")
        from types import SimpleNamespace
        from torchdoctor.target import bench, bench_rates

        class Event:
            def __init__(self, enable_timing): pass
            def record(self): self.at = time.perf_counter()
            def synchronize(self): pass
            def elapsed_time(self, other): return 1000 * (other.at - self.at)

        class Torch:
            cuda = SimpleNamespace(
                Event=Event, set_device=lambda index: None, synchronize=lambda index: None, empty_cache=lambda: None,
                mem_get_info=lambda index: (1 << 30, 2 << 30), memory_reserved=lambda index: 0,
                list_gpu_processes=lambda index: "no processes are running", is_initialized=lambda: True,
                get_device_capability=lambda index: (8, 0),
                get_device_properties=lambda index: SimpleNamespace(name="NVIDIA H200", multi_processor_count=132),
                clock_rate=lambda index: 1830, power_draw=lambda index: 700000, temperature=lambda index: 60,
            )
            def __getattr__(self, name): return getattr(torch, name)

        device = Device(Torch(), "cuda", 0)
        device.name = "cpu"
        bench.BATCH, bench_rates.SIDES = 64, (256, 128)
        bench_rates.COPIED, bench_rates.MOVED = 1 << 20, 1 << 20
        bench.main(tell, {"seconds": 12, "profile": "bench", "sweep": False}, [device])
        """,
    )
    result = summarise({"kind": kind, **fields} for kind, fields in told)
    assert [(found.backend, found.model, found.units) for found in result.devices] == [("cuda", "NVIDIA H200", 132)]
    figures = {(figure.name, figure.dtype): figure for figure in result.figures}
    assert {("throughput", "fp32"), ("throughput", "bf16"), ("overhead", "fp32"), ("copy", "uint8")} < figures.keys()
    assert {dtype for name, dtype in figures if name == "matmul"} == {"bf16", "fp16", "tf32", "fp32"}
    assert figures["throughput", "fp32"].items_per_step == 64
    assert figures["matmul", "fp32"].flops_per_step in {2 * 256**3, 2 * 128**3}
    assert all(figure.conditions.clock_mhz == 1830 for figure in figures.values())
    assert [loss.agrees for loss in result.losses] == [True]
    pinned = {"bench-h2d-pinned", "bench-d2h-pinned", "bench-data-0", "bench-data-2"}
    assert {item.stage for item in result.missing} <= pinned  # a torch without an accelerator pins nothing
    assert ("h2d-pageable", "uint8") in figures


@pytest.mark.torch
@pytest.mark.slow
def test_training_is_as_a_textbook_has_it(torch_python: str) -> None:
    """Our descent is torch.optim.SGD's; the accuracy is taken in eval mode without gradients, then training goes on."""
    told = told_by(
        torch_python,
        """
        from torchdoctor.target import bench_net
        device = Device(torch, "cpu", None)
        losses, right = bench_net.train(device, 60.0)
        again, _ = bench_net.train(device, 60.0)
        tell("ours", {"losses": losses, "again": again, "right": right, "compared": bench_net.compared(losses, again)})

        net = bench_net.lenet(torch)
        seen = []
        net.register_forward_hook(lambda *_: seen.append([net.training, torch.is_grad_enabled()]))
        bench_net.accuracy(device, net)
        modes = [net.training]
        net.eval()
        bench_net.accuracy(device, net)
        tell("modes", {"seen": seen, "after": modes + [net.training]})

        optimizer = torch.optim.SGD(net.train().parameters(), lr=bench_net.RATE, momentum=bench_net.MOMENTUM)
        count = bench_net.LOSS_BATCH * bench_net.LOSS_STEPS
        pixels, labels = bench_net.images(torch, count)
        order = torch.randperm(count, generator=torch.Generator().manual_seed(bench_net.SEED))
        theirs = []
        for batch in order.split(bench_net.LOSS_BATCH):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(net(pixels[batch]), labels[batch])
            loss.backward()
            optimizer.step()
            theirs.append(loss.item())
        tell("theirs", {"losses": theirs})

        for mixed in ("bf16", "fp16"):
            training = bench_net.Training(device, mixed)
            data = bench_net.images(torch, 20)
            tell(mixed, {"losses": [training.step(*data).item() for _ in range(20)]})
        """,
    )
    found = dict(told)
    ours = found["ours"]
    assert len(ours["losses"]) == 24
    assert ours["losses"][-1] < 0.1 * ours["losses"][0]
    assert ours["right"] > 0.9
    assert ours["compared"]["agrees"]
    assert ours["compared"]["fell"]
    assert found["theirs"]["losses"] == pytest.approx(ours["losses"], abs=0.02)
    assert found["modes"] == {"seen": [[False, False], [False, False]], "after": [True, False]}
    for mixed in ("bf16", "fp16"):
        assert found[mixed]["losses"][-1] < 0.5 * found[mixed]["losses"][0]


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_start_whichever_way_the_system_starts_them(torch_python: str, method: str) -> None:
    told = told_by(
        torch_python,
        f"""
        import multiprocessing
        multiprocessing.set_start_method({method!r})
        from torchdoctor.target import bench_data
        tell("rate", {{"rate": bench_data.rate(torch, 1, False, 0.2)}})
        """,
    )
    assert told[0][1]["rate"] > 0
