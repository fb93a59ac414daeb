"""Report objects for the page, the text and the bundle: of a case, one with everything, one that is hostile."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from conftest import CASES
from format_reports import HOSTILE, pasted

from torchdoctor.benchmark import as_json
from torchdoctor.benchmark_figures import BenchDevice, BenchResult, Conditions, Figure, Missing, Sweep, SweepRow
from torchdoctor.commands.diagnose import load
from torchdoctor.facts import Request
from torchdoctor.pipeline import examine
from torchdoctor.prescribe.writing import Writing
from torchdoctor.recording import Recording
from torchdoctor.render.json_v1 import render, report_object
from torchdoctor.tables import Tables

Told = dict[str, Any]
WITH_BENCHMARK = "power-capped-4090"
MARKUP = "</code></pre><script>window.evil = 1</script><img src=x onerror='window.evil = 1'>\" onclick=\"evil"


def recording_of(name: str) -> Recording:
    folder = CASES / name
    saved = folder / "recording.json"
    if saved.exists():
        return Recording.from_json(saved.read_text(encoding="utf-8"))
    return load([str(path) for path in sorted(folder.iterdir()) if path.name != "case.toml"])


def told_of(recording: Recording, tables: Tables) -> Told:
    told: Told = json.loads(render(examine(recording, tables, Request(), Writing())))
    return told


def case_names() -> list[str]:
    return sorted(path.parent.name for path in CASES.glob("*/case.toml"))


def _figure(name: str, dtype: str, seconds: float, device: str = "cuda:0", **work: float) -> Figure:
    conditions = Conditions(clock_mhz=2520.0, power_w=440.0, temperature_c=71.0, pcie_gen=4, pcie_width=16)
    return Figure(
        name=name, device=device, dtype=dtype, seconds=seconds, quartiles=(0.97 * seconds, 1.05 * seconds),
        interval=(0.99 * seconds, 1.02 * seconds), samples=40, settled=True, conditions=conditions, **work,
    )  # fmt: skip


def benchmark() -> Told:
    rates = {0: 41.0, 1: 38.0, 2: 77.0, 4: 141.0, 8: 148.0}
    rows = tuple(SweepRow(workers, pin=True, batches_per_s=rate) for workers, rate in rates.items())
    return as_json(
        BenchResult(
            devices=(BenchDevice("cuda:0", "cuda", "NVIDIA GeForce RTX 4090", 128), BenchDevice("cpu", "cpu")),
            figures=(
                _figure("throughput", "fp32", 0.0021, items_per_step=512.0, flops_per_step=7.7e8),
                _figure("throughput", "fp32", 0.21, "cpu", items_per_step=512.0, flops_per_step=7.7e8),
                _figure("matmul", "fp32", 0.0024, flops_per_step=1.37e11),
                _figure("matmul", "bf16", 0.0009, flops_per_step=1.37e11),
                _figure("copy", "", 0.0012, bytes_per_step=1.07e9),
                _figure("h2d-pinned", "", 0.0026, bytes_per_step=6.7e7),
                _figure("h2d-pageable", "", 0.0081, bytes_per_step=6.7e7),
                _figure("d2h-pinned", "", 0.0025, bytes_per_step=6.7e7),
            ),
            sweep=Sweep(rows, usable_cpus=16),
            missing=(Missing("cuda:1", "another program uses it"),),
            profile="bench",
            seconds=21.0,
        )
    )


def everything(tables: Tables) -> Told:
    """A report with something in each part of the page."""
    told = told_of(recording_of(WITH_BENCHMARK), tables)
    failed = {"id": "sdpa", "device": "cuda:0", "library": "", "outcome": "failed", "seconds": 0.1, "values": {}}
    skipped = {**failed, "outcome": "skipped", "device": "cpu", "reason": "no accelerator"}
    code = {
        "library": "torch/lib/libtorch_cuda.so", "package": "torch", "version": "2.9.1", "fatbins": 3,
        "sass": {"sm_80": 3, "sm_90": 3}, "ptx": {}, "ptx_isa": None, "gfx": {}, "error": None,
        "gpus": {"0": "native", "1": "none"},
    }  # fmt: skip
    tests = [*told["smoke"], {**failed, "error": "Traceback\nRuntimeError: wrong"}, skipped]
    crashed = {"id": "shm-too-small", "outcome": "crashed", "reason": "ValueError: x"}
    return {
        **told,
        "bench": json.loads(json.dumps(benchmark())),
        "smoke": tests,
        "code": [code],
        "checks": [*told["checks"], crashed],
        "targets": [
            {"name": "T4 farm", "verdict": "will-not-run", "why": "no code for sm_75", "change": "torch cu126"}
        ],
        "ignored": [{"id": "newer-torch", "summary": "torch is old", "reason": "frozen", "until": "2027-01-01"}],
    }


def hostile() -> Told:
    """What a stranger may paste, and markup in every text that a report has."""
    told: Told = json.loads(json.dumps(report_object(pasted(HOSTILE))))
    return {**_spoilt(told), "status": told["status"], "schema": told["schema"]}


def _spoilt(value: Any) -> Any:
    if isinstance(value, str):
        return f"{value} {MARKUP}"
    if isinstance(value, list):
        return [_spoilt(item) for item in value]
    return {f"{name}": _spoilt(item) for name, item in value.items()} if isinstance(value, dict) else value


def saved(told: Told, path: Path) -> Path:
    path.write_text(json.dumps(told), encoding="utf-8")
    return path
