"""Host resources that torch programs run out of although the GPU has plenty."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from torchdoctor.checks.answers import failed_probes, finding_of
from torchdoctor.checks.registry import check, seen
from torchdoctor.facts import Facts, Probe, Unknown, need, value_or
from torchdoctor.findings import Evidence, Finding, Remedy, Text
from torchdoctor.tables import Tables

MEBIBYTE = 2**20
CONTAINER_DEFAULT = 64 * MEBIBYTE  # what container engines give unless asked for more

_SHM = "shm-too-small"
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


@check(_SHM, severity="warning")
def shm_too_small(facts: Facts, tables: Tables) -> Iterator[Finding]:
    """Shared memory is too small for DataLoader workers or NCCL."""
    failed = [probe for probe in failed_probes(facts) if finding_of(probe, tables) == _SHM]
    if not failed and need(facts.memory.shm) > CONTAINER_DEFAULT:
        return
    kind = value_or(facts.place.container, "docker") if facts.place.container is not None else ""
    text, command = _ENLARGE.get(kind, _ENLARGE["docker"] if kind else _REMOUNT)
    yield Finding(
        summary=_summary(facts, failed),
        why=Text(
            "DataLoader workers pass batches, and NCCL passes gradients, through shared memory; when it is full, "
            "workers die with a bus error. This is neither GPU memory nor a fault of the driver."
        ),
        evidence=(
            *_failures(facts, failed),
            *_size(facts),
            *((seen(facts, "place.container", kind),) if facts.place.container == kind else ()),
        ),
        remedies=(
            Remedy(text, (command,), risk="safe" if kind else "changes-system"),
            Remedy(Text("Or load data in the main process: num_workers=0")),
        ),
        severity="error" if failed else None,
    )


def _summary(facts: Facts, failed: list[Probe]) -> Text:
    size = value_or(facts.memory.shm, None)
    if not failed:
        return Text("shared memory (/dev/shm) holds only {size} MiB", size=(size or 0) // MEBIBYTE)
    if size is None:
        return Text("the smoke test {probe} ran out of shared memory (/dev/shm)", probe=failed[0].id)
    return Text(
        "the smoke test {probe} ran out of shared memory (/dev/shm), which holds {size} MiB",
        probe=failed[0].id,
        size=size // MEBIBYTE,
    )


def _failures(facts: Facts, failed: Iterable[Probe]) -> Iterator[Evidence]:
    """What each failed test said; the last line of an error names its cause."""
    for probe in failed:
        said = (probe.error or "").strip().rpartition("\n")[2][:300]
        yield seen(facts, "trial.probes", f"{probe.id} on {probe.device}: {said}", "smoke tests")


def _size(facts: Facts) -> Iterator[Evidence]:
    size = facts.memory.shm
    if size is not None and not isinstance(size, Unknown):
        yield seen(facts, "memory.shm", size)
