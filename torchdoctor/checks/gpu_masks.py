"""The three ways to hide a GPU by a setting: a list for CUDA, a list for the container runtime, an empty MIG mode."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torchdoctor.checks.drivers import gpu_nodes, gpu_seen, gpus_seen, labels, severity
from torchdoctor.checks.registry import seen
from torchdoctor.facts import Facts, Gpu, NotKnownError, need, value_or
from torchdoctor.findings import Finding, Remedy, Severity, Text

EMPTY_MIG = "enabled-without-instance"
HIDE_ALL = frozenset({"", "-1", "none", "NoDevFiles"})


def visible_count(mask: str, count: int) -> int:
    """Return how many of ``count`` GPUs a CUDA_VISIBLE_DEVICES value leaves.

    CUDA stops reading at the first entry that names no GPU, and lists none when one is named twice.
    """
    chosen: list[str] = []
    for entry in mask.split(","):
        text = entry.strip()
        if not (text.startswith(("GPU-", "MIG-")) or (text.isdecimal() and int(text) < count)):
            break
        if text in chosen:
            return 0
        chosen.append(text)
    return len(chosen)


def masked(facts: Facts, gpus: Sequence[Gpu]) -> Iterator[Finding]:
    """CUDA_VISIBLE_DEVICES leaves none of the GPUs."""
    mask = need(facts.env.get("CUDA_VISIBLE_DEVICES"))
    if visible_count(mask, len(gpus)):
        return
    if not mask and not facts.env.complete:
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
        remedies=(
            Remedy(
                Text("Remove the variable, or name GPUs that exist"), ("unset CUDA_VISIBLE_DEVICES", "nvidia-smi -L")
            ),
        ),
        severity=_milder(facts) if mask.strip() in HIDE_ALL else severity(facts),
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
            Remedy(
                Text("Start the container with all GPUs"),
                ("docker run --gpus all -e NVIDIA_VISIBLE_DEVICES=all IMAGE",),
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
