"""The NVML rung: NVIDIA's own library, asked in a child of our interpreter, so that a hang or a crash stays there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from torchdoctor.recording import Answer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

KEY = "nvml"
SECONDS = 10.0
_SONAME = "libnvidia-ml.so.1"
_FOLDERS = (
    "/usr/lib/wsl/lib", "/usr/lib/*-linux-gnu", "/usr/lib/*-linux-gnu/nvidia/current", "/usr/lib/*-linux-gnu/nvidia",
    "/usr/lib64", "/usr/lib", "/run/opengl-driver/lib", "/usr/local/nvidia/lib64",
)  # fmt: skip
_WINDOWS = (("WINDIR", "System32/nvml.dll"), ("ProgramFiles", "NVIDIA Corporation/NVSMI/nvml.dll"))
_MARK = "torchdoctor-nvml:"


def is_there() -> bool:
    """Whether NVML's library is on this host: by file names and the loader's cache, loading nothing."""
    if sys.platform == "win32":
        return any((Path(os.environ.get(name, "C:/")) / tail).exists() for name, tail in _WINDOWS)
    try:
        if _SONAME.encode() in Path("/etc/ld.so.cache").read_bytes():
            return True
    except OSError:
        pass
    own = [folder for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":") if folder]
    return any(True for folder in (*own, *_FOLDERS) for _ in Path("/").glob(f"{folder.lstrip('/')}/{_SONAME}"))


def start() -> subprocess.Popen[bytes] | None:
    """Start asking; None where there is nothing to ask."""
    return child_of("torchdoctor.nvml", subprocess.PIPE) if is_there() else None


def child_of(module: str, out: int | IO[bytes]) -> subprocess.Popen[bytes]:
    """Run the ``main`` of a module of ours in a child of our own interpreter; it may read standard input to its end."""
    code = f"import sys; sys.path[:] = {sys.path!r}; from {module} import main; main()"
    pipe, null = subprocess.PIPE, subprocess.DEVNULL
    return subprocess.Popen(  # noqa: S603 - our own interpreter and our own code
        [sys.executable, "-B", "-c", code], stdin=pipe, stdout=out, stderr=null, start_new_session=True
    )


def finish(child: subprocess.Popen[bytes] | None, seconds: float = SECONDS) -> Answer:
    """The answer of a started child, or what became of it."""
    if child is None:
        return Answer(absent=True)
    try:
        out, _ = child.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        end(child)
        return Answer(error=f"no answer in {seconds:g} s")
    text = out.decode("utf-8", "replace").partition(_MARK)[2]
    if not text:
        return Answer(error=f"ended with status {child.returncode} and no answer")
    import json

    return Answer(json.loads(text))


def end(child: subprocess.Popen[bytes]) -> None:
    """End a child with what it started, if it has not ended; one that will not end is left behind."""
    try:
        if child.returncode is None and hasattr(os, "killpg"):
            os.killpg(child.pid, 9)
        elif child.returncode is None:
            child.kill()
        child.wait(1)
    except (OSError, subprocess.TimeoutExpired):
        pass
    for stream in (child.stdin, child.stdout, child.stderr):
        if stream and sys.platform != "win32":  # where a thread may still read it, and closing would wait for that
            stream.close()


def main() -> None:
    """What the child does: ask, and print the answer behind a mark."""
    import json

    sys.stdout.write(_MARK + json.dumps(ask()))


def ask() -> dict[str, Any]:
    """Ask NVML for the driver and its GPUs; ``error`` holds the name of NVML's refusal."""
    try:
        import pynvml as nvml
    except ImportError as error:
        return {"error": f"nvidia-ml-py: {error}"}
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        return {"error": _name(nvml, error)}
    driver = attempt(nvml, nvml.nvmlSystemGetDriverVersion)
    cuda = attempt(nvml, nvml.nvmlSystemGetCudaDriverVersion_v2)
    return {"error": "", "driver": driver, "cuda": cuda, "gpus": list(_gpus(nvml))}


def gpus_of(answer: Answer | None) -> Sequence[Mapping[str, Any]]:
    """The GPUs that an answer names."""
    told = answer.value if answer else None
    gpus = told.get("gpus") if isinstance(told, dict) else None
    return [gpu for gpu in gpus if isinstance(gpu, dict)] if isinstance(gpus, list) else []


def busy(gpus: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Why each GPU that other processes compute on is busy, by PCI address, by UUID, and by name if it is alone.

    With MIG the processes may be on other instances than ours: nothing is said then.
    """
    reasons: dict[str, str] = {}
    for gpu in gpus:
        count = gpu.get("processes")
        if count and not gpu.get("mig"):
            names = [str(gpu.get("pci") or "").lower()[-12:], str(gpu.get("uuid") or "").removeprefix("GPU-")]
            names += ["cuda:0"] if len(gpus) == 1 else []
            word = "another process computes" if count == 1 else f"{count} other processes compute"
            reasons.update(dict.fromkeys(filter(None, names), f"{word} on it"))
    return reasons


def _gpus(nvml: Any) -> Iterator[dict[str, Any]]:
    for index in range(attempt(nvml, nvml.nvmlDeviceGetCount) or 0):
        yield {"index": index, **_gpu_at(nvml, index)}


def _gpu_at(nvml: Any, index: int) -> dict[str, Any]:
    try:
        handle = nvml.nvmlDeviceGetHandleByIndex(index)
    except nvml.NVMLError as error:
        return {"error": _name(nvml, error)}
    return {"error": "", **_gpu(nvml, handle)}


def _gpu(nvml: Any, handle: Any) -> dict[str, Any]:
    pci = attempt(nvml, nvml.nvmlDeviceGetPciInfo, handle)
    memory, mig = attempt(nvml, nvml.nvmlDeviceGetMemoryInfo, handle), attempt(nvml, nvml.nvmlDeviceGetMigMode, handle)
    return {
        "name": attempt(nvml, nvml.nvmlDeviceGetName, handle),
        "uuid": attempt(nvml, nvml.nvmlDeviceGetUUID, handle),
        "cc": attempt(nvml, nvml.nvmlDeviceGetCudaComputeCapability, handle),
        "memory": memory.total if memory else None,
        "power_limit": attempt(nvml, nvml.nvmlDeviceGetEnforcedPowerLimit, handle),
        "clock_limit": attempt(nvml, nvml.nvmlDeviceGetMaxClockInfo, handle, nvml.NVML_CLOCK_SM),
        "pcie_width": attempt(nvml, nvml.nvmlDeviceGetCurrPcieLinkWidth, handle),
        "firmware": attempt(nvml, nvml.nvmlDeviceGetVbiosVersion, handle),
        "pci": as_text(pci.busId) if pci else None,
        "pci_id": f"{pci.pciDeviceId >> 16:04X}" if pci else None,
        "mig": mig[0] if mig else None,
        "mig_instances": _mig_instances(nvml, handle) if mig and mig[0] else 0,
        "persistence": attempt(nvml, nvml.nvmlDeviceGetPersistenceMode, handle),
        "fabric": _fabric(nvml, handle),
        "processes": _processes(nvml, handle),
    }


def _processes(nvml: Any, handle: Any) -> int | None:
    """How many processes compute on it; one that also draws is a desktop's, and counted by Windows for every window."""
    computing = attempt(nvml, nvml.nvmlDeviceGetComputeRunningProcesses, handle)
    drawing = attempt(nvml, nvml.nvmlDeviceGetGraphicsRunningProcesses, handle) or ()
    if computing is None:
        return None
    return len({process.pid for process in computing} - {process.pid for process in drawing})


def _mig_instances(nvml: Any, handle: Any) -> int:
    slots = range(attempt(nvml, nvml.nvmlDeviceGetMaxMigDeviceCount, handle) or 0)
    return sum(attempt(nvml, nvml.nvmlDeviceGetMigDeviceHandleByIndex, handle, slot) is not None for slot in slots)


def _fabric(nvml: Any, handle: Any) -> int | None:
    """State of the GPU in an NVSwitch fabric: NVML's own number."""
    try:
        info = nvml.c_nvmlGpuFabricInfo_t()
        nvml.nvmlDeviceGetGpuFabricInfo(handle, nvml.byref(info))
        return int(info.state)
    except Exception:  # noqa: BLE001 - absent from older drivers and other releases of nvidia-ml-py; a detail of few hosts
        return None


def attempt(nvml: Any, function: Callable[..., Any], *args: Any) -> Any:
    """What a function says; None where the driver or the GPU does not support the question."""
    try:
        answer = function(*args)
    except (nvml.NVMLError, getattr(nvml, "NVMLLibraryMismatchError", nvml.NVMLError)):
        return None
    return as_text(answer)


def as_text(answer: Any) -> Any:
    """Text where NVML answered in bytes; anything else as it is."""
    return answer.decode("utf-8", "replace") if isinstance(answer, bytes) else answer


def _name(nvml: Any, error: Any) -> str:
    """The name of an NVML error: NVML_ERROR_DRIVER_NOT_LOADED."""
    names = {value: name for name, value in vars(nvml).items() if name.startswith("NVML_ERROR_")}
    return str(names.get(error.value, f"NVML error {error.value}"))
