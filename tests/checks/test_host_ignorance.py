"""What a recording does not say must never look like trouble."""

from __future__ import annotations

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
    paths,
    torch,
    without_driver,
)

from torchdoctor.checks.registry import CHECKS
from torchdoctor.facts import Facts, NotKnownError, NotThereError
from torchdoctor.tables import Tables
from torchdoctor.values import PythonTag

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


def test_an_empty_recording_says_nothing(tables: Tables) -> None:
    assert loud(Facts(), tables) == []
