"""The driver's kernel modules: installed, loaded, of the right kind, and able to start the GPU."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torchdoctor.checks.driver_loading import installed_sign, not_loaded_because
from torchdoctor.checks.driver_remedies import (
    driver_fixer,
    fitting_branches,
    install_driver,
    show_kernel_log,
    suggested,
)
from torchdoctor.checks.drivers import (
    arch_of,
    branches_of,
    driver_loaded,
    gpu_nodes,
    gpu_seen,
    gpus_seen,
    is_jetson,
    labels,
    nvidia_gpus,
    owns_driver,
    severity,
    torch_sees_gpu,
)
from torchdoctor.checks.installed import has_a_build
from torchdoctor.checks.places import give_container_gpu, in_container, is_confined
from torchdoctor.checks.registry import check, seen
from torchdoctor.facts import Facts, Gpu, is_known, known, need, value_or
from torchdoctor.findings import Evidence, Finding, Remedy, Row, Severity, Text
from torchdoctor.tables import Tables
from torchdoctor.tables.driver_branches import DriverBranch
from torchdoctor.values import DriverVersion

# What nvidia-smi answers when the module is loaded and none of its GPUs could be started.
_NO_GPU_STARTED = frozenset({"no-devices", "no-supported-gpus"})
_BUS = "/sys/"
_IF_INSIDE = Text("If this is a container, start it with the host's GPUs")


@check(
    "driver-missing",
    decides=True,
    severity="error",
    after=("container-without-gpu", "sandbox-hides-gpu", "scheduler-no-gpu"),
)
def driver_missing(facts: Facts, tables: Tables) -> Iterator[Finding]:
    """An NVIDIA GPU is on the bus and no NVIDIA driver is installed."""
    if not is_known(facts.gpus) and value_or(facts.driver.smi, "") == "no-nvml":
        yield from _without_nvml(facts, tables)
        return
    gpus = nvidia_gpus(facts)
    if not _is_undriven(facts, tables, gpus) or installed_sign(facts):
        return
    branch = suggested(tables, fitting_branches(tables, gpus))
    holder = value_or(gpus[0].kernel_driver, "")
    yield Finding(
        summary=Text("no NVIDIA driver is installed for {gpus}", gpus=labels(gpus)),
        why=Text(
            "torch brings its own CUDA libraries but not the driver, which belongs to the system; without it no build "
            "sees the GPU. Neither the CUDA toolkit nor another torch replaces it."
        ),
        evidence=(
            *gpus_seen(facts, gpus),
            _missing_sign(facts),
            *([gpu_seen(facts, gpus[0], "kernel_driver")] if holder else []),
        ),
        remedies=(install_driver(facts, branch, gpus),) if branch else (),
        fixable_by=driver_fixer(facts),
        severity=_unless_hopeless(facts, tables, gpus),
        confidence="certain" if facts.driver.version is None and is_known(facts.driver.smi) else "likely",
        row=Row("driver_branches", branch.key, branch.source) if branch else None,
    )


@check("driver-module-flavour", severity="error", parent="driver-not-loaded")
def driver_module_flavour(facts: Facts, tables: Tables) -> Iterator[Finding]:
    """The loaded kernel modules are of the flavour (open, proprietary) that does not drive this GPU."""
    flavour = need(facts.driver.flavour)
    version = need(facts.driver.version)
    gpus = nvidia_gpus(facts)
    if torch_sees_gpu(facts) or not owns_driver(facts, tables):
        return
    branch = next(iter(branches_of(facts, tables, version)), None)
    wrong = [gpu for gpu in gpus if branch and _is_refused(gpu, branch, flavour)]
    if branch is None or not wrong:
        return
    wanted = _flavours(branch, wrong[0])[0]
    yield Finding(
        summary=Text("the {flavour} kernel modules do not drive {gpus}", flavour=flavour, gpus=labels(wrong)),
        why=Text(
            "Branch {branch} supports this GPU, but only with its {wanted} modules: the open ones need the GPU's own "
            "system processor, which older GPUs lack, and the newest GPUs run with nothing else. The GPU is not dead "
            "and a newer driver does not help.",
            branch=branch.branch,
            wanted=wanted,
        ),
        evidence=(seen(facts, "driver.flavour", flavour), gpu_seen(facts, wrong[0], "compute_capability")),
        remedies=(install_driver(facts, branch, wrong, wanted),),
        fixable_by="admin",
        severity=severity(facts) if len(wrong) == len(gpus) else "warning",
        row=Row("driver_branches", branch.key, branch.source),
    )


@check(
    "driver-not-loaded",
    severity="error",
    after=("driver-dropped-gpu", "driver-module-flavour", "scheduler-no-gpu"),
)
def driver_not_loaded(facts: Facts, tables: Tables) -> Iterator[Finding]:
    """The driver is installed and its kernel module is not loaded."""
    sign = installed_sign(facts)
    gpus = nvidia_gpus(facts) if is_known(facts.gpus) else ()
    if is_known(facts.gpus) and not _is_undriven(facts, tables, gpus):
        return
    if sign is None or not owns_driver(facts, tables) or torch_sees_gpu(facts) or driver_loaded(facts):
        known(facts.driver.smi)
        return
    why, remedy = not_loaded_because(facts, gpus)
    yield Finding(
        summary=Text("the NVIDIA driver is installed and its kernel module is not loaded"),
        why=why,
        evidence=(sign, *gpus_seen(facts, gpus)),
        remedies=(remedy, show_kernel_log()),
        fixable_by=driver_fixer(facts),
        severity=severity(facts),
        confidence="certain" if gpus else "likely",
    )


@check(
    "gpu-init-failed",
    severity="error",
    parent="driver-not-loaded",
    after=("driver-module-flavour", "driver-dropped-gpu", "gpu-lost", "scheduler-no-gpu", "sandbox-hides-gpu"),
)
def gpu_init_failed(facts: Facts, tables: Tables) -> Iterator[Finding]:
    """The kernel module is loaded and failed to initialise the GPU."""
    if torch_sees_gpu(facts) or not owns_driver(facts, tables) or is_confined(facts):
        return
    gpus = nvidia_gpus(facts) if is_known(facts.gpus) else ()
    failed = [gpu for gpu in gpus if gpu.driver_sees is False and value_or(gpu.kernel_driver, "") == "nvidia"]
    smi = value_or(facts.driver.smi, "")
    none_at_all = smi in _NO_GPU_STARTED and not _is_empty_bus(facts)
    if not failed and smi == "no-supported-gpus" and none_at_all:
        yield _unsupported(facts, gpus)
        return
    if not failed and not none_at_all:
        known(facts.driver.smi)
        return
    yield Finding(
        summary=Text("the driver is loaded and failed to initialise {gpus}", gpus=labels(failed or gpus) or "the GPU"),
        why=Text(
            "nvidia-smi lists only GPUs that the loaded module could start. When it lists none, the kernel log names "
            "the reason: kernel modules of the wrong flavour, PCI address space that firmware or hypervisor did not "
            "assign, or failing hardware."
        ),
        evidence=(_init_sign(facts, failed), *gpus_seen(facts, failed)),
        remedies=(
            show_kernel_log(),
            Remedy(Text("Restart the machine, with its power switched off in between"), risk="changes-system"),
        ),
        fixable_by="provider" if value_or(facts.place.virtual_machine, "") else "admin",
        severity=severity(facts) if none_at_all or len(failed) == len(gpus) else "warning",
        confidence="likely",
    )


@check(
    "uvm-not-loaded",
    severity="error",
    after=("driver-permission", "driver-library-mismatch", "gpu-lost", "fabric-manager-down"),
)
def uvm_not_loaded(facts: Facts, tables: Tables) -> Iterator[Finding]:
    """The nvidia-uvm module or its device node is missing, so CUDA cannot start although nvidia-smi works."""
    if torch_sees_gpu(facts) or value_or(facts.place.wsl, 0) or is_jetson(facts, tables):
        return
    sign = _uvm_sign(facts)
    kind = value_or(facts.place.container, "")
    if sign is None or not (kind or known(facts.torch.cuda_available) is False):
        return  # outside of a container the first CUDA program loads the module: missing before that is normal
    load = Remedy(
        Text("Load it on the host and have it loaded at every start"),
        ("sudo nvidia-modprobe -u -c 0", "echo nvidia-uvm | sudo tee /etc/modules-load.d/nvidia-uvm.conf"),
        risk="changes-system",
    )
    again = in_container(
        facts,
        Remedy(
            Text("Start the container anew, with /dev/nvidia-uvm passed in"),
            ("docker run --gpus all IMAGE ls /dev/nvidia-uvm",),
        ),
        Text("Then delete the pod, so that it is made anew; its resources.limits ask for nvidia.com/gpu"),
        "containers.resources.limits",
    )
    yield Finding(
        summary=Text("nvidia-uvm is missing, so CUDA cannot start"),
        why=Text(
            "CUDA needs the unified-memory module and its device node; nvidia-smi does not, so it looks healthy. The "
            "symptom is 'CUDA unknown error'. torch is not at fault; after a kernel update the driver may have to be "
            "reinstalled for the new kernel."
        ),
        evidence=(sign,),
        remedies=(load, again) if kind else (load, show_kernel_log()),
        fixable_by="admin",
        severity=severity(facts),
        confidence="likely",
    )


def _without_nvml(facts: Facts, tables: Tables) -> Iterator[Finding]:
    """Say that nvidia-smi stands alone where nothing tells of GPUs: a driver in part, or a container without GPUs."""
    if torch_sees_gpu(facts) or not owns_driver(facts, tables) or isinstance(facts.driver.version, DriverVersion):
        return
    maybe_inside = not is_known(facts.place.container)
    again = Remedy(
        Text("On the host itself install the driver again, all of its packages of one version"), risk="changes-system"
    )
    yield Finding(
        summary=Text("nvidia-smi is there without the driver's library, NVML"),
        why=_why_no_nvml(maybe_inside=maybe_inside),
        evidence=(seen(facts, "driver.smi", facts.driver.smi),),
        remedies=(give_container_gpu("docker", _IF_INSIDE), again) if maybe_inside else (again,),
        fixable_by="admin",
        severity=severity(facts),
        confidence="possible" if maybe_inside else "likely",
    )


def _why_no_nvml(*, maybe_inside: bool) -> Text:
    if maybe_inside:
        return Text(
            "nvidia-smi needs the library libnvidia-ml of the driver and does not find it. In a container that means "
            "that it was started without GPUs, since the runtime brings the library; on a host, that the driver's "
            "packages are incomplete. What was pasted does not tell which."
        )
    return Text(
        "nvidia-smi needs the library libnvidia-ml of the driver and does not find it: the driver's packages are "
        "incomplete, or left from a driver that was removed."
    )


def _unsupported(facts: Facts, gpus: Sequence[Gpu]) -> Finding:
    """Say that the module runs and drives no GPU: it supports none, another driver holds it, or none is there."""
    return Finding(
        summary=Text("the driver is loaded and no GPU is bound to it"),
        why=Text(
            "nvidia-smi finds no GPU that this driver supports: the branch does not know the GPU or has dropped it, "
            "another driver holds it (vfio-pci for a virtual machine, nouveau), or there is no NVIDIA GPU in this "
            "machine. torch and its build have no part in it."
        ),
        evidence=(seen(facts, "driver.smi", facts.driver.smi), *gpus_seen(facts, gpus)),
        remedies=(
            Remedy(Text("See which NVIDIA GPUs are on the bus and which driver holds them"), ("lspci -nnk -d 10de:",)),
            show_kernel_log(),
        ),
        fixable_by="provider" if value_or(facts.place.virtual_machine, "") else "admin",
        severity=severity(facts),
        confidence="likely" if gpus else "possible",
    )


def _is_empty_bus(facts: Facts) -> bool:
    """Whether the bus itself was read and holds no NVIDIA GPU: then none is missing."""
    return facts.gpus == () and facts.source("gpus").startswith(_BUS)


def _is_undriven(facts: Facts, tables: Tables, gpus: Sequence[Gpu]) -> bool:
    """Whether GPUs are on the bus of a host that could run their driver, and nothing drives them."""
    if not gpus or torch_sees_gpu(facts) or not owns_driver(facts, tables):
        return False
    if any(value_or(gpu.driver_sees, False) or value_or(gpu.kernel_driver, "") == "nvidia" for gpu in gpus):
        return False
    return not driver_loaded(facts)


def _missing_sign(facts: Facts) -> Evidence:
    if facts.driver.version is None:
        return seen(facts, "driver.version", None)
    return seen(facts, "driver.smi", value_or(facts.driver.smi, "not-found"))


def _unless_hopeless(facts: Facts, tables: Tables, gpus: Sequence[Gpu]) -> Severity | None:
    """A display card that no torch build has code for needs no driver for torch's sake."""
    if facts.request.require_gpu or any(has_a_build(facts, tables, gpu) for gpu in gpus):
        return severity(facts)
    return "info"


def _flavours(branch: DriverBranch, gpu: Gpu) -> tuple[str, ...]:
    arch = arch_of(gpu)
    return branch.flavours(arch) if arch else ()


def _is_refused(gpu: Gpu, branch: DriverBranch, loaded: str) -> bool:
    """Whether the GPU needs other modules than the loaded ones; one that the driver lists is proof of the contrary."""
    flavours = _flavours(branch, gpu)
    return bool(flavours) and loaded not in flavours and not value_or(gpu.driver_sees, False)


def _init_sign(facts: Facts, failed: Sequence[Gpu]) -> Evidence:
    return gpu_seen(facts, failed[0], "driver_sees") if failed else seen(facts, "driver.smi", facts.driver.smi)


def _uvm_sign(facts: Facts) -> Evidence | None:
    """Return what shows that nvidia-uvm is missing beside a GPU that can be opened; skip when nothing tells."""
    if is_known(facts.driver.device_nodes) and not gpu_nodes(facts):
        return None
    if facts.driver.uvm_loaded is False and driver_loaded(facts):
        return seen(facts, "driver.uvm_loaded", facts.driver.uvm_loaded)
    nodes = known(facts.driver.device_nodes) or ()
    if "/dev/dxg" in nodes or "/dev/nvidia-uvm" in nodes:
        return None
    return seen(facts, "driver.device_nodes", " ".join(nodes))
