from __future__ import annotations

import pytest
from driver_hosts import (
    H100,
    MAC,
    RTX_4090,
    WINDOWS,
    changed,
    commands,
    driver,
    env,
    gpu,
    healthy,
    required,
    torch,
    values,
    version,
    without_driver,
)
from one_check import found, is_skipped, only, severity

from torchdoctor.facts import Facts, Unknown
from torchdoctor.tables import Tables

DENIED = changed(healthy(), driver__smi="permission", driver__device_access=False)
LOST_CGROUP = changed(healthy(), driver__smi="unknown-error", place__container="docker")
BLOCKED = changed(healthy(), driver__smi="blocked")
NO_LIBCUDA = changed(healthy(), driver__libcuda=None, driver__cuda_shown=None)
SICK = gpu("NVIDIA A100-SXM4-40GB", "8.0", sick="lost")
FABRIC = changed(healthy(gpus=(H100,)), driver=driver("580.95.05", "13.0", fabric="In Progress"))


@pytest.mark.parametrize(
    ("facts", "fact", "confidence", "command"),
    [
        (DENIED, "driver.smi", "certain", "ls -l /dev/nvidia*"),
        (changed(DENIED, driver__smi="ok"), "driver.device_access", "certain", "usermod"),
        (changed(DENIED, place__container="podman"), "driver.smi", "certain", "--group-add keep-groups"),
        (LOST_CGROUP, "driver.smi", "likely", "create-dev-char-symlinks"),
        (changed(LOST_CGROUP, place__container=None), "driver.smi", "possible", "create-dev-char-symlinks"),
        (BLOCKED, "driver.smi", "likely", "ls -l /dev/nvidia*"),
    ],
)
def test_denied_access(facts: Facts, fact: str, confidence: str, command: str, tables: Tables) -> None:
    finding = only("driver-permission", facts, tables)
    assert fact in values(finding)
    assert (finding.confidence, finding.fixable_by) == (confidence, "admin")
    assert command in commands(finding)
    assert "reboot" not in commands(finding)


def test_one_closed_device_of_several_is_a_warning(tables: Tables) -> None:
    assert severity("driver-permission", changed(DENIED, driver__smi="ok"), tables) == "warning"
    assert severity("driver-permission", DENIED, tables) == "error"


@pytest.mark.parametrize(
    "facts",
    [
        healthy(),
        changed(BLOCKED, place__wsl=2),
        changed(BLOCKED, place__wsl=Unknown("WSL version")),
        changed(DENIED, torch__cuda_available=True),
        without_driver(),
    ],
)
def test_access_that_is_not_denied(facts: Facts, tables: Tables) -> None:
    assert found("driver-permission", facts, tables) == []


def test_a_cpu_build_misses_no_access(tables: Tables) -> None:
    assert severity("driver-permission", changed(DENIED, torch=torch("2.8.0+cpu")), tables) == "info"


def test_libcuda_is_missing_on_a_host(tables: Tables) -> None:
    finding = only("libcuda-not-found", NO_LIBCUDA, tables)
    assert values(finding) == {"driver.libcuda": "none"}
    assert finding.fixable_by == "admin"
    assert "ldconfig -p | grep libcuda" in commands(finding)


@pytest.mark.parametrize("place", ["kubernetes", Unknown("container kind")])
def test_libcuda_is_mounted_outside_of_the_path(place: object, tables: Tables) -> None:
    facts = changed(NO_LIBCUDA, place__container=place, driver__smi=Unknown("nvidia-smi"))
    assert "export LD_LIBRARY_PATH=/usr/local/nvidia/lib64" in commands(only("libcuda-not-found", facts, tables))


@pytest.mark.parametrize(("given", "limited"), [("utility", True), ("compute,utility", False), ("all", False)])
def test_the_runtime_was_not_asked_for_compute(given: str, limited: bool, tables: Tables) -> None:
    facts = changed(NO_LIBCUDA, place__container="docker", env=env(NVIDIA_DRIVER_CAPABILITIES=given))
    finding = only("libcuda-not-found", facts, tables)
    assert ("env.NVIDIA_DRIVER_CAPABILITIES" in values(finding)) is limited
    assert ("NVIDIA_DRIVER_CAPABILITIES=compute,utility" in commands(finding)) is limited


def test_the_header_of_nvidia_smi_without_cuda(tables: Tables) -> None:
    facts = changed(NO_LIBCUDA, driver__libcuda=Unknown("path of libcuda"))
    assert values(only("libcuda-not-found", facts, tables)) == {"driver.cuda_shown": "none"}


@pytest.mark.parametrize(
    "changes",
    [
        {"torch__cuda_available": True},
        {"place__wsl": 2},
        {"place__l4t": "36.4.3"},
        {"os": WINDOWS},
        {"os": MAC},
        {"driver": without_driver().driver},
        {"driver__smi": "no-driver", "driver__module_loaded": False},
        {"driver__libcuda": "/usr/lib64/libcuda.so.1"},
    ],
)
def test_libcuda_is_not_missed(changes: dict[str, object], tables: Tables) -> None:
    assert found("libcuda-not-found", changed(NO_LIBCUDA, **changes), tables) == []


def test_a_lost_gpu(tables: Tables) -> None:
    finding = only("gpu-lost", healthy(gpus=(SICK,)), tables)
    assert str(finding.summary) == "NVIDIA A100-SXM4-40GB does not answer its driver"
    assert values(finding) == {"gpus[].sick": "lost"}
    assert (finding.confidence, finding.fixable_by) == ("certain", "admin")
    assert "nvidia-smi --gpu-reset" in commands(finding)
    assert severity("gpu-lost", healthy(gpus=(SICK,)), tables) == "error"


def test_nvidia_smi_reports_a_lost_gpu(tables: Tables) -> None:
    facts = changed(healthy(), gpus=Unknown("GPUs"), driver__smi="gpu-lost", place__virtual_machine="kvm")
    finding = only("gpu-lost", facts, tables)
    assert str(finding.summary) == "a GPU does not answer its driver"
    assert finding.fixable_by == "provider"


@pytest.mark.parametrize(
    "facts", [healthy(gpus=(SICK, H100)), changed(healthy(gpus=(SICK,)), torch__cuda_available=True)]
)
def test_one_lost_gpu_of_several_is_a_warning(facts: Facts, tables: Tables) -> None:
    assert severity("gpu-lost", facts, tables) == "warning"


def test_a_single_failed_cell_is_only_likely(tables: Tables) -> None:
    assert only("gpu-lost", healthy(gpus=(gpu("Tesla T4", "7.5", sick="ERR!"),)), tables).confidence == "likely"


def test_the_fabric_is_not_ready(tables: Tables) -> None:
    finding = only("fabric-manager-down", FABRIC, tables)
    assert str(finding.summary) == "the NVSwitch fabric is not ready: In Progress"
    assert values(finding) == {"driver.fabric": "In Progress", "driver.version": "580.95.05"}
    assert "sudo systemctl enable --now nvidia-fabricmanager" in commands(finding)
    assert finding.fixable_by == "admin"


def test_the_fabric_of_a_cloud_machine_is_its_providers(tables: Tables) -> None:
    facts = changed(FABRIC, place__virtual_machine="kvm", driver__version=Unknown("driver version"))
    finding = only("fabric-manager-down", facts, tables)
    assert finding.fixable_by == "provider"
    assert values(finding) == {"driver.fabric": "In Progress"}


@pytest.mark.parametrize("state", ["Completed", "completed", "N/A", None])
def test_a_fabric_that_is_ready_or_not_there(state: str | None, tables: Tables) -> None:
    assert found("fabric-manager-down", changed(FABRIC, driver__fabric=state), tables) == []
    assert found("fabric-manager-down", changed(FABRIC, torch__cuda_available=True), tables) == []


SKIPS = [
    ("driver-permission", {"driver__smi": Unknown("outcome of nvidia-smi")}),
    ("libcuda-not-found", {"driver__libcuda": Unknown("path of libcuda")}),
    ("gpu-lost", {"gpus": Unknown("GPUs of the host")}),
    ("gpu-lost", {"driver__smi": Unknown("outcome of nvidia-smi")}),
    ("fabric-manager-down", {"driver__fabric": Unknown("state of the NVSwitch fabric")}),
]


@pytest.mark.parametrize(("check_id", "changes"), SKIPS)
def test_unknown_facts_skip(check_id: str, changes: dict[str, object], tables: Tables) -> None:
    assert is_skipped(check_id, changed(healthy(), **changes), tables)


def test_a_required_gpu_makes_an_error_of_it(tables: Tables) -> None:
    facts = changed(NO_LIBCUDA, torch=torch("2.8.0+cpu"), driver__version=version("550.163.01"), gpus=(RTX_4090,))
    assert severity("libcuda-not-found", facts, tables) == "info"
    assert severity("libcuda-not-found", required(facts), tables) == "error"
