"""Which Python is examined: the rule, case by case, on real folders."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from torchdoctor.errors import UsageError
from torchdoctor.which_python import Own, choose, choose_python, command_of, holds_torch, is_tool_environment


def environment(folder: Path, *, torch: bool = False, mark: str = "") -> Path:
    """Make a folder that looks like a virtual environment."""
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").write_text("")
    if torch:
        package = folder / "lib" / "python3.12" / "site-packages" / "torch"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("")
    if mark:
        (folder / mark).write_text("")
    return folder


def own_of(folder: Path, *, as_module: bool = False) -> Own:
    return Own(str(folder / "bin" / "python"), str(folder), as_module, str(folder.parent / "here"))


@pytest.mark.parametrize(
    ("own", "as_module", "variables", "chosen", "why"),
    [
        ("plain", False, [], "plain", "torchdoctor is installed in it"),
        ("plain", False, ["VIRTUAL_ENV", "CONDA_PREFIX"], "plain", "torchdoctor is installed in it"),
        ("plain-with-torch", False, ["VIRTUAL_ENV"], "plain-with-torch", "torch is installed beside torchdoctor"),
        ("pipx/venvs/torchdoctor", False, ["VIRTUAL_ENV", "CONDA_PREFIX"], "VIRTUAL_ENV", "VIRTUAL_ENV is set"),
        ("pipx/venvs/torchdoctor", False, ["CONDA_PREFIX"], "CONDA_PREFIX", "CONDA_PREFIX is set"),
        ("pipx/venvs/torchdoctor", False, [".venv"], "here/.venv", "it is the .venv of the current folder"),
        (
            "pipx/venvs/torchdoctor",
            False,
            [],
            "pipx/venvs/torchdoctor",
            "the Python that runs torchdoctor; no other was found",
        ),
        (
            "pipx/venvs/torchdoctor",
            True,
            ["VIRTUAL_ENV"],
            "pipx/venvs/torchdoctor",
            "torchdoctor runs as a module of it",
        ),
        (
            "pipx/venvs/with-torch",
            False,
            ["VIRTUAL_ENV"],
            "pipx/venvs/with-torch",
            "torch is installed beside torchdoctor",
        ),
        ("share/uv/tools/torchdoctor", False, ["VIRTUAL_ENV"], "VIRTUAL_ENV", "VIRTUAL_ENV is set"),
        ("cache/archive-v0/abc", False, ["VIRTUAL_ENV"], "VIRTUAL_ENV", "VIRTUAL_ENV is set"),
        ("marked-by-pipx", False, ["VIRTUAL_ENV"], "VIRTUAL_ENV", "VIRTUAL_ENV is set"),
    ],
)
def test_the_rule(tmp_path: Path, own: str, variables: list[str], chosen: str, why: str, *, as_module: bool) -> None:
    mark = "pipx_metadata.json" if own == "marked-by-pipx" else ""
    environment(tmp_path / own, torch="with-torch" in own, mark=mark)
    env = {name: str(environment(tmp_path / name)) for name in variables if name != ".venv"}
    if ".venv" in variables:
        environment(tmp_path / "here" / ".venv")
    identity = Own(str(tmp_path / own / "bin" / "python"), str(tmp_path / own), as_module, str(tmp_path / "here"))
    choice = choose(None, env, identity)
    assert choice.argv == (str(tmp_path / chosen / "bin" / "python"),)
    assert choice.why == why
    assert choice.own is (chosen == own)
    assert not choice.asked


def test_an_environment_without_a_python_is_passed_over(tmp_path: Path) -> None:
    own = own_of(environment(tmp_path / "pipx" / "venvs" / "torchdoctor"))
    (tmp_path / "empty").mkdir()
    choice = choose(None, {"VIRTUAL_ENV": str(tmp_path / "empty"), "CONDA_PREFIX": str(tmp_path / "gone")}, own)
    assert choice.argv == (own.executable,)


def test_the_option_wins_and_is_taken_as_path_folder_or_command(tmp_path: Path) -> None:
    own = own_of(environment(tmp_path / "own", torch=True), as_module=True)
    blank = environment(tmp_path / "with blank")
    assert choose(str(blank / "bin" / "python"), {}, own).argv == (str(blank / "bin" / "python"),)
    assert choose(str(blank), {}, own).argv == (str(blank / "bin" / "python"),)
    choice = choose("docker exec web python", {}, own)
    assert choice.argv == ("docker", "exec", "web", "python")
    assert choice.asked
    assert choose("ssh node7 '/opt/my env/python'", {}, own).argv == ("ssh", "node7", "/opt/my env/python")


@pytest.mark.parametrize(
    ("folder", "option", "expected"),
    [
        ("own/bin", "./python", "{}/own/bin/python"),
        ("own/bin", "./link", "{}/own/bin/link"),
        ("own/bin", "../bin/./python", "../bin/python"),
        ("own/bin/deeper", "../python", "{}/own/bin/python"),
        ("own", "bin/python", "bin/python"),
        ("own", ".", "bin/python"),
        ("own/bin", "..", "../bin/python"),
        ("windows", ".", "{}/windows/python.exe"),
        ("windows/deeper", "..", "{}/windows/python.exe"),
        ("own/bin", "{}/own/bin/link", "{}/own/bin/link"),
        ("own/bin", "python", "python"),  # a bare name stands for the one on PATH, as in a shell
        ("own/bin", "./gone", "./gone"),
    ],
)
def test_a_path_stays_a_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str, option: str, expected: str
) -> None:
    """A path that loses its ``./`` would be looked for on PATH, and another Python be examined."""
    (environment(tmp_path / "own") / "bin" / "link").symlink_to("python")
    (tmp_path / "own" / "bin" / "deeper").mkdir()
    (tmp_path / "windows" / "deeper").mkdir(parents=True)
    (tmp_path / "windows" / "python.exe").write_text("")
    monkeypatch.chdir(tmp_path / folder)
    here = tmp_path.resolve()
    assert command_of(option.format(here)) == (str(Path(expected.format(here))) if "gone" not in option else option,)


@pytest.mark.parametrize("option", ["", "  "])
def test_an_option_that_is_empty_is_a_wrong_use(tmp_path: Path, option: str) -> None:
    with pytest.raises(UsageError, match="--python is empty"):
        choose(option, {}, own_of(tmp_path / "own"))


@pytest.mark.parametrize("option", ["", "  ", "unbalanced 'quote", "~", "/no/such/place"])
def test_odd_options_are_left_to_the_start_to_refuse(option: str) -> None:
    argv = command_of(option)
    assert len(argv) == 1


def test_another_python_with_a_torch_is_named(tmp_path: Path) -> None:
    own = own_of(environment(tmp_path / "own"))
    active = environment(tmp_path / "active", torch=True)
    assert choose(None, {"VIRTUAL_ENV": str(active)}, own).other == str(active / "bin" / "python")
    assert choose(str(active), {"VIRTUAL_ENV": str(active)}, own).other is None
    beside = own_of(environment(tmp_path / "beside", torch=True))
    assert choose(str(tmp_path / "own"), {}, beside).other == beside.executable
    assert choose(None, {}, own).other is None


def test_holds_torch_wants_a_package_not_a_folder(tmp_path: Path) -> None:
    (tmp_path / "lib" / "python3.12" / "site-packages" / "torch").mkdir(parents=True)
    assert not holds_torch(tmp_path)
    assert holds_torch(environment(tmp_path / "real", torch=True))


@pytest.mark.parametrize(
    ("prefix", "tool"),
    [
        ("/home/me/.local/share/pipx/venvs/torchdoctor", True),
        ("/home/me/.local/pipx/venvs/torchdoctor/", True),
        ("/home/me/.cache/uv/archive-v0/xyz", True),
        ("/home/me/.local/share/uv/tools/torchdoctor", True),
        ("C:\\Users\\me\\pipx\\venvs\\torchdoctor", True),
        ("C:\\Users\\me\\AppData\\Local\\uv\\cache\\archive-v0\\xyz", True),
        ("/home/me/project/.venv", False),
        ("/opt/conda", False),
        ("/home/me/uv/toolsmith/.venv", False),
    ],
)
def test_tool_environments(prefix: str, *, tool: bool) -> None:
    assert is_tool_environment(prefix) is tool


def test_this_very_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    own = Own.here()
    assert (own.executable, own.prefix) == (sys.executable, sys.prefix)
    assert own.folder == os.path.realpath(tmp_path)
    assert not own.as_module  # pytest is the program here
    assert choose_python("python3").argv == ("python3",)
