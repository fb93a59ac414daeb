"""Every key of a policy, both ways: a host that is as it says, and one that is not."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import CASES, DATA, Run
from hypothesis import given, settings
from hypothesis import strategies as st

from torchdoctor.checks.requirements import judged, undecided
from torchdoctor.commands.policy import known_ids
from torchdoctor.facts import (
    Driver,
    Facts,
    Gpu,
    Memory,
    Os,
    Package,
    Packages,
    Python,
    Request,
    Torch,
    Trial,
)
from torchdoctor.findings import Finding
from torchdoctor.policy.asked import requirements_of
from torchdoctor.policy.parse import policy_of
from torchdoctor.policy.policy import Policy
from torchdoctor.policy.schema import KEYS
from torchdoctor.records import replace
from torchdoctor.run_checks import run_checks
from torchdoctor.tables import Tables
from torchdoctor.values import Build, DriverVersion, GpuArch, PythonTag, Version

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

GB = 10**9


def series(name: str, device: str = "cuda:0", dtype: str = "uint8", **work: float) -> dict[str, Any]:
    """Six steps of 0.1 s each, as the benchmark tells them."""
    return {"kind": "bench-series", "name": name, "device": device, "dtype": dtype, "samples": [0.1] * 8, **work}


BENCH = (
    {"kind": "bench-device", "device": "cuda:0", "backend": "cuda", "model": "NVIDIA H100 80GB HBM3"},
    *(
        series("matmul", dtype=dtype, flops_per_step=tera * 1e11)
        for dtype, tera in {"fp32": 50, "tf32": 400, "bf16": 700, "fp16": 710}.items()
    ),
    series("matmul", "cpu", "bf16", flops_per_step=1e9),
    series("throughput", dtype="fp32", items_per_step=500),
    series("throughput", dtype="bf16", items_per_step=9000),
    series("copy", bytes_per_step=2e11),
    series("h2d-pinned", bytes_per_step=5e9),
    series("d2h-pinned", bytes_per_step=5e9),
    {"kind": "bench-done", "profile": "bench", "seconds": 60},
)
H100 = Gpu(vendor="nvidia", name="NVIDIA H100 80GB HBM3", compute_capability=GpuArch(9, 0), memory=85_520_809_984)
A100 = replace(H100, name="NVIDIA A100-SXM4-40GB", compute_capability=GpuArch(8, 0), memory=42_949_672_960)
INTEL = Gpu(vendor="intel", name="Intel UHD Graphics 630", compute_capability=None, memory=None)
HOST = Facts(
    os=Os(name="linux", machine="x86_64"),
    python=Python(version=Version.parse("3.12.3"), tag=PythonTag(3, 12)),
    torch=Torch(installed=True, version="2.9.1", full="2.9.1+cu126", build=Build("cu126"), cuda_available=True),
    driver=Driver(version=DriverVersion.parse("550.54.15"), module_loaded=True),
    gpus=(H100, A100, INTEL),
    memory=Memory(shm=8 * 2**30),
    packages=Packages(
        (Package(name="torchvision", version="0.24.1+cu126"), Package(name="flash-attn", version="2.8.3")),
        complete=True,
    ),
    trial=Trial(bench=BENCH),
)  # fmt: skip

# Of each requirement: what holds on this host, and what does not.
REQUIRED: dict[str, tuple[list[str], list[str]]] = {
    "require.python": (['">=3.11,<3.14"', '"==3.12.*"', '"~=3.12"'], ['">=3.13"', '"!=3.12.3"']),
    "require.torch": (['"==2.9.*"', '"==2.9.1"', '">=2.9,<3"'], ['"==2.8.*"', '">2.9.1"']),
    "require.build": (['"cu126"', '["cpu", "cu126"]'], ['"cpu"', '["cu128"]']),
    "require.backend": (['"cuda"', '["rocm", "cuda"]'], ['"cpu"']),
    "require.driver": (
        ['">=550"', '"==550"', '"==550.*"', '"<=550"', '">=535, <560"', '"!=560"', '">=550.54.14"'],
        ['">=555"', '">550"', '"<550"', '"!=550"', '">=550.54.16"', '"==550.54.14"'],
    ),
    "require.compute-capability": (['">=8.0"', '">=sm_80"', '"<10.0"'], ['">=9.0"', '"==8.0"']),
    "require.gpus.min": (["2", "1"], ["3"]),
    "require.gpus.name": (['"H100|A100"', '"a100"'], ['"B200"', '"^H100"']),
    "require.gpus.memory-gb": (["80", "40.5"], ["86"]),
    "require.shm-gb": (["8", "8.5"], ["8.6", "16"]),
    "require.packages.torchvision": (['"*"', '"==0.24.*"'], ['"<0.24"']),
    "require.packages.Flash_Attn": (['">=2.8"'], ['"==2.7.*"']),
    "require.packages.xformers": ([], ['"*"', '">=0"']),
    "bench.fp32-tflops-min": (["49"], ["51"]),
    "bench.tf32-tflops-min": (["399"], ["401"]),
    "bench.bf16-tflops-min": (["699.5"], ["701"]),
    "bench.fp16-tflops-min": (["709"], ["711"]),
    "bench.images-per-s-min": (["4999"], ["5001"]),
    "bench.memory-gbps-min": (["1999"], ["2001"]),
    "bench.h2d-gbps-min": (["49"], ["51"]),
    "bench.d2h-gbps-min": (["49"], ["51"]),
}  # fmt: skip
WAYS = [(path, value, holds) for path, ways in REQUIRED.items() for holds in (True, False) for value in ways[not holds]]


def of_text(text: str) -> Policy:
    return policy_of("torchdoctor.toml", tomllib.loads(text), known_ids())


def unmet(facts: Facts, policy: Policy, tables: Tables) -> list[Finding]:
    findings, outcomes = run_checks(replace(facts, request=policy.request(today="2026-11-30")), tables)
    assert [item for item in outcomes if item.outcome == "crashed"] == []
    return [finding for finding in findings if finding.id == "requirement-unmet"]


@pytest.mark.parametrize(("path", "value", "holds"), WAYS)
def test_a_requirement_holds_or_does_not(path: str, value: str, holds: bool, tables: Tables) -> None:
    policy = of_text(f"{path} = {value}")
    found = unmet(HOST, policy, tables)
    assert [finding.severity for finding in found] == ([] if holds else ["error"])
    assert undecided(replace(HOST, request=policy.request())) == ()
    if found:
        assert "torchdoctor.toml" in str(found[0].why)
        assert found[0].evidence[1].source == "torchdoctor.toml"


@pytest.mark.parametrize(("path", "value", "holds"), WAYS)
def test_an_option_says_the_same(path: str, value: str, holds: bool, tables: Tables) -> None:
    """``--require`` with the value of a file: a range as it is, anything else behind = or >=."""
    words = tomllib.loads(f"x = {value}")["x"]
    said = ",".join(words) if isinstance(words, list) else str(words)
    sign = "" if said[0] in "<>=!~" else "="
    policy = requirements_of([f"{path.removeprefix('require.')}{sign}{said}"], "--require")
    assert len(unmet(HOST, policy, tables)) == (not holds)


CPU_HOST = replace(
    HOST, gpus=(), driver=Driver(version=None, module_loaded=False), trial=Trial(),
    torch=Torch(installed=True, version="2.9.1", full="2.9.1+cpu", build=Build("cpu"), cuda_available=False),
)  # fmt: skip


def test_a_gpu_is_required_or_not(tables: Tables) -> None:
    def loud(text: str) -> list[str]:
        findings, _ = run_checks(replace(CPU_HOST, request=of_text(text).request()), tables)
        return [finding.id for finding in findings if finding.severity == "error"]

    assert loud("") == loud("require.gpu = false") == []
    assert "no-gpu" in loud("require.gpu = true")
    assert "no-gpu" in loud("require.gpus.min = 1")


@pytest.mark.parametrize(
    ("text", "fact", "value", "source"),
    [
        ("require.gpu = true", "request.require_gpu", "yes", "torchdoctor.toml"),
        ("require.gpus.min = 8", "require.gpus.min", "8", "torchdoctor.toml"),
        ('require.gpu = true\nrequire.gpus.name = "H100"', "require.gpus.name", "H100", "torchdoctor.toml"),
        (None, "request.require_gpu", "yes", "--require-gpu"),
    ],
)
@pytest.mark.parametrize("gpus", [(), (H100,)])
def test_a_missing_gpu_names_what_requires_it(
    text: str | None, fact: str, value: str, source: str, gpus: tuple[Gpu, ...], tables: Tables
) -> None:
    """No GPU, or a build for none."""
    request = Request(require_gpu=True) if text is None else of_text(text).request()
    findings, _ = run_checks(replace(CPU_HOST, gpus=gpus, request=request), tables)
    found = next(item for item in findings if item.id == ("torch-cpu-build" if gpus else "no-gpu"))
    is_named = value in str(found.summary)
    assert is_named == (fact.startswith("require.") and not gpus) or "yes" in value, found.summary
    assert (fact, value, source) in [(item.fact, item.value, item.source) for item in found.evidence]
    assert text is None or "--require-gpu" not in [item.source for item in found.evidence]
    assert bool(gpus) or bool([item for item in findings if item.id == "requirement-unmet"]) == (
        "gpus." in (text or "")
    )


BLIND = Facts(python=Python(tag=PythonTag(3, 12)), gpus=(Gpu(vendor="nvidia"),))


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ('require.python = ">=3.12.4"', "Python version"),
        ('require.torch = ">=2"', "torch version"),
        ('require.build = "cpu"', "torch build"),
        ('require.backend = "cuda"', "torch build"),
        ('require.driver = ">=550"', "NVIDIA driver version"),
        ('require.compute-capability = ">=8.0"', "compute capability"),
        ('require.gpus.name = "H100"', "GPU name"),
        ("require.gpus.memory-gb = 40", "GPU memory"),
        ("require.shm-gb = 8", "size of /dev/shm"),
        ('require.packages.xformers = "*"', "presence of xformers"),
    ],
)
def test_a_fact_that_is_not_known_decides_nothing(text: str, missing: str, tables: Tables) -> None:
    policy = of_text(text)
    assert unmet(BLIND, policy, tables) == []
    assert [item.missing for item in undecided(replace(BLIND, request=policy.request()))] == [missing]


@pytest.mark.parametrize("bench", [None, BENCH[:1], (*BENCH[:1], {**BENCH[-1], "profile": "check"})])
def test_a_floor_asked_for_this_time_is_not_met_unmeasured(bench: tuple[dict[str, Any], ...] | None) -> None:
    """That of a file waits for a benchmark; both are open."""
    facts = replace(CPU_HOST, trial=Trial() if bench is None else Trial(bench=bench))
    asked = requirements_of(["bench.fp32-tflops-min=500"], "--require").request()
    filed = of_text("bench.fp32-tflops-min = 500").request()
    for request, counts in ((asked, True), (filed, False)):
        told = replace(facts, request=request)
        assert [item.holds for item in judged(told)] == [None]
        assert [item.missing.split(",")[0] for item in undecided(told)] == [
            "figure fp32-tflops of a benchmark"
        ] * counts
        outcome = next(item for item in run_checks(told, Tables())[1] if item.id == "requirement-unmet")
        assert (outcome.outcome, "torchdoctor bench" in str(outcome.reason)) == ("skipped", True)


@pytest.mark.parametrize(
    ("text", "facts", "answer"),
    [
        ('require.python = ">=3.12"', BLIND, True),
        ('require.python = "<3.12"', BLIND, False),
        ("require.gpus.min = 2", BLIND, False),
        ("require.gpus.min = 1", BLIND, True),
        ('require.gpus = { min = 2, name = "H100" }', replace(BLIND, gpus=(H100, Gpu(vendor="nvidia"), A100)), None),
        ('require.gpus = { min = 1, name = "H100" }', replace(BLIND, gpus=(H100, Gpu(vendor="nvidia"))), True),
        ('require.gpus = { name = "H100", memory-gb = 81 }', replace(BLIND, gpus=(replace(H100, memory=GB),)), False),
        ("require.gpus.min = 1", replace(BLIND, gpus=(INTEL,)), False),
        ("require.gpus.min = 1", replace(BLIND, gpus=(INTEL,), torch=Torch(build=Build("xpu"))), True),
        ('require.compute-capability = ">=9.0"', replace(BLIND, gpus=(H100, Gpu(vendor="nvidia"))), None),
        ('require.compute-capability = ">=9.0"', replace(BLIND, gpus=(A100, Gpu(vendor="nvidia"))), False),
        ('require.compute-capability = ">=9.0"', CPU_HOST, False),
        ('require.driver = ">=1"'.replace("1", "450"), CPU_HOST, False),
        ('require.torch = "==2.9.*"', replace(BLIND, torch=Torch(installed=False)), False),
        ('require.backend = "cuda"', replace(BLIND, torch=Torch(installed=False)), False),
        ('require.torch = ">=2"', replace(BLIND, torch=Torch(installed=True, full="mine-2.9")), False),
        ("bench.bf16-tflops-min = 1", BLIND, "not asked"),
        ("bench.bf16-tflops-min = 1", replace(BLIND, trial=Trial(bench=BENCH[:1] + BENCH[-1:])), None),
        ("bench.bf16-tflops-min = 1", replace(BLIND, trial=Trial(bench=BENCH[:1])), "not asked"),
        ("bench.bf16-tflops-min = 0.01", replace(BLIND, trial=Trial(bench=BENCH[5:6])), True),
        ("bench.bf16-tflops-min = 0.02", replace(BLIND, trial=Trial(bench=BENCH[5:6])), False),
    ],
)
def test_what_is_known_in_part(text: str, facts: Facts, answer: bool | str | None, tables: Tables) -> None:
    request = of_text(text).request()
    found, open_ = unmet(facts, of_text(text), tables), undecided(replace(facts, request=request))
    told = False if found else None if open_ else True
    assert told is (True if answer == "not asked" else answer)


# Of the other keys: what is run, a policy with exit status 0, and one with 1. {folder} holds the figures of a run.
CAPPED = str(CASES / "power-capped-4090" / "recording.json")  # one warning: slow-gpu
NO_TORCH = str(DATA / "recordings" / "vm-without-gpu.json")  # an error: torch-missing
OTHERS: dict[str, tuple[str, str, str]] = {
    "fail-on": (CAPPED, 'fail-on = "error"', 'fail-on = "warning"'),
    "ignore": (NO_TORCH, 'ignore = ["torch-*"]', 'ignore = ["no-gpu"]'),
    "ignore-until": (
        NO_TORCH,
        '[[ignore-until]]\nid = "torch-missing"\nuntil = 2999-12-31\nreason = "the image brings it"',
        '[[ignore-until]]\nid = "torch-missing"\nuntil = 2020-01-01\nreason = "the image brings it"',
    ),
    "select": (NO_TORCH, 'select = ["driver-*"]', 'select = ["driver-*", "torch-missing"]'),
    "bench.baseline": (
        CAPPED,
        'fail-on = "warning"\nignore = []\nselect = ["requirement-unmet"]\nbench.baseline = "slower.json"',
        'fail-on = "warning"\nbench.baseline = "faster.json"',
    ),
}


@pytest.mark.parametrize("key", OTHERS)
def test_another_key_makes_the_difference(key: str, torchdoctor: Run, tmp_path: Path) -> None:
    recording, good, bad = OTHERS[key]
    events = json.loads(Path(CAPPED).read_text(encoding="utf-8"))
    for name, factor in (("slower", 0.5), ("faster", 2.0)):
        figures = figures_of(events, factor)
        (tmp_path / f"{name}.json").write_text(json.dumps(figures))
    for text, status in ((good, 0), (bad, 1)):
        (tmp_path / "policy.toml").write_text(text)
        done = torchdoctor("diagnose", recording, "--config", "policy.toml", "--format", "json")
        assert done.returncode == status, done.stderr + done.stdout[:500]
        report = json.loads(done.stdout)
        if key in {"ignore", "ignore-until", "select"}:
            assert ["torch-missing" in {item["id"] for item in report.get("ignored", [])}] == [status == 0]
        if key == "bench.baseline" and status:
            assert any("earlier run" in json.dumps(finding) for finding in report["findings"])


def figures_of(recording: dict[str, Any], factor: float) -> dict[str, Any]:
    """The figures of a run so many times as fast, as ``bench --save`` keeps them."""
    from torchdoctor.benchmark import as_json, summarise
    from torchdoctor.facts import Request as Asked
    from torchdoctor.reading import facts_of
    from torchdoctor.recording import Recording

    facts = facts_of(Recording.from_json(json.dumps(recording)), Tables(), Asked())
    assert isinstance(facts.trial.bench, tuple)
    result = as_json(summarise(facts.trial.bench))
    for figure in result["figures"]:
        for name in ("seconds",):
            figure[name] /= factor
        for name in ("quartiles", "interval"):
            figure[name] = [value / factor for value in figure[name]]
    return result


def test_the_mirror_is_a_key_too(torchdoctor: Run, tmp_path: Path) -> None:
    described = ("--os", "linux", "--machine", "x86_64", "--python-version", "3.12", "--libc", "glibc-2.35")
    asked = ("install-cmd", *described, "--driver", "550.54.15", "--gpu", "sm_89", "--backend", "cu126")
    (tmp_path / "torchdoctor.toml").write_text('index-base = "https://mirror.example/whl"\n')
    assert "mirror.example" in torchdoctor(*asked).stdout
    (tmp_path / "torchdoctor.toml").write_text("")
    assert "mirror.example" not in torchdoctor(*asked).stdout


def test_no_key_is_left_out() -> None:
    shown = {path if not path.startswith("require.packages.") else "require.packages.*" for path in REQUIRED}
    assert {key.path for key in KEYS} == shown | set(OTHERS) | {"require.gpu", "index-base"}


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (("--require", "driver>=550"), 0, "ok: "),
        (("--require", "driver>=600"), 1, "the policy requires driver >=600, and it is 580.95.05"),
        (("--require", "gpus.memory-gb>=40"), 1, "RTX 4090 of 25.8 GB, AMD Radeon 610M (not used by this build)"),
        (("--require", "gpus.memory-gb>=20"), 0, "ok: "),
        (("--require", "driver>=600", "--require", "gpus.memory-gb>=40"), 1, "driver >=600"),
        (("--require", "driver>=600", "--fail-on", "never"), 0, "driver >=600"),
        (("--require", "driver>=600", "--ignore", "requirement-unmet"), 0, "1 set aside by the policy"),
        (("--require-gpu",), 0, "ok: "),
        (("--require", "gpus.min=9"), 1, "gpus >=9"),
        (("--require", "driver>=560", "--require", "driver<600"), 0, "ok: "),
        (("--require", "driver>=590", "--require", "driver<600"), 1, "driver >=590,<600"),
        (("--require", "driver<600", "--require", "driver>=590"), 1, "driver <600,>=590"),
        (("--require", "bench.fp32-tflops-min=1"), 3, "the figure fp32-tflops of a benchmark, which torchdoctor bench"),
    ],
)
def test_requirements_of_a_recorded_host(torchdoctor: Run, arguments: tuple[str, ...], status: int, words: str) -> None:
    done = torchdoctor("diagnose", str(DATA / "recordings" / "bare-rtx4090-driver580.json"), *arguments)
    assert done.returncode == status
    assert words in done.stdout


def test_a_pasted_text_leaves_a_requirement_open(torchdoctor: Run) -> None:
    done = torchdoctor("diagnose", "-", "--require", "driver>=550", stdin="PyTorch version: 2.9.1+cpu\n")
    assert done.returncode == 3
    verdict = done.stdout.splitlines()[0]
    assert "driver >=550 is required, and not known: the NVIDIA driver version" in verdict
    assert "run torchdoctor check on the host itself" in verdict


def test_what_a_folder_requires_is_not_asked_of_the_text_of_another_host(torchdoctor: Run, tmp_path: Path) -> None:
    (tmp_path / "torchdoctor.toml").write_text('ignore = ["torch-missing"]\n[require]\ndriver = ">=600"\n')
    assert torchdoctor("diagnose", NO_TORCH).returncode == 0
    assert torchdoctor("diagnose", NO_TORCH, "--config", "torchdoctor.toml").returncode == 1
    assert torchdoctor("diagnose", NO_TORCH, "--no-config").returncode == 1
    asked = torchdoctor("diagnose", NO_TORCH, "--require", "python>=3.8")
    assert (asked.returncode, "driver >=600" in asked.stdout) == (0, False)
    asked = torchdoctor("diagnose", NO_TORCH, "--require-gpu")
    assert (asked.returncode, "error no-gpu" in asked.stdout) == (1, True)


def test_what_an_ignored_finding_explains_goes_with_it(tables: Tables) -> None:
    from torchdoctor.policy.setting_aside import set_aside

    facts = replace(CPU_HOST, request=Request(require_gpu=True))
    findings, _ = run_checks(facts, tables)
    explained = {finding.id: finding.explained_by for finding in findings}
    assert explained["torch-cpu-build"] == "no-gpu"
    kept, aside = set_aside(findings, of_text('ignore = ["no-gpu"]').request())
    assert not {"no-gpu", "torch-cpu-build"} & {finding.id for finding in kept}
    assert {item.finding.id: item.reason for item in aside}["torch-cpu-build"] == "explained by no-gpu"
    kept, _ = set_aside(findings, of_text('select = ["torch-cpu-build"]').request())
    assert [(finding.id, finding.explained_by) for finding in kept] == [("torch-cpu-build", None)]
    kept, _ = set_aside(findings, of_text('select = ["no-gpu"]').request())
    assert {finding.id for finding in kept} >= {"no-gpu", "torch-cpu-build"}


@settings(max_examples=60, deadline=None)
@given(
    chosen=st.lists(st.sampled_from([(path, value) for path, value, _ in WAYS]), max_size=8),
    host=st.sampled_from([HOST, CPU_HOST, BLIND, Facts(), replace(HOST, gpus=None, packages=Packages())]),
)
def test_no_policy_makes_a_check_crash(chosen: list[tuple[str, str]], host: Facts) -> None:
    """Whatever is required of whatever is known: each requirement holds, does not, or is left open."""
    policy = of_text("\n".join(f"{path} = {value}" for path, value in dict(chosen).items()))
    facts = replace(host, request=policy.request())
    findings = unmet(host, policy, Tables())
    answers = list(judged(facts))
    assert len(findings) == [item.holds for item in answers].count(False)
    assert all(item.missing for item in answers if item.holds is None)
