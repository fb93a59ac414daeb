"""What the benchmark asks of a device: its formats, its room, who else uses it, what it runs at."""

import os
import re

MYPY = False
if MYPY:
    from typing import Any

    from torchdoctor.target.smoke_devices import Device

BUSY_SHARE, BUSY_BYTES = 0.25, 2 << 30  # memory that only another program at work holds
OWN_CONTEXT = 1 << 30  # more than a context of our own takes
TENSOR_CORES, BF16_CORES = 7, 8  # major compute capability that brings them


def formats(device: "Device") -> "list[str]":
    """The number formats in which it multiplies matrices at a rate worth knowing."""
    if device.kind == "cpu":
        return ["fp32"]
    if device.backend != "cuda":
        return ["fp16", "fp32"] if device.kind == "mps" else ["bf16", "fp16", "fp32"]
    major = device.module.get_device_capability(device.index)[0]
    if major < TENSOR_CORES:
        return ["fp32"]
    return ["fp16", "fp32"] if major < BF16_CORES else ["bf16", "fp16", "tf32", "fp32"]


def mixed(device: "Device") -> str:
    """The format that autocast is measured in; an empty text where it is not."""
    known = formats(device) if device.kind == "cuda" else []
    return "bf16" if "bf16" in known else "fp16" if "fp16" in known else ""


def memory_of(device: "Device") -> "tuple[int | None, int | None]":
    """Free and all bytes of its memory, where torch can tell."""
    try:
        return device.memory()
    except Exception:
        return None, None


def clear(device: "Device") -> None:
    """Give freed memory back; a broken device refuses even that."""
    try:
        if device.kind != "cpu":
            device.module.empty_cache()
    except Exception:
        pass


def works(device: "Device") -> bool:
    """Whether it still computes: after some errors a device does nothing more for this process."""
    try:
        return float((device.torch.ones(2, device=device.name) + 1).sum().item()) == 4.0
    except Exception:
        return False


def names_elsewhere(device: "Device") -> "list[str]":
    """How NVML names the device: by address and by UUID."""
    if device.backend != "cuda":
        return []
    try:
        return [name for name in device.addresses() if name]
    except Exception:
        return []


def used_by_others(device: "Device", known_busy: "dict[str, str]") -> str:
    """Why it is busy: by the asker, who names a GPU by address, UUID or name; else by what can be seen here."""
    names = [device.name] + names_elsewhere(device) if known_busy else []
    told = [known_busy[name] for name in names if name in known_busy]
    return told[0] if told else busy(device)


def busy(device: "Device") -> str:
    """Why the device counts as used by another process; an empty text when nothing says so."""
    others = other_processes(device)
    if others:
        return "process %s uses it" % ", ".join(map(str, others[:5]))
    free, total = memory_of(device)
    reserved = getattr(device.module, "memory_reserved", None)
    if free is None or total is None or reserved is None:
        return ""
    used = total - free - reserved(device.index) - OWN_CONTEXT
    if used > BUSY_BYTES and used > BUSY_SHARE * total:
        return "%.1f of its %.1f GiB are in use" % (used / 2.0**30, total / 2.0**30)
    return ""


def other_processes(device: "Device") -> "list[int]":
    """Processes that compute on it, where the examined Python has the vendor's library. We may be one of them.

    In a container the driver tells the host's process numbers, so that our own cannot be known: one is taken as ours.
    """
    if device.kind != "cuda":
        return []
    try:
        text = device.module.list_gpu_processes(device.index)
    except Exception:
        return []
    listed = [int(number) for number in re.findall(r"process\s+(\d+)", text)]
    if not device.module.is_initialized():
        return listed
    if os.getpid() in listed:
        return [number for number in listed if number != os.getpid()]
    return listed[1:]


def conditions(device: "Device") -> "dict[str, float]":
    """Clock, power and temperature at this moment, where the examined Python has the vendor's library."""
    names = {"clock_mhz": ("clock_rate", 1.0), "power_w": ("power_draw", 1000.0), "temperature_c": ("temperature", 1.0)}
    read = {}  # type: dict[str, float]
    for name, (function, scale) in names.items():
        try:
            read[name] = getattr(device.module, function)(device.index) / scale
        except Exception:
            if not read:
                return {}  # no library: asked once, not three times
    return read
