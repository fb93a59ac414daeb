"""What a report says of a benchmark: findings on losses and speed, and a line for everything measured or missing."""

from __future__ import annotations

import argparse
from typing import Any

import pytest

from torchdoctor import proof
from torchdoctor.asked import NOTHING, Asked
from torchdoctor.benchmark import summarise
from torchdoctor.checks.runtime.speed import slow_gpu
from torchdoctor.checks.runtime.training import training_loss_wrong
from torchdoctor.commands import here
from torchdoctor.facts import Facts, Os, Probe, Request, Trial
from torchdoctor.findings import Finding
from torchdoctor.nvml_samples import KEY, Sampler
from torchdoctor.readers.live_trial import read
from torchdoctor.recording import Answer, Recording
from torchdoctor.render.bench_text import bench_lines
from torchdoctor.render.look import FILE, Look
from torchdoctor.run_checks import run_checks
from torchdoctor.tables import Tables
from torchdoctor.trial import Limits, Watch
from torchdoctor.which_python import PythonChoice

Event = dict[str, Any]
CPU = {"kind": "bench-device", "device": "cpu", "backend": "cpu", "model": None}
GPU = {"kind": "bench-device", "device": "cuda:0", "backend": "cuda", "model": "some GPU"}


def loss(device: str = "cuda:0", **more: Any) -> Event:
    fields = {"first": 2.3, "last": 0.1, "cpu_first": 2.3, "cpu_last": 0.1, "accuracy": 0.99}
    return {"kind": "bench-loss", "device": device, **fields, "finite": True, "fell": True, "agrees": True, **more}


def series(seconds: float, device: str = "cpu", count: int = 20, **more: Any) -> Event:
    fields = {"name": "throughput", "device": device, "dtype": "fp32", "samples": [seconds] * count}
    return {"kind": "bench-series", **fields, "settled": True, "items_per_step": 512, **more}


def sweep(*reasons: str) -> Event:
    """Two settings that were measured, and others that were not."""
    rows: list[Event] = [{"workers": count, "pin": False, "batches_per_s": 10.0 + 90 * count} for count in (0, 1)]
    rows += [{"workers": 2, "pin": False, "batches_per_s": None, "reason": reason} for reason in reasons]
    return {"kind": "bench-sweep", "rows": rows, "usable_cpus": 8}


def facts(*events: Event, **request: Any) -> Facts:
    return Facts(trial=Trial(bench=events), request=Request(**request), os=Os(name="linux"))


# -------------------------------------------------------------------------------------------------------------- losses


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (loss(), None),
        (loss("cpu", fell=None, agrees=None), None),
        (
            loss(finite=False, last=None, fell=False, agrees=False),
            "the loss of a short training on cuda:0 is no number",
        ),
        (loss(agrees=False), "on cuda:0 is not the CPU's"),
        (loss("cpu", agrees=False), "on cpu is another one when the training is repeated"),
        (loss(fell=False), "on cuda:0 does not fall"),
    ],
    ids=["right", "cut short", "NaN", "not the CPU's", "not repeatable", "rising"],
)
def test_a_loss_that_is_wrong_is_a_finding(tables: Tables, event: Event, words: str | None) -> None:
    found = list(training_loss_wrong(facts(CPU, GPU, event), tables))
    assert len(found) == (0 if words is None else 1)
    for finding in found:
        assert words is not None
        assert words in str(finding.summary)
        assert finding.evidence[1].value == "reference: 2.3 to 0.1"


def test_a_loss_that_is_no_number_is_told_so(tables: Tables) -> None:
    (finding,) = training_loss_wrong(facts(loss(finite=False, last=None)), tables)
    assert finding.evidence[0].value == "loss on cuda:0: 2.3 to no number"


# --------------------------------------------------------------------------------------------------- slower than before


def slower(tables: Tables, device: Event, **more: Any) -> Finding:
    name = device["device"]
    earlier = summarise([device, series(0.1, name)])
    (finding,) = slow_gpu(facts(device, series(0.4, name, **more), baseline=earlier), tables)
    return finding


def test_a_slower_cpu_is_no_gpu(tables: Tables) -> None:
    finding = slower(tables, CPU)
    assert str(finding.summary) == "the CPU reaches 25 % of the earlier run (throughput)"
    assert finding.fixable_by == "user"
    (remedy,) = finding.remedies
    assert remedy.commands == ("nproc", "uptime")
    assert "power plan" in str(remedy.text)


@pytest.mark.parametrize(("backend", "tool"), [("cuda", "nvidia-smi"), ("rocm", "rocm-smi"), ("xpu", None)])
def test_a_slower_gpu_is_looked_at_with_its_makers_tool(tables: Tables, backend: str, tool: str | None) -> None:
    finding = slower(tables, {**GPU, "backend": backend})
    assert str(finding.summary).startswith("cuda:0 reaches 25 % of the earlier run")
    assert (finding.remedies[0].commands or (None,))[-1] == tool


# --------------------------------------------------------------------------------------------------------------- lines


def lines(*events: Event, baseline: object = None) -> list[str]:
    """As ``--plain`` shows them."""
    return [line.text.removeprefix("benchmark: ") for line in bench_lines(events, baseline, Look(plain=True))]


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (loss(), "loss on cuda:0: 2.3 to 0.1, as on the CPU, 99% of unseen images right"),
        (loss("cpu", agrees=None, fell=None), "loss on cpu: 2.3 to 0.1, cut short, 99% of unseen images right"),
        (loss(agrees=False, last=None, accuracy=None), "loss on cuda:0: 2.3 to no number, NOT as on the CPU"),
        (loss("cpu", agrees=False, accuracy=None), "loss on cpu: 2.3 to 0.1, NOT the same when repeated"),
        (loss(agrees=[], fell={}, accuracy=None), "loss on cuda:0: 2.3 to 0.1, cut short"),
        (series(0.5), "throughput fp32 on cpu: 1,020 images/s"),
        (
            {**series(0.5), "items_per_step": None, "flops_per_step": 1.7e14, "name": "matmul"},
            "matmul fp32 on cpu: 340 Tflop/s",
        ),
        ({**series(0.5), "items_per_step": None, "bytes_per_step": 2e9, "name": "copy"}, "copy fp32 on cpu: 4 GB/s"),
        (
            {**series(0.5), "samples": [0.5] * 10 + [0.4] * 10},
            "throughput fp32 on cpu: 1,140 images/s (1,020 to 1,280)",
        ),
        (
            series(0.5, count=2, settled=False),
            "throughput fp32 on cpu: 1,020 images/s, still changing when it was measured, only 2 samples",
        ),
        (
            series(0.5, conditions={"clock_mhz": 900.0, "throttle": ["sw_power_cap"]}),
            "throughput fp32 on cpu: 1,020 images/s, at 900 MHz, throttled: sw_power_cap",
        ),
        (
            {"kind": "bench-data", "device": "cuda:0", "waiting_share": 0.4, "workers": 2, "pin": True},
            "cuda:0 waits 40% of the time for data (2 workers, pinned)",
        ),
        (
            {"kind": "bench-data", "device": "cpu", "waiting_share": 0.4, "workers": 1, "pin": False},
            "cpu waits 40% of the time for data (1 worker)",
        ),
        (
            {"kind": "bench-skipped", "device": "cuda:0", "reason": "another process computes on it"},
            "not measured on cuda:0: another process computes on it",
        ),
        (
            {"kind": "bench-failed", "device": "cpu", "stage": "bench-copy", "error": "MemoryError: no\nroom"},
            "copy failed on cpu: MemoryError: no",
        ),
    ],
    ids=[
        "loss", "cut short", "NaN", "unrepeatable", "edited", "figure", "spread", "operations", "bytes", "doubtful",
        "throttled", "waits", "one waits", "busy", "failed",
    ],
)  # fmt: skip
def test_everything_measured_or_missing_has_its_line(event: Event, line: str) -> None:
    assert lines(event) == [line]


ENDED = {"kind": "bench-failed", "device": "cpu", "stage": "bench-sweep-2", "error": "ended by SIGSEGV"}
PLAN: Event = {"kind": "bench-plan", "stages": []}


@pytest.mark.parametrize(
    ("events", "recommended"),
    [
        ([sweep("no time was left")], False),
        ([sweep(), ENDED], False),
        ([PLAN, sweep()], False),
        ([PLAN, sweep("shared memory has room for 1 MiB, and this needs 9"), {"kind": "bench-done"}], True),
    ],
    ids=["late", "crashed", "interrupted", "no room"],
)
def test_a_sweep_that_was_cut_short_recommends_nothing(events: list[Event], *, recommended: bool) -> None:
    told = "fewest workers that keep up: DataLoader(num_workers=1, pin_memory=False)"
    assert (told in lines(*events)) is recommended


def test_a_sweep_tells_the_rate_of_each_setting() -> None:
    assert lines(sweep()) == [
        "DataLoader with 0 workers: 10 batches/s",
        "DataLoader with 1 worker: 100 batches/s",
        "fewest workers that keep up: DataLoader(num_workers=1, pin_memory=False)",
    ]


def test_figures_that_can_be_compared_have_bars() -> None:
    """Of the fastest of the same unit; a figure alone has none, and a remark stands below its row."""
    product = {"name": "matmul", "items_per_step": None, "flops_per_step": 1e12}
    events = (
        series(0.5),
        {**series(1.0), **product, "dtype": "fp32"},
        {**series(0.25), **product, "dtype": "bf16", "settled": False},
    )
    assert [line.text for line in bench_lines(events, None, FILE)] == [
        "  device  benchmark                  rate",
        "  cpu     throughput fp32  1,020 images/s",
        "  cpu     matmul fp32           1 Tflop/s  ######",
        "  cpu     matmul bf16           4 Tflop/s  ########################",
        "    still changing when it was measured",
    ]


@pytest.mark.parametrize(
    ("test", "explained"), [("matmul-fp32", True), ("train", True), ("checkpoint", False), ("compile", False)]
)
def test_a_wrong_loss_is_explained_by_a_wrong_computation_alone(tables: Tables, test: str, *, explained: bool) -> None:
    failed = Probe(id=test, device="cpu", library="", outcome="failed", error="ValueError: no")
    trial = Trial(bench=(loss("cpu", finite=False, last=None),), probes=(failed,))
    (found,) = [item for item in run_checks(Facts(trial=trial), tables)[0] if item.id == "training-loss-wrong"]
    assert found.explained_by == ("smoke-test-failed" if explained else None)


@pytest.mark.parametrize(
    ("seconds", "count", "words"),
    [
        (0.4, 20, "25% of the earlier run, slower"),
        (0.4, 2, "25% of the earlier run, slower, but too few or too scattered samples to be sure"),
        (0.1, 20, "100% of the earlier run, as fast"),
        (0.05, 20, "200% of the earlier run, faster"),
    ],
)
def test_every_compared_figure_has_its_line(seconds: float, count: int, words: str) -> None:
    earlier = summarise([CPU, series(0.1)])
    assert lines(CPU, series(seconds, count=count), baseline=earlier)[1:] == [f"throughput fp32 on cpu: {words}"]


def test_nothing_to_compare_is_said() -> None:
    earlier = summarise([GPU, series(0.1, "cuda:0")])
    assert lines(CPU, series(0.1), baseline=earlier)[1:] == [
        "nothing to compare with the earlier run: no figure of the same device and model"
    ]


# --------------------------------------------------------------------------------------- what is asked, what comes back


def asked_of(monkeypatch: pytest.MonkeyPatch, asked: Asked, told: Answer | None) -> tuple[Asked, Limits, list[Any]]:
    """What prove() is given, and the GPUs that are sampled meanwhile."""
    given: list[Any] = []

    class Spy(Sampler):
        def __init__(self, gpus: Any) -> None:
            given.append(list(gpus))
            super().__init__(())

    def prove(_: PythonChoice, asked: Asked, limits: Limits, _watch: Watch) -> Answer:
        given.extend((asked, limits))
        return Answer({"runs": []})

    monkeypatch.setattr(proof, "prove", prove)
    monkeypatch.setattr("torchdoctor.nvml_samples.Sampler", Spy)
    recorded: list[Any] = []
    monkeypatch.setattr("torchdoctor.live.record", lambda *_, proof, **__: recorded.append(proof))
    here.record_here(argparse.Namespace(timeout=None, python=None), asked)
    recorded[0](PythonChoice(("python",), "", other=None), told)
    return given[1], given[2], given[0]


BUSY = Answer({"gpus": [{"index": 0, "pci": "00000000:65:00.0", "processes": 1, "error": ""}]})


def test_what_nvml_told_goes_into_the_request(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, limits, sampled = asked_of(monkeypatch, Asked(only=NOTHING, bench={"seconds": 600, "sweep": True}), BUSY)
    reason = "another process computes on it"
    assert asked.bench == {"seconds": 600, "sweep": True, "busy": {"0000:65:00.0": reason, "cuda:0": reason}}
    assert sampled == BUSY.value["gpus"]
    assert (limits.of("bench-sweep-4"), limits.of("bench"), limits.of("fft")) == (1200, 1200, Limits().other)
    assert limits.by_stage()["bench"] == 1200


def test_a_short_benchmark_has_the_usual_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    _, limits, sampled = asked_of(monkeypatch, Asked(bench={"seconds": 3}), None)
    assert limits.of("bench-loss") == Limits().compiling
    assert sampled == []


def test_without_a_benchmark_nothing_is_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, _, sampled = asked_of(monkeypatch, Asked(), BUSY)
    assert (asked.bench, sampled) == (None, [])


@pytest.mark.parametrize(
    ("telemetry", "clock"),
    [([{"time": 105.0, "device": "cuda:0", "clock_mhz": 1500}], 1500), ([{"time": "x"}, 7], None), ("x", None)],
)
def test_the_samples_of_a_recording_reach_the_figures(telemetry: Any, clock: float | None) -> None:
    measured = series(0.1, "cuda:0", started=100.0, ended=110.0)
    events = [[event["kind"], event] for event in (GPU, measured)]
    trial = Answer({"runs": [{"events": events, "ended": {}}], KEY: telemetry})
    told = {said.path: said.value for said in read(Recording({"trial": trial}))}
    bench = told["trial.bench"]
    assert isinstance(bench, tuple)
    (figure,) = summarise(bench).figures
    assert figure.conditions.clock_mhz == clock
