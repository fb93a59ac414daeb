from __future__ import annotations

import pytest
from driver_hosts import GIB, changed, commands, found, healthy, is_skipped, only, values

from torchdoctor.facts import Facts, Unknown
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
