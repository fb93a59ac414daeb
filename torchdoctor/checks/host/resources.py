"""Host resources that torch programs run out of although the GPU has plenty."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from torchdoctor.checks.answers import failed_probes, finding_of, named
from torchdoctor.checks.places import KUBERNETES
from torchdoctor.checks.registry import check, seen
from torchdoctor.facts import Facts, Probe, Unknown, need, value_or
from torchdoctor.findings import Evidence, Finding, Remedy, Text
from torchdoctor.tables import Tables

MEBIBYTE = 2**20
CONTAINER_DEFAULT = 64 * MEBIBYTE  # what container engines give unless asked for more
AMPLE = 8 * 2**30  # what the commands ask for: where it was there already, something else fills it

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
    KUBERNETES: (
        Text("Mount an emptyDir volume with 'medium: Memory' at /dev/shm in the pod"),
        "kubectl explain pod.spec.volumes.emptyDir",
    ),
}
_REMOUNT = (Text("Enlarge the file system"), "sudo mount -o remount,size=8g /dev/shm")
_FILLED = Remedy(
    Text("See what fills it: files of programs that have ended stay"), ("df -h /dev/shm", "ls -lS /dev/shm")
)


@check(_SHM, severity="warning")
def shm_too_small(facts: Facts, tables: Tables) -> Iterator[Finding]:
    """Shared memory is too small for DataLoader workers or NCCL."""
    failed = [probe for probe in failed_probes(facts) if finding_of(probe, tables) == _SHM]
    if not failed and need(facts.memory.shm) > CONTAINER_DEFAULT:
        return
    is_ample = (value_or(facts.memory.shm, 0) or 0) >= AMPLE
    kind = value_or(facts.place.container, "docker") if facts.place.container is not None else ""
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
            _FILLED if is_ample else _enlarge(kind),
            Remedy(Text("Or load data in the main process: num_workers=0")),
        ),
        severity="error" if failed else None,
        confidence="possible" if is_ample else "certain",
    )


def _enlarge(kind: str) -> Remedy:
    """How it becomes larger here; in no container by remounting it."""
    text, command = _ENLARGE.get(kind, _ENLARGE["docker"] if kind else _REMOUNT)
    return Remedy(text, (command,), risk="safe" if kind else "changes-system")


def _summary(facts: Facts, failed: list[Probe]) -> Text:
    size = value_or(facts.memory.shm, None)
    if not failed:
        return Text("shared memory (/dev/shm) holds only {size} MiB", size=(size or 0) // MEBIBYTE)
    if size is None:
        return Text("{what} ran out of shared memory (/dev/shm)", what=named(failed[0]))
    return Text(
        "{what} ran out of shared memory (/dev/shm), which holds {size} MiB",
        what=named(failed[0]),
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
