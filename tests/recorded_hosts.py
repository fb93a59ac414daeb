"""Recorded hosts: a tree of files, and what git cannot hold beside it, asked by the target's own wants.

One folder each under ``tests/hosts/``; adding one needs no code::

    root/          files as they lay there, below the root of the host
    host.toml      the rest; every key may be left out
    expected.toml  what must come of it

``host.toml``: ``title``; ``like`` (the host that this one is but for what it says itself) and ``gone`` (of what that
host has: paths, commands, libraries); ``platform`` (linux, win32, darwin), ``kernel``, ``kernel_version``,
``machine``, ``libc``, ``windows`` (three numbers), ``macos``, ``cpus``, ``cwd``, ``require_gpu``; ``packages``
("name==version", conda's as "name==version=build") of ``installer`` (pip); and the tables

    [python]          version, prefix, base_prefix, executable, site, suffix, machine, bits, implementation ...
    [env]             variables
    [files]           path = text, for names that not every file system can hold (colons) and for Windows
    [links]           path = target
    [devices]         path = "rw", "r" or "" (closed to this user)
    [space]           path = bytes of its file system
    [commands]        key of the want = {out, err, rc, timed_out, encoding}; rc is 0 and the text UTF-8 unless said
    [library]         name = {path, number, error}: what the loader takes and answers; its file lies in the tree
    [nvml], [psutil]  what our own process was told
    [torch]           torch/version.py: version, cuda, hip, xpu; ``requires`` and ``tag`` of its distribution
    [says]            what torch says of itself when it is imported: available, arch_list, backend, init (a table)
    [[runs]]          the children of a trial in full, in place of [says]

``expected.toml``: ``status``, ``findings`` (id = severity, all of them), ``facts`` (path = value; "-" none, "?" not
known), ``gpus`` (a list of tables), ``says`` (words that stand in the findings), ``must_not_say``, and ``install``:
torch, build, needed, commands, note; or ``refusal``, words of the one line on stderr, and ``exit``.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from torchdoctor.cli import build_parser
from torchdoctor.commands.install_answer import answer as answer_install
from torchdoctor.nvml import KEY as NVML
from torchdoctor.readers.installer_settings import WANTS as OF_SETTINGS
from torchdoctor.readers.live import ALL_WANTS
from torchdoctor.readers.live_conda import WANTS as OF_CONDA
from torchdoctor.readers.live_packages import FOLDERS, REQUIRERS
from torchdoctor.readers.live_python import CHOICE
from torchdoctor.readers.live_trial import KEY as TRIAL
from torchdoctor.readers.project_files import WANTS as OF_PROJECTS
from torchdoctor.recording import Answer, Recording, Want
from torchdoctor.tables import Tables
from torchdoctor.target import paths, probe, want_python

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HOSTS = Path(__file__).resolve().parent / "hosts"
Host = dict[str, Any]
# What every command asks, and what install-cmd asks beyond that.
_WANTS = (*ALL_WANTS, REQUIRERS, FOLDERS, *OF_CONDA, *OF_PROJECTS, *OF_SETTINGS)
_TABLES = ("env", "files", "links", "devices", "space", "commands", "library")


def toml(path: Path) -> Host:
    told: Host = tomllib.loads(path.read_text(encoding="utf-8"))
    return told


def host_of(name: str) -> Host:
    """What host.toml says, on top of what the host that it is like says."""
    own = toml(HOSTS / name / "host.toml")
    if "like" not in own:
        return {"roots": [name], **own}
    base = host_of(own["like"])
    for table in _TABLES:
        kept = {key: value for key, value in base.get(table, {}).items() if key not in own.get("gone", ())}
        own[table] = {**kept, **own.get(table, {})}
    own["python"] = {**base.get("python", {}), **own.get("python", {})}
    return {**base, **own, "roots": [*base["roots"], name]}


# ------------------------------------------------------------------------------------------------------- its files


def plant(host: Host, root: Path) -> None:
    """Lay the tree out: the files of the folders, those of host.toml, and what stands for packages and torch."""
    for name in host["roots"]:
        if (HOSTS / name / "root").is_dir():
            shutil.copytree(HOSTS / name / "root", root, symlinks=True, dirs_exist_ok=True)
    for path in host.get("gone", ()):
        below(root, path).unlink(missing_ok=True)
    texts = {**host.get("files", {}), **dict.fromkeys(host.get("devices", {}), ""), **dict(_packages(host))}
    for path, text in texts.items():
        file = below(root, path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())
    for path, target in host.get("links", {}).items():
        below(root, path).parent.mkdir(parents=True, exist_ok=True)
        below(root, path).symlink_to(target)
    below(root, host.get("cwd", "/")).mkdir(parents=True, exist_ok=True)


def below(root: Path, path: str) -> Path:
    return root / path.replace("\\", "/").lstrip("/")


def site_of(host: Host) -> str:
    """The folder of packages."""
    python = host.get("python", {})
    if python.get("site"):
        return str(python["site"])
    prefix, minor = python.get("prefix", "/opt/venv"), ".".join(python.get("version", "3.12.3").split(".")[:2])
    if host.get("platform") == "win32":
        return f"{prefix}\\Lib\\site-packages"
    return f"{prefix}/lib/python{minor}/site-packages"


def _packages(host: Host) -> Iterator[tuple[str, str]]:
    """The files by which packages are known: an entry each, torch's own text, pip's folder."""
    site, told, installer = site_of(host), host.get("torch", {}), host.get("installer", "pip")
    for name, _, version in (item.partition("==") for item in host.get("packages", ())):
        if "=" in version:
            yield f"{host['python']['prefix']}/conda-meta/{name}-{version.replace('=', '-')}.json", "{}"
            continue
        requires = told.get("requires", ()) if name == "torch" else ()
        lines = (f"Name: {name}", f"Version: {version}", *(f"Requires-Dist: {line}" for line in requires))
        entry = f"{site}/{name.replace('-', '_')}-{version}.dist-info"
        yield f"{entry}/METADATA", "\n".join(lines) + "\n\n"
        yield f"{entry}/INSTALLER", f"{installer}\n"
        if name == "torch" and told.get("tag"):
            yield f"{entry}/WHEEL", f"Wheel-Version: 1.0\nTag: {told['tag']}\n"
        if name.startswith("torch") or name == "pip":
            yield f"{site}/{name.replace('-', '_')}/__init__.py", ""
    if told.get("version"):
        values = {name: told.get(name) for name in ("cuda", "hip", "xpu")}
        lines = (f"__version__ = {told['version']!r}", *(f"{name} = {value!r}" for name, value in values.items()))
        yield f"{site}/torch/version.py", "\n".join(lines) + "\n"


# ----------------------------------------------------------------------------------------------------- its answers


@contextmanager
def standing_in(host: Host, root: Path) -> Iterator[None]:
    """Let the target's code see this tree, these variables and this interpreter in place of ours."""
    python = host.get("python", {})
    prefix = python.get("prefix", "/opt/venv")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paths, "ROOT", [str(root)])
        patch.setattr(paths, "LISTED", {})
        patch.setattr(paths, "PATH", ["", f"{prefix}/lib", site_of(host)])
        patch.setattr(want_python, "PATH", paths.PATH)
        patch.setattr(want_python, "LIBRARY", str(python.get("library", f"{prefix}/lib")))
        patch.setattr("torchdoctor.target.want_distributions.PATH", paths.PATH)
        patch.setattr(sys, "prefix", prefix)
        patch.setattr(sys, "base_prefix", python.get("base_prefix", "/usr"))
        patch.setattr(os, "environ", dict(host.get("env", {})))
        patch.chdir(below(root, host.get("cwd", "/")))
        yield


def record(name: str, folder: Path) -> tuple[Host, Recording]:
    """The host, and the recording that the target's own wants make of it in an empty folder."""
    host, root = host_of(name), folder / name
    plant(host, root)
    platform = host.get("platform", "linux")
    wants = [want for want in _WANTS if platform.startswith(want.only)]
    with standing_in(host, root):
        answers = {want.key: _answer(want, host) for want in wants}
    answers[CHOICE] = Answer({"argv": [_interpreter(host)["executable"]], "why": "named with --python", "other": None})
    for key in (NVML, "psutil"):
        answers[key] = Answer(host[key]) if key in host else Answer(absent=True)
    if runs := host.get("runs") or _says(host):
        answers[TRIAL] = Answer({"runs": runs})
    return host, Recording.from_json(Recording(answers).to_json())


def _answer(want: Want, host: Host) -> Answer:
    if want.kind == "python":
        return Answer({**_interpreter(host), **want_python.folders(), **_system(host)})
    if want.kind == "command":
        return _command(host.get("commands", {}).get(want.key.removeprefix("command ")), want)
    if want.kind == "library":
        return _library(host.get("library", {}).get(want.args[0], {}), want)
    if want.kind == "space" and want.args[0] in host.get("space", {}):
        return Answer(host["space"][want.args[0]])
    told: Mapping[str, Any] = probe.answer(want.kind, want.args, want.seconds, want.keep)
    value = told.get("value")
    if want.kind == "stat" and want.args[0] in host.get("devices", {}):
        value = _device(host, want.args[0])
    if want.kind == "stats" and isinstance(value, dict):
        value = {path: _device(host, path) or item for path, item in value.items()}
    return Answer(value, bool(told.get("absent")), str(told.get("error", "")))


def _device(host: Host, path: str) -> dict[str, Any] | None:
    mode = host.get("devices", {}).get(path)
    return None if mode is None else {"type": "device", "readable": "r" in mode, "writable": "w" in mode, "size": 0}


def _command(told: Mapping[str, Any] | None, want: Want) -> Answer:
    """A command that is not told of is not there; what it printed goes through the bytes of its encoding."""
    if told is None:
        return Answer(absent=True)
    texts = {name: _printed(str(told.get(name, "")), told.get("encoding", "utf-8"), want) for name in ("out", "err")}
    timed_out = bool(told.get("timed_out"))
    program = want.args[0].partition("|")[0]
    status = None if timed_out else told.get("rc", 0)
    return Answer({**texts, "rc": status, "timed_out": timed_out, "path": f"/usr/bin/{program}"})


def _printed(text: str, encoding: str, want: Want) -> str:
    return paths.kept(paths.as_text(text.encode(encoding)), want.keep)


def _library(told: Mapping[str, Any], want: Want) -> Answer:
    found = paths.library_files(want.args[0], want.args[2:])
    if not found:
        return Answer(absent=True)
    error = told.get("error", "")
    path = "" if error else told.get("path", found[0])
    return Answer({"path": path, "number": told.get("number"), "error": error, "found": found})


def _interpreter(host: Host) -> dict[str, Any]:
    python = host.get("python", {})
    prefix, version = python.get("prefix", "/opt/venv"), python.get("version", "3.12.3")
    windows = host.get("platform") == "win32"
    return {
        "version": version,
        "level": "final",
        "implementation": python.get("implementation", "cpython"),
        "free_threaded": python.get("free_threaded", False),
        "suffix": python.get("suffix", ""),
        "bits": python.get("bits", 64),
        "machine": python.get("machine", host.get("machine", "x86_64")),
        "executable": python.get("executable", f"{prefix}\\Scripts\\python.exe" if windows else f"{prefix}/bin/python"),
        "headers": python.get("headers", True),
    }


def _system(host: Host) -> dict[str, Any]:
    platform, machine = host.get("platform", "linux"), host.get("machine", "x86_64")
    names = {"linux": "Linux", "win32": "Windows", "darwin": "Darwin"}
    release = {"release": host["kernel"], "version": host.get("kernel_version", "")} if "kernel" in host else {}
    return {
        "platform": platform,
        "uname": {"system": names[platform], **release, "machine": machine},
        "libc": host.get("libc", "glibc 2.39") if platform == "linux" else None,
        "windows": host.get("windows"),
        "macos": host.get("macos"),
        "cpus": host.get("cpus", 8),
        "cwd": host.get("cwd", "/"),
    }


def _says(host: Host) -> list[dict[str, Any]]:
    """One child in which torch was imported and said what it is."""
    says, told = host.get("says"), host.get("torch", {})
    if says is None:
        return []
    imported = {
        "version": told.get("version"),
        "cuda": told.get("cuda"),
        "arch_list": says.get("arch_list", []),
        "available": says["available"],
        "backend": says.get("backend", "cuda"),
    }
    events = [["probe", {"id": "import", "outcome": "passed", "seconds": 2.4}], ["imported", imported]]
    if "init" in says:
        events.append(["init", says["init"]])
    return [{"events": events, "ended": {"status": 0}}]


# --------------------------------------------------------------------------------------------- what install-cmd says


def install_of(host: Host, recording: Recording, tables: Tables) -> tuple[int, dict[str, Any] | None, str]:
    """Exit status, the install object, and what stands on stderr."""
    python = shlex.quote(_interpreter(host)["executable"])
    shell = "powershell" if host.get("platform") == "win32" else "posix"
    argv = ["install-cmd", "--format", "json", "--no-config", "--shell", shell, "--python", python]
    argv += ["--require-gpu"] if host.get("require_gpu") else []
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = answer_install(build_parser(argv).parse_args(argv), tables, recording)
    return status, json.loads(out.getvalue()), err.getvalue()
