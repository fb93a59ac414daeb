"""Every Python environment that can be found without running anything: by files, lists and variables."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from torchdoctor.which_python import Own, is_tool_environment

_INTERPRETERS = ("bin/python", "bin/python3", "Scripts/python.exe", "python.exe")
_SITES = ("lib/python*/site-packages", "lib64/python*/site-packages", "lib/python*/dist-packages", "Lib/site-packages")
_TORCHES = ("torch/__init__.py", "torch-*.dist-info", "torch-*.egg-info", "torch.egg-link")
_CONDAS = ("~/miniforge3", "~/miniconda3", "~/anaconda3", "~/mambaforge", "/opt/conda")
_MOST = 500  # environments of one kind
_LIST_BYTES = 1_000_000
# A variable that names the folder, where the folder is without it, and what is in it. ~ is the home folder.
_KEPT = (
    ("WORKON_HOME", "~/.virtualenvs", "*", "an environment of virtualenvwrapper"),
    ("PYENV_ROOT", "~/.pyenv", "versions/*", "a Python of pyenv"),
    ("PYENV_ROOT", "~/.pyenv", "versions/*/envs/*", "an environment of pyenv"),
    ("PYENV", "~/.pyenv/pyenv-win", "versions/*", "a Python of pyenv"),
    ("UV_PYTHON_INSTALL_DIR", "~/.local/share/uv/python", "*", "a Python of uv"),
    ("UV_PYTHON_INSTALL_DIR", "~/AppData/Roaming/uv/python", "*", "a Python of uv"),
    ("POETRY_CACHE_DIR", "~/.cache/pypoetry", "virtualenvs/*", "an environment of Poetry"),
    ("POETRY_CACHE_DIR", "~/Library/Caches/pypoetry", "virtualenvs/*", "an environment of Poetry"),
    ("PIPENV_HOME", "~/.local/share/virtualenvs", "*", "an environment of pipenv"),
    ("HATCH_DATA_DIR", "~/.local/share/hatch", "env/virtual/*/*/*", "an environment of hatch"),
    ("PIPX_HOME", "~/.local/share/pipx", "venvs/*", "an application of pipx"),
    ("PIPX_HOME", "~/.local/pipx", "venvs/*", "an application of pipx"),
    ("UV_TOOL_DIR", "~/.local/share/uv/tools", "*", "a tool of uv"),
    ("", "~/AppData/Local/Programs/Python", "Python3*", "a Python of the installer for Windows"),
    ("", "/Library/Frameworks/Python.framework", "Versions/3.*", "a Python of the installer for macOS"),
)


class Environment(NamedTuple):
    """One environment: its Python, its folder, and how it was found."""

    python: str
    prefix: Path
    why: str

    @property
    def has_torch(self) -> bool:
        """Whether a torch is in it, or in what it shares with the user and the system: by files, importing nothing."""
        return any(True for folder in self._sites() for torch in _TORCHES for _ in folder.glob(torch))

    def _sites(self) -> Iterator[Path]:
        shared = [] if (self.prefix / "pyvenv.cfg").is_file() else [Path.home() / ".local"]
        if str(self.prefix) == "/usr":
            shared.append(Path("/usr/local"))
        for prefix in (self.prefix, *shared):
            for site in _SITES:
                yield from prefix.glob(site)


def environments_here() -> list[Environment]:
    """Every environment that this user can be found to have, each once, the likeliest first."""
    return list(find(os.environ, Own.here(), Path.home()))


def find(env: Mapping[str, str], own: Own, home: Path) -> Iterator[Environment]:
    """Every environment, each once; ``own`` is the interpreter that runs torchdoctor, left out where it is a tool's."""
    seen: set[str] = set()
    for prefix, why in _prefixes(env, own, home):
        python = _python_of(prefix)
        key = _key(python) if python else ""
        if python and key not in seen:
            seen.add(key)
            yield Environment(python, prefix, why)


def _prefixes(env: Mapping[str, str], own: Own, home: Path) -> Iterator[tuple[Path, str]]:
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        if env.get(name):
            yield Path(env[name]), f"{name} is set"
    if not is_tool_environment(own.prefix):
        yield Path(own.prefix), "torchdoctor is installed in it"
    yield from _beside(own.folder)
    yield from _of_conda(env, home)
    for variable, usual, pattern, why in _KEPT:
        folder = Path(env.get(variable) or usual.replace("~", str(home), 1))
        yield from ((prefix, why) for prefix in _glob(folder, pattern) if prefix.name != "torchdoctor")
    yield from _on_path(env)


def _beside(folder: str) -> Iterator[tuple[Path, str]]:
    """The virtual environments in the current folder, hidden ones too; and those of pixi."""
    if folder:
        for mark in _glob(Path(folder), "*/pyvenv.cfg"):
            yield mark.parent, f"it is the {mark.parent.name} of the current folder"
        for prefix in _glob(Path(folder), ".pixi/envs/*"):
            yield prefix, "an environment of pixi in the current folder"


def _of_conda(env: Mapping[str, str], home: Path) -> Iterator[tuple[Path, str]]:
    """What conda has listed, and what lies in the folders of the conda that is at hand."""
    try:
        with (home / ".conda" / "environments.txt").open(encoding="utf-8", errors="replace") as stream:
            lines = stream.read(_LIST_BYTES).splitlines()
    except OSError:
        lines = []
    yield from ((Path(line.strip()), "an environment of conda") for line in lines[:_MOST] if line.strip())
    roots = [Path(env["CONDA_EXE"]).parent.parent] if env.get("CONDA_EXE") else []
    roots += [Path(env["MAMBA_ROOT_PREFIX"])] if env.get("MAMBA_ROOT_PREFIX") else []
    roots += [Path(usual.replace("~", str(home), 1)) for usual in _CONDAS]
    for root in roots:
        yield root, "the base environment of conda"
        yield from ((prefix, "an environment of conda") for prefix in _glob(root, "envs/*"))


def _on_path(env: Mapping[str, str]) -> Iterator[tuple[Path, str]]:
    """Pythons on the search path; what stands there for others (the shims of pyenv) has no libraries of its own."""
    for folder in env.get("PATH", "").split(os.pathsep):
        path = Path(folder)
        if folder and path.name != "shims" and path.is_absolute():
            yield (path if sys.platform == "win32" and path.name != "Scripts" else path.parent), "on the search path"


def _glob(folder: Path, pattern: str) -> list[Path]:
    try:
        return sorted(folder.glob(pattern))[:_MOST]
    except (OSError, ValueError):  # a folder that may not be read, or a name that is none
        return []


def _python_of(prefix: Path) -> str | None:
    try:
        return next((str(prefix / name) for name in _INTERPRETERS if (prefix / name).is_file()), None)
    except (OSError, ValueError):
        return None


def _key(python: str) -> str:
    """One environment may be reached by several names: /bin and /usr/bin, a link to a folder."""
    try:
        return os.path.normcase(Path(python).parent.resolve())
    except OSError:
        return python
