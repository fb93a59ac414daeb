from __future__ import annotations

import pytest
from driver_hosts import (
    MAC,
    NODES,
    RTX_4090,
    WINDOWS,
    changed,
    commands,
    driver,
    env,
    gpu,
    healthy,
    on_bus,
    required,
    torch,
    values,
    version,
    without_driver,
)
from one_check import found, is_skipped, only, severity

from torchdoctor.facts import Facts, Os, Place, Torch, Unknown, Variables
from torchdoctor.tables import Tables

RTX = on_bus("NVIDIA GeForce RTX 4090", "8.9")
K80 = on_bus("Tesla K80", "3.7")
GT_710 = on_bus("NVIDIA GeForce GT 710", "3.5", kernel_driver="nouveau")
MISSING = without_driver(RTX)
NOT_LOADED = changed(MISSING, driver__smi="no-driver")
P40 = gpu("Tesla P40", "6.1", driver_sees=False)
RTX_5090 = gpu("NVIDIA GeForce RTX 5090", "12.0", driver_sees=False)
DEBIAN = changed(healthy(), os__distribution="Debian GNU/Linux 12 (bookworm)").os


def test_a_gpu_without_a_driver(tables: Tables) -> None:
    finding = only("driver-missing", MISSING, tables)
    assert str(finding.summary) == "no NVIDIA driver is installed for NVIDIA GeForce RTX 4090"
    assert values(finding) == {"gpus": "NVIDIA GeForce RTX 4090", "driver.version": "none"}
    assert (finding.fixable_by, finding.confidence) == ("admin", "certain")
    assert commands(finding) == "sudo apt install nvidia-driver-580\nsudo reboot"
    assert finding.remedies[0].risk == "changes-system"


@pytest.mark.parametrize(
    ("card", "branch", "package"),
    [
        (K80, "470", "nvidia-driver-470"),
        (on_bus("Quadro P2000", "6.1"), "580", "nvidia-driver-580"),
        (on_bus("NVIDIA GeForce RTX 5090", "12.0"), "580", "nvidia-driver-580-open"),
    ],
)
def test_the_driver_that_fits_the_gpu(card: object, branch: str, package: str, tables: Tables) -> None:
    finding = only("driver-missing", changed(MISSING, gpus=(card,)), tables)
    assert finding.row
    assert finding.row.key == branch
    assert package in commands(finding)


def test_the_place_decides_how_a_driver_is_installed(tables: Tables) -> None:
    assert commands(only("driver-missing", changed(MISSING, os=DEBIAN), tables)) == ""
    windows = only("driver-missing", changed(MISSING, os=WINDOWS), tables)
    assert (windows.fixable_by, commands(windows)) == ("user", "nvidia-smi.exe")


def test_nouveau_is_named(tables: Tables) -> None:
    card = on_bus("NVIDIA GeForce RTX 3060", "8.6", kernel_driver="nouveau")
    finding = only("driver-missing", changed(MISSING, gpus=(card,)), tables)
    assert values(finding)["gpus[].kernel_driver"] == "nouveau"


def test_a_display_card_that_no_build_serves_needs_no_driver(tables: Tables) -> None:
    facts = without_driver(GT_710)
    assert severity("driver-missing", facts, tables) == "info"
    assert severity("driver-missing", required(facts), tables) == "error"
    unknown = on_bus("NVIDIA GeForce GT 730", "3.5", compute_capability=Unknown("compute capability"))
    assert severity("driver-missing", without_driver(unknown), tables) == "error"


def test_a_cpu_build_needs_no_driver(tables: Tables) -> None:
    assert severity("driver-missing", changed(MISSING, torch=torch("2.8.0+cpu")), tables) == "info"


def test_gpus_that_no_branch_drives_together(tables: Tables) -> None:
    facts = without_driver(K80, on_bus("NVIDIA GeForce RTX 5090", "12.0"))
    finding = only("driver-missing", facts, tables)
    assert (finding.remedies, finding.row) == ((), None)


def test_a_pasted_text_makes_it_likely(tables: Tables) -> None:
    pasted = changed(MISSING, driver__version=Unknown("driver"), driver__module_loaded=Unknown("module"))
    finding = only("driver-missing", pasted, tables)
    assert (finding.confidence, values(finding)["driver.smi"]) == ("likely", "not-found")


HAVE_OR_NEED_NO_DRIVER = [
    NOT_LOADED,
    changed(MISSING, driver__module_on_disk=version("550.163.01")),
    changed(MISSING, driver__library_version=version("550.163.01")),
    changed(MISSING, gpus=()),
    changed(MISSING, gpus=(on_bus("NVIDIA A100", "8.0", kernel_driver="vfio-pci"),)),
    changed(MISSING, gpus=(RTX_4090,)),
    changed(MISSING, gpus=(on_bus("NVIDIA A100", "8.0", driver_sees=True),)),
    changed(MISSING, driver__module_loaded=True),
    changed(MISSING, place__container="docker"),
    changed(MISSING, place__wsl=2),
    changed(MISSING, os=MAC),
    changed(MISSING, os__kernel="5.15.148-tegra"),
    changed(MISSING, torch__cuda_available=True),
    changed(MISSING, driver=driver(smi="not-found")),
]


@pytest.mark.parametrize("facts", HAVE_OR_NEED_NO_DRIVER)
def test_no_driver_is_missing(facts: Facts, tables: Tables) -> None:
    assert found("driver-missing", facts, tables) == []


def test_an_installed_driver_that_is_not_loaded(tables: Tables) -> None:
    finding = only("driver-not-loaded", NOT_LOADED, tables)
    assert values(finding) == {"driver.smi": "no-driver", "gpus": "NVIDIA GeForce RTX 4090"}
    assert "no nvidia module for the running kernel 6.8.0-60-generic" in str(finding.why)
    assert "sudo dkms autoinstall" in commands(finding)
    assert finding.confidence == "certain"


@pytest.mark.parametrize(
    ("changes", "words", "command"),
    [
        ({"driver__secure_boot": True}, "Secure Boot is on", "mokutil --import"),
        (
            {"gpus": (on_bus("RTX A4000", "8.6", kernel_driver="nouveau"),)},
            "The nouveau driver holds",
            "blacklist nouveau",
        ),
        (
            {"driver__module_on_disk": version("550.54.14")},
            "Loading it by hand shows the reason",
            "sudo modprobe nvidia",
        ),
    ],
)
def test_why_it_is_not_loaded(changes: dict[str, object], words: str, command: str, tables: Tables) -> None:
    finding = only("driver-not-loaded", changed(NOT_LOADED, **changes), tables)
    assert words in str(finding.why)
    assert command in commands(finding)


def test_a_pasted_text_without_a_list_of_gpus(tables: Tables) -> None:
    facts = changed(NOT_LOADED, gpus=Unknown("GPUs of the host"), driver__module_on_disk=Unknown("module"))
    assert only("driver-not-loaded", facts, tables).confidence == "likely"


@pytest.mark.parametrize(
    "facts",
    [
        MISSING,
        healthy(),
        changed(NOT_LOADED, gpus=()),
        changed(NOT_LOADED, place__container="docker", gpus=Unknown("GPUs")),
        changed(NOT_LOADED, place__wsl=2),
        changed(NOT_LOADED, torch__cuda_available=True, gpus=Unknown("GPUs")),
        changed(healthy(), gpus=Unknown("GPUs")),
    ],
)
def test_no_installed_driver_waits_to_be_loaded(facts: Facts, tables: Tables) -> None:
    assert found("driver-not-loaded", facts, tables) == []


@pytest.mark.parametrize(
    ("card", "flavour", "wanted"), [(P40, "open", "proprietary"), (RTX_5090, "proprietary", "open")]
)
def test_modules_of_the_wrong_flavour(card: object, flavour: str, wanted: str, tables: Tables) -> None:
    facts = changed(healthy(gpus=(card,), driver=driver("580.95.05", "13.0", flavour=flavour)))
    finding = only("driver-module-flavour", facts, tables)
    assert values(finding)["driver.flavour"] == flavour
    assert finding.row
    assert finding.row.key == "580"
    assert f"with the {wanted} kernel modules" in str(finding.remedies[0].text)
    assert severity("driver-module-flavour", facts, tables) == "error"
    mixed = changed(facts, gpus=(card, RTX_4090))
    assert severity("driver-module-flavour", mixed, tables) == "warning"


R580_OPEN = changed(healthy(gpus=(P40,)), driver=driver("580.95.05", "13.0"))


@pytest.mark.parametrize(
    "facts",
    [
        changed(R580_OPEN, gpus=(RTX_4090,)),
        changed(R580_OPEN, gpus=(gpu("Tesla P40", "6.1"),)),
        changed(R580_OPEN, gpus=(gpu("Tesla P40", "6.1", driver_sees=False, compute_capability=None),)),
        changed(R580_OPEN, gpus=(gpu("Tesla K80", "3.7", driver_sees=False),)),
        changed(R580_OPEN, driver__version=version("999.10")),
        changed(R580_OPEN, driver__version=None),
        changed(R580_OPEN, driver__flavour=None),
        changed(R580_OPEN, place__container="docker"),
        changed(R580_OPEN, torch__cuda_available=True),
    ],
)
def test_modules_that_fit_or_say_nothing(facts: Facts, tables: Tables) -> None:
    assert found("driver-module-flavour", facts, tables) == []


def test_a_gpu_that_does_not_start(tables: Tables) -> None:
    facts = changed(healthy(gpus=(gpu("NVIDIA RTX A5000", "8.6", driver_sees=False),)), driver__smi="no-devices")
    finding = only("gpu-init-failed", facts, tables)
    assert str(finding.summary) == "the driver is loaded and failed to initialise NVIDIA RTX A5000"
    assert values(finding)["gpus[].driver_sees"] == "no"
    assert "dmesg" in commands(finding)
    assert finding.fixable_by == "admin"
    assert only("gpu-init-failed", changed(facts, place__virtual_machine="kvm"), tables).fixable_by == "provider"


def test_nvidia_smi_alone_may_tell(tables: Tables) -> None:
    facts = changed(healthy(), gpus=Unknown("GPUs of the host"), driver__smi="no-devices")
    finding = only("gpu-init-failed", facts, tables)
    assert str(finding.summary) == "the driver is loaded and failed to initialise the GPU"
    assert values(finding) == {"driver.smi": "no-devices"}


NO_SUPPORTED = changed(healthy(), gpus=(), driver__smi="no-supported-gpus", driver__version=Unknown("driver"))


@pytest.mark.parametrize(
    ("facts", "confidence"),
    [
        (NO_SUPPORTED, "possible"),
        (changed(NO_SUPPORTED, gpus=Unknown("list of GPUs")), "possible"),
        (changed(NO_SUPPORTED, gpus=(gpu("RTX A5000", "8.6", driver_sees=False, kernel_driver="nouveau"),)), "likely"),
    ],
)
def test_no_gpu_is_bound_to_the_driver(facts: Facts, confidence: str, tables: Tables) -> None:
    finding = only("gpu-init-failed", facts, tables)
    assert (str(finding.summary), finding.confidence) == ("the driver is loaded and no GPU is bound to it", confidence)
    assert values(finding)["driver.smi"] == "no-supported-gpus"
    assert "lspci -nnk -d 10de:" in commands(finding)
    assert finding.fixable_by == "admin"


@pytest.mark.parametrize("outcome", ["no-devices", "no-supported-gpus"])
@pytest.mark.parametrize(
    "changes",
    [
        {"torch__cuda_available": True},
        {"place__container": "docker"},
        {"gpus": (), "sources": {"gpus": "/sys/bus/pci"}},
    ],
    ids=["torch sees one", "a container", "the bus was read and is empty"],
)
def test_no_gpu_that_could_have_started(outcome: str, changes: dict[str, object], tables: Tables) -> None:
    assert found("gpu-init-failed", changed(NO_SUPPORTED, driver__smi=outcome, **changes), tables) == []


def test_a_gpu_of_the_driver_that_is_not_listed_has_failed(tables: Tables) -> None:
    facts = changed(NO_SUPPORTED, gpus=(gpu("NVIDIA RTX A5000", "8.6", driver_sees=False),))
    assert "failed to initialise NVIDIA RTX A5000" in str(only("gpu-init-failed", facts, tables).summary)


NO_NVML = changed(
    healthy(), gpus=Unknown("list of GPUs"), driver__smi="no-nvml", driver__version=Unknown("driver"), torch=Torch()
)
PASTED = changed(NO_NVML, place=Place(), os=Os())


def test_an_nvidia_smi_without_its_library(tables: Tables) -> None:
    finding = only("driver-missing", PASTED, tables)
    assert (finding.confidence, finding.severity) == ("possible", None)
    assert values(finding) == {"driver.smi": "no-nvml"}
    assert "started without GPUs" in str(finding.why)
    assert "docker run --gpus all" in commands(finding)
    assert finding.remedies[1].risk == "changes-system"
    on_host = only("driver-missing", NO_NVML, tables)
    assert (on_host.confidence, commands(on_host)) == ("likely", "")
    assert "container" not in str(on_host.why)


@pytest.mark.parametrize(
    "changes",
    [
        {"torch__cuda_available": True},
        {"place__container": "docker"},
        {"place__wsl": 2},
        {"driver__version": version("580.95.05")},
    ],
    ids=["torch sees a GPU", "a container", "WSL", "the driver is loaded"],
)
def test_no_library_is_missed(changes: dict[str, object], tables: Tables) -> None:
    assert found("driver-missing", changed(PASTED, **changes), tables) == []


def test_one_of_several_is_a_warning(tables: Tables) -> None:
    facts = healthy(gpus=(RTX_4090, gpu("NVIDIA RTX A5000", "8.6", driver_sees=False)))
    assert severity("gpu-init-failed", facts, tables) == "warning"


@pytest.mark.parametrize(
    "changes",
    [
        {"place__container": "docker"},
        {"place__scheduler": "slurm", "env": env(SLURM_JOB_ID="1")},
        {"place__scheduler": "slurm", "env": Variables()},
        {"place__sandbox": "snap"},
        {"torch__cuda_available": True},
        {"driver__smi": "ok"},
    ],
)
def test_others_hide_gpus_too(changes: dict[str, object], tables: Tables) -> None:
    facts = changed(healthy(), driver__smi="no-devices")
    assert found("gpu-init-failed", changed(facts, **changes), tables) == []


def test_a_node_outside_of_any_job_hides_nothing(tables: Tables) -> None:
    assert found("gpu-init-failed", changed(healthy(), driver__smi="no-devices", place__scheduler="slurm"), tables)


NO_UVM = tuple(node for node in NODES if "uvm" not in node)
UVM = changed(healthy(), driver__uvm_loaded=False, driver__device_nodes=NO_UVM, torch__cuda_available=False)


def test_nvidia_uvm_is_missing_and_cuda_fails(tables: Tables) -> None:
    finding = only("uvm-not-loaded", UVM, tables)
    assert values(finding) == {"driver.uvm_loaded": "no"}
    assert "sudo nvidia-modprobe -u -c 0" in commands(finding)


@pytest.mark.parametrize("loaded", [True, Unknown("state of the nvidia-uvm module")])
def test_a_container_without_the_node(loaded: object, tables: Tables) -> None:
    facts = changed(UVM, driver__uvm_loaded=loaded, place__container="docker", torch__cuda_available=Unknown("x"))
    finding = only("uvm-not-loaded", facts, tables)
    assert values(finding) == {"driver.device_nodes": " ".join(NO_UVM)}
    assert finding.remedies[1].commands == ("docker run --gpus all IMAGE ls /dev/nvidia-uvm",)


def test_before_the_first_cuda_program_it_is_not_loaded_yet(tables: Tables) -> None:
    assert is_skipped("uvm-not-loaded", changed(UVM, torch__cuda_available=Unknown("torch's answer")), tables)


@pytest.mark.parametrize(
    "changes",
    [
        {"torch__cuda_available": True},
        {"driver__uvm_loaded": True, "driver__device_nodes": NODES},
        {"driver__uvm_loaded": True, "driver__device_nodes": ("/dev/dxg",)},
        {"driver": without_driver().driver},
        {"place__container": "docker", "driver__device_nodes": ()},
        {"driver__device_nodes": ("/dev/nvidia0", "/dev/nvidia-uvm"), "driver__uvm_loaded": True},
        {"place__wsl": 2},
        {"place__jetpack": "6.2"},
    ],
)
def test_nvidia_uvm_is_not_missing(changes: dict[str, object], tables: Tables) -> None:
    assert found("uvm-not-loaded", changed(UVM, **changes), tables) == []


SKIPS = [
    ("driver-missing", {"gpus": Unknown("GPUs of the host")}),
    (
        "driver-missing",
        {"gpus": (RTX,), "driver": driver(version=Unknown("v"), module_loaded=Unknown("m"), smi="timed-out")},
    ),
    ("driver-module-flavour", {"driver__flavour": Unknown("kind of kernel module")}),
    ("driver-module-flavour", {"driver__version": Unknown("driver version")}),
    ("driver-not-loaded", {"gpus": Unknown("GPUs"), "driver": driver(smi=Unknown("nvidia-smi"))}),
    ("gpu-init-failed", {"driver__smi": Unknown("nvidia-smi")}),
    ("uvm-not-loaded", {"driver__device_nodes": Unknown("nodes")}),
]


@pytest.mark.parametrize(("check_id", "changes"), SKIPS)
def test_unknown_facts_skip(check_id: str, changes: dict[str, object], tables: Tables) -> None:
    assert is_skipped(check_id, changed(healthy(), **changes), tables)
