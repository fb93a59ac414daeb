"""``install-cmd --online``: ask one index whether a wheel is there now. Yes, no, or unknown with the reason."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from configparser import Error as ConfigError
from configparser import RawConfigParser
from pathlib import Path
from typing import Literal, NamedTuple

from torchdoctor.index.client import Client, IndexReadError, NoPageError, checked_base, shown
from torchdoctor.index.pages import IndexFile, project_files
from torchdoctor.index.wheel_names import WheelName, parse_wheel_name
from torchdoctor.values import PythonTag

_VARIABLES = ("PIP_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX_URL")


class Online(NamedTuple):
    """The answer: whether the wheel is there, and why that is so or is not known."""

    state: Literal["yes", "no", "unknown"]
    reason: str


def ask(
    index_url: str,
    name: str,
    version: str,
    *,
    python: PythonTag | None,
    os: str,
    machine: str,
    timeout: float = 20.0,
) -> Online:
    """Ask the index of this address (empty: the default one that pip is configured with) for a wheel.

    ``version`` carries its local label, ``2.9.1+cu126``; without one, any build satisfies it.
    ``python`` None is any Python. Never raises.
    """
    base = index_url or default_index()
    if not base:
        return Online("unknown", "no default index is configured for pip, and none is asked without")
    try:
        files = project_files(Client(timeout), checked_base(base), name)
    except NoPageError:
        return Online("no", f"{shown(base)} has no page of {name}")
    except (IndexReadError, ValueError) as error:
        return Online("unknown", str(error))
    return _answer(files, name, version, f"on {shown(base)}", _Host(python, os, machine))


class _Host(NamedTuple):
    python: PythonTag | None
    os: str
    machine: str

    def __str__(self) -> str:
        return f"{f'Python {self.python} on ' if self.python else ''}{self.os} {self.machine}"

    def takes(self, wheel: WheelName) -> bool:
        fits = any(platform.serves(self.os, self.machine) for platform in wheel.platforms)
        return fits and (self.python is None or wheel.accepts(self.python))


def _answer(files: tuple[IndexFile, ...], name: str, version: str, where: str, host: _Host) -> Online:
    public, _, label = version.partition("+")
    named = [(file, wheel) for file in files if (wheel := parse_wheel_name(file.name)) and wheel.project == name]
    there = [
        (file, wheel) for file, wheel in named if str(wheel.version) == public and label in {"", wheel.label}
    ]  # fmt: skip
    if not there:
        return Online("no", f"{name} {version} is not {where}")
    fitting = [file for file, wheel in there if host.takes(wheel)]
    if not fitting:
        return Online("no", f"{name} {version} is {where}, and not for {host}")
    yanked = " (yanked)" if all(file.yanked for file in fitting) else ""
    return Online("yes", f"{name} {version} for {host} is {where}{yanked}")


def default_index(environ: Mapping[str, str] = os.environ) -> str:
    """The address of the default index as pip is told it; empty when nobody told, for none is written down here."""
    for variable in _VARIABLES:
        if environ.get(variable):
            return environ[variable]
    return next(filter(None, map(_index_of, _configurations(environ))), "")


def _index_of(path: Path) -> str:
    parser = RawConfigParser(strict=False)
    try:
        parser.read(path, encoding="utf-8")
    except (ConfigError, OSError, UnicodeDecodeError):
        return ""
    named = (parser.get(name, "index-url", fallback="") for name in ("install", "global"))
    return next(filter(None, named), "")


def _configurations(environ: Mapping[str, str]) -> Iterator[Path]:
    """The files that pip reads, the one that counts most first."""
    named = environ.get("PIP_CONFIG_FILE", "")
    if named == os.devnull:
        return
    if named:
        yield Path(named)
    yield Path(sys.prefix) / ("pip.ini" if sys.platform == "win32" else "pip.conf")
    if sys.platform == "win32":
        yield from (Path(environ[name]) / "pip" / "pip.ini" for name in ("APPDATA", "PROGRAMDATA") if environ.get(name))
        return
    home = Path(environ.get("HOME") or "/")
    yield Path(environ.get("XDG_CONFIG_HOME") or home / ".config") / "pip" / "pip.conf"
    yield home / "Library" / "Application Support" / "pip" / "pip.conf"
    yield home / ".pip" / "pip.conf"
    yield from (
        Path(folder) / "pip" / "pip.conf" for folder in (environ.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(":")
    )
    yield Path("/etc/pip.conf")
