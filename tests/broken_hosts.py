"""Hosts that are broken in one known way, made of real processes, files and libraries: no GPU, no mock in the product.

A ``Host`` is an environment of its own (home, current folder, Python, PATH, loader path); a test breaks one thing and
runs ``torchdoctor check`` on it as a user would.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import venv
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from conftest import DATA, ROOT

STUBS = Path(__file__).resolve().parent / "stubs"
SCHEMA = json.loads(files("torchdoctor").joinpath("schema/report-1.schema.json").read_text(encoding="utf-8"))
TIMEOUT = 3.0  # seconds, as given to --timeout
MARGIN = 12.0  # what a whole run may take beyond its deadlines, on a busy machine
_BASE = ("PATH", "LANG", "TMPDIR")


@dataclass(frozen=True)
class Answer:
    """What one run of the product gave."""

    status: int
    report: dict[str, Any]
    stderr: str
    seconds: float

    @property
    def loud(self) -> list[dict[str, Any]]:
        """The findings that are more than a remark, root causes first."""
        return [finding for finding in self.report["findings"] if finding["severity"] != "info"]

    @property
    def ids(self) -> list[str]:
        """The ids of all findings in their order."""
        return [finding["id"] for finding in self.report["findings"]]

    @property
    def crashed(self) -> list[str]:
        """Checks of ours that fell over."""
        return [f"{check['id']}: {check['reason']}" for check in self.report["checks"] if check["outcome"] == "crashed"]


@dataclass
class Host:
    """A host under test; ``start`` is put before the command that runs the product."""

    folder: Path
    env: dict[str, str] = field(default_factory=dict)
    start: tuple[str, ...] = ()
    python: str = ""

    def __post_init__(self) -> None:
        """Make an empty environment for the examined Python, a home, a current folder and a place for programs."""
        venv.EnvBuilder(symlinks=True).create(self.folder / "venv")
        self.python = str(self.folder / "venv" / "bin" / "python")
        for name in ("home", "work", "bin", "lib", "temp"):
            (self.folder / name).mkdir()
        kept = {name: os.environ[name] for name in _BASE if name in os.environ}
        own = {"HOME": str(self.folder / "home"), "PYTHONPATH": str(ROOT), "TMPDIR": str(self.folder / "temp")}
        self.env = {**kept, **own, "PATH": f"{self.folder / 'bin'}:{kept.get('PATH', os.defpath)}"}

    @property
    def site(self) -> Path:
        """Where the examined Python has its packages."""
        return next((self.folder / "venv" / "lib").glob("python*")) / "site-packages"

    @property
    def work(self) -> Path:
        """The folder in which the product is started."""
        return self.folder / "work"

    def program(self, name: str, body: str) -> None:
        """Put a shell script on the search path."""
        path = self.folder / "bin" / name
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)

    def nvidia_smi(self, sample: str, status: int, *, seconds: float = 0) -> None:
        """Put an nvidia-smi on the search path that replays a stored sample, after a while if wanted."""
        self.program("nvidia-smi", f"sleep {seconds}\ncat '{DATA / 'nvidia_smi' / sample}'\nexit {status}")

    def library(self, name: str, built: Path, **answers: str | int) -> None:
        """Let the loader find a stand-in for a library of the driver; ``answers`` are the variables it reads."""
        (self.folder / "lib" / name).symlink_to(built)
        self.env["LD_LIBRARY_PATH"] = str(self.folder / "lib")
        self.env |= {name: str(value) for name, value in answers.items()}

    def run(self, *arguments: str, timeout: float = TIMEOUT) -> subprocess.CompletedProcess[str]:
        """Run the product, which must come back of itself."""
        command = [*self.start, sys.executable, "-m", "torchdoctor", *arguments]
        return subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, encoding="utf-8", check=False,
            timeout=10 * timeout + 2 * MARGIN, cwd=self.work, env=self.env,
        )  # fmt: skip

    def check(self, *arguments: str, timeout: float = TIMEOUT) -> Answer:
        """Run ``check --format json``: no traceback, no check that fell over, a report as the schema says."""
        begun = time.monotonic()
        options = ("--format", "json", "--timeout", f"{timeout:g}", "--python", self.python)
        done = self.run("check", *options, *arguments, timeout=timeout)
        seconds = time.monotonic() - begun
        assert "Traceback" not in done.stderr, done.stderr
        assert done.stdout, f"exit status {done.returncode} and no report: {done.stderr}"
        report = json.loads(done.stdout)
        jsonschema.validate(report, SCHEMA)
        answer = Answer(done.returncode, report, done.stderr, seconds)
        assert answer.crashed == []
        assert list((self.folder / "temp").iterdir()) == []  # nothing of ours is left behind, even by a crash
        return answer


@cache
def compiler() -> str:
    """The C compiler of this machine, or the reason to skip."""
    found = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if found is None or not sys.platform.startswith("linux"):
        pytest.skip("no C compiler, or no Linux, to make stand-ins for the driver's libraries")
    return found


def compiled(source: str, folder: Path, soname: str) -> Path:
    """Compile a stand-in of tests/stubs."""
    library = folder / soname
    subprocess.run([compiler(), "-shared", "-fPIC", "-o", library, STUBS / source, "-ldl"], check=True)
    return library


@dataclass(frozen=True)
class Stubs:
    """The compiled stand-ins."""

    libcuda: Path
    libcudart: Path
    libnvml: Path
    liblast: Path


def compile_all(folder: Path) -> Stubs:
    """Compile every stand-in once."""
    return Stubs(
        compiled("libcuda.c", folder, "libcuda.so.1"),
        compiled("libcudart.c", folder, "libcudart.so.13"),
        compiled("libnvidia-ml.c", folder, "libnvidia-ml.so.1"),
        compiled("liblast.c", folder, "liblast.so.1"),
    )


@cache
def real_torch(variable: str = "TORCHDOCTOR_TEST_PYTHON") -> str:
    """A Python that holds a real torch: the one named by the variable, else our own; or the reason to skip."""
    python = os.environ.get(variable) or (sys.executable if variable == "TORCHDOCTOR_TEST_PYTHON" else "")
    if not python:
        pytest.skip(f"{variable} names no Python with a CUDA build of torch (5 GB, never downloaded by the tests)")
    if subprocess.run([python, "-c", "import torch"], check=False, capture_output=True).returncode:
        pytest.skip(f"{python} holds no torch ({variable} names one that does)")
    return python


def is_running(pid: int) -> bool:
    """Whether a process still does something; one that waits to be collected does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
