"""What install-cmd leaves as it is: a build that is what was asked for, one that nobody can judge, and what breaks."""

from __future__ import annotations

import os
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Run
from install_states import TABLES, Live
from packaging.specifiers import SpecifierSet

from torchdoctor.checks.build.presence import torch_missing
from torchdoctor.facts import Facts
from torchdoctor.findings import Finding
from torchdoctor.prescribe.choose import choose
from torchdoctor.prescribe.conditions import Wish
from torchdoctor.prescribe.decide import decide
from torchdoctor.prescribe.described import describe
from torchdoctor.prescribe.host import Host, Installed, host_of
from torchdoctor.prescribe.install import install_of
from torchdoctor.prescribe.left import in_the_way
from torchdoctor.prescribe.unjudged import gap_beside, unjudged
from torchdoctor.prescribe.writing import Writing, writing_for
from torchdoctor.readers.live_packages import REQUIRERS, requirers_of_torch
from torchdoctor.recording import Answer, Recording
from torchdoctor.records import replace
from torchdoctor.values import Build, CudaVersion

NEW_DRIVER = "595.45"
Site = Callable[..., Path]


def torch(spec: str) -> SpecifierSet:
    return SpecifierSet(spec)


@pytest.mark.parametrize(
    ("packages", "driver", "wish", "build"),
    [
        ("torch==2.15.0+cpu", None, Wish(backend="cpu"), "2.15.0 cpu"),
        ("torch==2.15.0+cpu", None, Wish(torch=torch(">=2.10")), "2.15.0 cpu"),
        ("torch==2.15.0+cu130", NEW_DRIVER, Wish(max_cuda=CudaVersion(13, 0)), "2.15.0 cu130"),
        ("torch==2.15.0+cu130", NEW_DRIVER, Wish(torch=torch("==2.15.0")), "2.15.0 cu130"),
        ("torch==2.14.1+cu126", NEW_DRIVER, Wish(torch=torch("==2.14.1")), "2.14.1 cu126"),
        ("torch==2.14.1+cu126", NEW_DRIVER, Wish(torch=torch(">=2.6")), "2.14.1 cu126"),
        ("torch==2.14.1+cu126", NEW_DRIVER, Wish(backend="cuda"), "2.14.1 cu126"),
        ("torch==2.14.1+cu126", NEW_DRIVER, Wish(backend="cu126", allow_inferred=True), "2.14.1 cu126"),
        ("torch==2.14.1+cu126", NEW_DRIVER, Wish(prefer="native"), "2.14.1 cu126"),
        ("torch==2.14.1+cu126 torchvision==0.29.1", NEW_DRIVER, Wish(companions=("torchvision",)), "2.14.1 cu126"),
    ],
)
def test_an_installed_build_that_is_what_was_asked_for_stays(
    packages: str, driver: str | None, wish: Wish, build: str
) -> None:
    install = Live(packages, driver=driver).install(wish=wish)
    assert (f"{install.torch} {install.build}", install.needed) == (build, False)


@pytest.mark.parametrize(
    ("packages", "driver", "wish", "build"),
    [
        ("torch==2.14.1+cu126", NEW_DRIVER, Wish(backend="cpu"), "2.14.1 cpu"),
        ("torch==2.14.1+cu126", NEW_DRIVER, Wish(backend="cu130"), "cu130"),
        ("torch==2.14.1+cu126", NEW_DRIVER, Wish(torch=torch("==2.13.0")), "2.13.0"),
        ("torch==2.15.0+cu130", NEW_DRIVER, Wish(max_cuda=CudaVersion(12, 8)), "cu126"),
        ("torch==2.14.1+cpu", NEW_DRIVER, Wish(torch=torch(">=2.10")), "cu132"),
        ("torch==2.15.0+cu130", "550.54.15", Wish(torch=torch(">=2.10")), "cu126"),
        ("torch==2.14.1+cu126", "550.54.15", Wish(prefer="native"), "cu118"),
        ("torch==2.14.1+cu126", NEW_DRIVER, Wish(nightly=True), "cu132"),
    ],
)
def test_one_that_is_not_makes_room(packages: str, driver: str | None, wish: Wish, build: str) -> None:
    install = Live(packages, driver=driver).install(wish=wish)
    assert install.needed
    assert build in f"{install.torch} {install.build}"


def test_on_a_mac_the_one_build_is_for_the_cpu_too() -> None:
    live = Live("torch==2.14.1", driver=None, os="macos", build="mps")
    assert [live.install(wish=Wish(backend=name)).needed for name in ("auto", "cpu", "mps")] == [False] * 3


GPU_HOST = {
    "os": "linux", "machine": "x86_64", "python": "3.12", "libc": "glibc-2.35", "driver": "595.45", "gpus": ["sm_90"],
}  # fmt: skip


def unknown_to_tables(version: str, *, foreign: bool = False) -> Host:
    return replace(describe({**GPU_HOST, "torch": version}, TABLES), build=Build("cu130"), foreign=foreign)


OF_OTHERS = [("99.1.0+cu130", False), ("2.14.0a0+git1234567", True), ("2.12.0a0+1a2b3c4.nv25.11", True)]


@pytest.mark.parametrize(("version", "foreign"), OF_OTHERS)
@pytest.mark.parametrize(
    "wish",
    [Wish(backend="cuda"), Wish(torch=torch(">=2.10")), Wish(max_cuda=CudaVersion(13, 0)), Wish(backend="cu130")],
)
def test_a_torch_that_nobody_can_judge_stays_where_it_may_be_what_was_asked_for(
    version: str, wish: Wish, *, foreign: bool
) -> None:
    install = unjudged(unknown_to_tables(version, foreign=foreign), Writing(tool="pip"), TABLES, wish)
    assert install is not None
    assert not install.needed


@pytest.mark.parametrize(("version", "foreign"), OF_OTHERS)
@pytest.mark.parametrize(
    "wish",
    [Wish(backend="cpu"), Wish(torch=torch("==2.9.1")), Wish(max_cuda=CudaVersion(12, 8)), Wish(nightly=True)],
)
def test_and_makes_room_where_another_was_asked_for(version: str, wish: Wish, *, foreign: bool) -> None:
    assert unjudged(unknown_to_tables(version, foreign=foreign), Writing(tool="pip"), TABLES, wish) is None


@pytest.mark.parametrize(("version", "foreign"), OF_OTHERS)
def test_a_companion_beside_it_is_refused_or_stays(version: str, *, foreign: bool) -> None:
    host, wish = unknown_to_tables(version, foreign=foreign), Wish(companions=("torchvision",))
    gap = gap_beside(host, wish)
    assert gap is not None
    assert f"which torchvision goes with the installed torch {version} is not known" in str(gap[0])
    there = replace(host, installed=(Installed("torchvision", "0.99.0"),))
    assert gap_beside(there, wish) is None
    install = unjudged(there, Writing(), TABLES, wish)
    assert install is not None
    assert "torchvision 0.99.0 stays" in str(install.warnings[1])


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """Lay files of installed packages where the examined Python looks; the metadata is that of ``name-version``."""
    venv.EnvBuilder(symlinks=True).create(tmp_path / "venv")  # the tests' own may hold a real torch

    def lay(*distributions: str, files: dict[str, str] | None = None, requires: str = "") -> Path:
        there = dict(files or {})
        for full in distributions:
            name, _, version = full.partition("-")
            lines = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
            there[f"{full}.dist-info/METADATA"] = lines + (f"Requires-Dist: {requires}\n" if requires else "") + "\n"
        for place, text in there.items():
            (tmp_path / place).parent.mkdir(exist_ok=True)
            (tmp_path / place).write_text(text)
        return tmp_path

    return lay


def with_site(torchdoctor: Run, place: Path, command: str, *more: str) -> tuple[int, str, str]:
    paths = os.pathsep.join(map(str, (ROOT, place)))
    python = next((place / "venv").glob("[bS]*/python*"))
    done = torchdoctor(command, "--python", str(python), *more, env={"PYTHONPATH": paths})
    return done.returncode, done.stdout, done.stderr


TORCH = {"torch/__init__.py": "", "torch/version.py": "__version__ = '2.14.1+cpu'\ncuda = None\nhip = None\n"}
ON_CPU = ("--driver", "none", "--gpu", "none", "--tool", "pip", "--if-needed")


@pytest.mark.parametrize("command", ["check", "install-cmd"])
def test_a_torch_whose_files_are_gone_is_none(torchdoctor: Run, site: Site, command: str) -> None:
    place = site("torch-2.14.1+cpu")
    options = ("--static", "--tool", "pip") if command == "check" else ON_CPU
    status, out, _ = with_site(torchdoctor, place, command, *options)
    if command == "check":
        assert (status, "torch 2.14.1+cpu is listed" in out, "torch-missing" in out) == (1, True, True)
    lines = [line.partition(" -m ")[2] for line in out.splitlines() if " -m pip " in line]
    assert lines[0] == "pip uninstall -y torch"
    assert lines[1].startswith("pip install torch==")


@pytest.mark.parametrize(
    ("files", "is_there"),
    [
        (TORCH, True),
        ({"torch-2.14.1+cpu.dist-info/direct_url.json": "{}"}, True),  # editable: its files may lie anywhere
        ({"torch/lib/libtorch.so": ""}, False),
    ],
)
def test_what_is_left_of_torch_is_told_by_its_files(
    torchdoctor: Run, site: Site, files: dict[str, str], *, is_there: bool
) -> None:
    (site() / "torch").mkdir()
    place = site("torch-2.14.1+cpu", files=files)
    _, out, _ = with_site(torchdoctor, place, "install-cmd", *ON_CPU)
    assert (out == "") is is_there


@pytest.mark.parametrize("asked", [(), ("--with", "torchvision")])
@pytest.mark.parametrize(
    ("files", "is_there"),
    [
        ({}, False),
        ({"torchvision/__init__.py": ""}, True),
        ({"torchvision-0.29.1+cpu.dist-info/direct_url.json": "{}"}, True),  # editable: its files may lie anywhere
    ],
)
def test_a_companion_whose_files_are_gone_comes_again(
    torchdoctor: Run, site: Site, files: dict[str, str], asked: tuple[str, ...], *, is_there: bool
) -> None:
    place = site("torch-2.14.1+cpu", "torchvision-0.29.1+cpu", files={**TORCH, **files})
    _, out, _ = with_site(torchdoctor, place, "install-cmd", *ON_CPU, "--torch", "2.14.1", *asked)
    lines = [line.partition(" -m ")[2] for line in out.splitlines() if " -m pip " in line]
    assert (lines == []) is is_there
    if not is_there:
        assert lines[0] == "pip uninstall -y torchvision"
        assert lines[1].startswith("pip install torchvision==0.29.1")
        assert "torch==" not in out


def left(**more: Any) -> Live:
    return Live("torch==2.9.1+cpu", driver=None, left=True)._replace(**more)


@pytest.mark.parametrize("tool", ["pip", "uv", "requirements"])
@pytest.mark.parametrize("wish", [Wish(), Wish(nightly=True), Wish(torch=torch("==2.9.1"))])
def test_its_entry_goes_first_and_once(tool: str, wish: Wish) -> None:
    commands = left().install(tool, wish=wish).commands
    assert [" torch" in line for line in commands if "uninstall" in line] == [True]
    assert "uninstall" in commands[0]
    assert in_the_way(host_of(left().facts, TABLES), Writing(tool=tool)) is None


def test_nothing_of_it_goes_where_nothing_is_left() -> None:
    assert all("uninstall" not in line for line in Live("", driver=None).install("pip").commands)


@pytest.mark.parametrize(
    ("live", "tool", "change"),
    [
        (left(), "poetry", "delete the folder torch-2.9.1+cpu.dist-info"),
        (left(), "uv-project", "delete the folder torch-2.9.1+cpu.dist-info"),
        (
            left(conda="pytorch==2.9.1", packages="torch==2.9.1", owners="conda", build="cpu", environment="conda",
                 executable="/c/envs/ml/bin/python", command="/c/envs/ml/bin/python"),
            "conda",
            "conda remove --yes --prefix /c/envs/ml pytorch",
        ),
        (left(conda="pytorch==2.9.1", packages="torch==2.9.1", owners="conda", build="cpu"), "pixi", "pixi clean"),
    ],
)  # fmt: skip
def test_tools_that_take_the_entry_for_torch_are_not_written_for(live: Live, tool: str, change: str) -> None:
    facts = live.facts
    gap = in_the_way(host_of(facts, TABLES), writing_for(facts, Writing(tool=tool, asked=True)))
    assert gap is not None
    assert tool in str(gap[0])
    assert change in str(gap[1])
    whole = live._replace(left=False).facts
    assert in_the_way(host_of(whole, TABLES), writing_for(whole, Writing(tool=tool, asked=True))) is None


@pytest.mark.parametrize("tool", ["uv-project", "poetry", "pdm", "hatch"])
@pytest.mark.parametrize(
    ("gone", "wish", "folder"),
    [
        ("torchvision", Wish(), "torchvision-0.24.1+cpu.dist-info"),
        ("torchvision", Wish(companions=("torchvision",)), "torchvision-0.24.1+cpu.dist-info"),
        ("torchvision", Wish(torch=torch("==2.14.1")), "torchvision-0.24.1+cpu.dist-info"),
        ("torchao", Wish(), ""),  # which nobody asked for, and does not move
        ("", Wish(torch=torch("==2.14.1")), ""),
    ],
)
def test_a_project_takes_the_entry_of_a_companion_for_installed(tool: str, gone: str, wish: Wish, folder: str) -> None:
    host = host_of(Live("torch==2.9.1+cpu torchvision==0.24.1+cpu torchao==0.14.1", driver=None).facts, TABLES)
    decision = decide(replace(host, gone=frozenset({gone} - {""})), wish, Writing(tool=tool), TABLES)
    assert bool(decision.gap) is bool(folder)
    if decision.gap:
        assert f"the files of torchvision 0.24.1+cpu are gone, and {tool} takes its entry" in str(decision.gap[0])
        assert f"delete the folder {folder} in" in str(decision.gap[1])


@pytest.mark.parametrize("tool", ["pip", "uv", "requirements"])
def test_and_pip_takes_it_out(tool: str) -> None:
    host = host_of(Live("torch==2.9.1+cpu torchvision==0.24.1+cpu", driver=None).facts, TABLES)
    decision = decide(replace(host, gone=frozenset({"torchvision"})), Wish(), Writing(tool=tool), TABLES)
    assert decision.gap is None
    assert "uninstall" in decision.install(explain=False).commands[0]


def findings(facts: Facts) -> list[Finding]:
    return list(torch_missing(facts, TABLES))


def test_the_finding_tells_an_entry_from_nothing() -> None:
    alone, none = findings(left().facts), findings(Live("", driver=None).facts)
    assert [str(item.summary)[:25] for item in alone] == ["torch 2.9.1+cpu is listed"]
    assert "is not installed" in str(none[0].summary)


REQUIRES = [
    ("torch==2.9.1", "2.9.1", "==2.9.1"),
    ("torch (==2.9.1)", "2.9.1", "==2.9.1"),
    ("torch<2.14,>=2.6 ; python_version >= '3.10'", "2.9.1", "<2.14,>=2.6"),
    ("torch==2.9.1", "", "==2.9.1"),
    ("torch>=2.9", "2.9.1", ""),
    ("torch==2.4.0", "2.9.1", ""),  # broken already
    ("torch==2.9.1 ; extra == 'gpu'", "2.9.1", ""),
    ("torch==2.9.1 ; sys_platform == 'win32'", "2.9.1", ""),
    ("torch @ nonsense", "2.9.1", ""),
]


@pytest.mark.parametrize(("line", "there", "said"), REQUIRES)
def test_who_requires_another_torch_is_named(line: str, there: str, said: str) -> None:
    host = host_of(Live(f"torch=={there}+cpu" if there else "", driver=NEW_DRIVER).facts, TABLES)
    host, wish = replace(host, requirers=(("my-app", line),)), Wish(torch=torch("==2.15.0"))
    choice = choose(host, wish, TABLES)
    told = [
        str(text) for text in install_of(choice, wish, Writing(tool="pip"), TABLES).warnings if "my-app" in str(text)
    ]
    assert told == ([f"my-app requires torch{said}: torch 2.15.0 breaks that"] if said else [])
    of_project = install_of(choice, wish, Writing(tool="poetry"), TABLES).warnings
    assert not any("my-app" in str(text) for text in of_project)  # whose own tool holds them against each other


def test_requirers_are_read_from_the_metadata_of_all() -> None:
    rows = [
        {"name": "My_App", "requires": ["torch==2.9.1", "torchvision==0.24.1", "triton"]},
        {"name": "free", "requires": ["torch"]},
        {"name": "torch", "requires": ["triton==3.5.1"]},
        {"name": "odd", "requires": None},
    ]
    recording = Recording(answers={REQUIRERS.key: Answer(value=rows)})
    assert requirers_of_torch(recording) == (("my-app", "torch==2.9.1"),)
    assert requirers_of_torch(Recording()) == ()


def test_install_cmd_names_an_app_that_pins_torch(torchdoctor: Run, site: Site) -> None:
    site("torch-2.14.1+cpu", files=TORCH)
    place = site("my_app-1.0", requires="torch==2.14.1")
    _, _, told = with_site(torchdoctor, place, "install-cmd", *ON_CPU, "--torch", "2.13.0")
    assert "my-app requires torch==2.14.1: torch 2.13.0 breaks that" in told
    _, out, told = with_site(torchdoctor, place, "install-cmd", *ON_CPU, "--torch", ">=2.13")
    assert (out, "my-app" in told) == ("", False)


@pytest.mark.parametrize(
    ("packages", "spec", "said"),
    [
        ("torch==2.9.1+cu128 torchcodec==0.8.1", "2.15.0", "torchcodec 0.8.1 stays: whether it loads beside torch"),
        ("torch==2.9.1+cu128 torchcodec==0.8.1", "2.14.1", "torchcodec 0.8.1 stays: whether it loads beside torch"),
        (
            "torch==2.9.1+cu128 torchcodec==0.8.1",
            "2.10.0",
            "which torchcodec goes with torch 2.10.0 is not in the",
        ),
        ("torch==2.9.1+cu128 torchcodec==0.8.1", "2.9.1", ""),
        ("torch==2.9.1+cu128", "2.15.0", ""),
    ],
)
def test_a_companion_that_no_table_holds_is_spoken_of_where_torch_moves(packages: str, spec: str, said: str) -> None:
    install = Live(packages, driver=NEW_DRIVER).install(wish=Wish(torch=torch(f"=={spec}")))
    told = [str(text) for text in install.warnings if "torchcodec" in str(text)]
    assert len(told) == bool(said)
    assert all(text.startswith(said) for text in told)


@pytest.mark.parametrize(("spec", "is_said"), [("2.9.1", False), ("2.10.0", True)])
def test_and_says_nothing_where_another_build_of_the_same_torch_comes(spec: str, *, is_said: bool) -> None:
    live, wish = Live("torch==2.9.1+cu128 torchcodec==0.8.1", driver=NEW_DRIVER), Wish("cu126", torch(f"=={spec}"))
    install = live.install(wish=wish)
    assert install.needed
    assert any("torchcodec" in str(text) for text in install.warnings) is is_said


@pytest.mark.parametrize(
    ("line", "is_said"),
    [("torch==2.9.1", True), ("torch<2.12", True), ("torch>=2.9", False), ("torch!=2.10.0", False)],
)
def test_a_nightly_breaks_what_asks_for_a_release(line: str, *, is_said: bool) -> None:
    host = host_of(Live("torch==2.9.1+cu128 torchcodec==0.8.1", driver=NEW_DRIVER).facts, TABLES)
    host, wish = replace(host, requirers=(("vllm", line),)), Wish(nightly=True)
    told = list(map(str, install_of(choose(host, wish, TABLES), wish, Writing(tool="pip"), TABLES).warnings))
    assert any(text.startswith("vllm requires torch") and "torch nightly breaks" in text for text in told) is is_said
    assert any("torchcodec 0.8.1 stays" in text and "beside a nightly torch" in text for text in told)


@pytest.mark.parametrize(
    ("packages", "name", "spec", "said"),
    [
        (
            "",
            "torchaudio",
            "2.15.0",
            "there is no torchaudio 2.15.0: torchaudio 2.11.1 goes with torch 2.11.0 and later",
        ),
        ("", "torchaudio", "2.11.0", ""),
        ("", "torchaudio", "2.9.1", ""),
        ("", "torchvision", "2.15.0", ""),
        ("torch==2.9.1+cu128 torchaudio==2.9.1+cu128", "", "2.15.0", "there is no torchaudio 2.15.0"),
        ("torch==2.15.0+cu132 torchaudio==2.11.1", "", "2.15.0", ""),
    ],
)
def test_a_companion_of_an_older_torch_is_named(packages: str, name: str, spec: str, said: str) -> None:
    wish = Wish(torch=torch(f"=={spec}"), companions=(name,) if name else ())
    told = [str(text) for text in Live(packages, driver="610.43.02").install(wish=wish).warnings]
    assert [text.startswith(said) for text in told if "there is no" in text] == ([True] if said else [])
