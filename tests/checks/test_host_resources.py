from __future__ import annotations

import pytest
from driver_hosts import GIB, changed, commands, healthy, values
from one_check import found, is_skipped, only

from torchdoctor.facts import Facts, Probe, Unknown
from torchdoctor.tables import Tables

MIB = 2**20


def in_container(kind: object, shm: int | None) -> Facts:
    return changed(healthy(), place__container=kind, memory__shm=shm)


@pytest.mark.parametrize(
    ("kind", "command"),
    [
        ("docker", "docker run --shm-size=8g IMAGE"),
        ("podman", "podman run --shm-size=8g IMAGE"),
        ("kubernetes", "kubectl explain pod.spec.volumes.emptyDir"),
        ("container", "docker run --shm-size=8g IMAGE"),
        (Unknown("container kind"), "docker run --shm-size=8g IMAGE"),
        (None, "sudo mount -o remount,size=8g /dev/shm"),
    ],
)
def test_the_default_of_container_engines(kind: object, command: str, tables: Tables) -> None:
    finding = only("shm-too-small", in_container(kind, 64 * MIB), tables)
    assert str(finding.summary) == "shared memory (/dev/shm) holds only 64 MiB"
    assert command in commands(finding)
    assert values(finding)["memory.shm"] == str(64 * MIB)
    assert ("place.container" in values(finding)) is isinstance(kind, str)


@pytest.mark.parametrize("shm", [8 * GIB, 65 * MIB, None])
def test_enough_or_none(shm: int | None, tables: Tables) -> None:
    assert found("shm-too-small", in_container("docker", shm), tables) == []


def test_unknown_size_skips(tables: Tables) -> None:
    assert is_skipped("shm-too-small", changed(healthy(), memory__shm=Unknown("size of /dev/shm")), tables)


FULL = "RuntimeError: Caught RuntimeError in DataLoader worker process 0.\nRuntimeError: No space left on device"


AMPLE = ("df -h /dev/shm\nls -lS /dev/shm", "possible")


def after_dataloader(error: str, shm: object, outcome: str = "failed") -> Facts:
    probe = Probe(id="dataloader", device="cpu", library="libtorch_cpu", outcome=outcome, error=error)
    return changed(in_container("docker", None), memory__shm=shm, trial__probes=(probe,))


@pytest.mark.parametrize(
    ("shm", "summary"),
    [
        (16 * MIB, "the smoke test dataloader ran out of shared memory (/dev/shm), which holds 16 MiB"),
        (8 * GIB, "the smoke test dataloader ran out of shared memory (/dev/shm), which holds 8192 MiB"),
        (Unknown("size of /dev/shm"), "the smoke test dataloader ran out of shared memory (/dev/shm)"),
        (None, "the smoke test dataloader ran out of shared memory (/dev/shm)"),
    ],
)
def test_a_smoke_test_that_ran_out_of_it_is_an_error_and_its_evidence(
    shm: object, summary: str, tables: Tables
) -> None:
    finding = only("shm-too-small", after_dataloader(FULL, shm), tables)
    assert (str(finding.summary), finding.severity) == (summary, "error")
    assert values(finding)["trial.probes"] == "dataloader on cpu: RuntimeError: No space left on device"
    assert ("memory.shm" in values(finding)) is isinstance(shm, int)


@pytest.mark.parametrize("error", ["RuntimeError: two workers gave batches [], not [1]", ""])
def test_a_loader_that_fails_for_another_reason_says_nothing_of_shared_memory(error: str, tables: Tables) -> None:
    assert found("shm-too-small", after_dataloader(error, 8 * GIB), tables) == []
    assert only("shm-too-small", after_dataloader(error, 64 * MIB), tables).severity is None


def test_a_loader_that_passed_leaves_a_small_one_a_warning(tables: Tables) -> None:
    finding = only("shm-too-small", after_dataloader("", 64 * MIB, "passed"), tables)
    assert finding.severity is None
    assert "trial.probes" not in values(finding)


@pytest.mark.parametrize(
    ("shm", "kind", "told"),
    [
        (16 * MIB, None, ("sudo mount -o remount,size=8g /dev/shm", "certain")),
        (4 * GIB, None, ("sudo mount -o remount,size=8g /dev/shm", "certain")),
        (8 * GIB, None, AMPLE),
        (24 * GIB, None, AMPLE),
        (4 * GIB, "docker", ("docker run --shm-size=8g IMAGE", "certain")),
        (24 * GIB, "docker", AMPLE),
        (Unknown("size of /dev/shm"), None, ("sudo mount -o remount,size=8g /dev/shm", "certain")),
    ],
)
def test_nobody_is_told_to_make_it_smaller(shm: object, kind: object, told: tuple[str, str], tables: Tables) -> None:
    """Where it is as large as the command would make it, something else fills it."""
    finding = only("shm-too-small", changed(after_dataloader(FULL, shm), place__container=kind), tables)
    assert (commands(finding), finding.confidence) == told
