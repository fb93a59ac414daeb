"""The smoke tests: small real computations on each device of the examined interpreter, each compared with the truth."""

import os
import warnings

from torchdoctor.target import smoke_folder, smoke_import, smoke_init
from torchdoctor.target.smoke_list import PROBES, wanted
from torchdoctor.target.smoke_numerics import threads
from torchdoctor.target.smoke_run import Job, run_probe
from torchdoctor.target.speaker import flush_printed

MYPY = False
if MYPY:
    from collections.abc import Callable
    from typing import Any

    from torchdoctor.target.smoke_devices import Device
    from torchdoctor.target.smoke_list import Probe

    Tell = Callable[[str, "dict[str, Any]"], None]


def main(tell: "Tell", request: "dict[str, Any]") -> None:
    """Import torch, start the devices, run the probes of a level, then what else is asked of the same process."""
    if request.get("blocking"):
        os.environ.setdefault("CUDA_LAUNCH_BLOCKING", "1")
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        folder = smoke_folder.Folder()
        tell("folder", {"path": folder.path})
        try:
            everything(tell, request, folder.path)
        finally:
            folder.remove()
    tell("done", {})


def everything(tell: "Tell", request: "dict[str, Any]", folder: "str | None") -> None:
    """All of a run between making the folder and removing it."""
    torch, facts = smoke_import.import_torch(tell)
    if torch is None:
        return
    flags = repro_flags(torch, request)
    devices, kept = smoke_init.start(tell, torch, facts, request.get("devices") or [])
    tell("stage", dict(smoke_import.DESCRIBE))
    jobs = [Job(torch, device, devices, request.get("level") or "quick", folder) for device in kept]
    for job in jobs:
        job.force, job.busy = bool(request.get("force")), request.get("busy") or {}
    tell("plan", {"probes": planned(jobs, request.get("only") or [], kept)})
    with threads(torch, 1):
        for job in jobs:
            run_device(tell, job, request.get("only") or [], kept)
    if flags is not None:
        from torchdoctor.target import smoke_repro

        tell("repro", dict(flags, **smoke_repro.measure(tell, torch, kept or devices)))
    if request.get("bench") is not None:
        from torchdoctor.target import bench

        tell("stage", {"id": "bench", "device": kept[0].name if kept else "cpu"})
        bench.main(tell, request["bench"], kept)


def repro_flags(torch: "Any", request: "dict[str, Any]") -> "dict[str, Any] | None":
    """The flags that reproducibility needs, read before any probe touches one; None when nobody asked."""
    if not request.get("repro"):
        return None
    from torchdoctor.target import smoke_repro

    return smoke_repro.flags(torch)


def planned(jobs: "list[Job]", only: "list[str]", kept: "list[Device]") -> "list[list[str]]":
    """What is to be run, so that after a crash it is known what was cut off."""
    return [
        [probe.id, job.device.name]
        for job in jobs
        for probe in PROBES
        if wanted(probe, job.level, only) and runs_on(probe, job.device, kept)
    ]


def run_device(tell: "Tell", job: "Job", only: "list[str]", kept: "list[Device]") -> None:
    """All probes of one device in order; after an error that ends its context the rest are skipped."""
    usable = True
    for probe in PROBES:
        if not wanted(probe, job.level, only) or not runs_on(probe, job.device, kept):
            continue
        if usable:
            tell("stage", {"id": probe.id, "device": job.device.name, "library": job.device.library(probe.area)})
            event = run_probe(probe, job)
        else:
            event = unusable(probe, job.device)
        tell("probe", event)
        usable = usable and not event["values"].get("sticky")
        flush_printed()


def runs_on(probe: "Probe", device: "Device", devices: "list[Device]") -> bool:
    """A probe of the host runs once, on the CPU or on the first accelerator; any other on every device."""
    if probe.scope == "cpu":
        return device.kind == "cpu"
    first = next((other for other in devices if other.kind != "cpu"), devices[0])
    return probe.scope == "each" or device is first


def unusable(probe: "Probe", device: "Device") -> "dict[str, Any]":
    """The event of a probe that was not run since the device's context is gone; another process may run it."""
    return {
        "id": probe.id, "device": device.name, "library": device.library(probe.area), "outcome": "skipped",
        "seconds": 0.0, "error": None, "reason": "the device is unusable after an earlier error", "unusable": True,
        "values": {}, "warnings": [],
    }  # fmt: skip
