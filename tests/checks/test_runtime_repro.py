from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from torchdoctor.checks.runtime.repro import not_reproducible
from torchdoctor.facts import Facts, Trial
from torchdoctor.findings import Env, Finding, setting
from torchdoctor.tables import Tables

DEFAULTS: Mapping[str, Any] = {
    "cudnn_benchmark": True,
    "deterministic_algorithms": False,
    "tf32_matmul": False,
    "tf32_cudnn": True,
    "cublas_workspace_config": None,
    "pythonhashseed": None,
    "worker_seeds_differ": True,
}


def finding(tables: Tables, **told: Any) -> Finding:
    (only,) = not_reproducible(Facts(trial=Trial(repro={**DEFAULTS, **told})), tables)
    return only


def on(**devices: bool | None) -> dict[str, Any]:
    """The event for devices: cuda_0 stands for cuda:0."""
    named = {name.replace("_", ":"): equal for name, equal in devices.items()}
    worst = min(named, key=lambda name: named[name] is not False)
    return {"devices": named, "device": worst, "seeded_runs_equal": named[worst]}


ONE = setting(PYTHONHASHSEED="0")
BOTH = setting(CUBLAS_WORKSPACE_CONFIG=":4096:8", PYTHONHASHSEED="0")
GPU_ONLY = {"cudnn_benchmark", "tf32_cudnn", "cublas_workspace_config"}
ALWAYS = {"deterministic_algorithms", "pythonhashseed"}


@pytest.mark.parametrize(
    ("told", "judged", "command"),
    [
        (on(cpu=True), ALWAYS, ONE),
        ({"device": "cpu", "seeded_runs_equal": True}, ALWAYS, ONE),
        (on(cuda_0=True), ALWAYS | GPU_ONLY, BOTH),
        ({"device": "cuda:0", "seeded_runs_equal": True}, ALWAYS | GPU_ONLY, BOTH),
    ],
)
def test_settings_of_cuda_count_only_where_a_gpu_is(
    told: dict[str, Any], judged: set[str], command: Env, tables: Tables
) -> None:
    found = finding(tables, **told)
    assert {item.fact.rpartition(".")[2] for item in found.evidence} == judged
    assert str(found.summary) == f"{len(judged)} settings for repeatable runs are left at their defaults"
    assert found.remedies[0].commands == (command,)
    assert ("TF32" in str(found.why)) is (judged != ALWAYS)
    assert found.severity is None


def test_every_gpu_that_differs_is_named(tables: Tables) -> None:
    found = finding(tables, **on(cuda_0=False, cuda_1=True, cuda_2=False))
    assert str(found.summary) == "two runs with one seed give different losses on cuda:0, cuda:2"
    assert found.severity == "warning"
    shown = [item.value for item in found.evidence if item.fact.endswith("seeded_runs_equal")]
    assert shown == ["no, on cuda:0", "no, on cuda:2"]


def test_a_device_that_could_not_be_tried_is_no_difference(tables: Tables) -> None:
    assert "left at their defaults" in str(finding(tables, **on(cuda_0=None)).summary)


def test_workers_that_draw_alike(tables: Tables) -> None:
    found = finding(tables, **{**on(cpu=True), "worker_seeds_differ": False})
    assert str(found.summary) == "two DataLoader workers draw the same random numbers"
    assert found.evidence[0].fact == "trial.repro.worker_seeds_differ"


def test_everything_set_says_nothing(tables: Tables) -> None:
    quiet = {**DEFAULTS, "deterministic_algorithms": True, "pythonhashseed": "0", **on(cpu=True)}
    assert list(not_reproducible(Facts(trial=Trial(repro=quiet)), tables)) == []
