"""The hard hosts: what DESIGN's rule gives for each, from the tables alone."""

from __future__ import annotations

import json
from typing import Any

import pytest
from conftest import DATA

from torchdoctor.facts import Facts, Python
from torchdoctor.prescribe.choose import Choice, choose, upgrade_of
from torchdoctor.prescribe.conditions import Wish
from torchdoctor.prescribe.described import DescriptionError, describe, gpu_named, with_backend
from torchdoctor.prescribe.host import GpuTarget, Host
from torchdoctor.prescribe.install import install_of
from torchdoctor.prescribe.writing import Writing, writing_for
from torchdoctor.tables import Tables
from torchdoctor.values import DriverVersion, GfxId, PythonTag

HOSTS = [json.loads(line) for line in (DATA / "decision_hosts.jsonl").read_text(encoding="utf-8").splitlines()]


def decide(entry: dict[str, Any], tables: Tables) -> Choice:
    return choose(describe(entry["host"], tables), Wish(), tables)


@pytest.mark.parametrize("entry", HOSTS, ids=[f"{entry['host']['id']} {entry['title']}" for entry in HOSTS])
def test_build_for_host(entry: dict[str, Any], tables: Tables) -> None:
    choice = decide(entry, tables)
    row = choice.row
    got = {"torch": str(row.torch), "build": row.build.name} if row else {"torch": None, "build": None}
    assert got == {key: entry["expect"][key] for key in ("torch", "build")}


@pytest.mark.parametrize(
    "entry", [entry for entry in HOSTS if not entry["expect"]["torch"]], ids=lambda entry: entry["host"]["id"]
)
def test_host_without_official_build_is_told_why(entry: dict[str, Any], tables: Tables) -> None:
    choice = decide(entry, tables)
    if wanted := entry["expect"].get("commands"):
        commands = install_of(choice, Wish(), Writing(), tables).commands
        assert wanted in commands[0]
        assert "download.pytorch.org" not in commands[0]
    else:
        assert choice.refusal is not None
        assert str(choice.refusal)


def test_mixed_gpus_serve_the_better_and_name_the_one_to_hide(tables: Tables) -> None:
    entry = next(entry for entry in HOSTS if entry["host"]["id"] == "H22")
    choice = decide(entry, tables)
    assert [gpu.name for gpu in choice.hidden] == ["sm_61"]
    assert any("CUDA_VISIBLE_DEVICES=1" in str(reason) for reason in install_of(choice, Wish(), Writing(), tables).why)


def test_refusal_names_musl_and_the_missing_code(tables: Tables) -> None:
    words = {entry["host"]["id"]: str(decide(entry, tables).refusal) for entry in HOSTS if not entry["expect"]["torch"]}
    assert "musl" in words["H27"]
    assert "sm_35" in words["H26"]


def test_upgrade_says_what_a_newer_driver_would_bring(tables: Tables) -> None:
    entry = next(entry for entry in HOSTS if entry["host"]["id"] == "H07")
    upgrade = install_of(decide(entry, tables), Wish(), Writing(), tables).upgrade
    assert upgrade is not None
    assert upgrade.row.torch == tables.torch_builds.newest()
    assert upgrade.min_driver == "580"


MANAGED = [
    # start command, executable, has pip -> lines
    (
        "/usr/bin/python3",
        "/usr/bin/python3",
        True,
        ["/usr/bin/python3 -m venv .venv", ".venv/bin/python -m pip install torch==2.14.1+cpu --index-url URL"],
    ),
    (
        "docker\nexec\nweb\npython3",
        "/usr/bin/python3",
        True,
        ["docker exec web python3 -m pip install --break-system-packages torch==2.14.1+cpu --index-url URL"],
    ),
]


@pytest.mark.parametrize(("command", "executable", "has_pip", "lines"), MANAGED, ids=["here", "in a container"])
def test_a_python_of_the_distribution_is_left_alone(
    tables: Tables, command: str, executable: str, has_pip: bool, lines: list[str]
) -> None:
    python = Python(command=command, executable=executable, has_pip=has_pip, externally_managed=True)
    writing = writing_for(Facts(python=python), Writing())
    entry = next(entry for entry in HOSTS if entry["host"]["id"] == "H34")
    commands = install_of(decide(entry, tables), Wish(), writing, tables).commands
    assert [line.replace("https://download.pytorch.org/whl/cpu", "URL") for line in commands] == lines


def test_without_pip_uv_installs_into_the_interpreter(tables: Tables) -> None:
    python = Python(command="~/x y/bin/python", executable="~/x y/bin/python", has_pip=False, externally_managed=False)
    entry = next(entry for entry in HOSTS if entry["host"]["id"] == "H11")
    commands = install_of(decide(entry, tables), Wish(), writing_for(Facts(python=python), Writing()), tables).commands
    index = "--index https://download.pytorch.org/whl/cu132"
    assert commands == (f"uv pip install --python ~/'x y/bin/python' torch==2.15.0+cu132 {index}",)


def test_where_the_path_is_redacted_the_report_names_the_command_that_prints_it(tables: Tables) -> None:
    python = Python(command="/home/<user>/v/bin/python", executable="/home/<user>/v/bin/python", has_pip=True)
    entry = next(entry for entry in HOSTS if entry["host"]["id"] == "H11")
    commands = install_of(decide(entry, tables), Wish(), writing_for(Facts(python=python), Writing()), tables).commands
    assert commands == ("torchdoctor install-cmd",)


@pytest.mark.parametrize(("gfx", "extras"), [("gfx1151", ("device-gfx1151",)), ("gfx803", None)])
def test_windows_with_an_amd_gpu_gets_amds_own_wheels(gfx: str, extras: tuple[str, ...] | None, tables: Tables) -> None:
    host = Host(
        os="windows", machine="x86_64", python=PythonTag(3, 12), gpus=(GpuTarget("amd", GfxId(gfx), gfx),), torch=None
    )
    choice = choose(host, Wish(), tables)
    assert choice.runs is bool(extras)
    assert (choice.amd.extras if choice.amd else None) == extras


@pytest.mark.parametrize(
    ("name", "machine", "torch_build"),
    [
        ("RX 7900 XTX", "x86_64", "rocm"),
        ("AMD Instinct MI300X", "x86_64", "rocm"),
        ("MI300X", "x86_64", "rocm"),
        ("Arc B580", "x86_64", "xpu"),
        ("Intel(R) Arc(TM) A770 Graphics", "x86_64", "xpu"),
        ("Arc B580", "aarch64", "cpu"),
        ("Intel UHD Graphics 630", "x86_64", "cpu"),
    ],
)
def test_a_gpu_of_another_vendor_is_known_by_name(name: str, machine: str, torch_build: str, tables: Tables) -> None:
    given = {"os": "linux", "machine": machine, "python": "3.12", "libc": "glibc-2.35", "driver": None, "gpus": [name]}
    host = describe(given, tables)
    choice = choose(host, with_backend(host, Wish(), tables), tables)
    assert choice.row is not None
    assert choice.row.build.backend == torch_build


def test_no_name_of_one_vendor_is_taken_for_another(tables: Tables) -> None:
    nvidia = {name for row in tables.gpu_models.rows for name in (row.name, row.name.removeprefix("NVIDIA "))}
    assert [name for name in nvidia if gpu_named(name, tables).vendor != "nvidia"] == []
    with pytest.raises(DescriptionError, match="RX 7900") as raised:
        gpu_named("RX 7901 XTX", tables)
    assert "NVIDIA" not in str(raised.value)


def test_an_unknown_python_is_asked_for_and_none_is_made_up(tables: Tables) -> None:
    choice = choose(describe({"os": "macos", "machine": "x86_64"}, tables), Wish(), tables)
    assert choice.asks
    assert "has wheels for 3.8 to 3.12 only" in str(choice.refusal)
    assert "--python-version" in str(choice.change)


@pytest.mark.parametrize("number", [row.branch for row in Tables().driver_branches.rows if row.branch > 440])
@pytest.mark.parametrize("gpu", ["sm_75", "sm_86", "sm_90", "sm_120"])
def test_what_a_newer_driver_would_allow_needs_one_that_is_not_there(number: int, gpu: str, tables: Tables) -> None:
    given = {"os": "linux", "machine": "x86_64", "python": "3.12", "libc": "glibc-2.35", "driver": f"{number}.65"}
    host = describe({**given, "gpus": [gpu]}, tables)
    for row in tables.torch_builds.of_backend("linux", "x86_64", "cu126", ()):
        upgrade = upgrade_of(Choice(host=host, backend="cuda", row=row), Wish(), tables)
        assert upgrade is None or DriverVersion.parse(upgrade.min_driver) > DriverVersion.parse(f"{number}.65")
