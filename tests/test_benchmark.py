"""The benchmark's judge: raw times to figures, figures to verdicts; and the table of peaks behind them."""

from __future__ import annotations

import json
import re
from math import comb
from statistics import median, quantiles
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchdoctor.benchmark import as_json, from_json, summarise
from torchdoctor.benchmark_figures import BenchResult, Sweep, SweepRow, median_interval, quartiles
from torchdoctor.benchmark_verdicts import lane_gbps, verdicts
from torchdoctor.tables import Tables
from torchdoctor.tables.gpu_peaks import FILE

Event = dict[str, Any]
TIMES = st.lists(st.floats(1e-6, 1e3), min_size=1, max_size=60)
H200, TERA = "NVIDIA H200", 1e12
GEN5: dict[str, Any] = {"conditions": {"pcie_gen": 5, "pcie_width": 16}}


def device(name: str = "cuda:0", model: str | None = H200, backend: str = "cuda", **more: Any) -> Event:
    return {"kind": "bench-device", "device": name, "backend": backend, "model": model, "units": None, **more}


def series(name: str, seconds: float | list[float], device: str = "cuda:0", dtype: str = "bf16", **more: Any) -> Event:
    times = [seconds] * 20 if isinstance(seconds, float) else seconds
    fields = {"name": name, "device": device, "dtype": dtype, "samples": times, "started": 100.0, "ended": 110.0}
    return {"kind": "bench-series", **fields, "settled": True, **more}


def matmul(tflops: float, device: str = "cuda:0", dtype: str = "bf16", **more: Any) -> Event:
    return series("matmul", 1.0, device, dtype, flops_per_step=tflops * TERA, **more)


def at(clock: float, **more: Any) -> dict[str, Any]:
    return {"conditions": {"clock_mhz": clock, **more}}


# ---------------------------------------------------------------------------------------------------------- statistics


@pytest.mark.parametrize(
    ("count", "low", "high"), [(1, 1, 1), (5, 1, 5), (6, 1, 6), (9, 2, 8), (20, 6, 15), (100, 40, 61), (400, 180, 221)]
)
def test_the_interval_has_the_ranks_of_the_tables(count: int, low: int, high: int) -> None:
    assert median_interval([float(number) for number in range(count, 0, -1)]) == (low, high)


@pytest.mark.parametrize("count", range(6, 200, 7))
def test_the_interval_is_the_narrowest_that_is_sure_enough(count: int) -> None:
    low, _ = median_interval(list(range(count)))
    left_out = [sum(comb(count, k) for k in range(int(low) + 1 + extra)) / 2**count for extra in (0, 1)]
    assert 2 * left_out[0] <= 0.05 < 2 * left_out[1]


@given(TIMES)
def test_the_median_lies_within_its_interval_and_between_the_quartiles(times: list[float]) -> None:
    low, high = median_interval(times)
    first, third = quartiles(times)
    assert low <= median(times) <= high
    assert first <= median(times) * (1 + 1e-12)
    assert third >= median(times) * (1 - 1e-12)
    if len(times) > 1:
        expected = quantiles(times, method="inclusive")
        assert (first, third) == pytest.approx((expected[0], expected[2]))


# ------------------------------------------------------------------------------------------------------------- figures


def test_a_series_becomes_a_figure_with_its_rate() -> None:
    times = [0.05, 0.04, 0.06, 0.05, 0.05, 0.9]
    (figure,) = summarise([device(), series("throughput", times, items_per_step=512)]).figures
    assert (figure.name, figure.device, figure.dtype, figure.samples) == ("throughput", "cuda:0", "bf16", 6)
    assert figure.seconds == 0.05
    assert figure.rate == pytest.approx(10240)
    assert figure.interval == (0.04, 0.9)
    assert list(figure.rates) == pytest.approx([512 / 0.9, 12800])


def test_numbers_may_come_as_text() -> None:
    fields = {"samples": ["0.5", "0.25", "0.5"], "items_per_step": "32", "started": "1.5", "ended": "2.5"}
    (figure,) = summarise([device(), {"kind": "bench-series", "name": "overhead", "device": "cpu", **fields}]).figures
    assert (figure.seconds, figure.rate) == (0.5, 64)


def test_a_run_cut_short_still_says_what_it_knows() -> None:
    result = summarise([device("cpu", None, "cpu", threads=2), {"kind": "stage", "id": "bench-loss", "device": "cpu"}])
    assert result.seconds is None
    assert result.figures == ()
    assert [found.threads for found in result.devices] == [2]
    assert summarise([]) == BenchResult()


def test_loss_data_and_what_is_missing_are_kept() -> None:
    loss = {"first": 2.3, "last": 0.1, "cpu_first": 2.3, "cpu_last": 0.1, "accuracy": 0.99}
    result = summarise(
        [
            {"kind": "bench-loss", "device": "cpu", **loss, "finite": True, "fell": None, "agrees": True, "steps": 24},
            {"kind": "bench-data", "device": "cpu", "waiting_share": 0.4, "workers": 2, "pin": False},
            {"kind": "bench-skipped", "device": "cuda:0", "reason": "process 7 uses it"},
            {"kind": "bench-failed", "device": "cuda:1", "stage": "bench-matmul-bf16", "error": "RuntimeError: no"},
            {"kind": "bench-series", "device": "cpu", "name": "copy", "samples": []},
            {"kind": "bench-done", "seconds": 2.5, "profile": "check"},
        ]
    )
    assert (result.losses[0].fell, result.losses[0].agrees, result.losses[0].accuracy) == (None, True, 0.99)
    assert (result.waits[0].waiting_share, result.waits[0].workers) == (0.4, 2)
    assert [(item.device, item.failed) for item in result.missing] == [("cuda:0", False), ("cuda:1", True)]
    assert result.figures == ()
    assert (result.seconds, result.profile) == (2.5, "check")


def test_a_malformed_event_is_left_out() -> None:
    good = device(), series("overhead", 0.5, items_per_step=32)
    bad: list[Event] = [
        {"kind": "bench-series", "samples": [1, "x"]},
        {"kind": "bench-series", "name": "x", "device": 1},
    ]
    bad += [{"kind": kind} for kind in ("bench-device", "bench-loss", "bench-data", "bench-sweep", "bench-skipped")]
    bad += [series("copy", [0.0, -1.0]), {"kind": "bench-sweep", "rows": 7}, {}, {"kind": None}]
    bad += [{"kind": "bench-done", "seconds": "soon"}]
    assert summarise([*bad, *good, *bad]) == summarise(good)


def test_a_loss_that_is_no_number_came_as_none() -> None:
    lost = {"first": 2.3, "last": None, "cpu_first": 2.3, "cpu_last": 0.1, "accuracy": 0.1}
    event = {"kind": "bench-loss", "device": "cuda:0", **lost, "finite": False, "fell": False, "agrees": False}
    (loss,) = summarise([event]).losses
    assert (loss.last, loss.finite) == (None, False)


# ----------------------------------------------------------------------------------------------------------- telemetry


@pytest.mark.parametrize(
    "names",
    [{"pci": "00000000:01:00.0"}, {"pci": None, "uuid": "GPU-abc"}, {"device": "cuda:0"}],
    ids=["pci", "uuid", "index"],
)
def test_what_was_read_meanwhile_is_joined_by_time_and_gpu(names: dict[str, Any]) -> None:
    told = device(pci="0000:01:00.0", uuid="abc")
    other = {"time": 105, "pci": "0000:02:00.0", "uuid": "GPU-def", "device": "cuda:1", "clock_mhz": 1}
    telemetry = [
        {"time": 99, **names, "clock_mhz": 210, "throttle": ["idle"]},
        {"time": 101, **names, "clock_mhz": 1700, "power_w": 640.0, "throttle": ["power cap"], "pcie_gen": 1},
        {"time": 105, **names, "clock_mhz": 1800, "power_w": None, "throttle": [], "pcie_gen": 5, "pcie_width": 16},
        {"time": 110, **names, "clock_mhz": 1900, "power_w": 700.0, "throttle": ["power cap", "thermal"]},
        {"time": 111, **names, "clock_mhz": 210},
        other,
    ]
    (figure,) = summarise([told, matmul(700, **at(5.0))], telemetry).figures
    read = figure.conditions
    assert (read.clock_mhz, read.power_w, read.pcie_gen, read.pcie_width) == (1800, 670, 5, 16)
    assert read.throttle == ("power cap", "thermal")
    assert read.temperature_c is None


def test_a_recording_brings_what_was_read_as_an_event() -> None:
    samples = [{"time": 105.0, "pci": "00000000:65:00.0", "clock_mhz": 1500, "throttle": ["sw_power_cap"]}]
    events = [device(pci="0000:65:00.0"), matmul(700.0), {"kind": "bench-telemetry", "samples": samples}]
    (figure,) = summarise(events).figures
    assert (figure.conditions.clock_mhz, figure.conditions.throttle) == (1500, ("sw_power_cap",))


def test_without_telemetry_torch_itself_may_have_read_the_clock() -> None:
    (figure,) = summarise([device(), matmul(700, **at(1755.0, temperature_c=61))]).figures
    assert (figure.conditions.clock_mhz, figure.conditions.temperature_c) == (1755, 61)


# ---------------------------------------------------------------------------------------------------------- DataLoader


@pytest.mark.parametrize(
    ("rates", "usable", "expected"),
    [
        ({(0, False): 100, (1, False): 60, (2, False): 90}, 4, (0, False)),
        ({(0, False): 50, (1, False): 90, (2, False): 180, (4, False): 188, (8, False): 189}, 8, (2, False)),
        ({(0, False): 50, (1, False): 90, (2, False): 180, (4, False): 300}, 2, (2, False)),
        ({(0, False): 50, (2, False): 96, (2, True): 100, (4, True): 99}, 8, (2, True)),
        ({(0, False): 50, (2, False): None}, 8, (0, False)),
        ({(0, False): None}, 8, None),
        ({}, 8, None),
    ],
    ids=["no worker helps", "the knee", "no more than processors", "pinned", "one not tried", "none tried", "no rows"],
)
def test_the_recommended_number_of_workers(
    rates: dict[tuple[int, bool], float | None], usable: int, expected: tuple[int, bool] | None
) -> None:
    rows = tuple(SweepRow(workers, pin, rate) for (workers, pin), rate in rates.items())
    found = Sweep(rows, usable).recommended
    assert (found and (found.workers, found.pin)) == expected


def test_a_sweep_is_read_from_its_event() -> None:
    rows: list[dict[str, Any]] = [{"workers": 0, "pin": False, "batches_per_s": 12.5}]
    rows += [{"workers": 8, "pin": False, "batches_per_s": None, "reason": "no room"}]
    told = [{"kind": "bench-sweep", "rows": part, "usable_cpus": 8, "shm_free": 64 << 20} for part in (rows[:1], rows)]
    sweep = summarise(told).sweep
    assert sweep is not None
    assert sweep.recommended == SweepRow(0, pin=False, batches_per_s=12.5)
    assert (sweep.rows[1].reason, sweep.shm_free) == ("no room", 64 << 20)


# ------------------------------------------------------------------------------------------------------------ verdicts


@pytest.mark.parametrize(
    ("model", "event", "against", "slow", "ratio"),
    [
        (H200, matmul(791.2, **at(1830)), "peak", False, 0.8),
        (H200, matmul(494.5, **at(1830)), "peak", True, 0.5),
        (H200, matmul(494.5, **at(1098)), "peak", False, 0.833),
        (H200, matmul(494.5), "peak", True, 0.5),
        (H200, matmul(35.0, dtype="fp32", **at(1830)), "peak", False, 0.522),
        (H200, matmul(30.0, dtype="fp32", **at(1830)), "peak", True, 0.448),
        ("NVIDIA GeForce RTX 4090", matmul(172.0, **at(2700)), "peak", False, 0.972),
        ("AMD Instinct MI300X", matmul(668.0, dtype="fp16", **at(2100)), "peak", False, 0.511),
        ("AMD Instinct MI300X", matmul(500.0, dtype="fp16", **at(2100)), "peak", True, 0.382),
        (H200, series("copy", 1.0, dtype="uint8", bytes_per_step=4.1e12), "memory", False, 0.854),
        (H200, series("copy", 1.0, dtype="uint8", bytes_per_step=3.0e12), "memory", True, 0.625),
        ("some GPU", series("h2d-pinned", 1.0, bytes_per_step=55e9, **GEN5), "pcie", False, 0.873),
        ("some GPU", series("d2h-pinned", 1.0, bytes_per_step=9e9, **GEN5), "pcie", True, 0.143),
    ],
)  # fmt: skip
def test_a_figure_against_what_the_hardware_can_do(
    tables: Tables, model: str, event: Event, against: str, slow: bool, ratio: float
) -> None:
    (verdict,) = verdicts(summarise([device(model=model), event]), tables)
    assert verdict.against == against
    assert verdict.ratio == pytest.approx(ratio, abs=0.001)
    assert verdict.slow is slow
    assert verdict.at_measured_clock is (against == "peak" and verdict.conditions.clock_mhz is not None)


@pytest.mark.parametrize(
    ("told", "event"),
    [
        (device(model="NVIDIA Tomorrow 1"), matmul(1.0)),
        (device(model="NVIDIA GeForce RTX 4090 Laptop GPU"), matmul(1.0)),
        (device(model="NVIDIA H100 80GB HBM3 MIG 1g.10gb"), matmul(1.0)),
        (device(model=None), matmul(1.0)),
        (device(model="NVIDIA GB10"), matmul(1.0)),
        (device(model="Orin"), matmul(0.1, dtype="fp32")),
        (device(model="Apple M1"), matmul(0.1, dtype="fp32")),
        (device(model="AMD Instinct MI250X"), matmul(1.0)),
        (device(), series("throughput", 9.0, items_per_step=4096)),
        (device(), series("overhead", 9.0, items_per_step=32)),
        (device(), series("h2d-pageable", 9.0, bytes_per_step=1.0, **GEN5)),
        (device(), series("h2d-pinned", 9.0, bytes_per_step=1.0)),
        (device("cpu", H200, "cpu"), matmul(0.001, "cpu")),
        (device("cuda:1"), matmul(1.0)),
    ],
    ids=[
        "unknown model", "laptop", "slice", "no name", "unknown rate", "power mode", "order of magnitude",
        "figures of two", "training", "tiny batches", "pageable", "unknown link", "cpu", "undescribed",
    ],
)  # fmt: skip
def test_where_too_little_is_known_there_is_no_verdict(tables: Tables, told: Event, event: Event) -> None:
    assert verdicts(summarise([told, event]), tables) == ()


def test_a_part_with_fewer_units_is_no_slow_part(tables: Tables) -> None:
    half = [device(units=66), matmul(400, **at(1830))]
    (verdict,) = verdicts(summarise(half), tables)
    assert verdict.ratio == pytest.approx(0.809, abs=0.001)
    assert verdict.row is not None
    assert verdict.row.key.startswith("NVIDIA H200")


def test_one_of_two_devices_on_a_card_has_half_of_everything(tables: Tables) -> None:
    events = [device(model="AMD Instinct MI250X", backend="rocm", units=110), matmul(100, dtype="fp16")]
    events.append(series("copy", 1.0, bytes_per_step=1.4e12))
    assert [round(verdict.ratio, 2) for verdict in verdicts(summarise(events), tables)] == [0.52, 0.85]


def test_doubt_is_not_slowness(tables: Tables) -> None:
    """The median is below the threshold; what the interval allows is not."""
    times = [0.9, 0.95, 1.0, 1.05, 2.0, 2.1, 2.2, 2.3]
    event = series("matmul", times, flops_per_step=600 * TERA, **at(1830))
    (verdict,) = verdicts(summarise([device(), event]), tables)
    assert verdict.ratio < verdict.threshold
    assert not verdict.slow


@pytest.mark.parametrize(("count", "slow"), [(5, False), (6, True)])
def test_too_few_samples_prove_nothing(tables: Tables, count: int, slow: bool) -> None:
    """With fewer than six there is no confidence interval: against the peak, against equals, against an earlier run."""
    few = series("matmul", [1.0] * count, flops_per_step=100 * TERA)
    equal = [device("cuda:1"), matmul(700.0, "cuda:1")]
    earlier = summarise([device(), series("matmul", 0.1, flops_per_step=100 * TERA)])
    found = verdicts(summarise([device(), few, *equal]), tables, earlier)
    judged = {item.against: item.slow for item in found if item.figure.device == "cuda:0"}
    assert judged == {"peak": slow, "equal": slow, "baseline": slow}
    old = summarise([device(), series("matmul", [0.1] * count, flops_per_step=100 * TERA)])
    found = verdicts(summarise([device(), matmul(100.0)]), tables, old)
    assert [item.slow for item in found if item.against == "baseline"] == [slow]


def test_equal_gpus_are_compared_with_the_best_of_them(tables: Tables) -> None:
    models = {"cuda:0": H200, "cuda:1": H200, "cuda:2": H200, "cuda:3": "NVIDIA Tomorrow 1"}
    events: list[Event] = [device(name, model) for name, model in models.items()]
    rates = {"cuda:0": 700.0, "cuda:1": 695.0, "cuda:2": 610.0, "cuda:3": 100.0}
    events += [matmul(rate, name) for name, rate in rates.items()]
    events += [series("overhead", 1.0 + index, name) for index, name in enumerate(models)]
    found = {item.figure.device: item for item in verdicts(summarise(events), tables) if item.against == "equal"}
    assert {name: item.slow for name, item in found.items()} == {"cuda:1": False, "cuda:2": True}
    assert found["cuda:2"].other == "cuda:0"
    assert found["cuda:2"].ratio == pytest.approx(0.871, abs=0.001)


def test_a_saved_run_is_a_baseline(tables: Tables) -> None:
    events = [device(model="some GPU"), series("throughput", 0.010, items_per_step=4096), device("cpu", None, "cpu")]
    events += [series("throughput", 0.5, "cpu", "fp32", items_per_step=512)]
    saved = from_json(json.loads(json.dumps({"schema": "report", "bench": as_json(summarise(events))})))
    now = [device(model="some GPU"), series("throughput", 0.012, items_per_step=4096), device("cpu", None, "cpu")]
    now += [series("throughput", 0.49, "cpu", "fp32", items_per_step=512)]
    found = verdicts(summarise(now), tables, saved)
    assert [(item.figure.device, item.slow) for item in found] == [("cuda:0", True), ("cpu", False)]
    assert [round(item.ratio, 2) for item in found] == [0.83, 1.02]
    other = [device(model="another GPU"), series("throughput", 0.012, items_per_step=4096)]
    assert verdicts(summarise(other), tables, saved) == ()
    smaller = [device(model="some GPU"), series("throughput", 0.012, items_per_step=1024)]
    assert verdicts(summarise(smaller), tables, saved) == ()


def test_what_is_saved_is_read_back_the_same() -> None:
    events = [device(units=132), series("throughput", [0.1, 0.2, 0.15], items_per_step=4, **at(1000.0, throttle=["x"]))]
    result = summarise([*events, {"kind": "bench-done", "seconds": 1.0, "profile": "bench"}])
    back = from_json(json.loads(json.dumps(as_json(result))))
    assert (back.figures, back.devices, back.profile) == (result.figures, result.devices, "bench")


@pytest.mark.parametrize(
    "data", [None, [], {}, {"bench": None}, {"figures": 1}, {"bench": {"figures": [{"name": "x"}]}}, {"figures": [1]}]
)
def test_what_is_no_baseline_is_said_plainly(data: Any) -> None:
    with pytest.raises(ValueError, match="benchmark"):
        from_json(data)


@pytest.mark.parametrize(("gen", "gbps"), [(1, 4.0), (2, 8.0), (3, 15.75), (4, 31.5), (5, 63.0)])
def test_a_link_of_sixteen_lanes(gen: int, gbps: float) -> None:
    assert 16 * lane_gbps(gen) == pytest.approx(gbps, rel=0.001)


# -------------------------------------------------------------------------------------------------- the table of peaks


@pytest.mark.parametrize(
    ("name", "bf16", "memory"),
    [
        ("NVIDIA A100-SXM4-80GB", 312, 2039),
        ("NVIDIA A100-SXM4-40GB", 312, 1555),
        ("NVIDIA A100-PCIE-40GB", 312, 1555),
        ("NVIDIA A100 80GB PCIe", 312, 1935),
        ("NVIDIA A10", 125, 600),
        ("NVIDIA A10G", 63, 600),
        ("NVIDIA A30", 165.2, 933),
        ("NVIDIA A40", 149.7, 696),
        ("NVIDIA RTX A6000", 154.8, 768),
        ("NVIDIA L4", 121, 300),
        ("NVIDIA L40", 181, 864),
        ("NVIDIA L40S", 362, 864),
        ("NVIDIA H100 80GB HBM3", 989, 3350),
        ("NVIDIA H100 PCIe", 756, 2039),
        ("NVIDIA H100 NVL", 835, 3938),
        ("NVIDIA H200", 989, 4800),
        ("NVIDIA H20", 148, 4000),
        ("NVIDIA GH200 480GB", 989, 4000),
        ("NVIDIA B200", 2250, 8000),
        ("NVIDIA GB200", 2500, 8000),
        ("NVIDIA B300 SXM6 AC", 2250, 8000),
        ("NVIDIA GeForce RTX 3060", 25.5, 360),
        ("NVIDIA GeForce RTX 3060 Ti", 32.4, 448),
        ("NVIDIA GeForce RTX 3090", 71.2, 936),
        ("NVIDIA GeForce RTX 3090 Ti", 80, 1008),
        ("NVIDIA GeForce RTX 4070", 58.3, 504),
        ("NVIDIA GeForce RTX 4070 SUPER", 71, 504),
        ("NVIDIA GeForce RTX 4070 Ti SUPER", 88.2, 672),
        ("NVIDIA GeForce RTX 4090", 165.2, 1008),
        ("NVIDIA GeForce RTX 5090", 209.5, 1792),
        ("NVIDIA RTX 6000 Ada Generation", 364.2, 960),
        ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", 503.8, 1792),
        ("NVIDIA GB10", None, 273),
        ("Tesla T4", None, 320),
        ("Tesla V100-SXM2-32GB", None, 898),
        ("Quadro RTX 6000", None, 672),
        ("AMD Instinct MI300X", 1307.4, 5300),
        ("AMD Radeon RX 7900 XTX", 122.8, 960),
        ("Apple M2 Max", None, 400),
    ],
)
def test_the_peaks_of_a_gpu(tables: Tables, name: str, bf16: float | None, memory: float) -> None:
    row = tables.gpu_peaks.of(name)
    assert row is not None
    assert (row.tflops("bf16"), row.mem_gbps) == (bf16, memory)


@pytest.mark.parametrize(
    "name",
    [
        "NVIDIA GeForce GTX 1660",
        "NVIDIA GeForce RTX 3060 Laptop GPU",
        "NVIDIA A100-SXM4-40GB MIG 1g.5gb",
        "GRID T4-16Q",
        "NVIDIA GeForce RTX 2080 with Max-Q Design",
        "NVIDIA GeForce RTX 4090 D",
        "Apple M2",
        "AMD Radeon Graphics",
        "",
    ],
)
def test_a_gpu_without_peaks_of_its_own(tables: Tables, name: str) -> None:
    assert tables.gpu_peaks.of(name) is None


def test_the_peaks_fit_each_other(tables: Tables) -> None:
    """79 rows; a wider format is never faster; a name matches one row; a figure of two devices is marked as such."""
    rows = tables.gpu_peaks.rows
    assert len(rows) == 79
    for row in rows:
        widest_first = [row.tflops(dtype) for dtype in ("fp32", "tf32", "bf16", "fp8")]
        present = [rate for rate in widest_first if rate is not None]
        assert present == sorted(present), row.key
        assert (row.mem_gbps or 0) > 0, row.key
        assert row.devices in (1, 2), row.key
        assert row.judged or "recalled" in row.method or row.arch in {"sm_87", "pvc"}, row.key
        assert re.fullmatch(r"sm_\d+|gfx[0-9a-f]+|[a-z0-9-]+", row.arch), row.key
        assert row.tflops("int4") is None


def test_a_pattern_that_is_none_is_refused() -> None:
    text = ",".join(FILE.columns) + "\n" + ",".join("(" if name == "name_regex" else "" for name in FILE.columns) + "\n"
    with pytest.raises(Exception, match=r"gpu_peaks\.csv:2: column name_regex: not a regular expression"):
        FILE.parse(text)
