"""``install-cmd --online`` against an index on loopback: the wheels it names are looked up where pip would look."""

from __future__ import annotations

import pytest
from conftest import Run
from loopback_index import LoopbackIndex, Wheel

HOST = [
    "install-cmd", "--os", "linux", "--machine", "x86_64", "--python-version", "3.12", "--libc", "glibc-2.35",
    "--driver", "550.54.15", "--gpu", "sm_86", "--torch", "2.9.1", "--backend", "cu126", "--online",
]  # fmt: skip
TAGS = "cp312-cp312-manylinux_2_28_x86_64"


@pytest.mark.parametrize(
    ("versions", "tags", "status", "words"),
    [
        (("2.9.1+cu126", "2.9.1+cpu"), TAGS, 0, "online: yes: torch 2.9.1+cu126"),
        (("2.9.1+cpu", "2.9.0+cu126"), TAGS, 1, "online: no: torch 2.9.1+cu126 is not on"),
        (("2.9.1+cu126",), TAGS.replace("312", "311"), 1, "and not for Python 3.12"),
    ],
    ids=["there", "another build only", "another Python only"],
)
def test_what_the_index_lacks_is_not_printed(
    torchdoctor: Run, versions: tuple[str, ...], tags: str, status: int, words: str
) -> None:
    with LoopbackIndex({"whl/cu126": [Wheel("torch", version, tags) for version in versions]}) as index:
        result = torchdoctor(*HOST, "--index-base", f"{index.url}/whl")
    assert result.returncode == status, result.stderr
    assert words in result.stderr
    assert bool(result.stdout) is (status == 0)


def test_an_index_that_does_not_answer_stops_nothing(torchdoctor: Run) -> None:
    with LoopbackIndex({}) as index:
        gone = index.url
    result = torchdoctor(*HOST, "--index-base", f"{gone}/whl", "--timeout", "5")
    assert result.returncode == 0, result.stderr
    assert "online: unknown: " in result.stderr
    assert result.stdout.startswith("python -m pip install torch==2.9.1+cu126 ")


def test_packages_of_conda_are_on_no_wheel_index(torchdoctor: Run) -> None:
    result = torchdoctor(*HOST[:-5], "--tool", "conda", "--online")
    assert result.returncode == 2
    assert "--online asks an index for wheels" in result.stderr
