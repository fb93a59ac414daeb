"""Environments for the proofs: a real tool brings a starting state, the product is asked, what it prints is run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from conftest import ROOT
from loopback_index import LoopbackIndex
from proof_tools import Tools

FOR_ALL_BUILDS = {("torchaudio", "2.11.1")}  # one wheel, whose version names no build
# What the interpreter of an environment says of the packages in it: metadata version, then what the package prints.
_ASK = """
import importlib, importlib.metadata as m, json, sys
found = {}
for name in sys.argv[1:]:
    try:
        found[name] = [m.version(name), importlib.import_module(name.replace("-", "_")).__version__]
    except m.PackageNotFoundError:
        pass
print(json.dumps(found))
"""


class Installed(NamedTuple):
    """The version that the package's metadata tells, and the one that the package itself prints."""

    version: str
    says: str

    @property
    def build(self) -> str:
        """The build that the package prints of itself."""
        return self.says.partition("+")[2]


class Environment(NamedTuple):
    """One virtual environment in a project folder of its own, the tools, and where packages come from."""

    folder: Path
    tools: Tools
    served: LoopbackIndex
    more: tuple[tuple[str, str], ...] = ()  # variables of its shell; {url} stands for the index

    @property
    def python(self) -> Path:
        """The interpreter."""
        return self.folder / ".venv" / "bin" / "python"

    @property
    def base(self) -> str:
        """The address for --index-base."""
        return f"{self.served.url}/whl"

    @property
    def packages(self) -> Path:
        """Its site-packages."""
        return next((self.folder / ".venv" / "lib").glob("python*/site-packages"))

    @property
    def variables(self) -> dict[str, str]:
        """Nothing of the caller's: the tools on the PATH, and the loopback index as every tool's default."""
        default = f"{self.served.url}/simple"
        return {
            "PATH": os.pathsep.join([str(self.tools.bin), str(self.python.parent), os.defpath]),
            "HOME": str(self.folder),
            "XDG_CONFIG_DIRS": str(self.folder),
            "LANG": "C.UTF-8",
            "NO_PROXY": "127.0.0.1",
            "HTTPS_PROXY": "http://127.0.0.1:9",  # nothing leaves this machine: an address elsewhere fails at once
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_INDEX_URL": default,
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PIP_NO_CACHE_DIR": "1",
            "PIP_RETRIES": "0",
            "UV_INDEX_URL": default,
            "UV_CACHE_DIR": str(self.folder.parent.parent / "cache-uv"),
            "UV_PYTHON_DOWNLOADS": "never",
            "UV_LINK_MODE": "copy",
            "UV_HTTP_RETRIES": "0",
            **{name: value.format(url=self.served.url) for name, value in self.more},
        }

    def run(self, *command: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run a command in the project's folder; an exit status other than 0 fails the proof with all it said."""
        done = subprocess.run(
            command, env=self.variables | variables, cwd=self.folder, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        return done

    def make(self, pip: str = "") -> Environment:
        """Make the virtual environment, with the ``oldest`` or the ``newest`` pip or with none."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.run("uv", "venv", "--quiet", "--python", sys.executable, ".venv")
        for part in self.tools.pip(pip).glob("pip*") if pip else ():
            (self.packages / part.name).symlink_to(part)
        return self

    def uv(self, verb: str, *words: str) -> None:
        """Bring something about in the environment by uv, for its speed, without what the proof itself sets."""
        self._replace(more=()).run("uv", "pip", verb, "--quiet", "--python", self.python, *words)

    def ask(self, *words: str | Path) -> tuple[list[str], dict[str, Any]]:
        """Ask ``install-cmd``: the lines on stdout, and the install object."""
        promised = self.folder / "install.json"
        command = (sys.executable, "-m", "torchdoctor", "install-cmd", *words)
        done = self.run(*command, "--format", "text", "--format", f"json={promised}", PYTHONPATH=str(ROOT))
        return done.stdout.splitlines(), json.loads(promised.read_text(encoding="utf-8"))

    def follow(self, lines: Sequence[str]) -> None:
        """Run the printed lines as somebody would who copies them one by one."""
        for line in lines:
            self.run("sh", "-c", line)

    def installed(self, *names: str) -> dict[str, Installed]:
        """What is there now, asked of the environment's own interpreter."""
        done = self.run(self.python, "-I", "-B", "-c", _ASK, *names)
        return {name: Installed(*found) for name, found in json.loads(done.stdout).items()}

    def is_whole(self) -> None:
        """Nothing that is installed lacks what it requires."""
        self.uv("check")


def expect(environment: Environment, promised: Mapping[str, Any], pins: Mapping[str, str]) -> None:
    """What is installed is exactly what was promised: these versions, in the build of the install object.

    The suffix is part of torch's version where an index was named; a companion may be PyPI's own of the same build.
    """
    found, build = environment.installed(*pins), promised["build"]
    assert found["torch"].says == f"{promised['torch']}+{build}", found
    assert found["torch"].version == found["torch"].says or not promised["index_url"], found
    for name, version in pins.items():
        public, _, label = found[name].version.partition("+")
        assert public == version, found
        if (name, version) not in FOR_ALL_BUILDS:
            assert found[name].build == build, found
            assert label in {build, ""}, found
    environment.is_whole()
