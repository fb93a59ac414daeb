"""``check --wait SECONDS``: until a GPU driver is up, as after the boot of a node or the start of a driver daemon."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from torchdoctor import nvml
from torchdoctor.commands.common import note
from torchdoctor.errors import UsageError
from torchdoctor.which_python import choose_python, is_local

_PAUSE = 1.0  # seconds between two looks
# What a driver makes when it is up: NVIDIA's module and its devices, WSL's device, AMD's, Intel's under Windows' name.
_MODULES = ("/proc/driver/nvidia/version", "/sys/module/nvidia/version", "/dev/dxg")
_DEVICES = ("/dev/nvidiactl", "/dev/nvidia[0-9]*", "/dev/dxg", "/dev/kfd")


def wait_for_driver(seconds: float, python: str | None) -> None:
    """Come back as soon as a driver is up, or when the time is over; say which on stderr, unless it was up at once."""
    if not is_local(choose_python(python).argv):
        raise UsageError("--wait looks at this host, and --python may start another one: leave one of them out")
    begun = time.monotonic()
    missing = _missing(seconds)
    if missing:
        note(f"waiting up to {seconds:g} s for a GPU driver: {missing}")
    while missing:
        left = begun + seconds - time.monotonic()
        if left <= 0:
            note(f"no GPU driver came up in {seconds:g} s: {missing}")
            return
        time.sleep(min(_PAUSE, left))
        missing = _missing(left)
        if not missing:
            note(f"the GPU driver came up after {time.monotonic() - begun:.0f} s")


def _missing(seconds: float) -> str:
    """What is not there yet, or nothing: NVML with a GPU, or where there is no NVML a module with its devices."""
    if nvml.is_there():
        told = nvml.finish(nvml.start(), max(1.0, min(seconds, nvml.SECONDS)))
        answer = told.value if isinstance(told.value, dict) else {}
        if answer.get("error") == "" and nvml.gpus_of(told):
            return ""
        return f"NVML says {answer.get('error') or told.error or 'that it has no GPU'}"
    if sys.platform == "win32":
        return "nvml.dll is not there"
    if not _is_any(_DEVICES):
        return "no device of a GPU driver (/dev/nvidia0, /dev/dxg, /dev/kfd) is there"
    if Path("/dev/kfd").exists() or _is_any(_MODULES):
        return ""
    return "/proc/driver/nvidia/version is not there"


def _is_any(patterns: tuple[str, ...]) -> bool:
    root = Path("/")
    return any(True for pattern in patterns for _ in root.glob(pattern.lstrip("/")))
