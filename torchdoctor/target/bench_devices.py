"""The devices that the benchmark measures: which there are, what they are, who else uses them, what they run at."""

import re

MYPY = False
if MYPY:
    from typing import Any

BUSY_SHARE, BUSY_BYTES = 0.25, 2 << 30  # memory that only another program at work holds
OWN_CONTEXT = 1 << 30  # more than a context of our own takes
TENSOR_CORES, BF16_CORES = 7, 8  # major compute capability that brings them


class Device:
    """One device of torch, by its name: cpu, cuda:0, xpu:1, mps. ROCm's devices are named cuda too."""

    def __init__(self, torch: "Any", name: str) -> None:
        self.torch = torch
        self.name = name
        self.kind, _, index = name.partition(":")
        self.index = int(index or 0)
        self.module = getattr(torch, self.kind, None)  # type: Any
        self.rocm = self.kind == "cuda" and bool(getattr(torch.version, "hip", None))

    def use(self) -> None:
        """Make it the current device of its kind: events belong to the current one."""
        if self.kind in ("cuda", "xpu"):
            self.module.set_device(self.index)

    def synchronize(self) -> None:
        """Wait until it has done all it was given."""
        if self.kind != "cpu":
            self.module.synchronize()

    def formats(self) -> "list[str]":
        """The number formats in which it multiplies matrices at a rate worth knowing."""
        if self.kind == "cpu":
            return ["fp32"]
        if self.kind != "cuda" or self.rocm:
            return ["fp16", "fp32"] if self.kind == "mps" else ["bf16", "fp16", "fp32"]
        major = self.torch.cuda.get_device_capability(self.index)[0]
        if major < TENSOR_CORES:
            return ["fp32"]
        return ["fp16", "fp32"] if major < BF16_CORES else ["bf16", "fp16", "tf32", "fp32"]

    def mixed(self) -> str:
        """The format that autocast is measured in; an empty text where it is not."""
        formats = self.formats() if self.kind == "cuda" else []
        return "bf16" if "bf16" in formats else "fp16" if "fp16" in formats else ""

    def free(self) -> "int | None":
        """Free bytes of its memory, where torch can tell."""
        return self.memory()[0]

    def memory(self) -> "tuple[int | None, int | None]":
        """Free and all bytes of its memory, where torch can tell."""
        try:
            free, total = self.module.mem_get_info(self.index)
            return int(free), int(total)
        except Exception:
            return None, None

    def clear(self) -> None:
        """Give freed memory back; a broken device refuses even that."""
        try:
            if self.kind != "cpu":
                self.module.empty_cache()
        except Exception:
            pass

    def works(self) -> bool:
        """Whether it still computes: after some errors a device does nothing more for this process."""
        try:
            return float((self.torch.ones(2, device=self.name) + 1).sum().item()) == 4.0
        except Exception:
            return False


def found(torch: "Any", wanted: "list[str]") -> "list[Device]":
    """The wanted devices, or all: the CPU, which is also the reference of the others, comes first."""
    names = ["cpu"] + [name for kind in ("cuda", "xpu", "mps") for name in names_of(torch, kind)]
    return [Device(torch, name) for name in names if not wanted or name in wanted]


def names_of(torch: "Any", kind: str) -> "list[str]":
    """The names of the devices of one kind; none where it cannot be asked."""
    try:
        if kind == "mps":
            return ["mps"] if torch.backends.mps.is_available() else []
        module = getattr(torch, kind)
        return ["%s:%d" % (kind, index) for index in range(module.device_count())] if module.is_available() else []
    except Exception:
        return []


def described(device: Device) -> "dict[str, Any]":
    """What is said of a device once, before anything is measured on it."""
    free, total = device.memory()
    torch = device.torch
    told = {"device": device.name, "backend": "rocm" if device.rocm else device.kind, "memory": total, "free": free}
    if device.kind == "cpu":
        return dict(told, model=None, threads=torch.get_num_threads())
    if device.kind == "mps":
        name = getattr(torch.backends.mps, "get_name", None)
        return dict(told, model=name() if name else None)
    properties = device.module.get_device_properties(device.index)
    told["model"] = device.module.get_device_name(device.index)
    if device.kind == "cuda":
        told["units"] = getattr(properties, "multi_processor_count", None)
        told["pci"], told["uuid"] = pci_address(properties), str(getattr(properties, "uuid", "") or "") or None
        told["arch"] = getattr(properties, "gcnArchName", None) if device.rocm else None
        told["capability"] = None if device.rocm else "%d.%d" % torch.cuda.get_device_capability(device.index)
    return told


def pci_address(properties: "Any") -> "str | None":
    """The address as the system writes it, where torch is new enough to tell."""
    names = ("pci_domain_id", "pci_bus_id", "pci_device_id")
    if not all(hasattr(properties, name) for name in names):
        return None
    return "%04x:%02x:%02x.0" % tuple(getattr(properties, name) for name in names)


def names_elsewhere(device: Device) -> "list[str]":
    """How NVML names the device: by address and by UUID, where torch is new enough to tell."""
    if device.kind != "cuda" or device.rocm:
        return []
    try:
        properties = device.module.get_device_properties(device.index)
        return [name for name in (pci_address(properties), str(getattr(properties, "uuid", "") or "")) if name]
    except Exception:
        return []


def busy(device: Device) -> str:
    """Why the device counts as used by another process; an empty text when nothing says so."""
    others = other_processes(device)
    if others:
        return "process %s uses it" % ", ".join(map(str, others[:5]))
    free, total = device.memory()
    if free is None or total is None:
        return ""
    reserved = getattr(device.module, "memory_reserved", None)
    used = total - free - (reserved(device.index) if reserved else 0) - OWN_CONTEXT
    if used > BUSY_BYTES and used > BUSY_SHARE * total:
        return "%.1f of its %.1f GiB are in use" % (used / 2.0**30, total / 2.0**30)
    return ""


def other_processes(device: Device) -> "list[int]":
    """Processes that compute on it, where the examined Python has the vendor's library. We may be one of them.

    In a container the driver tells the host's process numbers, so that our own cannot be known: one is taken as ours.
    """
    if device.kind != "cuda":
        return []
    import os

    try:
        text = device.torch.cuda.list_gpu_processes(device.index)
    except Exception:
        return []
    listed = [int(number) for number in re.findall(r"process\s+(\d+)", text)]
    if not device.torch.cuda.is_initialized():
        return listed
    if os.getpid() in listed:
        return [number for number in listed if number != os.getpid()]
    return listed[1:]


def conditions(device: Device) -> "dict[str, float]":
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
