"""GPUs that are there, or should be, and that this process is not given."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.checks.drivers import (
    driver_loaded,
    gpu_nodes,
    gpus_seen,
    is_jetson,
    labels,
    nvidia_gpus,
    severity,
    torch_sees_gpu,
)
from torchdoctor.checks.gpu_masks import masked, masked_for_amd, masked_in_full, not_injected, without_instance
from torchdoctor.checks.other_vendors import serves_for_xpu
from torchdoctor.checks.places import (
    ask_scheduler,
    configure_runtime,
    give_container_gpu,
    has_allocation,
    in_job,
    show_gpu,
    withheld,
)
from torchdoctor.checks.registry import check, seen
from torchdoctor.checks.wanted import gpu_wanted, gpus_required
from torchdoctor.facts import Facts, Gpu, is_known, known, need, value_or
from torchdoctor.findings import Evidence, Finding, Remedy, Text
from torchdoctor.tables import Tables

_NOT_PASSED_IN = frozenset({"no-devices", "no-driver", "no-nvml"})
_NOT_ASKED_FOR = frozenset({*_NOT_PASSED_IN, "not-found", "permission"})
# Where the driver itself shows no GPU, that it shows none to this process is a consequence.
_UNUSABLE = ("driver-not-loaded", "driver-dropped-gpu", "driver-library-mismatch", "gpu-init-failed", "gpu-lost")
GPU_BACKENDS = frozenset({"cuda", "rocm", "xpu"})
_OPEN_SANDBOX = {
    "flatpak": "flatpak override --user --device=all APPLICATION",
    "snap": "sudo snap connect APPLICATION:opengl",
}


@check("scheduler-no-gpu", severity="error", parent="gpu-hidden")
def scheduler_no_gpu(facts: Facts, _tables: Tables) -> Iterator[Finding]:
    """The job runs on a GPU node and the scheduler has allocated no GPU to it."""
    scheduler = need(facts.place.scheduler)
    asks_none, asks = facts.place.job_asks_gpu is False, value_or(facts.place.job_asks_gpu, False)
    if torch_sees_gpu(facts) or asks or not (asks_none or in_job(facts, scheduler)) or has_allocation(facts):
        return
    gpus = nvidia_gpus(facts) if is_known(facts.gpus) or not asks_none else ()
    if asks_none and not gpus:
        yield from _not_asked_for(facts, scheduler)
        return
    sign = withheld(facts, gpus) if gpus else None
    if sign is None:
        return
    yield Finding(
        summary=Text("{scheduler} has allocated no GPU to this job", scheduler=scheduler),
        why=Text(
            "The node has {gpus}; the scheduler hands out only what a job asked for and hides the rest. Driver and "
            "torch are not at fault.",
            gpus=labels(gpus),
        ),
        evidence=(seen(facts, "place.scheduler", scheduler), *gpus_seen(facts, gpus), sign),
        remedies=(ask_scheduler(scheduler),),
        severity=severity(facts),
        confidence="certain" if facts.env.complete else "likely",
    )


def _not_asked_for(facts: Facts, scheduler: str) -> Iterator[Finding]:
    """Say that a job which finds no GPU has not asked for one, whatever the node holds."""
    smi = value_or(facts.driver.smi, "")
    if smi in _NOT_ASKED_FOR:
        sign = seen(facts, "driver.smi", smi)
    elif facts.torch.cuda_available is False and need(facts.torch.build).backend in GPU_BACKENDS:
        sign = seen(facts, "torch.cuda_available", value=False)
    else:
        return
    yield Finding(
        summary=Text("this {scheduler} job has not asked for a GPU", scheduler=scheduler),
        why=Text(
            "The scheduler hands out only what a job asked for: it hides the GPUs of the node from others, or sends "
            "them to nodes without any. Driver and torch cannot be judged from inside such a job."
        ),
        evidence=(
            seen(facts, "place.scheduler", scheduler),
            seen(facts, "place.job_asks_gpu", facts.place.job_asks_gpu),
            sign,
        ),
        remedies=(ask_scheduler(scheduler),),
        severity=severity(facts),
        confidence="likely",
    )


@check("sandbox-hides-gpu", severity="error", parent="gpu-hidden")
def sandbox_hides_gpu(facts: Facts, _tables: Tables) -> Iterator[Finding]:
    """A sandbox (flatpak, snap, seatbelt) keeps the GPU from this process."""
    sandbox = need(facts.place.sandbox)
    gpus = () if torch_sees_gpu(facts) else nvidia_gpus(facts)
    sign = withheld(facts, gpus) if gpus else None
    if sign is None:
        return
    open_it = (
        [Remedy(Text("Or give the sandbox the devices"), (_OPEN_SANDBOX[sandbox],))] if sandbox in _OPEN_SANDBOX else []
    )
    yield Finding(
        summary=Text("the {sandbox} sandbox hides the GPU", sandbox=sandbox),
        why=Text(
            "The host has {gpus}, but a sandboxed program gets only the devices that its permissions name.",
            gpus=labels(gpus),
        ),
        evidence=(seen(facts, "place.sandbox", sandbox), *gpus_seen(facts, gpus), sign),
        remedies=(Remedy(Text("Run the same Python outside of the sandbox")), *open_it),
        severity=severity(facts),
        confidence="likely",
    )


@check("gpu-hidden", severity="error", after=("scheduler-no-gpu", "sandbox-hides-gpu", *_UNUSABLE))
def gpu_hidden(facts: Facts, _tables: Tables) -> Iterator[Finding]:
    """A variable (CUDA_VISIBLE_DEVICES, HIP_VISIBLE_DEVICES ...) or MIG hides every GPU."""
    if torch_sees_gpu(facts):
        return
    if not is_known(facts.gpus):
        yield from masked_in_full(facts)
    yield from masked_for_amd(facts)
    gpus = tuple(gpu for gpu in nvidia_gpus(facts) if value_or(gpu.driver_sees, True))
    if not gpus:
        return
    yield from without_instance(facts, gpus)
    yield from not_injected(facts)
    yield from masked(facts, gpus)


@check("build-step-no-gpu", severity="warning", parent="container-without-gpu")
def build_step_no_gpu(facts: Facts, _tables: Tables) -> Iterator[Finding]:
    """An image build or a login node has no GPU by design."""
    is_build = value_or(facts.place.image_build, False)
    scheduler = "" if is_build else known(facts.place.scheduler) or ""
    if not is_build and (not scheduler or in_job(facts, scheduler)):
        known(facts.place.image_build)
        return
    if torch_sees_gpu(facts) or _may_use_one_here(facts):
        return
    if not facts.request.require_gpu and need(facts.torch.build).backend not in GPU_BACKENDS:
        return
    yield _by_design(facts, scheduler)


@check("container-without-gpu", severity="error", after=("gpu-hidden", "scheduler-no-gpu"))
def container_without_gpu(facts: Facts, tables: Tables) -> Iterator[Finding]:
    """The container was started without GPU access, or its runtime does not give any."""
    kind = need(facts.place.container)
    if (
        torch_sees_gpu(facts)
        or value_or(facts.place.image_build, False)
        or value_or(facts.place.wsl, 0)
        or is_jetson(facts, tables)
    ):
        return
    gpus = nvidia_gpus(facts) if is_known(facts.gpus) else ()
    sign = _no_access(facts)
    if sign is None:
        return
    yield Finding(
        summary=Text("this {kind} container has no access to the GPU", kind=kind),
        why=Text(
            "The host's GPU or driver shows through, but no device of a GPU was passed in. A driver cannot be "
            "installed inside a container: the runtime brings the host's when the container is started with GPUs."
        ),
        evidence=(
            seen(facts, "place.container", kind),
            *gpus_seen(facts, gpus),
            sign,
        ),
        remedies=(give_container_gpu(kind), *configure_runtime(kind)),
        severity=severity(facts),
        confidence="certain" if gpus else "likely",
    )


@check(
    "no-gpu",
    severity="info",
    after=("build-step-no-gpu", "container-without-gpu", "scheduler-no-gpu", *_UNUSABLE, "wsl-driver"),
)
def no_gpu(facts: Facts, _tables: Tables) -> Iterator[Finding]:
    """No GPU that torch could use is on this host."""
    gpus = known(facts.gpus) or ()
    required, build = facts.request.require_gpu, value_or(facts.torch.build, None)
    if torch_sees_gpu(facts) or any(_may_serve(gpu, build.backend if build else "") for gpu in gpus):
        return
    if not required and need(facts.torch.build).backend not in GPU_BACKENDS:
        return
    others = ", ".join(value_or(gpu.name, "") or f"{value_or(gpu.vendor, 'another')} GPU" for gpu in gpus)
    masked_bus = value_or(facts.place.container, "") or value_or(facts.place.wsl, 0)
    yield Finding(
        summary=_no_gpu(facts),
        why=_why_no_gpu(required=required),
        evidence=(
            seen(facts, "gpus", others or None),
            *gpu_wanted(facts),
        ),
        remedies=(show_gpu(facts),),
        fixable_by="admin" if required else "user",
        severity="error" if required else "info",
        confidence="likely" if masked_bus else "certain",
    )


def _no_gpu(facts: Facts) -> Text:
    """That there is none, and which requirements of a policy that leaves unmet."""
    unmet = ", ".join(f"{item.key.removeprefix('require.')} {item.wanted}" for item in gpus_required(facts))
    none = "no GPU that torch could use is on this host"
    return Text(f"{none}; required: {{unmet}}", unmet=unmet) if unmet else Text(none)


def _why_no_gpu(*, required: bool) -> Text:
    if required:
        return Text(
            "A GPU is required here, and neither another build nor a driver can stand in for one that is missing. "
            "Where there should be a GPU, the command below shows or gives it."
        )
    return Text(
        "Nothing is broken by that: torch computes on the processor, and so does a CUDA build. Where there should be "
        "a GPU, the command below shows or gives it."
    )


def _may_use_one_here(facts: Facts) -> bool:
    """Whether a GPU of this place is not kept from the process, so that the place is no build step or login node."""
    gpus = known(facts.gpus) or ()
    has_amd = any(value_or(gpu.vendor, "") == "amd" for gpu in gpus)
    return has_amd or (bool(nvidia_gpus(facts)) and withheld(facts, gpus) is None)


def _by_design(facts: Facts, scheduler: str) -> Finding:
    build = (
        give_container_gpu(
            value_or(facts.place.container, ""), Text("Check for a GPU in the started container, not in the build")
        ),
        Remedy(Text("When an extension is compiled in this step, name its architectures in TORCH_CUDA_ARCH_LIST")),
    )
    summary = (
        Text("{scheduler} login nodes have no GPU", scheduler=scheduler)
        if scheduler
        else Text("an image build has no GPU")
    )
    place = seen(facts, "place.scheduler", scheduler) if scheduler else seen(facts, "place.image_build", value=True)
    return Finding(
        summary=summary,
        why=Text(
            "That is by design, whatever the driver and the build are; it says nothing about the place where torch "
            "will run."
        ),
        evidence=(place,),
        remedies=(ask_scheduler(scheduler),) if scheduler else build,
        severity="error" if facts.request.require_gpu else None,
    )


def _no_access(facts: Facts) -> Evidence | None:
    """Return what shows that a GPU of the host was not passed in: no device node, or nvidia-smi's failure."""
    smi = value_or(facts.driver.smi, "")
    if is_known(facts.gpus) and not nvidia_gpus(facts) and not value_or(facts.driver.module_loaded, False):
        return None
    if smi in _NOT_PASSED_IN and not (is_known(facts.driver.device_nodes) and gpu_nodes(facts)):
        return seen(facts, "driver.smi", smi)
    if gpu_nodes(facts) or not (is_known(facts.gpus) or driver_loaded(facts)):
        return None
    return seen(facts, "driver.device_nodes", "none of a GPU")


def _may_serve(gpu: Gpu, backend: str) -> bool:
    """Whether some build could use this GPU; an Intel one of any kind counts only for an XPU build."""
    vendor = need(gpu.vendor)
    return vendor in {"nvidia", "amd", "apple"} or (vendor == "intel" and backend == "xpu") or serves_for_xpu(gpu)
