"""What the driver rules ask again and again: which GPUs count, whose driver numbers, how bad it is."""

from __future__ import annotations

from collections.abc import Sequence

from torchdoctor.checks.registry import seen
from torchdoctor.facts import Facts, Gpu, Unknown, known, need, value_or
from torchdoctor.findings import Evidence, Severity
from torchdoctor.tables import Tables
from torchdoctor.tables.driver_branches import DriverBranch
from torchdoctor.values import CudaVersion, DriverVersion, GpuArch

# What nvidia-smi says only while a kernel module is loaded, and only while none is.
LOADED_OUTCOMES = frozenset({"ok", "version-mismatch", "permission", "gpu-lost", "no-devices", "no-supported-gpus"})
FULL_DRIVER = "full number of the NVIDIA driver"  # what is missing where a branch alone does not decide
UNLOADED_OUTCOMES = frozenset({"no-driver", "no-nvml", "not-found"})


def nvidia_gpus(facts: Facts) -> tuple[Gpu, ...]:
    """Return the NVIDIA GPUs of the host, without those kept for virtual machines; skip when GPUs are unknown."""
    listed = known(facts.gpus) or ()
    return tuple(
        gpu
        for gpu in listed
        if value_or(gpu.vendor, "") == "nvidia" and not value_or(gpu.kernel_driver, "").startswith("vfio")
    )


def label(gpu: Gpu) -> str:
    """Name a GPU as well as the facts allow."""
    name = value_or(gpu.name, "")
    return name or (f"NVIDIA GPU {gpu.pci_id}" if value_or(gpu.pci_id, "") else "NVIDIA GPU")


def labels(gpus: Sequence[Gpu]) -> str:
    """Name several GPUs, each name once."""
    return ", ".join(dict.fromkeys(label(gpu) for gpu in gpus))


def gpu_seen(facts: Facts, gpu: Gpu, field: str) -> Evidence:
    """Evidence for one fact of one GPU."""
    path = f"gpus[].{field}"
    return seen(facts, path, getattr(gpu, field), facts.source(path) or facts.source("gpus"))


def gpus_seen(facts: Facts, gpus: Sequence[Gpu]) -> tuple[Evidence, ...]:
    """Evidence that these GPUs are there."""
    return (seen(facts, "gpus", labels(gpus)),) if gpus else ()


def torch_sees_gpu(facts: Facts) -> bool:
    """Whether torch itself is known to see a GPU: then no driver rule has anything to say."""
    return value_or(facts.torch.cuda_available, False)


def is_jetson(facts: Facts, tables: Tables) -> bool:
    """Whether the host is a Jetson, whose driver numbers and modules follow none of the desktop rules."""
    if (
        value_or(facts.place.jetpack, "")
        or value_or(facts.place.l4t, "")
        or value_or(facts.os.kernel, "").endswith("-tegra")
    ):
        return True
    driver = value_or(facts.driver.version, None)
    gpus = value_or(facts.gpus, ())
    archs = [gpu.compute_capability for gpu in gpus if isinstance(gpu.compute_capability, GpuArch)]
    is_arm = value_or(facts.os.machine, "") == "aarch64" or any(map(tables.coverage.is_tegra, archs))
    return driver is not None and is_arm and tables.jetpacks.by_driver(str(driver)) is not None


def looks_like_wsl(facts: Facts, tables: Tables) -> bool:
    """Whether anything shows WSL where nobody says so: the kernel, /dev/dxg, Windows' libcuda, a Windows number."""
    if "microsoft" in value_or(facts.os.kernel, "").lower() or "/wsl/" in value_or(facts.driver.libcuda, ""):
        return True
    if "/dev/dxg" in value_or(facts.driver.device_nodes, ()):
        return True
    driver = value_or(facts.driver.version, None)
    return (
        driver is not None
        and tables.driver_branches.of(driver, "linux") is None
        and tables.driver_branches.of(driver, "windows") is not None
    )


def owns_driver(facts: Facts, tables: Tables) -> bool:
    """Whether a desktop or server driver could be installed here: no container, WSL, Jetson or Mac."""
    elsewhere = (
        value_or(facts.place.container, "") or value_or(facts.place.wsl, 0) or value_or(facts.os.name, "") == "macos"
    )
    return not elsewhere and not is_jetson(facts, tables)


def gpu_nodes(facts: Facts) -> tuple[str, ...]:
    """Return the device nodes of single GPUs (/dev/nvidia0 ..., /dev/dxg); skip when nodes are unknown."""
    nodes = known(facts.driver.device_nodes) or ()
    return tuple(node for node in nodes if node.removeprefix("/dev/nvidia").isdecimal() or node == "/dev/dxg")


def driver_loaded(facts: Facts) -> bool:
    """Whether an NVIDIA kernel driver is loaded; skip when nothing tells."""
    driver = facts.driver
    smi = value_or(driver.smi, "")
    if isinstance(driver.version, DriverVersion) or value_or(driver.module_loaded, False) or smi in LOADED_OUTCOMES:
        return True
    if driver.version is None or driver.module_loaded is False or smi in UNLOADED_OUTCOMES:
        return False
    return known(driver.version) is not None


def branches_of(facts: Facts, tables: Tables, driver: DriverVersion) -> tuple[DriverBranch, ...]:
    """Return the branch of a driver; where the system is unknown, one for each numbering it could follow."""
    found = (tables.driver_branches.of(driver, line) for line in driver_lines(facts))
    return tuple(dict.fromkeys(branch for branch in found if branch))


def driver_lines(facts: Facts) -> tuple[str, ...]:
    """Whose driver numbers: Windows ones under Windows and WSL, Linux ones elsewhere, either when unknown."""
    os_name = value_or(facts.os.name, "")
    if os_name == "windows" or value_or(facts.place.wsl, 0):
        return ("windows",)
    return ("linux",) if os_name else ("linux", "windows")


def arch_of(gpu: Gpu) -> GpuArch | None:
    """Return the compute capability of a GPU, or None when it is not known."""
    return value_or(gpu.compute_capability, None)


def build_cuda(facts: Facts) -> CudaVersion:
    """Return the CUDA version of the installed build; skip when unknown, end as passed for a build without CUDA."""
    cuda = facts.torch.cuda
    if isinstance(cuda, Unknown):
        cuda = need(facts.torch.build).cuda
    return need(cuda)


def is_wanted(facts: Facts) -> bool:
    """Whether an NVIDIA GPU is wanted: it is required, or the installed build is for CUDA or not known."""
    build = value_or(facts.torch.build, None)
    return facts.request.require_gpu or build is None or build.backend == "cuda"


def severity(facts: Facts) -> Severity | None:
    """Return the check's usual severity (None), or ``info`` where the installed build was never meant for this GPU."""
    return None if is_wanted(facts) else "info"
