"""``check --all-envs``: which environments are found, by files alone, and what is said of each."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Run
from place_hosts import with_torchdoctor
from schemas import check_form

from torchdoctor.commands.all_envs import _FORMATS as FORMATS
from torchdoctor.environments import Environment, environments_here, find
from torchdoctor.which_python import Own

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="made of POSIX environments")


def environment(prefix: Path, *, mark: bool = True) -> Path:
    """A folder that looks like an environment."""
    (prefix / "bin").mkdir(parents=True)
    (prefix / "bin" / "python").write_text("")
    if mark:
        (prefix / "pyvenv.cfg").write_text("")
    return prefix


def found(tmp_path: Path, **env: str) -> dict[str, str]:
    """Folder below the test's own -> how it was found; torchdoctor itself is a tool. What a machine has is left out."""
    (tmp_path / "work").mkdir(exist_ok=True)
    own = Own("/opt/pipx/venvs/torchdoctor/bin/python", "/opt/pipx/venvs/torchdoctor", False, str(tmp_path / "work"))
    items = find({"PATH": "", **env}, own, tmp_path / "home")
    below = [item for item in items if item.prefix.is_relative_to(tmp_path)]
    return {str(item.prefix.relative_to(tmp_path)): item.why for item in below}


@pytest.mark.parametrize(
    ("prefix", "why"),
    [
        ("work/.venv", "it is the .venv of the current folder"),
        ("work/env", "it is the env of the current folder"),
        ("work/.pixi/envs/default", "an environment of pixi in the current folder"),
        ("home/.virtualenvs/ml", "an environment of virtualenvwrapper"),
        ("home/.pyenv/versions/3.12.1", "a Python of pyenv"),
        ("home/.pyenv/versions/3.12.1/envs/ml", "an environment of pyenv"),
        ("home/.local/share/uv/python/cpython-3.12", "a Python of uv"),
        ("home/.local/share/uv/tools/vllm", "a tool of uv"),
        ("home/.cache/pypoetry/virtualenvs/app-py3.12", "an environment of Poetry"),
        ("home/.local/share/virtualenvs/app-x", "an environment of pipenv"),
        ("home/.local/share/hatch/env/virtual/app/x/app", "an environment of hatch"),
        ("home/.local/share/pipx/venvs/whisper", "an application of pipx"),
        ("home/miniforge3/envs/ml", "an environment of conda"),
        ("home/anaconda3", "the base environment of conda"),
        ("home/.pyenv/pyenv-win/versions/3.12.1", "a Python of pyenv"),
        ("home/AppData/Local/Programs/Python/Python312", "a Python of the installer for Windows"),
    ],
)
def test_each_kind_is_found_where_it_is_kept(tmp_path: Path, prefix: str, why: str) -> None:
    environment(tmp_path / prefix)
    assert found(tmp_path) == {prefix: why}


@pytest.mark.parametrize(
    ("variable", "named", "prefix", "why"),
    [
        ("VIRTUAL_ENV", "a", "a", "VIRTUAL_ENV is set"),
        ("CONDA_PREFIX", "a", "a", "CONDA_PREFIX is set"),
        ("CONDA_EXE", "conda/bin/conda", "conda/envs/ml", "an environment of conda"),
        ("MAMBA_ROOT_PREFIX", "mamba", "mamba", "the base environment of conda"),
        ("WORKON_HOME", "kept", "kept/ml", "an environment of virtualenvwrapper"),
        ("PYENV_ROOT", "pyenv", "pyenv/versions/3.12", "a Python of pyenv"),
        ("UV_PYTHON_INSTALL_DIR", "uv", "uv/cpython-3.12", "a Python of uv"),
        ("POETRY_CACHE_DIR", "poetry", "poetry/virtualenvs/app", "an environment of Poetry"),
        ("PATH", "usr/bin", "usr", "on the search path"),
    ],
)
def test_a_variable_names_the_place(tmp_path: Path, variable: str, named: str, prefix: str, why: str) -> None:
    environment(tmp_path / prefix)
    assert found(tmp_path, **{variable: str(tmp_path / named)}) == {prefix: why}


def test_conda_lists_its_environments(tmp_path: Path) -> None:
    listed = [environment(tmp_path / name, mark=False) for name in ("one", "two")]
    (tmp_path / "home" / ".conda").mkdir(parents=True)
    lines = [*map(str, listed), str(tmp_path / "gone"), "", "\0", "x" * 5000]
    (tmp_path / "home" / ".conda" / "environments.txt").write_text("\n".join(lines))
    assert found(tmp_path) == {"one": "an environment of conda", "two": "an environment of conda"}


def test_each_is_found_once_by_whatever_name(tmp_path: Path) -> None:
    prefix = environment(tmp_path / "work" / ".venv")
    (tmp_path / "link").symlink_to(prefix)
    path = os.pathsep.join([str(prefix / "bin"), str(tmp_path / "link" / "bin")])
    assert found(tmp_path, VIRTUAL_ENV=str(prefix), PATH=path) == {"work/.venv": "VIRTUAL_ENV is set"}


def test_shims_relative_folders_and_torchdoctors_own_tool_are_passed_over(tmp_path: Path) -> None:
    environment(tmp_path / "home" / ".pyenv" / "versions")  # what its shims would be taken for
    environment(tmp_path / "home" / ".local" / "share" / "pipx" / "venvs" / "torchdoctor")
    path = os.pathsep.join([str(tmp_path / "home" / ".pyenv" / "shims"), "relative/bin", ""])
    assert found(tmp_path, PATH=path) == {}


def test_a_folder_that_may_not_be_read_hides_nothing_else(tmp_path: Path) -> None:
    environment(tmp_path / "work" / ".venv")
    assert found(tmp_path, WORKON_HOME="/proc/1/root/x", PYENV_ROOT="\0", VIRTUAL_ENV="\0") == {
        "work/.venv": "it is the .venv of the current folder"
    }


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("lib/python3.12/site-packages/torch/__init__.py", True),
        ("lib/python3.12/site-packages/torch-2.9.1.dist-info/METADATA", True),  # an editable one has no folder
        ("lib/python3.12/site-packages/torchvision/__init__.py", False),
        ("lib/python3.12/site-packages/torch/readme.txt", False),
    ],
)
def test_whether_a_torch_is_in_it(tmp_path: Path, file: str, *, expected: bool) -> None:
    path = environment(tmp_path / "env") / file
    path.parent.mkdir(parents=True)
    path.write_text("")
    assert Environment("", tmp_path / "env", "").has_torch is expected


def test_a_torch_of_the_user_counts_for_an_interpreter_and_not_for_a_venv(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    torch = tmp_path / "home" / ".local" / "lib" / "python3.12" / "site-packages" / "torch" / "__init__.py"
    torch.parent.mkdir(parents=True)
    torch.write_text("")
    assert Environment("", environment(tmp_path / "python", mark=False), "").has_torch
    assert not Environment("", environment(tmp_path / "venv"), "").has_torch


def test_this_very_machine_can_be_searched() -> None:
    assert all(Path(item.python).is_file() for item in environments_here())


# ------------------------------------------------------------------------------------------------------- the command


Install = Callable[..., str]
Check = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def install(tmp_path: Path) -> Install:
    """Make an environment in the current folder and lay installed packages in it."""

    def make(name: str, **packages: str) -> str:
        venv.EnvBuilder(symlinks=True).create(tmp_path / name)
        site = next((tmp_path / name / "lib").glob("python*")) / "site-packages"
        for package, version in packages.items():
            (site / package).mkdir()
            (site / package / "__init__.py").write_text("")
            (site / package / "version.py").write_text(f"__version__ = '{version}'\ncuda = hip = None\n")
            info = site / f"{package}-{version}.dist-info"
            info.mkdir()
            (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
            (info / "INSTALLER").write_text("pip\n")
        return str(tmp_path / name / "bin" / "python")

    return make


@pytest.fixture
def check(tmp_path: Path) -> Check:
    """Run ``check --all-envs`` of a torchdoctor that lives alone, where no Python of this machine is found."""
    if Path("/opt/conda").exists():
        pytest.skip("this machine has a conda where everybody looks")
    venv.EnvBuilder(symlinks=True).create(tmp_path / "own")
    program = with_torchdoctor(tmp_path / "own")

    def run(*arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [program, "check", "--all-envs", *arguments], capture_output=True, text=True, check=False, cwd=tmp_path,
            env={"PATH": "/nowhere", "HOME": str(tmp_path), **env}, timeout=60,
        )  # fmt: skip

    return run


def test_one_line_an_environment_and_the_worst_decides(check: Check, install: Install) -> None:
    install("good", torch="2.9.1+cpu")
    odd = Path(install("odd", torch="2.9.1+cpu"))
    install("empty")
    done = check()
    assert (done.returncode, done.stderr) == (0, "")
    head, *lines = done.stdout.splitlines()
    assert head == "ok: 2 environments with torch: 2 ok"
    assert [line.split()[:2] for line in lines[:2]] == [["ok", "~/good/bin/python"], ["ok", "~/odd/bin/python"]]
    assert lines[2].startswith("without torch, not examined: ")
    assert "empty" in lines[2]
    odd.unlink()
    odd.write_text("#!/bin/sh\nexit 7\n")
    odd.chmod(0o755)
    done = check()
    assert done.returncode == 3
    assert done.stdout.splitlines()[0] == "unknown: 2 environments with torch: 1 unknown, 1 ok"
    assert "it ended with status 7" in done.stdout
    install("worse", torch="2.9.1+cpu", torchvision="0.20.0")
    done = check("--fail-on", "warning")
    assert done.returncode == 1
    assert "1 unknown, 1 warning, 1 ok" in done.stdout.splitlines()[0]


def test_json_holds_every_report(check: Check, install: Install, tmp_path: Path) -> None:
    install("good", torch="2.9.1+cpu")
    install("empty")
    done = check("--format", "json=all.json", "-q")
    assert (done.returncode, done.stdout) == (0, "")
    answer = json.loads((tmp_path / "all.json").read_text(encoding="utf-8"))
    check_form(answer)
    assert (answer["schema"], answer["status"]) == ("torchdoctor.environments/1", "ok")
    (one,) = answer["environments"]
    assert (one["python"], one["error"], one["report"]["schema"]) == ("~/good/bin/python", None, "torchdoctor.report/1")
    assert "~/empty/bin/python" in [item["python"] for item in answer["without_torch"]]
    assert str(tmp_path) not in json.dumps(answer["environments"])


def test_each_is_asked_about_another_host(check: Check, install: Install) -> None:
    install("good", torch="2.9.1+cpu")
    done = check("--for", "gpu=none", "--for", "gpu=T4 driver=580.65.06", "-v")
    assert (done.returncode, done.stderr) == (1, "")
    assert "~/good/bin/python" in done.stdout.splitlines()[1]
    told = "2 targets: 1 will run it, 1 will not run it; gpu=T4 driver=580.65.06: "
    reason = done.stdout.splitlines()[1].partition(told)[2]
    assert "cpu" in reason
    assert "gpu=none: " not in done.stdout.splitlines()[1]
    both = check("--for", "gpu=none", "--for", "gpu=T4 driver=580.65.06", "--format", "github")
    assert f"{told}{reason}" in both.stdout
    assert check("--for", "gpu=none").stdout.splitlines()[1].endswith("1 target: 1 will run it")
    many = [word for number in range(5) for word in ("--for", f"n{number}: gpu=T4 driver=580.65.06")]
    assert check(*many).stdout.splitlines()[1].endswith("; and 2 more")
    assert "gpu=none                 runs" in done.stdout


def test_no_environment_with_torch_is_unknown(check: Check, install: Install) -> None:
    install("empty")
    done = check("-q")
    assert done.returncode == 3
    assert done.stdout.startswith("unknown: none of ")


@pytest.mark.parametrize("more", [["--python", "x"], ["--record", "x"], ["--format", "junit"], ["--format", "text="]])
def test_what_is_of_one_python_does_not_go_with_many(torchdoctor: Run, more: list[str]) -> None:
    done = torchdoctor("check", "--all-envs", *more)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert more[0] in done.stderr


def test_the_policy_of_the_project_holds_for_each(check: Check, install: Install, tmp_path: Path) -> None:
    install("good", torch="2.9.1+cpu")
    install("older", torch="2.8.0+cpu")
    (tmp_path / "torchdoctor.toml").write_text('[require]\ntorch = ">=2.9"\n')
    done = check()
    assert done.returncode == 1
    assert done.stdout.splitlines()[0] == "fail: 2 environments with torch: 1 fail, 1 ok"
    assert check("--no-config").returncode == 0


def test_each_report_in_full(check: Check, install: Install) -> None:
    install("good", torch="2.9.1+cpu")
    done = check("-v")
    assert done.returncode == 0
    assert "\nok: torch 2.9.1+cpu fits this host" in done.stdout
    (healthy,) = [line for line in done.stdout.splitlines() if "; examined: " in line]
    assert "; examined: ~/good/bin/python (Python 3." in healthy
    assert healthy.endswith("), it is the good of the current folder")  # nobody named it
    (one,) = json.loads(check("--format", "json").stdout)["environments"]
    assert one["report"]["facts"]["python"]["chosen_because"] == one["found"]


def test_torch_is_run_in_each_where_that_is_asked(check: Check, install: Install) -> None:
    install("good", torch="2.9.1+cpu")
    done = check("run", "--no-smoke", "--format", "json")
    (one,) = json.loads(done.stdout)["environments"]
    assert "imported" in one["report"]["facts"]["trial"]
    (one,) = json.loads(check("--format", "json").stdout)["environments"]
    assert "imported" not in one["report"]["facts"]["trial"]


def test_a_job_gets_an_annotation_for_each_that_is_not_well(check: Check, install: Install) -> None:
    install("good", torch="2.9.1+cpu")
    done = check(GITHUB_ACTIONS="true")
    assert (done.returncode, "::" in done.stdout) == (0, False)
    install("older", torch="2.9.1+cpu", torchvision="0.20.0")
    Path(install("odd", torch="2.9.1+cpu")).unlink()
    odd = Path(install("odd2", torch="2.9.1+cpu"))
    odd.unlink()
    odd.write_text("#!/bin/sh\nexit 7\n")
    odd.chmod(0o755)
    done = check(GITHUB_ACTIONS="true")
    assert done.returncode == 3
    assert done.stdout.startswith("unknown: ")
    first, second = (line for line in done.stdout.splitlines() if line.startswith("::"))
    assert first.startswith("::error title=torchdoctor%3A ~/odd2/bin/python::unknown: cannot be asked: ")
    assert second.startswith("::warning title=torchdoctor%3A ~/older/bin/python::warning: Not built for torch ")
    alone = check("--format", "github")
    assert alone.stdout.splitlines() == [first, second]
    assert "::" not in check("--format", "text", GITHUB_ACTIONS="true").stdout


def test_the_exit_status_alone(check: Check, install: Install) -> None:
    install("good", torch="2.9.1+cpu")
    quiet = check("--format", "quiet")
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, "", "")
    install("older", torch="2.9.1+cpu", torchvision="0.20.0")
    quiet = check("--format", "quiet", "--fail-on", "warning")
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (1, "", "")


def test_a_remark_that_counts_is_told(check: Check, install: Install) -> None:
    """A CPU build has a remark where there is no GPU, and fails only where remarks do."""
    install("good", torch="2.9.1")
    (one,) = json.loads(check("--format", "json").stdout)["environments"]
    assert [finding["severity"] for finding in one["report"]["findings"]] == ["info"]
    done = check("--fail-on", "info")
    assert done.returncode == 1
    assert done.stdout.startswith("info: 1 environment with torch: 1 info\n  info     ~/good/bin/python (")
    assert f"({one['report']['findings'][0]['id']}; fail-on is info)" in done.stdout
    done = check()
    assert done.returncode == 0
    assert done.stdout.startswith("ok: 1 environment with torch: 1 ok\n")


def test_the_help_names_the_formats(torchdoctor: Run) -> None:
    words = " ".join(torchdoctor("check", "--help").stdout.split())
    assert f"formats: {', '.join(FORMATS)} " in words
