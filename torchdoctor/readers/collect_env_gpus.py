"""The GPUs and the processor of a collect_env report."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.facts import Gpu, Unknown
from torchdoctor.patterns import lazily
from torchdoctor.readers.collect_env_lines import Field, Fields, has_key, has_xpu, is_macos
from torchdoctor.readers.gpu_words import MEBIBYTE, named_gpu, vendor_of
from torchdoctor.readers.statement import Said
from torchdoctor.values import canonical_machine

_GPU = lazily(r"\s*GPU (\d{1,3})\s*[:\uff1a]\s*(\S.*?)\s*(?:\(UUID.*)?$")
_MIG = lazily(r"\s*MIG \S+\s+Device\s+\d+")
_XPU = lazily(r"name='([^']{1,120})'")
_XPU_ID = lazily(r"device_id=0x([0-9A-Fa-f]{4})\b")
_XPU_MEMORY = lazily(r"total_memory=(\d+)MB")
_WINDOWS_CPU = lazily(r"\s*Name\s*[=:]\s*(\S.*)$")
_WINDOWS_ARCHITECTURE = lazily(r"\s*Architecture\s*[=:]\s*(\d+)\s*$")
_WINDOWS_MACHINES = {"0": "x86", "9": "x86_64", "12": "arm64"}  # Win32_Processor.Architecture


def read_gpus(field: Field, fields: Fields) -> Iterator[Said]:
    """The GPUs nvidia-smi listed, or the one HIP names; ``No CUDA`` means that nvidia-smi listed none."""
    gpus = _listed_gpus([field.value, *field.more])
    if not gpus and not field.is_nothing and vendor_of(field.value):
        gpus = [named_gpu(field.value, driver_sees=True)]
    if gpus:
        yield Said("gpus", tuple(gpus), field.source)
    elif field.value.lower() == "no cuda" and _shows_no_other(fields):
        yield Said("gpus", (), field.source)


def _shows_no_other(fields: Fields) -> bool:
    """Whether the report would have shown a GPU of another vendor: it must go on past the lines about Intel's."""
    goes_on = "hip runtime version" in fields and ("os" in fields or "python platform" in fields)
    return goes_on and not is_macos(fields) and not has_xpu(fields)


def _listed_gpus(lines: list[str]) -> list[Gpu]:
    gpus: list[Gpu] = []
    for line in lines:
        if match := _GPU.match(line):
            gpus.append(named_gpu(match[2], driver_sees=True, vendor=vendor_of(match[2]) or "nvidia"))
        elif gpus and _MIG.match(line):
            gpus[-1] = _with_mig(gpus[-1])
    return gpus


def _with_mig(gpu: Gpu) -> Gpu:
    return Gpu(vendor=gpu.vendor, name=gpu.name, driver_sees=gpu.driver_sees, mig="enabled")


def read_intel_gpus(field: Field, _fields: Fields) -> Iterator[Said]:
    """The Intel GPUs that torch.xpu found, with their properties."""
    gpus = tuple(gpu for line in (field.value, *field.more) if (gpu := _intel_gpu(line)))
    if gpus:
        yield Said("gpus", gpus, field.source)


def _intel_gpu(line: str) -> Gpu | None:
    """One line of "Intel GPU models detected": the properties torch.xpu printed."""
    name, number, memory = _XPU.search(line), _XPU_ID.search(line), _XPU_MEMORY.search(line)
    if not name:
        return None
    return Gpu(
        vendor="intel",
        name=name[1],
        pci_id=number[1].upper() if number else Unknown("PCI device id"),
        memory=int(memory[1]) * MEBIBYTE if memory else Unknown("GPU memory"),
        driver_sees=True,
    )


def read_intel_names(field: Field, _fields: Fields) -> Iterator[Said]:
    """The names of the Intel GPUs that the operating system lists."""
    names = [line.strip().removeprefix("* ") for line in (field.value, *field.more) if line.strip().startswith("* ")]
    gpus = tuple(named_gpu(name, vendor="intel") for name in names if vendor_of(name) == "intel")
    if gpus:
        yield Said("gpus", gpus, field.source)


def read_cpu(field: Field, fields: Fields) -> Iterator[Said]:
    """The processor outside Linux: a bare name on macOS, Win32_Processor's fields on Windows."""
    lines = [line for line in (field.value, *field.more) if line.strip()]
    if lines and not has_key(lines[0]) and is_macos(fields):
        yield from _apple_cpu(lines[0].strip(), field.source)
    for line in lines:
        if match := _WINDOWS_CPU.match(line):
            yield Said("cpu.model", match[1].strip(), field.source)
        if (match := _WINDOWS_ARCHITECTURE.match(line)) and match[1] in _WINDOWS_MACHINES:
            yield Said("os.machine", canonical_machine(_WINDOWS_MACHINES[match[1]], "windows"), field.source)


def _apple_cpu(model: str, source: str) -> Iterator[Said]:
    """An Apple chip is an arm64 machine with a GPU, whatever a translated Python believes."""
    yield Said("cpu.model", model, source)
    if vendor_of(model) == "apple":
        yield Said("os.machine", "arm64", source)
        yield Said("gpus", (named_gpu(model, driver_sees=True),), source)
