from __future__ import annotations

import pytest
from driver_hosts import RTX_4090, changed, commands, driver, env, gpu, healthy, torch, values, version
from one_check import found, is_skipped, only, severity

from torchdoctor.facts import Driver, Facts, Unknown
from torchdoctor.tables import Tables

LAPTOP = gpu("NVIDIA GeForce RTX 5060 Laptop GPU", "12.0", kernel_driver=None)
WSL = changed(
    healthy(gpus=(LAPTOP,)),
    place__wsl=2,
    driver=driver(
        "572.83",
        "12.8",
        library_version=version("570.124.06"),
        libcuda="/usr/lib/wsl/lib/libcuda.so.1",
        device_nodes=("/dev/dxg",),
        module_loaded=None,
        uvm_loaded=None,
        module_on_disk=None,
        flavour=None,
    ),
)
FOUR = changed(WSL, gpus=(RTX_4090,) * 4, torch__cuda_available=False)


def test_two_numbers_of_one_branch_are_normal(tables: Tables) -> None:
    assert found("wsl-driver", WSL, tables) == []
    assert found("driver-library-mismatch", WSL, tables) == []
    assert found("driver-too-old", WSL, tables) == []


def test_linux_libraries_of_another_branch(tables: Tables) -> None:
    mixed = changed(WSL, driver__version=version("610.47"), driver__library_version=version("535.309.01"))
    assert found("wsl-driver", mixed, tables) == []
    facts = changed(mixed, driver__libcuda=Unknown("path of libcuda"))
    finding = only("wsl-driver", facts, tables)
    assert values(finding) == {"driver.library_version": "535.309.01", "driver.version": "610.47"}
    assert "wsl.exe --shutdown" in commands(finding)
    assert "install" not in commands(finding)
    assert severity("wsl-driver", facts, tables) == "error"
    assert severity("wsl-driver", changed(facts, torch=torch("2.8.0+cpu")), tables) == "info"


LINUX_PACKAGES = changed(WSL, driver__linux_driver_in_wsl=True)


@pytest.mark.parametrize(
    ("changes", "fact", "loud", "confidence"),
    [
        ({"driver__libcuda": "/usr/lib/x86_64-linux-gnu/libcuda.so.1"}, "driver.libcuda", "error", "likely"),
        ({"driver__smi": "version-mismatch"}, "driver.linux_driver_in_wsl", "error", "likely"),
        ({}, "driver.linux_driver_in_wsl", "warning", "possible"),
    ],
)
def test_linux_driver_packages(
    changes: dict[str, object], fact: str, loud: str, confidence: str, tables: Tables
) -> None:
    facts = changed(LINUX_PACKAGES, **changes)
    finding = only("wsl-driver", facts, tables)
    assert fact in values(finding)
    assert (severity("wsl-driver", facts, tables), finding.confidence) == (loud, confidence)


def test_windows_blocks_the_gpu(tables: Tables) -> None:
    facts = changed(WSL, driver__smi="blocked")
    finding = only("wsl-driver", facts, tables)
    assert (values(finding), finding.confidence) == ({"driver.smi": "blocked"}, "certain")
    assert "wsl.exe --update" in commands(finding)
    pasted = changed(facts, place__wsl=Unknown("WSL version"))
    finding = only("wsl-driver", pasted, tables)
    assert (str(finding.summary), finding.confidence) == ("Windows gives WSL no access to the GPU", "likely")


BLOCKED = Facts(driver=Driver(smi="blocked"))


def test_blocked_without_a_sign_of_wsl_names_both_places(tables: Tables) -> None:
    finding = only("wsl-driver", BLOCKED, tables)
    assert (str(finding.summary), finding.confidence) == ("the operating system blocks access to the GPU", "likely")
    assert "WSL" in str(finding.why)
    assert "control group" in str(finding.why)
    assert finding.remedies[0].commands == ("uname -r",)


@pytest.mark.parametrize(
    "changes",
    [
        {"os__kernel": "5.15.153.1-microsoft-standard-WSL2"},
        {"driver__device_nodes": ("/dev/dxg",)},
        {"driver__libcuda": "/usr/lib/wsl/lib/libcuda.so.1"},
        {"driver__version": version("591.59")},
    ],
    ids=["kernel", "device", "libcuda", "Windows number"],
)
def test_signs_of_wsl(changes: dict[str, object], tables: Tables) -> None:
    finding = only("wsl-driver", changed(BLOCKED, **changes), tables)
    assert str(finding.summary) == "Windows gives WSL no access to the GPU"


def test_a_linux_number_is_no_sign_of_wsl(tables: Tables) -> None:
    finding = only("wsl-driver", changed(BLOCKED, driver__version=version("580.95.05")), tables)
    assert "blocks access" in str(finding.summary)


@pytest.mark.parametrize("outcome", ["no-driver", "no-nvml"])
def test_nvidia_smi_of_linux_reaches_no_driver(outcome: str, tables: Tables) -> None:
    facts = changed(WSL, driver__smi=outcome, driver__version=None)
    assert values(only("wsl-driver", facts, tables)) == {"driver.smi": outcome}


@pytest.mark.parametrize(
    "facts",
    [
        healthy(),
        changed(LINUX_PACKAGES, torch__cuda_available=True),
        changed(healthy(), driver__smi="blocked"),
        changed(WSL, place__wsl=1, driver__smi="blocked"),
        changed(WSL, driver__version=version("999.10"), driver__library_version=version("990.10")),
    ],
    ids=["no WSL", "torch sees the GPU", "blocked on Linux", "first WSL", "unknown branch"],
)
def test_hosts_without_this_trouble(facts: Facts, tables: Tables) -> None:
    assert found("wsl-driver", facts, tables) == []


def test_four_gpus_are_too_many(tables: Tables) -> None:
    finding = only("wsl-platform-limit", FOUR, tables)
    assert str(finding.summary) == "CUDA does not start under WSL with 4 visible GPUs"
    assert commands(finding) == "export CUDA_VISIBLE_DEVICES=0,1,2"
    assert severity("wsl-platform-limit", FOUR, tables) == "error"
    unasked = changed(FOUR, torch__cuda_available=Unknown("torch's answer"))
    assert severity("wsl-platform-limit", unasked, tables) == "warning"


@pytest.mark.parametrize(
    "changes",
    [
        {"torch__cuda_available": True},
        {"gpus": (RTX_4090,) * 3},
        {"env": env(CUDA_VISIBLE_DEVICES="0,2,3")},
        {"place__wsl": None},
    ],
)
def test_few_enough(changes: dict[str, object], tables: Tables) -> None:
    assert found("wsl-platform-limit", changed(FOUR, **changes), tables) == []


@pytest.mark.parametrize(
    ("check_id", "facts"),
    [
        ("wsl-driver", changed(healthy(), place__wsl=Unknown("WSL version"))),
        ("wsl-driver", changed(WSL, driver__smi=Unknown("outcome of nvidia-smi"))),
        ("wsl-platform-limit", changed(healthy(), place__wsl=Unknown("WSL version"))),
        ("wsl-platform-limit", changed(WSL, gpus=Unknown("GPUs of the host"))),
    ],
)
def test_unknown_facts_skip(check_id: str, facts: Facts, tables: Tables) -> None:
    assert is_skipped(check_id, facts, tables)
