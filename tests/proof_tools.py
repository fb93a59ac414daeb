"""The real install tools, each in an environment of its own, made once.

usage: python tests/proof_tools.py FOLDER

Set ``TORCHDOCTOR_TEST_TOOLS`` to the folder, and the proofs use it; without it they make one for the session. Both need
a package index; where none can be reached, the proofs are skipped with that reason.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

VARIABLE = "TORCHDOCTOR_TEST_TOOLS"
# The pip that came with the first release of the running Python: nobody who keeps to it has an older one.
FIRST_PIP = {(3, 10): "21.2.3", (3, 11): "22.3", (3, 12): "23.2.1", (3, 13): "24.2", (3, 14): "25.2"}
PIPS = {"oldest": FIRST_PIP.get(sys.version_info[:2], ""), "newest": ""}
# Each program and what is installed for it: PDM 2.29 does not yet fit hishel 2, which its metadata allows.
PROGRAMS = {"uv": ("uv",), "poetry": ("poetry",), "pdm": ("pdm", "hishel<2"), "hatch": ("hatch",)}
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")


class ToolsMissingError(Exception):
    """A tool could not be installed; the text says why."""


class Tools(NamedTuple):
    """Where the tools are: ``bin`` goes on the PATH and holds nothing else, each pip is a folder of packages."""

    folder: Path

    @property
    def bin(self) -> Path:
        """The folder for the PATH."""
        return self.folder / "bin"

    def pip(self, which: str) -> Path:
        """The folder that holds the ``oldest`` or the ``newest`` pip."""
        return self.folder / f"pip-{which}"

    def version(self, program: str) -> str:
        """What a program says of itself."""
        return subprocess.run(
            [self.bin / program, "--version"], capture_output=True, text=True, check=True
        ).stdout.strip()


def tools_in(folder: Path) -> Tools:
    """Return the tools of a folder, installing those that it lacks."""
    tools = Tools(folder)
    tools.bin.mkdir(parents=True, exist_ok=True)
    for which, version in PIPS.items():
        if not tools.pip(which).is_dir():
            _do(
                [
                    *PIP,
                    "install",
                    "--no-deps",
                    "--target",
                    str(tools.pip(which)),
                    f"pip=={version}" if version else "pip",
                ]
            )
    for program in PROGRAMS:
        place = folder / program
        if not (place / "bin" / program).exists():
            _install(program, place, tools)
        if not (tools.bin / program).exists():
            (tools.bin / program).symlink_to(place / "bin" / program)
    return tools


def _install(program: str, place: Path, tools: Tools) -> None:
    """Install one program; by uv once it is there, since that takes a tenth of the time, and by pip where uv fails."""
    _do([sys.executable, "-m", "venv", "--without-pip", str(place)])
    python = str(place / "bin" / "python")
    if program != "uv":
        with suppress(ToolsMissingError):
            _do([str(tools.bin / "uv"), "pip", "install", "--quiet", "--python", python, *PROGRAMS[program]])
            return
    newest = {**os.environ, "PYTHONPATH": str(tools.pip("newest"))}
    _do([python, *PIP[1:], "install", *PROGRAMS[program]], newest)


def _do(command: list[str], environment: dict[str, str] | None = None) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        told = done.stderr.strip().splitlines() or ["no reason given"]
        raise ToolsMissingError(f"{' '.join(command[1:])}: {told[-1]}")


if __name__ == "__main__":
    made = tools_in(Path(sys.argv[1]).absolute())
    sys.stdout.write("".join(f"{made.version(program)}\n" for program in PROGRAMS))
