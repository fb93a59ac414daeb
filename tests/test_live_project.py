"""Which tool keeps a live host's project: real environments of the standard library, answers of other tools' own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from torchdoctor.live import record
from torchdoctor.readers.live_project import WANTS, read
from torchdoctor.readers.live_python import WANTS as PYTHON
from torchdoctor.recording import Answer, Recording, Want
from torchdoctor.which_python import PythonChoice

THERE = {"type": "file", "readable": True, "writable": True, "size": 1}
PROJECT = "/w/app"


def said(python: dict[str, object], *files: str) -> dict[str, object]:
    """What is told for an interpreter, where only these of the wanted files are there."""
    answers = {want.key: Answer(THERE) if want.args[0] in files else Answer(absent=True) for want in WANTS}
    return {item.path: item.value for item in read(Recording({**answers, PYTHON[0].key: Answer(python)}))}


def project(python: dict[str, object], *files: str) -> object:
    """The tool that is told."""
    told = said(python, *files)
    assert set(told) in ({"place.project"}, {"place.project", "place.project_folder"})
    return told["place.project"]


def venv(prefix: str) -> dict[str, object]:
    return {"executable": f"{prefix}/bin/python", "prefix": prefix, "base_prefix": "/usr", "venv": {"home": "/usr/bin"}}


def conda(prefix: str, *, base: bool = False) -> dict[str, object]:
    """An environment of conda, or of a tool that installs conda's packages."""
    places = {"executable": f"{prefix}/bin/python", "prefix": prefix, "base_prefix": prefix}
    return {**places, "conda": True, "conda_base": base}


SYSTEM: dict[str, object] = {"executable": "/usr/bin/python3", "prefix": "/usr", "base_prefix": "/usr"}
ELSEWHERE = venv("~/envs/ml")


@pytest.mark.parametrize(
    ("python", "files", "tool"),
    [
        (venv(f"{PROJECT}/.venv"), ["@prefix/../uv.lock"], "uv-project"),
        (venv(f"{PROJECT}/.venv"), ["@prefix/../poetry.lock"], "poetry"),
        (venv(f"{PROJECT}/.venv"), ["@prefix/../pdm.lock"], "pdm"),
        (venv(f"{PROJECT}/.venv"), [], None),
        (venv(f"{PROJECT}/.venv"), ["environment.yml"], None),
        (ELSEWHERE, ["uv.lock", "poetry.lock", "pixi.toml"], None),
        (venv("~/.cache/pypoetry/virtualenvs/app-Xy12-py3.12"), [], "poetry"),
        (venv("~/Library/Caches/pypoetry/virtualenvs/app-Xy12-py3.12"), ["uv.lock"], "poetry"),
        (venv(r"~\AppData\Local\pypoetry\Cache\virtualenvs\app-Xy12-py3.12"), [], "poetry"),
        (venv("~/.local/share/pdm/venvs/app-Xy12-3.12"), [], "pdm"),
        (venv("~/.local/share/hatch/env/virtual/app/Xy12/app"), [], "hatch"),
        (venv(r"~\AppData\Local\hatch\env\virtual\app\Xy12\app"), [], "hatch"),
        (conda(f"{PROJECT}/.pixi/envs/default"), [], "pixi"),
        (conda(f"{PROJECT}/.pixi/envs/cuda"), ["environment.yml"], "pixi"),
        (conda("/opt/conda/envs/ml"), ["environment.yml"], "conda"),
        (conda("/opt/conda/envs/ml"), ["environment.yaml"], "conda"),
        (conda("/opt/conda/envs/ml"), [], None),
        (conda("/opt/conda/envs/ml"), ["uv.lock"], None),
        (conda("/opt/conda", base=True), ["environment.yml"], None),
        (SYSTEM, ["uv.lock"], "uv-project"),
        (SYSTEM, [], None),
        (venv("~/.local/share/uv/tools/torchdoctor"), ["uv.lock"], "uv-project"),
        (venv("~/.local/pipx/venvs/torchdoctor"), ["poetry.lock"], "poetry"),
    ],
)
def test_tool(python: dict[str, object], files: list[str], tool: str | None) -> None:
    assert project(python, *files) == tool


@pytest.mark.parametrize(
    ("python", "files", "cwd", "folder"),
    [
        (venv(f"{PROJECT}/.venv"), ["@prefix/../uv.lock"], "/w", PROJECT),
        (venv(f"{PROJECT}/.venv"), ["@prefix/../uv.lock"], PROJECT, None),
        (venv(f"{PROJECT}/.venv"), ["@prefix/../pyproject.toml"], "/w", PROJECT),
        (venv(f"{PROJECT}/.venv"), ["uv.lock"], "/w", None),
        (venv("~/app/.venv"), ["@prefix/../poetry.lock"], "~", "~/app"),
        (venv(r"C:\w\app\.venv"), ["@prefix/../poetry.lock"], r"C:\w", "C:/w/app"),
        (venv(r"C:\w\app\.venv"), ["@prefix/../poetry.lock"], r"C:\w\app", None),
        (venv("~/.cache/pypoetry/virtualenvs/app-Xy12-py3.12"), ["poetry.lock"], "/w", None),
        (venv("~/.local/pipx/venvs/torchdoctor"), ["@prefix/../pyproject.toml", "uv.lock"], "/w", None),
        (conda(f"{PROJECT}/.pixi/envs/default"), [], "/w", PROJECT),
        (conda(f"{PROJECT}/.pixi/envs/default"), [], PROJECT, None),
        (SYSTEM, ["uv.lock"], "/w", None),
    ],
)
def test_the_folder_is_told_where_it_is_another(
    python: dict[str, object], files: list[str], cwd: str, folder: str | None
) -> None:
    assert said({**python, "cwd": cwd}, *files).get("place.project_folder") == folder


def test_the_tool_whose_lock_comes_first_keeps_it() -> None:
    assert project(venv(f"{PROJECT}/.venv"), "@prefix/../poetry.lock", "@prefix/../uv.lock") == "uv-project"


def test_nobody_asked_is_not_none() -> None:
    assert list(read(Recording({PYTHON[0].key: Answer(SYSTEM)}))) == []
    failed = Recording({PYTHON[0].key: Answer(SYSTEM), WANTS[0].key: Answer(error="no answer in 5 s")})
    assert list(read(failed)) == []


@pytest.mark.skipif(os.name != "posix", reason="the interpreter lies elsewhere on Windows")
@pytest.mark.parametrize(
    ("lock", "current", "tool"),
    [("app/uv.lock", "app", "uv-project"), ("app/uv.lock", "other", "uv-project"), ("other/uv.lock", "other", None)],
)
def test_a_real_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lock: str, current: str, tool: str | None
) -> None:
    for name in ("app", "other"):
        (tmp_path / name).mkdir()
    (tmp_path / lock).write_text("version = 1\n")
    environment = tmp_path / "app" / ".venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    monkeypatch.chdir(tmp_path / current)
    wants: list[Want] = [*PYTHON, *WANTS]
    recording = record(PythonChoice((str(environment / "bin" / "python"),), "in a test"), lambda: wants)
    told = {item.path: item.value for item in read(recording)}
    assert told.pop("place.project") == tool
    is_elsewhere = tool is not None and current != "app"
    assert [str(folder).endswith("/app") for folder in told.values()] == [True] * is_elsewhere
