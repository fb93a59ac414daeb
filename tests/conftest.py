"""What every test shares: the real tables, the product as a process, and an environment scrubbed of the caller's."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from torchdoctor.tables import Tables

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(__file__).resolve().parent / "data"
CASES = Path(__file__).resolve().parent / "cases"

# A build service or a terminal that the tests run in must not change what the product prints.
for _name in (
    "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT", "GITHUB_WORKSPACE", "CI_PROJECT_DIR",
    "NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE",
):  # fmt: skip
    os.environ.pop(_name, None)

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def tables() -> Tables:
    return Tables()


@pytest.fixture
def clean_environment(tmp_path: Path) -> dict[str, str]:
    """An environment that names no virtual environment, CUDA or CI of the machine the tests run on."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "SYSTEMROOT", "TEMP", "TMPDIR") if name in os.environ}
    return {**kept, "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}


@pytest.fixture
def torchdoctor(clean_environment: dict[str, str], tmp_path: Path) -> Run:
    """Run the product in an empty folder: ``torchdoctor("check", "--static", stdin="...", env={...})``."""

    def run(
        *arguments: str, stdin: str = "", env: Mapping[str, str] | None = None, timeout: float = 60
    ) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "torchdoctor", *arguments]
        return subprocess.run(
            command, input=stdin, capture_output=True, text=True, encoding="utf-8", check=False, timeout=timeout,
            cwd=tmp_path, env={**clean_environment, **(env or {})},
        )  # fmt: skip

    return run
