"""Whether this process may use the driver, finds its library, and finds its GPUs in order."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.checks.drivers import (
    gpu_nodes,
    gpu_seen,
    is_jetson,
    labels,
    nvidia_gpus,
    severity,
    torch_sees_gpu,
)
from torchdoctor.checks.places import give_container_gpu, in_container
from torchdoctor.checks.registry import check, seen
from torchdoctor.facts import Facts, is_known, known, need, value_or
from torchdoctor.findings import Confidence, Evidence, Finding, Fixer, Remedy, Text, setting
from torchdoctor.tables import Tables

FABRIC_READY = frozenset({"completed", "n/a", "not supported", ""})
ERROR_CELL = "ERR!"  # one query failed; torch may still work


@check("driver-permission", severity="error", after=("scheduler-no-gpu", "sandbox-hides-gpu", "wsl-driver"))
def driver_permission(facts: Facts, _tables: Tables) -> Iterator[Finding]:
    """Permissions of /dev/nvidia*, or a device cgroup, deny access to the GPU."""
    if torch_sees_gpu(facts) or value_or(facts.place.wsl, 0):
        return
    sign, confidence = _denied(facts)
    if sign is None:
        return
    kind = value_or(facts.place.container, "")
    in_part = value_or(facts.driver.smi, "") == "ok"  # nvidia-smi reaches a GPU, so not every device is closed
    yield Finding(
        summary=Text("access to the NVIDIA devices is denied"),
        why=_why_denied(facts),
        evidence=(sign, *([seen(facts, "place.container", kind)] if kind else [])),
        remedies=_open_access(facts),
        fixable_by="admin",
        severity=severity(facts) or ("warning" if in_part else None),
        confidence=confidence,
    )


@check(
    "libcuda-not-found",
    severity="error",
    parent="container-without-gpu",
    after=("container-without-gpu", "driver-missing", "driver-not-loaded", "driver-library-mismatch", "wsl-driver"),
)
def libcuda_not_found(facts: Facts, tables: Tables) -> Iterator[Finding]:
    """The GPU's device nodes are there and the loader does not find libcuda."""
    if (
        torch_sees_gpu(facts)
        or value_or(facts.place.wsl, 0)
        or value_or(facts.os.name, "linux") != "linux"
        or is_jetson(facts, tables)
    ):
        return
    sign = _no_libcuda(facts)
    if sign is None or not _has_device(facts):
        return
    capabilities = value_or(facts.env.get("NVIDIA_DRIVER_CAPABILITIES"), None)
    limited = capabilities is not None and not {"all", "compute"} & set(capabilities.split(","))
    yield Finding(
        summary=Text("the GPU is there and the loader does not find libcuda"),
        why=Text(
            "torch reports 'Found no NVIDIA driver' when libcuda.so.1, the driver's own library, cannot be loaded. It "
            "is no part of torch or of the CUDA toolkit: the driver's packages or the container runtime bring it, at "
            "times to a folder outside the loader's path."
        ),
        evidence=(sign, *([seen(facts, "env.NVIDIA_DRIVER_CAPABILITIES", capabilities)] if limited else [])),
        remedies=_bring_libcuda(facts, limited=limited),
        fixable_by="user" if value_or(facts.place.container, "") else "admin",
        severity=severity(facts),
    )


@check("gpu-lost", severity="error", after=("driver-module-flavour", "driver-dropped-gpu"))
def gpu_lost(facts: Facts, _tables: Tables) -> Iterator[Finding]:
    """A GPU fell off the bus or needs a reset."""
    gpus = nvidia_gpus(facts) if is_known(facts.gpus) else ()
    sick = [gpu for gpu in gpus if value_or(gpu.sick, "")]
    is_lost = value_or(facts.driver.smi, "") == "gpu-lost"
    if not sick and not is_lost:
        known(facts.gpus)
        known(facts.driver.smi)
        return
    others_work = torch_sees_gpu(facts) or (bool(sick) and len(sick) < len(gpus))
    yield Finding(
        summary=Text("{gpus} does not answer its driver", gpus=labels(sick) or "a GPU"),
        why=Text(
            "The driver reached this GPU before and no longer does: an error of the hardware, its power supply, its "
            "slot or its firmware. Programs and wheels are not the cause; the Xid number in the kernel log names the "
            "kind."
        ),
        evidence=(gpu_seen(facts, sick[0], "sick") if sick else seen(facts, "driver.smi", facts.driver.smi),),
        remedies=(
            Remedy(Text("Read the Xid number"), ("sudo dmesg | grep -i xid",)),
            Remedy(
                Text("Reset the GPU when nothing uses it; restart the machine if that fails"),
                ("sudo nvidia-smi --gpu-reset",),
                risk="changes-system",
            ),
        ),
        fixable_by=_owner_of_hardware(facts),
        severity="warning" if others_work else severity(facts),
        confidence="likely" if sick and all(value_or(gpu.sick, "") == ERROR_CELL for gpu in sick) else "certain",
    )


@check("fabric-manager-down", severity="error")
def fabric_manager_down(facts: Facts, _tables: Tables) -> Iterator[Finding]:
    """The NVSwitch fabric is not set up, so CUDA refuses to start (error 802)."""
    state = need(facts.driver.fabric)
    if torch_sees_gpu(facts) or state.strip().lower() in FABRIC_READY:
        return
    driver = value_or(facts.driver.version, None)
    yield Finding(
        summary=Text("the NVSwitch fabric is not ready: {state}", state=state),
        why=Text(
            "On machines with NVSwitch CUDA starts only after nvidia-fabricmanager has set up the links, and that "
            "service accepts only a driver of exactly its own version{driver}. nvidia-smi lists the GPUs all the "
            "same; neither torch nor the age of the driver matters.",
            driver=f" ({driver})" if driver else "",
        ),
        evidence=(seen(facts, "driver.fabric", state), *([seen(facts, "driver.version", driver)] if driver else [])),
        remedies=(
            Remedy(
                Text("Read why the service is not running"),
                ("systemctl status nvidia-fabricmanager", "sudo journalctl -u nvidia-fabricmanager"),
            ),
            Remedy(
                Text("Install nvidia-fabricmanager of exactly the driver's version and start it"),
                ("sudo systemctl enable --now nvidia-fabricmanager",),
                risk="changes-system",
            ),
        ),
        fixable_by="provider" if value_or(facts.place.virtual_machine, "") else "admin",
        severity=severity(facts),
    )


def _denied(facts: Facts) -> tuple[Evidence | None, Confidence]:
    smi = value_or(facts.driver.smi, "")
    if smi == "permission":
        return seen(facts, "driver.smi", smi), "certain"
    if facts.driver.device_access is False:
        return seen(facts, "driver.device_access", facts.driver.device_access), "certain"
    if smi == "unknown-error":
        return seen(facts, "driver.smi", smi), "likely" if value_or(facts.place.container, "") else "possible"
    if smi == "blocked" and facts.place.wsl is None:
        return seen(facts, "driver.smi", smi), "likely"
    known(facts.driver.smi)
    return None, "certain"


def _why_denied(facts: Facts) -> Text:
    if value_or(facts.driver.smi, "") in {"unknown-error", "blocked"}:
        return Text(
            "The device nodes are there and the kernel refuses them. In containers this follows a 'systemctl "
            "daemon-reload' on the host, which rewrites the device rules of running containers. The host's driver and "
            "the torch build are in order."
        )
    return Text(
        "The device nodes belong to a user or group that this process is not in; in a rootless container the groups "
        "of the host are lost. Driver and torch build are in order."
    )


def _open_access(facts: Facts) -> tuple[Remedy, ...]:
    kind = value_or(facts.place.container, "")
    if kind == "podman":
        command = "podman run --device nvidia.com/gpu=all --group-add keep-groups IMAGE nvidia-smi -L"
        return (
            Remedy(Text("Keep the host's groups (needs crun); with SELinux allow devices in containers"), (command,)),
        )
    if kind or value_or(facts.driver.smi, "") == "unknown-error":
        keep = "sudo nvidia-ctk system create-dev-char-symlinks --create-all"
        return (
            Remedy(Text("If this is a container, create it anew: the lost access does not come back")),
            Remedy(Text("Prevent it on the host with CDI or device links"), (keep,), risk="changes-system"),
        )
    return (
        Remedy(Text("See who may use the devices"), ("ls -l /dev/nvidia*", "id")),
        Remedy(
            Text("Add the account to their group, then log in again"),
            ('sudo usermod -aG video,render "$USER"',),
            risk="changes-system",
        ),
    )


def _no_libcuda(facts: Facts) -> Evidence | None:
    """Return what shows that libcuda is missing: the loader's answer, or nvidia-smi's header without a CUDA version."""
    if facts.driver.libcuda is None:
        return seen(facts, "driver.libcuda", None)
    if (
        not is_known(facts.driver.libcuda)
        and facts.driver.cuda_shown is None
        and value_or(facts.driver.smi, "") == "ok"
    ):
        return seen(facts, "driver.cuda_shown", None)
    known(facts.driver.libcuda)
    return None


def _has_device(facts: Facts) -> bool:
    """Whether a GPU is within reach: its device node, or a working nvidia-smi."""
    if value_or(facts.driver.smi, "") == "ok":
        return True
    return bool(gpu_nodes(facts)) and facts.driver.module_loaded is not False  # nodes outlive an unloaded module


def _bring_libcuda(facts: Facts, *, limited: bool) -> tuple[Remedy, ...]:
    if limited:
        command = "docker run --gpus all -e NVIDIA_DRIVER_CAPABILITIES=compute,utility IMAGE"
        return (
            in_container(
                facts,
                Remedy(Text("Start the container with the compute capability of the driver"), (command,)),
                Text("In the pod's specification set NVIDIA_DRIVER_CAPABILITIES to compute,utility"),
                "containers.env",
            ),
        )
    if value_or(facts.place.container, "") == "apptainer":
        return (give_container_gpu("apptainer"),)
    find = Remedy(
        Text("See whether the loader knows it and where it lies"),
        ("ldconfig -p | grep libcuda", "ls /usr/local/nvidia/lib64"),
    )
    if value_or(facts.place.container, "") or not is_known(facts.place.container):
        path = setting(LD_LIBRARY_PATH="/usr/local/nvidia/lib64")
        return (find, Remedy(Text("In a container add the folder that the runtime or device plugin mounts"), (path,)))
    return (
        find,
        Remedy(
            Text("Install the driver's compute library from the packages the driver came from"), risk="changes-system"
        ),
    )


def _owner_of_hardware(facts: Facts) -> Fixer:
    return "provider" if value_or(facts.place.virtual_machine, "") else "admin"
