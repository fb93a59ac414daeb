"""An image with a Python and nothing else, and one with a CPU torch: what the exit status is.

torchdoctor is run by the environment's own Python, without one of the libraries that it is installed with.
"""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from pathlib import Path

import fake_torch
import pytest
from conftest import ROOT

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the paths are those of an image of Linux")


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("image")
    venv.EnvBuilder(symlinks=True, with_pip=False).create(folder / "venv")
    return folder


def check(image: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    env = {"PATH": "/usr/bin:/bin", "HOME": str(image), "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error"}
    command = [str(image / "venv" / "bin" / "python"), "-m", "torchdoctor", "check", "--static", *arguments]
    return subprocess.run(command, cwd=image, env=env, capture_output=True, text=True, check=False, timeout=60)


def test_a_bare_image_has_no_torch_and_nothing_else_is_wrong(image: Path) -> None:
    done = check(image, "--format", "json")
    report = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (1, "")
    assert [item["id"] for item in report["findings"] if item["severity"] == "error"] == ["torch-missing"]
    assert [item for item in report["checks"] if item["outcome"] == "crashed"] == []


def test_a_policy_lets_a_bare_image_pass(image: Path) -> None:
    done = check(image, "--ignore", "torch-missing")
    assert (done.returncode, done.stderr) == (0, "")
    assert "1 set aside by the policy" in done.stdout


def test_a_cpu_image_is_healthy_and_lacks_a_gpu_only_where_one_is_required(image: Path) -> None:
    site = next((image / "venv").glob("lib/python*/site-packages"))
    fake_torch.install(site, fake_torch.CPU)
    done = check(image, "--format", "json")
    report = json.loads(done.stdout)
    if report["facts"]["gpus"]:
        pytest.skip("this machine has a GPU, for which a CPU build is none")
    assert (done.returncode, done.stderr, report["status"]) == (0, "", "ok")
    asked = check(image, "--require-gpu", "--format", "json")
    assert asked.returncode == 1
    assert "no-gpu" in {item["id"] for item in json.loads(asked.stdout)["findings"] if item["severity"] == "error"}
