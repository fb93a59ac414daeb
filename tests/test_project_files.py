"""What a project's files name beside torch, and what install-cmd makes of it: files as each tool writes them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, Run
from test_live_project import SYSTEM, THERE, conda, venv

from torchdoctor.prescribe.host import COMPANIONS
from torchdoctor.readers.live_project import WANTS as PLACES
from torchdoctor.readers.live_python import WANTS as PYTHON
from torchdoctor.readers.project_files import WANTS, kept, named
from torchdoctor.readers.project_torch import Kept
from torchdoctor.recording import Answer, Recording

VISION, BOTH, NONE = ("torchvision",), ("torchvision", "torchaudio"), ()


def told(tool: str, file: str, text: str, python: dict[str, object] = SYSTEM) -> tuple[str, ...] | None:
    """What is told of one file, which is all that there is."""
    answers = {want.key: Answer(text) if want.args[0] == file else Answer(absent=True) for want in WANTS}
    places = {want.key: Answer(THERE) if want.args[0] == file else Answer(absent=True) for want in PLACES}
    return named(Recording({**places, **answers, PYTHON[0].key: Answer(python)}), tool, COMPANIONS)


@pytest.mark.parametrize(
    ("tool", "file", "text", "names"),
    [
        (
            "uv-project",
            "pyproject.toml",
            '[project]\ndependencies = ["torch", "Torch_Vision", "TorchVision>=0.2"]',
            VISION,
        ),
        (
            "uv-project",
            "pyproject.toml",
            "[project.optional-dependencies]\nx = [\"torchaudio[a]; os_name=='nt'\"]",
            BOTH[1:],
        ),
        ("uv-project", "pyproject.toml", '[dependency-groups]\ndev = ["torchvision", {include-group = "x"}]', VISION),
        ("uv-project", "pyproject.toml", '[tool.uv]\noverride-dependencies = ["torchvision<1"]', NONE),
        ("uv-project", "pyproject.toml", '[tool.uv]\ndev-dependencies = ["torchvision<1"]', VISION),
        ("uv-project", "pyproject.toml", '[tool.uv.sources]\ntorchvision = {index = "x"}', NONE),
        ("uv-project", "pyproject.toml", '[tool.ruff]\nknown-third-party = ["torchvision"] # torchaudio', NONE),
        ("uv-project", "pyproject.toml", '[project]\ndynamic = ["dependencies"]', None),
        ("uv-project", "pyproject.toml", '[project]\ndynamic = ["version"]', NONE),
        ("uv-project", "pyproject.toml", "[project\ntorchvision", None),
        ("uv-project", "pixi.toml", '[dependencies]\ntorchvision = "*"', None),
        ("poetry", "pyproject.toml", '[tool.poetry.dependencies]\ntorch = "^2"\ntorchvision = {version = "*"}', VISION),
        ("poetry", "pyproject.toml", '[tool.poetry.group.a.dependencies]\ntorchaudio = "*"', BOTH[1:]),
        ("pdm", "pyproject.toml", '[tool.pdm.dev-dependencies]\nt = ["torchvision"]', VISION),
        ("hatch", "pyproject.toml", '[tool.hatch.envs.default]\nextra-dependencies = ["torchvision"]', VISION),
        ("hatch", "hatch.toml", '[envs.default]\ndependencies = ["torchvision"]', VISION),
        ("pixi", "pixi.toml", '[feature.gpu.target.linux-64.dependencies]\ntorchvision = "*"', VISION),
        ("pixi", "pyproject.toml", '[tool.pixi.pypi-dependencies]\ntorchaudio = "*"', BOTH[1:]),
        ("conda", "environment.yml", "dependencies:\n  - pytorch\n  - conda-forge::torchvision=0.2\n", VISION),
        ("mamba", "environment.yaml", "dependencies:\n- pip:\n  - torchaudio==2.9.1\n#- torchvision\n", BOTH[1:]),
        ("requirements", "requirements.txt", "-r x.txt\ntorch\ntorchvision==0.2 # torchaudio\n", VISION),
        ("pip", "requirements.txt", "torchvision\n", None),
        ("dockerfile", "Dockerfile", 'RUN pip install torch torchvision "torchaudio>=2"\n', BOTH),
        ("dockerfile", "Dockerfile", "RUN pip install \\\n  # torchaudio\n  torch \\\n  torchvision==0.2\n", VISION),
        ("dockerfile", "Dockerfile", 'RUN ["uv", "pip", "install", "torch", "torchvision[a]"]\n', VISION),
        ("dockerfile", "Dockerfile", "RUN conda install pytorch::torchvision\n", VISION),
        ("dockerfile", "Dockerfile", "RUN <<EOF\nuv add torchaudio\nEOF\n", BOTH[1:]),
        ("dockerfile", "Dockerfile", "RUN pip install torch && python -c 'import torchvision'\n", NONE),
        ("dockerfile", "Dockerfile", "RUN pip uninstall -y torchvision; pip install ./torchaudio\n", NONE),
        ("dockerfile", "Dockerfile", "# RUN pip install torchvision\nRUN pip install x-torchaudio\n", NONE),
        ("dockerfile", "requirements.txt", "torchvision\n", None),
    ],
)
def test_names(tool: str, file: str, text: str, names: tuple[str, ...] | None) -> None:
    assert told(tool, file, text) == names


@pytest.mark.parametrize(
    ("python", "file", "tool", "names"),
    [
        (venv("/w/app/.venv"), "@prefix/../pyproject.toml", "poetry", VISION),
        (venv("/w/app/.venv"), "pyproject.toml", "poetry", VISION),  # its environment lies elsewhere
        (conda("/w/app/.pixi/envs/default"), "@prefix/../../../pyproject.toml", "pixi", VISION),
        (conda("/w/app/.pixi/envs/default"), "pyproject.toml", "pixi", None),
        (SYSTEM, "@prefix/../pyproject.toml", "poetry", None),
    ],
)
def test_the_file_is_that_of_the_project(
    python: dict[str, object], file: str, tool: str, names: tuple[str, ...] | None
) -> None:
    assert told(tool, file, '[project]\ndependencies = ["torchvision"]', python) == names


def file_of(text: str, tool: str, text_here: str | None = None, cwd: str = "/w/app") -> Kept | None:
    """What is told of the file beside an environment, and of one in the current folder."""
    files = {"@prefix/../pyproject.toml": text, **({} if text_here is None else {"pyproject.toml": text_here})}
    asked = (*PLACES, *WANTS)
    answers = {
        want.key: Answer(THERE if want.kind == "stat" else files[want.args[0]])
        if want.args[0] in files
        else Answer(absent=True)
        for want in asked
    }
    return kept(Recording({**answers, PYTHON[0].key: Answer({**venv("/w/app/.venv"), "cwd": cwd})}), tool)


@pytest.mark.parametrize(
    ("tool", "text", "stands"),
    [
        ("uv-project", "[project]\ndependencies = [\"Torch[a] >=2; os_name=='nt'\"]", ["main  [a] >=2 os_name=='nt'"]),
        ("uv-project", '[dependency-groups]\nml = ["torch==2", {include-group = "b"}]', ["group ml ==2 "]),
        ("uv-project", '[project.optional-dependencies]\ngpu = ["torch"]', ["extra gpu  "]),
        ("uv-project", '[tool.uv]\ndev-dependencies = ["torch"]', ["dev   "]),
        ("uv-project", '[tool.uv]\noverride-dependencies = ["torch==2"]', ["bound  ==2 "]),
        ("uv-project", '[tool.poetry.dependencies]\ntorch = "2"', []),
        ("uv-project", '[project]\ndependencies = ["numpy", 3]\n[dependency-groups]\nx = "torch"', []),
        ("poetry", '[project]\ndependencies = ["torch (==2)"]', ["main  ==2 "]),
        ("poetry", '[tool.poetry.dependencies]\ntorch = "^2"', ["main   ^2 "]),
        (
            "poetry",
            '[tool.poetry.dependencies]\ntorch = {version = "2", optional = true}',
            ["main   2 optional = true"],
        ),
        ("poetry", '[tool.poetry.group.ml.dependencies]\ntorch = {version="2", source="x"}', ["group ml  2 x"]),
        ("poetry", '[tool.poetry.dependencies]\ntorch = [{version="1"}, {version="2"}]', ["main   1 ", "main   2 "]),
        (
            "poetry",
            '[project]\ndependencies = ["torch==2"]\n[tool.poetry.dependencies]\ntorch = {source = "x"}',
            ["main  ==2 x"],
        ),
        ("pdm", '[tool.pdm.dev-dependencies]\nt = ["torch"]', ["group t  "]),
        ("pdm", '[tool.pdm.resolution.overrides]\ntorch = "2.1"', ["bound  ==2.1 "]),
    ],
)
def test_where_torch_stands(tool: str, text: str, stands: list[str]) -> None:
    told = file_of(text, tool)
    assert told is not None
    found = [f"{one.kind} {one.group} {one.spec} {one.marker or one.source}" for one in told.stands]
    assert found == stands
    assert all(one.name == "torch" for one in told.stands)


@pytest.mark.parametrize(
    ("tool", "text", "oldest"),
    [
        ("uv-project", '[project]\nrequires-python = ">=3.10"', (3, 10)),
        ("uv-project", '[project]\nrequires-python = ">3.10.4,<4"', (3, 10)),
        ("uv-project", '[project]\nrequires-python = ">=3.10,!=3.10.*"', (3, 11)),
        ("uv-project", '[project]\nrequires-python = "==3.12.3"', (3, 12)),
        ("uv-project", '[project]\nname = "a"', None),  # its own and newer ones
        ("uv-project", '[project]\nrequires-python = ">=3.9"\n[tool.uv]\nenvironments = ["a"]', None),
        ("uv-project", '[project]\nrequires-python = "three"', None),
        ("poetry", '[project]\nrequires-python = ">=3.10"', (3, 10)),
        ("poetry", '[tool.poetry.dependencies]\npython = "^3.9"', (3, 9)),
        ("poetry", '[tool.poetry.dependencies]\npython = "~3.11"', (3, 11)),
        ("poetry", '[tool.poetry.dependencies]\npython = ">=3.11 <3.13"', (3, 11)),
        ("poetry", '[tool.poetry.dependencies]\npython = "3.12.* || 3.10.*"', (3, 10)),
        ("poetry", '[project]\nrequires-python = ">=3.9"\n[tool.poetry.dependencies]\npython = "^3.12"', (3, 12)),
        ("poetry", '[project]\nname = "a"', (3, 0)),  # any
        ("pdm", '[project]\nrequires-python = ">=3.11"', (3, 11)),
    ],
)
def test_the_oldest_python_that_is_locked_for(tool: str, text: str, oldest: tuple[int, int] | None) -> None:
    told = file_of(text, tool)
    assert told is not None
    assert told.oldest == oldest


@pytest.mark.parametrize(("pythons", "is_allowed"), [(">=3.11", True), (">=3.11,!=3.14.1", False), ("<3.14", False)])
def test_one_release_that_a_project_excludes(pythons: str, is_allowed: bool) -> None:
    assert Kept(pythons=(pythons,)).allows("3.14.1") is is_allowed


ROOT_FILE = (
    '[project]\nrequires-python = ">=3.10"\n[tool.uv]\noverride-dependencies = ["torch<3"]\n[tool.uv.workspace]\n'
)
MEMBER = '[project]\nrequires-python = ">=3.12"\ndependencies = ["torch"]'


@pytest.mark.parametrize(
    ("root", "cwd", "is_member"),
    [
        (ROOT_FILE, "/w/app/m", True),
        (ROOT_FILE, "/w/app", False),
        (ROOT_FILE, "/w/other", False),
        ('[project]\nname = "a"', "/w/app/m", False),
    ],
)
def test_a_member_of_a_workspace_has_a_file_of_its_own(root: str, cwd: str, is_member: bool) -> None:
    told = file_of(root, "uv-project", MEMBER, cwd)
    assert told is not None
    assert told.is_member is is_member
    assert told.has_members is ("workspace" in root and not is_member)
    if is_member:
        assert [one.kind for one in told.stands] == ["main", "bound"]
        assert told.oldest == (3, 12)  # the lock is for what all of them allow


@pytest.mark.parametrize(
    ("files", "in_pyproject"),
    [
        ({"pixi.toml": "[workspace]"}, False),
        ({"pyproject.toml": "[tool.pixi.workspace]"}, True),
        ({"pyproject.toml": "[tool.pixi.workspace]", "pixi.toml": "[workspace]"}, False),  # which pixi prefers
        ({"pyproject.toml": "[project]"}, None),
    ],
)
def test_the_file_that_pixi_reads(files: dict[str, str], in_pyproject: bool | None) -> None:
    above = {f"@prefix/../../../{name}": text for name, text in files.items()}
    answers = {want.key: Answer(above[want.args[0]]) for want in WANTS if want.args[0] in above}
    python = {**conda("/w/app/.pixi/envs/default"), "cwd": "/w/app"}
    told = kept(Recording({**answers, PYTHON[0].key: Answer(python)}), "pixi")
    assert (told and told.in_pyproject) is in_pyproject


@pytest.mark.parametrize(("tool", "text"), [("hatch", "[project]"), ("pip", "[project]"), ("uv-project", "[project")])
def test_what_is_no_file_of_such_a_project(tool: str, text: str) -> None:
    assert file_of(text, tool) is None


PROJECT = '[project]\nname = "a"\nversion = "0"\ndependencies = ["torch", {more}]\n'


@pytest.mark.skipif(os.name != "posix", reason="the interpreter lies elsewhere on Windows")
@pytest.mark.parametrize("current", ["app", "."])
@pytest.mark.parametrize(
    ("more", "pins"), [('"torchvision"', ["torch==2.9.1", "torchvision==0.24.1"]), ("", ["torch==2.9.1"])]
)
def test_what_the_project_names_moves_with_torch(tmp_path: Path, current: str, more: str, pins: list[str]) -> None:
    app = tmp_path / "app"
    app.mkdir()
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(app / ".venv")], check=True)
    (app / "uv.lock").write_text("version = 1\n")
    (app / "pyproject.toml").write_text(PROJECT.replace("{more}", more))
    host = ("--driver", "580.65.06", "--gpu", "sm_86", "--torch", "2.9.1", "--backend", "cu126")
    done = subprocess.run(
        [sys.executable, "-m", "torchdoctor", "install-cmd", "--python", str(app / ".venv/bin/python"), *host],
        cwd=tmp_path / current, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    folder = "" if current == "app" else f"--project {app} "
    file = "pyproject.toml" if current == "app" else f"{app}/pyproject.toml"
    assert f"they belong into {file}, then: uv add {folder}{' '.join(pins)}\n" in done.stderr
    assert ("torchvision = " in done.stdout) is ("torchvision" in more)
    assert "ask again --with" not in done.stderr


def app_of(folder: Path, lock: str, text: str) -> list[str]:
    """A project of a tool with an environment of its own, and how its Python is named."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / ".venv")], check=True)
    (folder / lock).write_text("version = 1\n")
    (folder / "pyproject.toml").write_text(text)
    return ["--python", str(folder / ".venv/bin/python")]


@pytest.mark.skipif(os.name != "posix", reason="the interpreter lies elsewhere on Windows")
@pytest.mark.parametrize("lock", ["uv.lock", "poetry.lock", "pdm.lock", ""])
def test_a_report_leaves_to_install_cmd_what_a_projects_file_decides(
    tmp_path: Path, torchdoctor: Run, lock: str
) -> None:
    text = PROJECT.replace("{more}", "") + 'requires-python = ">=3.10"\n'
    python = app_of(tmp_path, lock or "other", text)
    report = torchdoctor("check", "--static", *python, "--format", "json", "--record", "seen.json")
    commands = json.loads(report.stdout)["install"]["commands"]
    again = "torchdoctor install-cmd --python ~/.venv/bin/python"
    assert (commands == [again]) is bool(lock)
    assert ("torch==" in " ".join(commands)) is not bool(lock)
    if lock:
        saved = torchdoctor("diagnose", "seen.json", "--format", "json")
        assert json.loads(saved.stdout)["install"]["commands"] == commands
        answer = torchdoctor("install-cmd", *python)
        assert "torch==" in answer.stdout + answer.stderr


@pytest.mark.skipif(os.name != "posix", reason="the interpreter lies elsewhere on Windows")
@pytest.mark.parametrize(("text", "ends"), [("torch-backend = 'cpu'\n", "--torch-backend cpu"), ("", "whl/cpu")])
def test_a_report_heeds_the_settings_of_installers(tmp_path: Path, torchdoctor: Run, text: str, ends: str) -> None:
    python = app_of(tmp_path, "other", "")
    (tmp_path / "uv.toml").write_text(text)
    report = torchdoctor("check", "--static", *python, "--tool", "uv", "--format", "json")
    (line,) = json.loads(report.stdout)["install"]["commands"]
    assert line.startswith("uv pip install --python")
    assert line.endswith(ends)
