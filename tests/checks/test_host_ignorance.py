"""What a recording does not say must never look like trouble."""

from __future__ import annotations

import re

import pytest
from driver_hosts import (
    H100,
    IDS,
    INTEL,
    MAC,
    RTX_4090,
    RTX_5090,
    WINDOWS,
    changed,
    driver,
    env,
    forgotten,
    gpu,
    healthy,
    on_bus,
    paths,
    torch,
    version,
    without_driver,
)

from torchdoctor.checks.registry import CHECKS
from torchdoctor.facts import Driver, Facts, Gpu, NotKnownError, NotThereError, Request, Unknown
from torchdoctor.run_checks import run_checks
from torchdoctor.tables import Tables
from torchdoctor.values import GfxId, PythonTag

GOOD_HOSTS = {
    "RTX 4090": healthy(),
    "CPU server": without_driver(torch=torch("2.14.1+cpu")),
    "laptop without NVIDIA": without_driver(INTEL, torch=torch("2.14.1+cpu")),
    "H100 in a container": changed(healthy(gpus=(H100,)), place__container="docker"),
    "RTX 5090": healthy(gpus=(RTX_5090,), torch=torch("2.15.0+cu132"), driver=driver("590.48.01", "13.1")),
    "Windows": healthy(
        os=WINDOWS,
        driver=driver("572.83", "12.8", flavour=None, device_nodes=None, uvm_loaded=None, libcuda="nvcuda.dll"),
    ),
    "Mac": changed(
        without_driver(torch=torch("2.15.0+mps")), os=MAC, python__machine="arm64", python__tag=PythonTag(3, 13)
    ),
    "GB10": changed(
        healthy(gpus=(gpu("NVIDIA GB10", "12.1"),), torch=torch("2.15.0+cu132"), driver=driver("580.95.05", "13.0")),
        os__machine="aarch64",
        python__machine="aarch64",
    ),
    "two GPUs, one shown": changed(healthy(gpus=(RTX_4090, RTX_4090)), env=env(CUDA_VISIBLE_DEVICES="1")),
}


def loud(facts: Facts, tables: Tables) -> list[str]:
    """The ids of errors and warnings."""
    found = []
    for check_id in IDS:
        item = CHECKS[check_id]
        try:
            found += [check_id for draft in item.rule(facts, tables) if (draft.severity or item.severity) != "info"]
        except (NotKnownError, NotThereError):
            continue
    return found


@pytest.mark.parametrize("name", GOOD_HOSTS)
def test_a_good_host_stays_quiet_whatever_is_forgotten(name: str, tables: Tables) -> None:
    facts = GOOD_HOSTS[name]
    assert loud(facts, tables) == []
    noisy = {path: ids for path in paths(facts) if (ids := loud(forgotten(facts, path), tables))}
    assert noisy == {}


OLD = on_bus("NVIDIA GeForce GTX 1080 Ti", "6.1")
RADEON = Gpu(vendor="amd", name="AMD Radeon RX 580", gfx=GfxId("gfx803"))
BROKEN_HOSTS = {
    "no driver": without_driver(OLD),
    "module not built": changed(without_driver(OLD), driver__library_version=version("580.95.05")),
    "driver too old": healthy(torch=torch("2.14.1+cu130"), driver=driver("470.256.02", "11.4")),
    "driver dropped the GPU": healthy(gpus=(OLD,), driver=driver("595.45.04", "13.2")),
    "libraries of another version": changed(healthy(), driver__library_version=version("535.309.01")),
    "no code": healthy(gpus=(OLD,), torch=torch("2.14.1+cu130"), driver=driver("580.95.05", "13.0")),
    "CPU build": healthy(torch=torch("2.14.1+cpu")),
    "another vendor": without_driver(RADEON, torch=torch("2.1.1+cu118")),
    "old Radeon": without_driver(RADEON, torch=torch("2.9.1+rocm6.4")),
    "no GPU": without_driver(request=Request(require_gpu=True)),
    "container": changed(without_driver(H100), place__container="docker"),
    "blocked": changed(healthy(), driver__smi="blocked", place__wsl=2),
    "no device": changed(healthy(gpus=()), driver__smi="no-supported-gpus"),
    "no NVML": changed(healthy(), gpus=Unknown("list of GPUs"), driver=Driver(smi="no-nvml")),
    "no torch": healthy(torch=torch(None)),
}
EMPTY_VALUE = re.compile(r"\s[:,.;](?!\w)|\s\(\s*\)|\s\s|^\s|\s$|Unknown\(|^(?:True|False|None|)$")


@pytest.mark.parametrize("name", BROKEN_HOSTS)
def test_no_text_shows_a_hole_where_a_fact_is_forgotten(name: str, tables: Tables) -> None:
    facts = BROKEN_HOSTS[name]
    assert [finding for finding in run_checks(facts, tables)[0] if finding.severity != "info"]
    holes: list[tuple[str, str, str]] = []
    for path in ("nothing", *paths(facts)):
        findings, outcomes = run_checks(facts if path == "nothing" else forgotten(facts, path), tables)
        assert [outcome for outcome in outcomes if outcome.outcome == "crashed"] == []
        for finding in findings:
            said = [str(finding.summary), str(finding.why), *(str(remedy.text) for remedy in finding.remedies)]
            said += [item.value for item in finding.evidence]
            holes += [(path, finding.id, text) for text in said if EMPTY_VALUE.search(text)]
    assert holes == []


def test_an_empty_recording_says_nothing(tables: Tables) -> None:
    assert loud(Facts(), tables) == []
