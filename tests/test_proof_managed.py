"""Proof where a distribution manages the Python (PEP 668), and where an environment has no pip."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from proof_cells import HOSTS, PINS, TORCH
from proof_hosts import Environment, expect

pytest_plugins = ("proof_fixtures",)
pytestmark = pytest.mark.slow

ASKED = ("--torch", TORCH, "--backend", "cu126", "--with", "torchvision", *HOSTS["cu126"])
NAMES = {name: PINS[TORCH][name] for name in ("torch", "torchvision")}


@pytest.fixture
def managed(tmp_path: Path, environment: Environment) -> Path:
    """A copy of the running Python that says it is externally managed; its library is the real one, linked."""
    base = tmp_path / "usr"
    name = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    library, real = base / "lib" / name, Path(os.__file__).parent
    (base / "bin").mkdir(parents=True)
    library.mkdir(parents=True)
    shutil.copy2(os.path.realpath(sys.executable), base / "bin" / "python3")
    for entry in real.iterdir():
        if entry.name not in {"site-packages", "dist-packages", "EXTERNALLY-MANAGED"}:
            (library / entry.name).symlink_to(entry)
    for shared in real.parent.glob("libpython*"):
        (library.parent / shared.name).symlink_to(shared)
    (library / "EXTERNALLY-MANAGED").write_text("[externally-managed]\nError=use the package manager\n")
    (library / "site-packages").mkdir()
    for part in environment.tools.pip("newest").glob("pip*"):
        (library / "site-packages" / part.name).symlink_to(part)
    environment.folder.mkdir(parents=True)
    refused = subprocess.run(
        [base / "bin" / "python3", "-m", "pip", "install", "torch"],
        env=environment.variables, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if "externally-managed-environment" not in refused.stderr:
        pytest.skip("a copy of this Python does not run from another folder")
    return base / "bin" / "python3"


@pytest.mark.skipif(importlib.util.find_spec("ensurepip") is None, reason="this Python cannot make environments")
def test_an_environment_is_made_beside_the_distribution(managed: Path, environment: Environment) -> None:
    lines, promised = environment.ask("--python", managed, "--index-base", environment.base, *ASKED)
    assert lines[0] == f"{managed} -m venv .venv"
    environment.follow(lines)
    expect(environment, promised, NAMES)


@pytest.mark.skipif(importlib.util.find_spec("ensurepip") is None, reason="this Python cannot make environments")
@pytest.mark.parametrize("tool", ["pip", "uv"])
def test_an_environment_that_is_there_stays_as_it_is(managed: Path, environment: Environment, tool: str) -> None:
    environment.make()
    environment.uv("install", "numpy")
    before = (environment.folder / ".venv" / "pyvenv.cfg").read_text()
    lines, promised = environment.ask("--python", managed, "--tool", tool, "--index-base", environment.base, *ASKED)
    environment.follow(lines)
    assert (environment.folder / ".venv" / "pyvenv.cfg").read_text() == before
    assert set(environment.installed("numpy", "torch")) == {"numpy"}
    (environment.folder / ".venv").rename(environment.folder / "old")
    (environment.folder / ".venv").symlink_to(environment.folder / ".venv-2")  # where expect() looks
    expect(environment, promised, NAMES)


def test_a_python_started_by_a_command_is_overridden(managed: Path, environment: Environment) -> None:
    """As in a container: the environment is the distribution's own, and no other can be made beside it."""
    start = managed.parent / "enter"
    start.write_text(f'#!/bin/sh\nexec {managed} "$@"\n')
    start.chmod(0o755)
    lines, promised = environment.ask("--python", f"sh {start}", "--index-base", environment.base, *ASKED)
    assert "--break-system-packages" in lines[-1]
    environment.follow(lines)
    (environment.folder / ".venv" / "bin").mkdir(parents=True)
    environment.python.symlink_to(managed)  # where expect() looks
    found = environment.installed(*NAMES)
    assert {name: found[name].version for name in NAMES} == {
        name: f"{version}+{promised['build']}" for name, version in NAMES.items()
    }


def test_pip_is_brought_where_it_was_asked_for(environment: Environment) -> None:
    environment.make()
    lines, promised = environment.ask(
        "--python", environment.python, "--tool", "pip", "--index-base", environment.base, *ASKED
    )
    environment.follow(lines)
    expect(environment, promised, NAMES)
