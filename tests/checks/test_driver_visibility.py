from __future__ import annotations

import pytest
from driver_hosts import (
    H100,
    IDS,
    INTEL,
    MAC,
    RADEON,
    RTX_4090,
    WINDOWS,
    changed,
    commands,
    env,
    gpu,
    healthy,
    on_bus,
    required,
    torch,
    values,
    without_driver,
)
from one_check import found, is_skipped, only, severity

from torchdoctor.facts import Driver, Facts, Gpu, Place, Unknown, Variables
from torchdoctor.tables import Tables
from torchdoctor.values import visible_count

H100_ON_BUS = on_bus("NVIDIA H100 80GB HBM3", "9.0")
SLURM_JOB = changed(
    healthy(gpus=(on_bus("NVIDIA H100 80GB HBM3", "9.0", kernel_driver="nvidia", driver_sees=False),)),
    place__scheduler="slurm",
    driver__smi="no-devices",
    driver__device_access=False,
    env=env(SLURM_JOB_ID="4711"),
)
LOGIN_NODE = changed(without_driver(), place__scheduler="slurm")
IMAGE_BUILD = changed(without_driver(H100_ON_BUS), place__container="docker", place__image_build=True)
CONTAINER = changed(without_driver(H100_ON_BUS), place__container="docker", driver__module_loaded=True)
FLATPAK = changed(without_driver(RTX_4090), place__sandbox="flatpak")
CPU_ONLY = changed(without_driver(), torch=torch("2.8.0+cpu"))


@pytest.mark.parametrize("check_id", IDS)
def test_a_healthy_host_has_none_of_them(check_id: str, tables: Tables) -> None:
    assert found(check_id, healthy(), tables) == []


@pytest.mark.parametrize("check_id", IDS)
def test_a_cpu_host_has_none_of_them(check_id: str, tables: Tables) -> None:
    assert found(check_id, CPU_ONLY, tables) == []


@pytest.mark.parametrize("check_id", IDS)
def test_where_torch_sees_a_gpu_the_driver_family_is_silent(check_id: str, tables: Tables) -> None:
    for facts in (SLURM_JOB, LOGIN_NODE, IMAGE_BUILD, CONTAINER, FLATPAK):
        assert found(check_id, changed(facts, torch__cuda_available=True), tables) == []


def test_a_job_without_a_gpu(tables: Tables) -> None:
    finding = only("scheduler-no-gpu", SLURM_JOB, tables)
    assert str(finding.summary) == "slurm has allocated no GPU to this job"
    assert values(finding) == {"place.scheduler": "slurm", "gpus": H100.name, "driver.smi": "no-devices"}
    assert (commands(finding), finding.confidence) == ("srun --gpus=1 nvidia-smi -L", "certain")


SIGNS = [
    ({"driver__smi": "ok"}, "driver.device_access"),
    ({"driver__smi": "ok", "driver__device_access": None}, "gpus[].driver_sees"),
    ({"driver__smi": "ok", "driver__device_access": None, "gpus": (H100,)}, "env.CUDA_VISIBLE_DEVICES"),
    ({"driver__smi": "ok", "driver__device_access": None, "gpus": (H100,), "env": env(SLURM_JOB_ID="1")}, None),
]


@pytest.mark.parametrize(("changes", "sign"), SIGNS)
def test_what_shows_that_a_gpu_is_withheld(changes: dict[str, object], sign: str | None, tables: Tables) -> None:
    facts = changed(SLURM_JOB, env=env(SLURM_JOB_ID="1", CUDA_VISIBLE_DEVICES="NoDevFiles"))
    findings = found("scheduler-no-gpu", changed(facts, **changes), tables)
    assert [sign in values(finding) for finding in findings] == ([True] if sign else [])


def test_missing_device_nodes_show_it_too(tables: Tables) -> None:
    facts = changed(SLURM_JOB, driver__smi="ok", driver__device_access=None, gpus=(H100,), driver__device_nodes=())
    assert values(only("scheduler-no-gpu", facts, tables))["driver.device_nodes"] == "none of a GPU"


@pytest.mark.parametrize(
    "facts",
    [
        changed(SLURM_JOB, env=env(SLURM_JOB_ID="1", SLURM_JOB_GPUS="0")),
        changed(SLURM_JOB, env=env(SLURM_JOB_ID="1", SLURM_GPUS_ON_NODE="2")),
        changed(SLURM_JOB, env=env()),
        changed(SLURM_JOB, gpus=()),
        changed(SLURM_JOB, place__scheduler=None),
    ],
    ids=["allocated", "counted", "no job", "no GPU node", "no scheduler"],
)
def test_a_scheduler_that_is_not_the_reason(facts: Facts, tables: Tables) -> None:
    assert found("scheduler-no-gpu", facts, tables) == []


@pytest.mark.parametrize(("scheduler", "job"), [("pbs", "PBS_JOBID"), ("lsf", "LSB_JOBID"), ("flux", "SLURM_JOB_ID")])
def test_other_schedulers(scheduler: str, job: str, tables: Tables) -> None:
    facts = changed(SLURM_JOB, place__scheduler=scheduler, env=Variables({job: "1"}))
    finding = only("scheduler-no-gpu", facts, tables)
    assert finding.confidence == "likely"
    assert commands(finding)


UNASKED = Facts(
    torch=torch("2.0.1+cu117", cuda_available=False),
    place=Place(scheduler="slurm", job_asks_gpu=False),
    driver=Driver(smi="no-driver"),
)


@pytest.mark.parametrize("smi", ["no-driver", "no-devices", "not-found"])
def test_a_job_that_asked_for_no_gpu(smi: str, tables: Tables) -> None:
    finding = only("scheduler-no-gpu", changed(UNASKED, driver__smi=smi), tables)
    assert values(finding) == {"place.scheduler": "slurm", "place.job_asks_gpu": "no", "driver.smi": smi}
    assert (commands(finding), finding.confidence) == ("srun --gpus=1 nvidia-smi -L", "likely")


def test_torch_alone_shows_that_no_gpu_was_asked_for(tables: Tables) -> None:
    finding = only("scheduler-no-gpu", changed(UNASKED, driver=Driver()), tables)
    assert values(finding)["torch.cuda_available"] == "no"


@pytest.mark.parametrize(
    "facts",
    [
        changed(UNASKED, place__job_asks_gpu=True, env=Variables({"SLURM_JOB_ID": "1"}), gpus=(H100,)),
        changed(UNASKED, env=Variables({"SLURM_JOB_GPUS": "0"})),
        changed(UNASKED, driver__smi="ok", torch__cuda_available=True),
        changed(UNASKED, driver__smi="ok", torch=torch("2.8.0+cpu")),
    ],
    ids=["asked for and driver fails", "allocated", "torch sees it", "CPU build"],
)
def test_a_job_whose_request_is_not_the_reason(facts: Facts, tables: Tables) -> None:
    assert found("scheduler-no-gpu", facts, tables) == []


def test_a_sandbox(tables: Tables) -> None:
    finding = only("sandbox-hides-gpu", FLATPAK, tables)
    assert values(finding)["place.sandbox"] == "flatpak"
    assert "flatpak override" in commands(finding)
    assert commands(only("sandbox-hides-gpu", changed(FLATPAK, place__sandbox="seatbelt"), tables)) == ""
    opened = changed(FLATPAK, driver=healthy().driver)
    assert found("sandbox-hides-gpu", opened, tables) == []
    assert found("sandbox-hides-gpu", changed(FLATPAK, gpus=()), tables) == []


@pytest.mark.parametrize(
    ("mask", "count", "left"),
    [
        ("0", 1, 1),
        ("0,1", 2, 2),
        ("1", 1, 0),
        ("", 4, 0),
        ("-1", 4, 0),
        ("0,7,1", 2, 1),
        (" 1 , 0 ", 2, 2),
        ("0,0", 2, 0),
        ("none", 2, 0),
        ("GPU-1,GPU-2", 2, 2),
        ("MIG-3", 1, 1),
    ],
)
def test_how_cuda_reads_its_list(mask: str, count: int, left: int) -> None:
    assert visible_count(mask, count) == left


@pytest.mark.parametrize(
    ("mask", "loud", "loud_if_required"),
    [("1", "error", "error"), ("", "warning", "error"), ("-1", "warning", "error")],
)
def test_a_list_that_hides_every_gpu(mask: str, loud: str, loud_if_required: str, tables: Tables) -> None:
    facts = changed(healthy(), env=env(CUDA_VISIBLE_DEVICES=mask))
    finding = only("gpu-hidden", facts, tables)
    assert str(finding.summary) == f"CUDA_VISIBLE_DEVICES='{mask}' hides every GPU"
    assert values(finding) == {"env.CUDA_VISIBLE_DEVICES": mask, "gpus": RTX_4090.name}
    assert "unset CUDA_VISIBLE_DEVICES" in commands(finding)
    assert severity("gpu-hidden", facts, tables) == loud
    assert severity("gpu-hidden", required(facts), tables) == loud_if_required


@pytest.mark.parametrize(
    "facts",
    [
        changed(healthy(), env=env(CUDA_VISIBLE_DEVICES="0")),
        changed(healthy(gpus=()), env=env(CUDA_VISIBLE_DEVICES="-1")),
        changed(healthy(gpus=(INTEL,)), env=env(CUDA_VISIBLE_DEVICES="-1")),
        changed(healthy(), env=env(NVIDIA_VISIBLE_DEVICES="void")),
        changed(healthy(), env=env(NVIDIA_VISIBLE_DEVICES="none")),
    ],
    ids=["shown", "no GPU", "no NVIDIA GPU", "void with nodes", "none with nodes"],
)
def test_lists_that_hide_nothing(facts: Facts, tables: Tables) -> None:
    assert found("gpu-hidden", facts, tables) == []


def test_a_cpu_build_that_hides_its_gpus_is_only_noted(tables: Tables) -> None:
    facts = changed(healthy(torch=torch("2.8.0+cpu")), env=env(CUDA_VISIBLE_DEVICES="7"))
    assert severity("gpu-hidden", facts, tables) == "info"


def test_an_empty_list_in_a_pasted_text_may_be_none_at_all(tables: Tables) -> None:
    assert is_skipped("gpu-hidden", changed(healthy(), env=Variables({"CUDA_VISIBLE_DEVICES": ""})), tables)


def test_the_container_runtime_was_told_to_bring_none(tables: Tables) -> None:
    facts = changed(CONTAINER, env=env(NVIDIA_VISIBLE_DEVICES="none"))
    assert values(only("gpu-hidden", facts, tables))["env.NVIDIA_VISIBLE_DEVICES"] == "none"
    assert severity("gpu-hidden", facts, tables) == "warning"


def test_mig_without_an_instance(tables: Tables) -> None:
    empty = gpu("NVIDIA A100-SXM4-40GB", "8.0", mig="enabled-without-instance")
    facts = healthy(gpus=(empty,))
    assert values(only("gpu-hidden", facts, tables)) == {"gpus[].mig": "enabled-without-instance"}
    assert severity("gpu-hidden", facts, tables) == "error"
    assert severity("gpu-hidden", healthy(gpus=(empty, H100)), tables) == "warning"
    assert found("gpu-hidden", healthy(gpus=(gpu("NVIDIA A100", "8.0", mig="enabled"),)), tables) == []


@pytest.mark.parametrize(
    ("facts", "words", "command"),
    [
        (IMAGE_BUILD, "an image build has no GPU", "docker run --gpus all IMAGE nvidia-smi -L"),
        (changed(IMAGE_BUILD, gpus=()), "an image build has no GPU", "docker run --gpus all IMAGE nvidia-smi -L"),
        (LOGIN_NODE, "slurm login nodes have no GPU", "srun --gpus=1 nvidia-smi -L"),
        (changed(LOGIN_NODE, gpus=(INTEL,)), "slurm login nodes have no GPU", "srun --gpus=1 nvidia-smi -L"),
    ],
)
def test_places_without_a_gpu_by_design(facts: Facts, words: str, command: str, tables: Tables) -> None:
    finding = only("build-step-no-gpu", facts, tables)
    assert (str(finding.summary), commands(finding)) == (words, command)
    assert severity("build-step-no-gpu", facts, tables) == "warning"
    assert severity("build-step-no-gpu", required(facts), tables) == "error"


@pytest.mark.parametrize(
    "facts",
    [
        changed(IMAGE_BUILD, torch=torch("2.8.0+cpu")),
        changed(healthy(), place__image_build=True),
        changed(LOGIN_NODE, env=env(SLURM_JOB_ID="1")),
        changed(LOGIN_NODE, gpus=(RADEON,)),
        changed(LOGIN_NODE, torch=torch(None)),
    ],
    ids=["CPU build", "has a GPU", "in a job", "Radeon", "no torch"],
)
def test_places_that_are_no_build_step(facts: Facts, tables: Tables) -> None:
    assert found("build-step-no-gpu", facts, tables) == []


@pytest.mark.parametrize(
    ("kind", "command"),
    [
        ("docker", "docker run --gpus all"),
        ("podman", "podman run --device nvidia.com/gpu=all"),
        ("kubernetes", "kubectl describe nodes"),
        ("apptainer", "apptainer exec --nv"),
        ("lxc", "lxc config device add"),
        ("container", "docker run --gpus all"),
    ],
)
def test_a_container_without_its_gpu(kind: str, command: str, tables: Tables) -> None:
    facts = changed(CONTAINER, place__container=kind)
    finding = only("container-without-gpu", facts, tables)
    assert str(finding.summary) == f"this {kind} container has no access to the GPU"
    assert command in commands(finding)
    assert values(finding)["driver.device_nodes"] == "none of a GPU"
    assert "apt" not in commands(finding)
    assert severity("container-without-gpu", facts, tables) == "error"


def test_a_container_on_a_host_whose_gpu_is_known_by_its_driver_alone(tables: Tables) -> None:
    finding = only("container-without-gpu", changed(CONTAINER, gpus=()), tables)
    assert finding.confidence == "likely"
    unlisted = changed(CONTAINER, gpus=Unknown("GPUs of the host"))
    assert only("container-without-gpu", unlisted, tables).confidence == "likely"


@pytest.mark.parametrize("outcome", ["no-devices", "no-driver", "no-nvml"])
def test_nvidia_smi_of_the_container_reaches_nothing(outcome: str, tables: Tables) -> None:
    pasted = changed(CONTAINER, driver__device_nodes=Unknown("nodes"), gpus=Unknown("GPUs"), driver__smi=outcome)
    finding = only("container-without-gpu", pasted, tables)
    assert (values(finding)["driver.smi"], finding.confidence) == (outcome, "likely")
    assert found("container-without-gpu", changed(pasted, driver__device_nodes=("/dev/nvidia0",)), tables) == []


@pytest.mark.parametrize(
    "facts",
    [
        changed(healthy(), place__container="docker"),
        changed(CONTAINER, gpus=Unknown("GPUs"), driver__module_loaded=False),
        changed(without_driver(), place__container="docker"),
        changed(CONTAINER, place__wsl=2),
        changed(CONTAINER, place__l4t="36.4.3"),
        IMAGE_BUILD,
    ],
    ids=["with GPU", "no driver on the host", "host without GPU", "WSL", "Jetson", "image build"],
)
def test_containers_that_lack_nothing(facts: Facts, tables: Tables) -> None:
    assert found("container-without-gpu", facts, tables) == []


def test_a_cpu_image_on_a_gpu_host_is_only_noted(tables: Tables) -> None:
    facts = changed(CONTAINER, torch=torch("2.8.0+cpu"))
    assert severity("container-without-gpu", facts, tables) == "info"
    assert severity("container-without-gpu", required(facts), tables) == "error"


NO_GPU = without_driver()
PLACES = [
    (NO_GPU, "lspci -nn"),
    (changed(NO_GPU, os=WINDOWS), "pnputil /enum-devices /class Display"),
    (changed(NO_GPU, os=MAC), "system_profiler SPDisplaysDataType"),
    (changed(NO_GPU, place__virtual_machine="kvm"), "lspci -nn"),
    (changed(NO_GPU, place__wsl=2), "nvidia-smi.exe -L"),
    (changed(NO_GPU, place__container="docker"), "docker run --gpus all IMAGE nvidia-smi -L"),
    (changed(NO_GPU, place__image_build=True, place__container="docker"), "docker run --gpus all IMAGE nvidia-smi -L"),
    (changed(NO_GPU, place__scheduler="slurm"), "srun --gpus=1 nvidia-smi -L"),
]


@pytest.mark.parametrize(("facts", "command"), PLACES)
def test_no_gpu_names_the_command_of_its_place(facts: Facts, command: str, tables: Tables) -> None:
    finding = only("no-gpu", facts, tables)
    assert commands(finding) == command
    assert values(finding) == {"gpus": "none"}
    assert severity("no-gpu", facts, tables) == "info"
    assert severity("no-gpu", required(facts), tables) == "error"


def test_no_gpu_is_broken_only_where_one_is_required(tables: Tables) -> None:
    assert "Nothing is broken" in str(only("no-gpu", NO_GPU, tables).why)
    finding = only("no-gpu", required(NO_GPU), tables)
    assert "Nothing is broken" not in str(finding.why)
    assert str(finding.why).startswith("A GPU is required here")
    assert values(finding)["request.require_gpu"] == "yes"


def test_no_gpu_is_less_sure_where_the_bus_may_be_hidden(tables: Tables) -> None:
    assert only("no-gpu", NO_GPU, tables).confidence == "certain"
    assert only("no-gpu", changed(NO_GPU, place__wsl=2), tables).confidence == "likely"


@pytest.mark.parametrize(
    "facts",
    [
        CPU_ONLY,
        changed(NO_GPU, torch=torch(None)),
        healthy(),
        healthy(gpus=(RADEON,)),
        healthy(gpus=(INTEL,), torch=torch("2.8.0+xpu")),
    ],
    ids=["CPU build", "no torch", "NVIDIA", "AMD", "Intel with XPU"],
)
def test_hosts_on_which_no_gpu_is_nothing_to_say(facts: Facts, tables: Tables) -> None:
    assert found("no-gpu", facts, tables) == []


def test_a_required_gpu_is_missed_whatever_is_installed(tables: Tables) -> None:
    for build in (torch("2.8.0+cpu"), torch(None)):
        assert severity("no-gpu", required(changed(NO_GPU, torch=build)), tables) == "error"
    intel = required(healthy(gpus=(INTEL, Gpu(vendor="intel", name=None)), torch=torch("2.8.0+cpu")))
    assert values(only("no-gpu", intel, tables))["gpus"] == "Intel UHD Graphics 770, intel GPU"


SKIPS = [
    ("scheduler-no-gpu", {"place__scheduler": Unknown("job scheduler")}),
    ("scheduler-no-gpu", {"place__scheduler": "slurm", "env": Variables()}),
    ("sandbox-hides-gpu", {"place__sandbox": Unknown("sandbox")}),
    ("gpu-hidden", {"gpus": Unknown("GPUs of the host")}),
    ("gpu-hidden", {"env": Variables()}),
    ("build-step-no-gpu", {"place__image_build": Unknown("image build state")}),
    ("build-step-no-gpu", {"place__scheduler": Unknown("job scheduler")}),
    ("container-without-gpu", {"place__container": Unknown("container kind")}),
    ("container-without-gpu", {"place__container": "docker", "driver__device_nodes": Unknown("device nodes")}),
    ("no-gpu", {"gpus": Unknown("GPUs of the host")}),
    ("no-gpu", {"gpus": (Gpu(),)}),
]


@pytest.mark.parametrize(("check_id", "changes"), SKIPS)
def test_unknown_facts_skip(check_id: str, changes: dict[str, object], tables: Tables) -> None:
    assert is_skipped(check_id, changed(healthy(), **changes), tables)
