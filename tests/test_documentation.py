"""What the documentation says is what the code does."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from conftest import ROOT

from torchdoctor.checks import all_checks
from torchdoctor.cli import COMMANDS


def blocks(name: str) -> list[str]:
    return re.findall(r"```sh\n(.*?)```", (ROOT / name).read_text(encoding="utf-8"), re.DOTALL)


def test_first_two_blocks_of_the_readme_are_one_command_each() -> None:
    main, tests = blocks("README.md")[:2]
    assert len(main.strip().splitlines()) == len(tests.strip().splitlines()) == 1
    assert main.strip().endswith("torchdoctor check")
    assert tests.strip().endswith("-m pytest")


def test_ci_runs_the_readmes_test_command() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert 'bash -euo pipefail -c "$command"' in script
    assert "blocks[1]" in script


def test_every_command_in_the_documentation_exists() -> None:
    for name in ("README.md", "CONTRIBUTING.md", "docs/reference.md"):
        for block in blocks(name):
            for command in re.findall(r"^(?:.*\| )?torchdoctor ([a-z-]+)", block, re.MULTILINE):
                assert command in COMMANDS, command


def test_every_check_is_listed_in_the_readme() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [item.id for item in all_checks() if f"pages/en/{item.id}.md" not in text] == []


def test_generated_parts_are_fresh() -> None:
    pytest.importorskip("cogapp", reason="cogapp comes with the extra dev")
    command = [sys.executable, "-m", "cogapp", "--check", "-r", "README.md", "docs/reference.md"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
