"""Clock, power, temperature, throttle reasons and PCIe link of NVIDIA GPUs, read again and again while torch is run.

NVML is asked in a child of our interpreter, as in nvml.py: a library that hangs or crashes takes nothing with it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any

from torchdoctor import nvml
from torchdoctor.recording import Answer

if TYPE_CHECKING:
    from typing_extensions import Self

KEY = "telemetry"  # beside ``runs`` in the answer of a trial
INTERVAL = 0.2  # seconds; twice as long after each so many
THINNED = 300
MOST = 6 * THINNED  # rounds over all GPUs
_LEAVING = 1.0  # seconds for the child to end by itself
_REASON = "nvmlClocksThrottleReason"
_NO_REASONS = {"None", "All", "GpuIdle", "UserDefinedClocks"}  # the last is another name of ApplicationsClocksSetting


class Sampler:
    """Samples from entry to exit, into a file, so that what was read before a hang is kept; nothing without GPUs."""

    def __init__(self, gpus: Sequence[Mapping[str, Any]]) -> None:
        self.samples: list[dict[str, Any]] = []
        self._wanted = any(not gpu.get("error") for gpu in gpus)
        self._child: subprocess.Popen[bytes] | None = None
        self._file: IO[bytes] | None = None

    def __enter__(self) -> Self:
        """Start the child, if there is something to sample."""
        if self._wanted:
            import tempfile  # slow, and on most hosts there is nothing to sample

            with suppress(OSError):
                self._file = tempfile.TemporaryFile()
                self._child = nvml.child_of(__name__, self._file)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the child and read what it wrote."""
        if self._child:
            _leave(self._child)
        if self._file:
            with self._file as file:
                file.seek(0)
                self.samples = list(_read(file))


def _leave(child: subprocess.Popen[bytes]) -> None:
    """The end of its input tells it to go; one that does not is ended."""
    try:
        if child.stdin:
            child.stdin.close()
        child.wait(_LEAVING)
    except (OSError, subprocess.TimeoutExpired):
        pass
    finally:
        nvml.end(child)


def _read(lines: IO[bytes]) -> Iterator[dict[str, Any]]:
    """Every whole line; a child that was ended may leave half of one."""
    for line in lines:
        with suppress(ValueError):
            sample = json.loads(line)
            if isinstance(sample, dict):
                yield sample


def with_telemetry(prove: Callable[[], Answer], gpus: Sequence[Mapping[str, Any]]) -> Answer:
    """The answer of a trial, with the samples that were taken while the benchmark measured something."""
    with Sampler(gpus) as sampler:
        answer = prove()
    windows = list(_windows(answer.value))
    kept = [
        sample
        for sample in sampler.samples
        if any(began <= sample.get("time", 0.0) <= ended for began, ended in windows)
    ]
    return Answer({**answer.value, KEY: kept}) if kept else answer


def _windows(value: Any) -> Iterator[tuple[float, float]]:
    """When each series began and ended."""
    events = [event for run in (value or {}).get("runs", ()) for event in run["events"]]
    for kind, fields in events:
        if kind == "bench-series" and fields.get("started") and fields.get("ended"):
            yield float(fields["started"]), float(fields["ended"])


def main() -> None:
    """What the child does: sample until its standard input ends."""
    over = threading.Event()

    def wait_for_the_end() -> None:
        os.read(0, 1)  # not sys.stdin: a thread that waits inside that may abort an interpreter that ends first
        over.set()

    threading.Thread(target=wait_for_the_end, daemon=True).start()
    for sample in taken(over):
        sys.stdout.write(json.dumps(sample) + "\n")
        sys.stdout.flush()


def taken(over: threading.Event) -> Iterator[dict[str, Any]]:
    """Samples of every GPU that answers, ever more seldom, until it is over or there are enough."""
    import pynvml

    pynvml.nvmlInit()
    gpus = list(_handles(pynvml))
    for count in range(MOST if gpus else 0):
        for name, handle in gpus:
            yield {"time": round(time.time(), 3), **name, **_sample(pynvml, handle)}
        if over.wait(INTERVAL * 2 ** (count // THINNED)):
            return


def _handles(lib: Any) -> Iterator[tuple[dict[str, Any], Any]]:
    """Each GPU with what tells whose samples they are; torch's number is only sure of a GPU that is alone."""
    count = lib.nvmlDeviceGetCount()
    for index in range(count):
        with suppress(lib.NVMLError):
            handle = lib.nvmlDeviceGetHandleByIndex(index)
            address = nvml.attempt(lib, lib.nvmlDeviceGetPciInfo, handle)
            name = {
                "pci": nvml.as_text(address.busId) if address else None,
                "uuid": nvml.attempt(lib, lib.nvmlDeviceGetUUID, handle),
                "device": "cuda:0" if count == 1 else None,
            }
            yield name, handle


def _sample(lib: Any, handle: Any) -> dict[str, Any]:
    def ask(function: Callable[..., Any], *args: Any) -> Any:
        return nvml.attempt(lib, function, handle, *args)

    return {
        "clock_mhz": ask(lib.nvmlDeviceGetClockInfo, lib.NVML_CLOCK_SM),
        "power_w": _watts(ask(lib.nvmlDeviceGetPowerUsage)),
        "power_limit_w": _watts(ask(lib.nvmlDeviceGetEnforcedPowerLimit)),
        "temperature_c": ask(lib.nvmlDeviceGetTemperature, lib.NVML_TEMPERATURE_GPU),
        "throttle": _reasons(lib, ask(lib.nvmlDeviceGetCurrentClocksThrottleReasons) or 0),
        "pcie_gen": ask(lib.nvmlDeviceGetCurrPcieLinkGeneration),
        "pcie_width": ask(lib.nvmlDeviceGetCurrPcieLinkWidth),
    }


def _watts(milliwatts: int | None) -> float | None:
    return None if milliwatts is None else milliwatts / 1000


def _reasons(lib: Any, bits: int) -> list[str]:
    """The names of the bits, as sw_power_cap; that it idles between two steps is no reason."""
    named = {
        name[len(_REASON) :]: value
        for name, value in vars(lib).items()
        if name.startswith(_REASON) and isinstance(value, int)
    }
    return sorted({_snake(name) for name, value in named.items() if name not in _NO_REASONS and value & bits})


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("_")
