"""Running one probe: whatever becomes of it is an event, and only the end of the process ends the run."""

import math
import time
import warnings

from torchdoctor.target.bench_devices import used_by_others

MYPY = False
if MYPY:
    from collections.abc import Iterable
    from typing import Any

    from torchdoctor.target.smoke_devices import Device
    from torchdoctor.target.smoke_list import Probe

TEXT = 1000  # all that is kept of an error by those who read it
_CUT = " ... "
# Errors that end the context of a GPU: every later call fails with them.
STICKY = (
    "illegal",
    "misaligned",
    "unspecified launch failure",
    "device-side assert",
    "launch timed out",
    "uncorrectable",
    "stack error",
    "invalid program counter",
    "hardware exception",
)
# How torch says that an operation was never written for a device or left out of a build.
UNWRITTEN = (
    "not implemented for '",
    "is only supported on",
    "only supported for",
    "is not supported on Python",
    "not compiled with",
    "wasn't compiled with",
    "No available kernel",
    "No viable backend",
    "not supported on MPS",
    "supported on MacOS",
    "unsupported autocast device_type",
)


class Skip(Exception):
    """The device, the build or the environment cannot do this; the text is the reason."""


class Wrong(Exception):
    """A result is not what it must be. ``values`` are the figures that show it."""

    def __init__(self, text: str, values: "dict[str, Any] | None" = None) -> None:
        super().__init__(text)
        self.values = values or {}


class Job:
    """What a probe is handed."""

    def __init__(
        self, torch: "Any", device: "Device", devices: "list[Device]", level: str, folder: "str | None"
    ) -> None:
        self.torch, self.device, self.devices = torch, device, devices
        self.level, self.folder = level, folder
        self.force, self.busy = False, {}  # type: tuple[bool, dict[str, str]]
        self.threads = int(torch.get_num_threads())

    @property
    def long(self) -> bool:
        """Whether minutes are allowed."""
        return self.level == "long"

    def random(self, *shape: int, **how: "Any") -> "Any":
        """Normal numbers, always the same for a seed, made on the CPU in float32."""
        generator = self.torch.Generator().manual_seed(how.get("seed", 0))
        return self.torch.randn(*shape, generator=generator)

    def need_idle(self) -> None:
        """Skip a heavy test on a device that another process uses, unless it was asked for."""
        reason = "" if self.force else used_by_others(self.device, self.busy)
        if reason:
            raise Skip("%s; --force runs it all the same" % reason)

    def need_folder(self) -> str:
        """The folder for files, or the reason to skip."""
        if self.folder is None:
            raise Skip("no folder for temporary files can be written")
        return self.folder


def run_probe(probe: "Probe", job: Job) -> "dict[str, Any]":
    """Run it and say how it went."""
    event = {"id": probe.id, "device": job.device.name, "library": job.device.library(probe.area), "outcome": "passed"}  # type: dict[str, Any]
    event.update(error=None, reason=None, values={})
    started = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with job.device.current():
                event["values"] = probe.load()(job)
                job.device.synchronize()
        except BaseException as error:
            event.update(verdict(error, job.device.kind, said(caught)))
    event["seconds"] = time.perf_counter() - started
    event["values"] = finite(event["values"])
    event["warnings"] = said(caught)
    return event


def verdict(error: BaseException, kind: str, heard: "list[str]") -> "dict[str, Any]":
    """Failed or skipped, by the error that ended a probe."""
    text = error_text(error)
    if isinstance(error, Skip):
        return {"outcome": "skipped", "reason": str(error)}
    if isinstance(error, Wrong):
        return {"outcome": "failed", "error": str(error), "values": error.values}
    if any(words in text for words in UNWRITTEN) or (kind != "cuda" and isinstance(error, NotImplementedError)):
        return {"outcome": "skipped", "reason": " ".join([text.partition("\n")[0]] + heard)[:TEXT]}
    sticky = kind != "cpu" and any(words in text.lower() for words in STICKY)
    return {"outcome": "failed", "error": text, "values": {"sticky": True} if sticky else {}}


def error_text(error: BaseException) -> str:
    """The type and the words of an error, bounded; the end of a long one is kept since it names the cause."""
    try:
        words = str(error)
        text = "%s: %s" % (type(error).__name__, words) if words else type(error).__name__
    except BaseException as fault:
        text = "%s, which cannot be printed: %s" % (type(error).__name__, type(fault).__name__)
    return text if len(text) <= TEXT else text[: TEXT // 2 - len(_CUT)] + _CUT + text[-TEXT // 2 :]


def said(caught: "Iterable[warnings.WarningMessage]") -> "list[str]":
    """The texts of warnings, each once, the first few."""
    texts = dict.fromkeys(str(item.message).strip()[:500] for item in caught)
    return list(texts)[:10]


def finite(values: "dict[str, Any]") -> "dict[str, Any]":
    """Values with infinities and not-a-numbers as texts: JSON has none."""
    return {
        name: str(value) if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in values.items()
    }
