"""Random hosts: every printed build satisfies every hard condition as recomputed from the CSV, and none is missed."""

from __future__ import annotations

import csv
import re
from functools import cache
from typing import Any

from conftest import ROOT
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from torchdoctor.prescribe.choose import choose
from torchdoctor.prescribe.conditions import Wish
from torchdoctor.prescribe.described import describe
from torchdoctor.tables import Tables

TABLES = Tables()


@cache
def rows(name: str) -> list[dict[str, str]]:
    with (ROOT / "compat_tables" / name).open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", text)))


def arch(text: str) -> tuple[int, int]:
    major, minor = text.split(".")
    return int(major), int(minor)


def drivers(host: dict[str, Any]) -> str:
    return "windows" if host["os"] == "windows" or host.get("wsl") else "linux"


def runs_natively(code: str, device: tuple[int, int], cuda: tuple[int, ...]) -> bool:
    """Same major, lower or equal minor, less the Tegra exceptions: written from the rule, not from our code."""
    sass = arch(code)
    if {sass, device} == {(10, 1), (11, 0)}:
        return True
    tegra = {(5, 3), (6, 2), (7, 2), (8, 7), (10, 1)}
    if device in tegra and sass != device and not (device in {(7, 2), (8, 7)} and cuda >= (13, 2)):
        return False
    if sass in tegra and sass != device and not (sass in {(7, 2), (8, 7)} and cuda >= (13, 2)):
        return False
    return sass[0] == device[0] and sass[1] <= device[1]


def branch_of(host: dict[str, Any]) -> dict[str, str] | None:
    number = numbers(host["driver"])[0]
    for row in rows("driver_branches.csv"):
        if (
            drivers(host) == "windows"
            and row["windows_from"]
            and int(row["windows_from"]) <= number <= int(row["windows_to"])
        ):
            return row
    return next((row for row in rows("driver_branches.csv") if int(row["branch"]) == number), None)


def first_drivers(branch: dict[str, str]) -> dict[tuple[int, int], tuple[int, ...]]:
    """Where a branch learnt of a GPU family late: the first of its drivers that knows it."""
    pairs = (item.split("=") for item in branch["since"].split())
    return {arch(device): numbers(first) for device, first in pairs}


def is_candidate(row: dict[str, str], host: dict[str, Any]) -> bool:  # noqa: C901, PLR0911 - one condition a line
    """Every hard condition, naively."""
    if (row["os"], row["machine"]) != (host["os"], host["machine"]):
        return False
    if row["emit"] != "yes" or row["advertised"] != "yes" or row["code_confidence"] in {"inferred", "unknown"}:
        return False
    if host["python"] not in row["pythons"].split():
        return False
    if row["glibc_min"] and (host["libc"] == "musl" or numbers(host["libc"]) < numbers(row["glibc_min"])):
        return False
    if not host["gpus"]:
        return row["build"] == "cpu"
    if not row["build"].startswith("cu"):
        return False
    cuda = numbers(row["cuda"])[:2]
    floor = next(r[f"{drivers(host)}_floor"] for r in rows("cuda_drivers.csv") if numbers(r["toolkit"])[:2] == cuda)
    if numbers(host["driver"]) < numbers(floor):
        return False
    branch = branch_of(host)
    for gpu in host["gpus"]:
        device = arch(f"{gpu[3:-1]}.{gpu[-1]}")
        if branch is not None and f"{device[0]}.{device[1]}" not in branch["archs"].split():
            return False
        if branch is not None and numbers(host["driver"]) < first_drivers(branch).get(device, ()):
            return False
        native = any(runs_natively(code, device, cuda) for code in row["code"].split())
        jit = (
            branch is not None
            and numbers(branch["cuda"])[:2] >= cuda
            and any(arch(code) <= device for code in row["ptx"].split())
        )
        if not native and not jit:
            return False
    return True


GPUS = [f"sm_{code}" for code in (37, 50, 52, 60, 61, 70, 75, 80, 86, 89, 90, 100, 103, 120, 121)]
DRIVERS = [
    *("418.226.00", "450.36.06", "450.80.02", "470.256.02", "515.65.01", "525.60.11", "525.60.13", "535.183.01"),
    *("527.41", "528.33", "550.54.15", "560.94", "565.77", "570.86.10", "572.83", "575.57.08", "580.65.06", "581.29"),
    *("590.48.01", "591.44", "595.45.04", "610.47", "620.70.06"),
]


hosts = st.fixed_dictionaries(
    {
        "os": st.sampled_from(["linux", "linux", "windows"]),
        "machine": st.sampled_from(["x86_64", "x86_64", "x86_64", "aarch64"]),
        "python": st.sampled_from(
            ["3.7", "3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.13t", "3.14", "3.14t", "3.15", "3.15t"]
        ),
        "libc": st.sampled_from(["glibc-2.17", "glibc-2.27", "glibc-2.28", "glibc-2.31", "glibc-2.39", "musl"]),
        "driver": st.sampled_from(DRIVERS),
        "wsl": st.booleans(),
        "gpus": st.lists(st.sampled_from(GPUS), max_size=1),
    }
)


def normalised(host: dict[str, Any]) -> dict[str, Any]:
    windows = host["os"] == "windows"
    return {
        **host,
        "machine": "x86_64" if windows else host["machine"],
        "wsl": host["wsl"] and not windows,
        "libc": None if windows else host["libc"],
        "jetpack": None,
        "torch": None,
    }


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(hosts)
@example({
    "os": "linux", "machine": "x86_64", "python": "3.9", "libc": "glibc-2.28", "driver": "580.65.06", "wsl": False,
    "gpus": ["sm_103"],
})  # fmt: skip
def test_choice_is_a_candidate_and_no_host_with_one_is_refused(drawn: dict[str, Any]) -> None:
    host = normalised(drawn)
    choice = choose(describe(host, TABLES), Wish(), TABLES)
    candidates = [row for row in rows("torch_builds.csv") if is_candidate(row, host)]
    if choice.row is None:
        assert not candidates, (
            f"refused ({choice.refusal}) although {candidates[0]['torch']}+{candidates[0]['build']} runs"
        )
        return
    key = (str(choice.row.torch), choice.row.build.name)
    assert key in {(row["torch"], row["build"]) for row in candidates}
    read = [row for row in candidates if row["existence"] == "read"] or candidates
    assert key[0] == max((row["torch"] for row in read), key=numbers)


@settings(max_examples=200, deadline=None)
@given(hosts, st.sampled_from(["os", "machine", "driver", "gpus"]))
def test_missing_facts_are_asked_for_never_guessed(drawn: dict[str, Any], missing: str) -> None:
    host = normalised({**drawn, "gpus": drawn["gpus"] or ["sm_86"]})
    del host[missing]
    choice = choose(describe(host, TABLES), Wish(), TABLES)
    assert not choice.runs
    assert "unknown" in str(choice.refusal)


@settings(max_examples=200, deadline=None)
@given(hosts)
def test_unknown_python_gets_only_builds_that_every_current_python_has(drawn: dict[str, Any]) -> None:
    host = normalised(drawn)
    del host["python"]
    row = choose(describe(host, TABLES), Wish(), TABLES).row
    if row is not None:
        assert set(TABLES.pythons.current()) <= set(row.pythons)
