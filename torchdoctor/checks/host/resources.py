"""Host resources that torch programs run out of although the GPU has plenty."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.checks.registry import check, seen
from torchdoctor.facts import Facts, need, value_or
from torchdoctor.findings import Finding, Remedy, Text
from torchdoctor.tables import Tables

MEBIBYTE = 2**20
CONTAINER_DEFAULT = 64 * MEBIBYTE  # what container engines give unless asked for more

_ENLARGE: dict[str, tuple[Text, str]] = {
    "docker": (
        Text("Start the container with more shared memory, or with the host's"),
        "docker run --shm-size=8g IMAGE",
    ),
    "podman": (
        Text("Start the container with more shared memory, or with the host's"),
        "podman run --shm-size=8g IMAGE",
    ),
    "kubernetes": (
        Text("Mount an emptyDir volume with 'medium: Memory' at /dev/shm in the pod"),
        "kubectl explain pod.spec.volumes.emptyDir",
    ),
}
_REMOUNT = (Text("Enlarge the file system"), "sudo mount -o remount,size=8g /dev/shm")


@check("shm-too-small", severity="warning")
def shm_too_small(facts: Facts, _tables: Tables) -> Iterator[Finding]:
    """Shared memory is too small for DataLoader workers or NCCL."""
    size = need(facts.memory.shm)
    if size > CONTAINER_DEFAULT:
        return
    kind = value_or(facts.place.container, "docker") if facts.place.container is not None else ""
    text, command = _ENLARGE.get(kind, _ENLARGE["docker"] if kind else _REMOUNT)
    yield Finding(
        summary=Text("shared memory (/dev/shm) holds only {size} MiB", size=size // MEBIBYTE),
        why=Text(
            "DataLoader workers pass batches, and NCCL passes gradients, through shared memory; when it is full, "
            "workers die with a bus error. This is neither GPU memory nor a fault of the driver."
        ),
        evidence=(
            seen(facts, "memory.shm", size),
            *((seen(facts, "place.container", kind),) if facts.place.container == kind else ()),
        ),
        remedies=(
            Remedy(text, (command,), risk="safe" if kind else "changes-system"),
            Remedy(Text("Or load data in the main process: num_workers=0")),
        ),
    )
