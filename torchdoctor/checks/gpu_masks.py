"""The three ways to hide a GPU by a setting: a list for CUDA, a list for the container runtime, an empty MIG mode."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torchdoctor.checks.drivers import gpu_nodes, gpu_seen, gpus_seen, labels, severity
from torchdoctor.checks.places import in_container
from torchdoctor.checks.registry import seen
from torchdoctor.facts import Facts, Gpu, NotKnownError, need, value_or
from torchdoctor.findings import Finding, Remedy, Severity, Text, unsetting
from torchdoctor.values import visible_count

EMPTY_MIG = "enabled-without-instance"
HIDE_ALL = frozenset({"", "-1", "none", "NoDevFiles"})
_OF_AMD = ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL")
_UNSET = Remedy(
    Text("Remove the variable, or name GPUs that exist"), (unsetting("CUDA_VISIBLE_DEVICES"), "nvidia-smi -L")
)


def masked(facts: Facts, gpus: Sequence[Gpu]) -> Iterator[Finding]:
    """CUDA_VISIBLE_DEVICES leaves none of the GPUs."""
    mask = need(facts.env.get("CUDA_VISIBLE_DEVICES"))
    if visible_count(mask, len(gpus)):
        return
    is_sure = bool(mask) or facts.env.complete
    if not is_sure and facts.torch.cuda_available is not False:
        raise NotKnownError("difference between an empty and an unset CUDA_VISIBLE_DEVICES")
    yield Finding(
        summary=Text("CUDA_VISIBLE_DEVICES='{mask}' hides every GPU", mask=mask),
        why=Text(
            "CUDA lists only the GPUs this variable names, counts from 0, and stops at the first name that does not "
            "exist; GPUs here: {count}. torch then reports that CUDA is not available although driver and build are "
            "fine.",
            count=len(gpus),
        ),
        evidence=(seen(facts, "env.CUDA_VISIBLE_DEVICES", mask), *gpus_seen(facts, gpus)),
        remedies=(_UNSET,),
        severity=_milder(facts) if mask.strip() in HIDE_ALL else severity(facts),
        confidence="certain" if is_sure else "likely",
    )


def masked_for_amd(facts: Facts) -> Iterator[Finding]:
    """A variable of HIP or ROCr leaves none of AMD's GPUs; those of CUDA count for HIP too."""
    build = value_or(facts.torch.build, None)
    gpus = [gpu for gpu in value_or(facts.gpus, ()) if value_or(gpu.vendor, "") == "amd"]
    if build is None or build.backend != "rocm" or not gpus:
        return
    for name in _OF_AMD:
        mask = value_or(facts.env.get(name), None)
        if mask is None or mask.strip() not in HIDE_ALL:
            continue
        if not mask and not facts.env.complete and facts.torch.cuda_available is not False:
            continue
        yield Finding(
            summary=Text("{variable}='{mask}' hides every GPU", variable=name, mask=mask),
            why=Text("The value names no GPU, so torch sees none, whatever driver and build are."),
            evidence=(seen(facts, f"env.{name}", mask), seen(facts, "gpus", len(gpus))),
            remedies=(Remedy(Text("Remove the variable, or name GPUs that exist"), (unsetting(name), "rocminfo")),),
            severity=_milder(facts),
        )
        return


def masked_in_full(facts: Facts) -> Iterator[Finding]:
    """CUDA_VISIBLE_DEVICES hides all there may be, where nobody has listed the GPUs and torch sees none."""
    mask = value_or(facts.env.get("CUDA_VISIBLE_DEVICES"), None)
    build = value_or(facts.torch.build, None)
    is_for_gpus = build is None or build.backend in {"cuda", "rocm"}
    if mask is None or mask.strip() not in HIDE_ALL or facts.torch.cuda_available is not False or not is_for_gpus:
        return
    yield Finding(
        summary=Text("CUDA_VISIBLE_DEVICES='{mask}' hides every GPU", mask=mask),
        why=Text(
            "This value names no GPU, so torch reports that CUDA is not available, whatever the host holds. Driver "
            "and build cannot be judged before it is gone."
        ),
        evidence=(
            seen(facts, "env.CUDA_VISIBLE_DEVICES", mask),
            seen(facts, "torch.cuda_available", value=False),
        ),
        remedies=(_UNSET,),
        severity=_milder(facts),
        confidence="likely",
    )


def not_injected(facts: Facts) -> Iterator[Finding]:
    """The container runtime was told to bring no GPU. The value ``void`` says nothing: CDI sets it as well."""
    if value_or(facts.env.get("NVIDIA_VISIBLE_DEVICES"), "") != "none" or gpu_nodes(facts):
        return
    yield Finding(
        summary=Text("NVIDIA_VISIBLE_DEVICES=none keeps the GPUs out of this container"),
        why=Text(
            "The NVIDIA container runtime brings only the devices this variable names, whatever else the container "
            "was started with."
        ),
        evidence=(
            seen(facts, "env.NVIDIA_VISIBLE_DEVICES", "none"),
            seen(facts, "driver.device_nodes", "none of a GPU"),
        ),
        remedies=(
            in_container(
                facts,
                Remedy(
                    Text("Start the container with all GPUs"),
                    ("docker run --gpus all -e NVIDIA_VISIBLE_DEVICES=all IMAGE",),
                ),
                Text("Take the variable out of the pod's specification and ask for nvidia.com/gpu in resources.limits"),
                "containers.resources.limits",
            ),
        ),
        severity=_milder(facts),
    )


def without_instance(facts: Facts, gpus: Sequence[Gpu]) -> Iterator[Finding]:
    """MIG is switched on and the GPU was not divided."""
    empty = [gpu for gpu in gpus if value_or(gpu.mig, "") == EMPTY_MIG]
    if not empty:
        return
    yield Finding(
        summary=Text("MIG is enabled without an instance on {gpus}", gpus=labels(empty)),
        why=Text(
            "A GPU in MIG mode runs CUDA only inside an instance; without one CUDA does not list it, though "
            "nvidia-smi does."
        ),
        evidence=(gpu_seen(facts, empty[0], "mig"),),
        remedies=(
            Remedy(
                Text("Create an instance of one of the listed profiles"),
                ("sudo nvidia-smi mig -lgip", "sudo nvidia-smi mig -cgi PROFILE -C"),
                risk="changes-system",
            ),
            Remedy(Text("Or switch MIG off"), ("sudo nvidia-smi -mig 0",), risk="changes-system"),
        ),
        fixable_by="admin",
        severity=severity(facts) if len(empty) == len(gpus) else "warning",
    )


def _milder(facts: Facts) -> Severity | None:
    """Whoever hides all GPUs in so many words may mean it."""
    return severity(facts) if facts.request.require_gpu else severity(facts) or "warning"
