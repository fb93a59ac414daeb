"""Starting the devices: the error, its number and the devices found. The first place where a driver can fail or hang."""

import re
import sys
import time
import warnings

from torchdoctor.target.smoke_devices import Device
from torchdoctor.target.smoke_import import DESCRIBE, attempted
from torchdoctor.target.smoke_run import error_text, said

MYPY = False
if MYPY:
    from collections.abc import Callable
    from typing import Any

    Tell = Callable[[str, "dict[str, Any]"], None]

RUNTIMES = {"cuda": ("libcudart.so", "cuda"), "rocm": ("libamdhip64.so", "hip")}
DRIVERS = {"cuda": "libcuda", "rocm": "libamdhip64", "xpu": "libze_loader", "mps": "Metal", "cpu": "libtorch_cpu"}


def start(
    tell: "Tell", torch: "Any", facts: "dict[str, Any]", names: "list[str]"
) -> "tuple[list[Device], list[Device]]":
    """Start the devices of the build and tell how that went: all of them, the CPU first, and those asked for.

    The event "imported" is told once more, since only now is it known whether a device is available.
    """
    kind = facts["backend"]
    tell("stage", {"id": "init", "device": kind, "library": DRIVERS[kind]})
    started = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        available, error, found = initialise(torch, kind)
    answer = {"outcome": "passed", "error": error, "code": None, "warnings": said(caught)}  # type: dict[str, Any]
    if not available or error:
        answer.update(failure(kind, error or "\n".join(answer["warnings"])))
    tell("imported", dict(facts, available=available, warnings=facts["warnings"] + answer["warnings"]))
    tell("init", answer)
    tell("probe", event(kind, answer, time.perf_counter() - started))
    tell("stage", dict(DESCRIBE, device=kind, library=DRIVERS[kind]))
    everything = [Device(torch, "cpu", None)] + found
    kept = [device for device in everything if not names or device.name in names]
    for name in sorted(set(names) - {device.name for device in everything}):
        tell("probe", absent(name, everything))
    tell("devices", {"devices": [device.describe() for device in kept if device.kind != "cpu"]})
    return everything, kept


def initialise(torch: "Any", kind: str) -> "tuple[bool, str | None, list[Device]]":
    """Whether a device is there, the error of starting it, and the devices."""
    if kind == "cpu":
        return False, None, []
    if kind == "mps":
        available = bool(torch.backends.mps.is_available())
        error = None if available else "torch.backends.mps.is_available() is False"
        return available, error, [Device(torch, kind, None)] if available else []
    module = torch.xpu if kind == "xpu" else torch.cuda
    try:
        available = bool(module.is_available())
        module.init()
        return available, None, [Device(torch, kind, index) for index in range(module.device_count())]
    except Exception as error:
        return attempted(module.is_available) or False, error_text(error), []


def failure(kind: str, text: str) -> "dict[str, Any]":
    """What is told of devices that did not start: no device at all, or a failure with the runtime's number."""
    if kind == "cpu":
        return {"outcome": "no-device", "reason": "this build of torch has no accelerator"}
    answer = runtime(*RUNTIMES[kind]) if kind in RUNTIMES else {}
    found = re.search(r"\b[Ee]rror (\d+)", text)
    code = answer.get("code") or (int(found.group(1)) if found else None)
    absent = answer.get("driver") == 0 or "o NVIDIA driver" in text or "No CUDA GPUs" in text
    absent = absent or "No HIP GPUs" in text or (kind in ("mps", "xpu") and code is None)
    return dict(answer, outcome="no-device" if absent else "failed", code=code, error=text or None)


def runtime(library: str, prefix: str) -> "dict[str, Any]":
    """The number the runtime answers for the count of devices, and the versions it knows; empty where it is not loaded.

    Torch turns several numbers into sentences of its own, so the library already in memory is asked again.
    """
    path = loaded(library)
    if path is None:
        return {}
    import ctypes

    try:
        handle = ctypes.CDLL(path)
        value = ctypes.c_int(-1)
        answer = {"code": int(getattr(handle, prefix + "GetDeviceCount")(ctypes.byref(value)))}
        for name, key in (("DriverGetVersion", "driver"), ("RuntimeGetVersion", "runtime")):
            value = ctypes.c_int(-1)
            if getattr(handle, prefix + name)(ctypes.byref(value)) == 0:
                answer[key] = value.value
        return answer
    except (OSError, AttributeError):
        return {}


def loaded(library: str) -> "str | None":
    """The path of a shared library in this process, where the system lists them."""
    try:
        with open("/proc/self/maps", errors="replace") as lines:
            return next((line.split(None, 5)[5].strip() for line in lines if library in line), None)
    except (OSError, IndexError):
        return None


def event(kind: str, answer: "dict[str, Any]", seconds: float) -> "dict[str, Any]":
    """The event of the probe named init."""
    outcome = {"passed": "passed", "failed": "failed"}.get(answer["outcome"], "skipped")
    text = answer.get("reason") or answer["error"] or "no device"
    return {
        "id": "init",
        "device": kind,
        "library": DRIVERS[kind],
        "outcome": outcome,
        "seconds": seconds,
        "error": answer["error"] if outcome == "failed" else None,
        "reason": text if outcome == "skipped" else None,
        "values": {key: answer[key] for key in ("code", "driver", "runtime") if answer.get(key) is not None},
        "warnings": answer["warnings"],
    }


def absent(name: str, everything: "list[Device]") -> "dict[str, Any]":
    """The event of a device that was asked for and is not there."""
    reason = "there is no such device; there are: %s" % ", ".join(device.name for device in everything)
    return {
        "id": "init", "device": name, "library": "", "outcome": "skipped", "seconds": 0.0, "error": None,
        "reason": reason, "values": {"absent": True}, "warnings": [],
    }  # fmt: skip
