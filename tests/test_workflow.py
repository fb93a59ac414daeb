"""The workflow of the tests: its scripts are sound, and every test that it names is there."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import Any

import pytest
from conftest import ROOT

yaml = pytest.importorskip("yaml")
WORKFLOW: dict[str, Any] = yaml.safe_load((ROOT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8"))
SCRIPTS = [step["run"] for job in WORKFLOW["jobs"].values() for step in job["steps"]]


def test_every_test_it_names_is_there() -> None:
    named = [word for script in SCRIPTS for word in re.findall(r"tests/[\w./]+", script)]
    assert len(named) > 10
    assert [word for word in named if not (ROOT / word).exists()] == []


def test_it_uses_nobody_elses_code_and_reads_only() -> None:
    assert not any("uses" in step for job in WORKFLOW["jobs"].values() for step in job["steps"])
    assert WORKFLOW["permissions"] == {"contents": "read"}


@pytest.mark.skipif(shutil.which("bash") is None, reason="the scripts are for bash")
@pytest.mark.parametrize("script", SCRIPTS)
def test_its_scripts_are_scripts(script: str) -> None:
    assert "${{" not in script  # what others may choose is passed as a variable
    done = subprocess.run(["bash", "-n", "-c", script], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
