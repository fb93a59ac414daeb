"""What nvidia-smi's forms have in common: named values of a GPU, and the versions of the driver."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from torchdoctor.facts import Gpu, Unknown
from torchdoctor.patterns import lazily
from torchdoctor.readers.gpu_words import MEBIBYTE, named_gpu, pci_address
from torchdoctor.readers.statement import Said
from torchdoctor.records import replace
from torchdoctor.values import CudaVersion, DriverVersion, GpuArch

NAMES = {"name", "gpu_name"}
ARCH = lazily(r"\d{1,2}\.\d")
MEMORY = lazily(r"(\d{2,7})(?: MiB)?")
_WATTS = lazily(r"(\d{1,4})(?:\.\d{1,2})?(?: W)?")
NOT_THERE = lazily(r"\[?(?:N/A|Not Supported|Unknown Error|GPU requires reset)\]?", re.IGNORECASE)
SICK = {"unknown error": "unknown error", "gpu requires reset": "requires reset"}

_GPU_COLUMNS = {*NAMES, "pci.bus_id", "gpu_bus_id", "compute_cap"}
_PCI_ID = lazily(r"(?:0x)?([0-9A-F]{4})10DE", re.IGNORECASE)

Values = Mapping[str, str]


def driver_said(text: str, source: str) -> Iterator[Said]:
    """The version of the driver; nothing when the field holds no number."""
    try:
        version = DriverVersion.parse(text)
    except ValueError:
        return
    yield Said("driver.version", version, source)
    yield Said("driver.source", "nvidia-smi", source)
    yield Said("driver.module_loaded", True, source)


def library_said(text: str, source: str) -> Iterator[Said]:
    """The version of the driver's user-space libraries."""
    try:
        yield Said("driver.library_version", DriverVersion.parse(text), source)
    except ValueError:
        return


def cuda_said(text: str, source: str) -> Iterator[Said]:
    """The CUDA version of libcuda; ``N/A`` means that it was not found, ``ERR!`` that nobody knows."""
    try:
        yield Said("driver.cuda_shown", CudaVersion.parse(text), source)
    except ValueError:
        if text in {"N/A", "Not"}:
            yield Said("driver.cuda_shown", None, source)


def rows_said(rows: Sequence[Values], source: str) -> Iterator[Said]:
    """The driver and the GPUs of rows under the column names of ``--query-gpu``."""
    for values in rows:
        if version := values.get("driver_version"):
            yield from driver_said(version, source)
            break
    gpus = tuple(gpu_of(values) for values in rows if _GPU_COLUMNS & values.keys())
    if gpus:
        yield Said("gpus", gpus, source)


def gpu_of(values: Values) -> Gpu:
    """One GPU from named values; a value that is not supported stays unknown."""
    name = values.get("name") or values.get("gpu_name") or ""
    gpu = Gpu(vendor="nvidia", driver_sees=True)
    if name and not NOT_THERE.fullmatch(name):
        gpu = named_gpu(name, driver_sees=True, vendor="nvidia")
    gpu = replace(gpu, sick=_sickness(values))
    if address := pci_address(values.get("pci.bus_id") or values.get("gpu_bus_id") or ""):
        gpu = replace(gpu, pci_address=address)
    if memory := MEMORY.fullmatch(values.get("memory.total", "")):
        gpu = replace(gpu, memory=int(memory[1]) * MEBIBYTE)
    if power := _WATTS.fullmatch(values.get("power.limit") or values.get("enforced.power.limit") or ""):
        gpu = replace(gpu, power_limit=int(power[1]))
    if ARCH.fullmatch(values.get("compute_cap", "")):
        gpu = replace(gpu, compute_capability=GpuArch.parse(values["compute_cap"]))
    if device := _PCI_ID.fullmatch(values.get("pci.device_id", "")):
        gpu = replace(gpu, pci_id=device[1].upper())
    return replace(gpu, mig=_mig(values.get("mig.mode.current", "")))


def _sickness(values: Values) -> str | None:
    words = (value.strip("[]").lower() for value in values.values())
    return next((SICK[word] for word in words if word in SICK), None)


def _mig(text: str) -> str | None | Unknown:
    state = text.strip("[]").lower()
    if state in {"enabled", "disabled"}:
        return state
    return None if state in {"n/a", "not supported"} else Unknown("MIG mode")
