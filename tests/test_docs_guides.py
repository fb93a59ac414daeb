"""The guides: every block of commands is run in its order, with what it says of its status and of its output."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from broken_hosts import Stubs, compile_all
from conftest import ROOT
from place_hosts import Image

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the guides are run on Linux")

GUIDES = ROOT / "docs" / "guides"
BLOCK = re.compile(r"^```sh\n(.*?)^```\n(?:```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)
STATUS = re.compile(r" *# exit status (\d+)$", re.MULTILINE)
COMPUTES = re.compile(r"torchdoctor check(?! --static)")  # the torch of the image has nothing to compute with
STAND_INS = {  # of programs that the guides name and no test machine has
    "docker": 'while [ "$1" != python ]; do shift; done; exec "$@"\n',
    "gh": "cat issue.txt\n",
    "torchrun": 'shift 2; exec python "$@"\n',
}


@pytest.fixture(scope="module")
def stubs(tmp_path_factory: pytest.TempPathFactory) -> Stubs:
    return compile_all(tmp_path_factory.mktemp("stubs"))


@pytest.fixture
def image(tmp_path: Path, stubs: Stubs) -> Image:
    made = Image(tmp_path, stubs).gpu()
    for name, script in STAND_INS.items():
        program = tmp_path / "bin" / name
        program.write_text(f"#!/bin/sh\n{script}")
        program.chmod(0o755)
    return made


def fits(printed: str, shown: str) -> bool:
    """Whether this was printed; ``...`` stands for anything."""
    pattern = ".*".join(map(re.escape, shown.split("...")))
    return re.fullmatch(pattern, printed, re.DOTALL) is not None


@pytest.mark.parametrize("name", sorted(path.name for path in GUIDES.glob("*.md")))
def test_every_block_does_what_it_says(name: str, image: Image) -> None:
    blocks = BLOCK.findall((GUIDES / name).read_text(encoding="utf-8"))
    assert blocks
    for commands, shown in blocks:
        done = image.run("bash", "-c", f"exec 2>&1\n{COMPUTES.sub('torchdoctor check --no-smoke', watched(commands))}")
        assert done.returncode == 0, f"{commands}\n{done.stdout}"
        assert "Traceback" not in done.stdout
        assert not shown or fits(done.stdout, shown), f"{commands}\n{done.stdout}"


def watched(commands: str) -> str:
    """The same commands; one that ends otherwise than it says ends them all, with its name."""
    lines, heredoc = [], ""
    statement = ""
    for line in commands.splitlines():
        statement += f"{line}\n"
        if heredoc or "<<" in line:
            heredoc = "" if line == "END" else "END"
        if heredoc or line.endswith("\\"):
            continue
        expected = (STATUS.findall(line) or ["0"])[0]
        lines.append(f"{statement}test $? -eq {expected} || {{ echo 'status of:' {quoted(line)}; exit 99; }}\n")
        statement = ""
    return "set -o pipefail\n" + "".join(lines)


def quoted(line: str) -> str:
    return "'" + line.replace("'", "") + "'"


def test_what_the_runner_of_blocks_would_miss() -> None:
    """A wrong status, a wrong output and a command that is not there are seen."""
    assert fits("a\nb\nc\n", "a\n...\nc\n")
    assert not fits("a\nb\n", "a\nc\n")
    assert "test $? -eq 1" in watched("torchdoctor check  # exit status 1\n")
    assert watched("cat > x <<'END'\na\nEND\nb\n").count("test $?") == 2


def test_the_guides_are_those_of_the_navigation() -> None:
    named = re.findall(r"guides/([\w-]+\.md)", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    assert sorted(named) == sorted(path.name for path in GUIDES.glob("*.md"))
