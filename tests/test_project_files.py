"""What a project's files name beside torch, and what install-cmd makes of it: files as each tool writes them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT
from test_live_project import SYSTEM, THERE, conda, venv

from torchdoctor.prescribe.host import COMPANIONS
from torchdoctor.readers.live_project import WANTS as PLACES
from torchdoctor.readers.live_python import WANTS as PYTHON
from torchdoctor.readers.project_files import WANTS, named
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
