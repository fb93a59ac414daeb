"""The NVIDIA driver of a live host, by a ladder: NVML, nvidia-smi, /proc, /sys; then its module, library and nodes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from torchdoctor.patterns import lazily
from torchdoctor.readers.answers import MEMINFO, PYTHON, Answers
from torchdoctor.readers.nvidia_smi import read_smi
from torchdoctor.readers.statement import Said
from torchdoctor.recording import Recording, Want
from torchdoctor.values import CudaVersion, DriverVersion

if TYPE_CHECKING:
    from torchdoctor.tables import Tables

_SMI = "nvidia-smi|/usr/lib/wsl/lib/nvidia-smi|/usr/bin/nvidia-smi|$SystemRoot/System32/nvidia-smi.exe"
_OLD_FIELDS = "--query-gpu=index,name,driver_version,memory.total,pci.bus_id,pci.device_id"
SMI_QUERY = Want(
    "command",
    (_SMI, f"{_OLD_FIELDS},mig.mode.current,compute_cap", "--format=csv", "||", _SMI, _OLD_FIELDS, "--format=csv"),
    seconds=10.0,
    name="command nvidia-smi --query-gpu",
)
SMI = Want("command", (_SMI,), seconds=10.0, name="command nvidia-smi")
PROC, SYS = Want("file", ("/proc/driver/nvidia/version",)), Want("file", ("/sys/module/nvidia/version",))
MODULES = Want("file", ("/proc/modules",), keep=("nvidia", "nouveau", "nova_core", "nvgpu"))
NODES = Want("stats", ("/dev/nvidia*",))
DXG = Want("stats", ("/dev/dxg",))
WANTS = (PYTHON, MEMINFO, SMI_QUERY, SMI, PROC, SYS, MODULES, NODES, DXG)

NVML = "nvml"  # an answer of our own process: the library's own words
_KERNEL_MODULE = lazily(r"Kernel Module(?: for \S+)?\s+(\d+(?:\.\d+){1,2})\s")
_REFUSALS = {
    "NVML_ERROR_DRIVER_NOT_LOADED": "no-driver",
    "NVML_ERROR_LIB_RM_VERSION_MISMATCH": "version-mismatch",
    "NVML_ERROR_NO_PERMISSION": "permission",
    "NVML_ERROR_OPERATING_SYSTEM": "blocked",
    "NVML_ERROR_GPU_IS_LOST": "gpu-lost",
    "NVML_ERROR_GPU_NOT_FOUND": "no-supported-gpus",
    "NVML_ERROR_UNKNOWN": "unknown-error",
}
_FABRIC = {1: "Not Started", 2: "In Progress", 3: "Completed"}  # nvmlGpuFabricState_t


def read(recording: Recording, tables: Tables | None = None) -> Iterator[Said]:
    """The rungs of the ladder in their order, then the device nodes."""
    answers = Answers(recording)
    if answers.os_name == "macos":
        for path in ("version", "libcuda", "device_nodes", "module_loaded"):
            yield Said(f"driver.{path}", None, "interpreter")
        return
    yield from _nvml(answers)
    yield from _smi(answers, tables)
    yield from _kernel(answers)
    yield from _nothing(answers)
    yield from _nodes(answers)


def nvml_of(answers: Answers) -> Mapping[str, Any]:
    """NVML's answer; empty when it was not asked or is not there."""
    answer = answers.recording.answers.get(NVML)
    return answer.value if answer and isinstance(answer.value, dict) else {}


def _nvml(answers: Answers) -> Iterator[Said]:
    nvml = nvml_of(answers)
    error = str(nvml.get("error", ""))
    if error in _REFUSALS:
        yield Said("driver.smi", _REFUSALS[error], f"NVML: {error}")
    if nvml.get("driver"):
        yield from _version(str(nvml["driver"]), "nvml", "NVML")
    cuda = nvml.get("cuda")
    if shown := cuda_of_number(cuda):
        yield Said("driver.cuda_shown", shown, "NVML")
    yield from _fabric(nvml)


def driver_of(text: str) -> DriverVersion | None:
    """The driver version a text is; None when it is none."""
    try:
        return DriverVersion.parse(text)
    except ValueError:
        return None


def cuda_of_number(number: object) -> CudaVersion | None:
    """The CUDA version behind a driver's integer; None when it is no such integer."""
    try:
        return CudaVersion.from_driver_number(number) if isinstance(number, int) else None
    except ValueError:
        return None


def _fabric(nvml: Mapping[str, Any]) -> Iterator[Said]:
    gpus = nvml.get("gpus")
    states = [gpu.get("fabric") for gpu in gpus if isinstance(gpu, dict)] if isinstance(gpus, list) else []
    known = sorted(state for state in states if state in _FABRIC)
    if known:
        yield Said("driver.fabric", _FABRIC[known[0]], "NVML")


def _version(text: str, rung: str, source: str) -> Iterator[Said]:
    if version := driver_of(text.strip()):
        yield Said("driver.version", version, source)
        yield Said("driver.source", rung, source)


def _smi(answers: Answers, tables: Tables | None) -> Iterator[Said]:
    """The csv answer holds whole names, the table CUDA and the words of a failure."""
    for want in (SMI_QUERY, SMI):
        result = answers.table(want)
        text, code = f"{result.get('out', '')}\n{result.get('err', '')}".strip(), result.get("rc")
        if result.get("timed_out"):
            yield Said("driver.smi", "timed-out", "nvidia-smi")
        elif result and (want is SMI or code == 0):
            yield from read_smi(text, "nvidia-smi", code, tables)
    answer = answers.recording.answer(SMI)
    if answer is not None and answer.absent:
        yield Said("driver.smi", "not-found", "PATH")


def _kernel(answers: Answers) -> Iterator[Said]:
    """What the loaded module says of itself. On a Jetson the number there is that of Jetson Linux, not of a driver."""
    text = answers.text(PROC)
    match = _KERNEL_MODULE.search(text)
    if match and not answers.is_tegra:
        yield from _version(match[1], "proc", PROC.args[0])
    if text:
        yield Said("driver.flavour", "open" if "Open Kernel Module" in text else "proprietary", PROC.args[0])
    if answers.text(SYS) and not answers.is_tegra:
        yield from _version(answers.text(SYS), "sys", SYS.args[0])


def _nothing(answers: Answers) -> Iterator[Said]:
    """No rung holds: there is no driver, unless this is a place whose driver lies outside (WSL, Jetson, a sandbox)."""
    modules = answers.recording.answer(MODULES)
    sandboxed = modules is not None and modules.absent and answers.table(NODES)  # nodes alone may outlive the module
    if nvml_of(answers).get("driver") or sandboxed or answers.is_tegra:
        return
    smi = answers.recording.answer(SMI)
    if answers.os_name == "linux" and not answers.is_wsl:
        if answers.has_proc and answers.looked(PROC) and not answers.text(PROC) and not answers.text(SYS):
            yield Said("driver.version", None, PROC.args[0])
    elif smi is not None and smi.absent and not answers.table(DXG):
        yield Said("driver.version", None, "nvidia-smi")


def _nodes(answers: Answers) -> Iterator[Said]:
    if not answers.looked(NODES) or answers.os_name != "linux":
        return
    found = {**answers.table(NODES), **answers.table(DXG)}
    nodes = {path: info for path, info in found.items() if isinstance(info, dict) and info.get("type") == "device"}
    yield Said("driver.device_nodes", tuple(nodes) or None, "/dev")
    needed = [info for path, info in nodes.items() if re.fullmatch(r"/dev/(?:nvidia(?:\d+|ctl|-uvm)|dxg)", path)]
    if needed:
        yield Said(
            "driver.device_access", all(info.get("readable") and info.get("writable") for info in needed), "/dev"
        )
    else:
        yield Said("driver.device_access", None, "/dev")
