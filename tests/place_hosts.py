"""An image as the examples of docs/places mean it: torchdoctor installed beside a torch, on PATH; nothing else is."""

from __future__ import annotations

import importlib.util
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import fake_torch
from broken_hosts import Host, Stubs
from conftest import ROOT

_NEEDED = ("packaging", "rich", "pygments", "markdown_it", "mdurl", "tomli", "pynvml")  # of those that are there


def with_torchdoctor(environment: Path) -> Path:
    """Install torchdoctor, as it is here, with what it needs and nothing else; returns the program."""
    libraries = environment / "needed"
    libraries.mkdir()
    for name in _NEEDED:
        spec = importlib.util.find_spec(name)
        if spec and spec.origin:
            origin = Path(spec.origin)
            source = origin.parent if origin.name == "__init__.py" else origin
            (libraries / source.name).symlink_to(source)
    site = next((environment / "lib").glob("python*")) / "site-packages"
    (site / "needed.pth").write_text(f"{ROOT}\n{libraries}\n")
    program, python = environment / "bin" / "torchdoctor", environment / "bin" / "python"
    program.write_text(f"#!{python}\nimport sys\nfrom torchdoctor.__main__ import main\nsys.exit(main())\n")
    program.chmod(0o755)
    return program


class Image:
    """A host whose ``torchdoctor`` runs in the environment that holds a torch for CUDA; ``gpu`` plugs in a stand-in."""

    def __init__(self, folder: Path, stubs: Stubs) -> None:
        self.host, self.stubs = Host(folder), stubs
        fake_torch.install(self.host.site, fake_torch.CUDA, runtime=stubs.libcudart)
        self.program = with_torchdoctor(folder / "venv")
        self.env = {**self.host.env, "PATH": f"{folder / 'venv' / 'bin'}{os.pathsep}{self.host.env['PATH']}"}
        del self.env["PYTHONPATH"]

    def gpu(self, **answers: str) -> Image:
        """Let the loader find the driver's libraries, which answer for one H100 or as they are told."""
        for name, built in (("libnvidia-ml.so.1", self.stubs.libnvml), ("libcuda.so.1", self.stubs.libcuda)):
            self.host.library(name, built)
        self.env |= {"LD_LIBRARY_PATH": self.host.env["LD_LIBRARY_PATH"], **answers}
        return self

    @property
    def work(self) -> Path:
        """The current folder of its commands."""
        return self.host.work

    def run(
        self, *command: str | Path, env: Mapping[str, str] | None = None, alone: bool = False
    ) -> subprocess.CompletedProcess[str]:
        """Run a command there; ``alone``: with no variable but those given."""
        environment = dict(env or {}) if alone else {**self.env, **(env or {})}
        return subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, encoding="utf-8", check=False,
            timeout=120, cwd=self.work, env=environment,
        )  # fmt: skip
