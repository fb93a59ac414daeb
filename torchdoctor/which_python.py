"""Which Python is examined, and why: one rule, told to the user in one line; and how its command is started."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from typing import NamedTuple

from torchdoctor.errors import UsageError

# Folders of tool environments (pipx, uv): nothing a user works with is installed in them.
_TOOL_FOLDERS = (
    "pipx/venvs/",
    "pipx/.cache/",
    ".cache/pipx/",
    "uv/tools/",
    ".cache/uv/",
    "uv/cache/",
    "archive-v0/",
    "environments-v2/",
)
_TOOL_MARKS = ("pipx_metadata.json", "uv-receipt.toml")
_INTERPRETERS = ("bin/python", "bin/python3", "Scripts/python.exe", "python.exe")
_CONTAINERS = {"docker", "podman", "nerdctl", "kubectl", "oc"}
_CONDAS = {"conda", "mamba"}
_WITH_TERMINAL = {"-it": "-i", "-ti": "-i", "-t": "", "--tty": ""}  # ours is no terminal, and they would refuse it
# These start a Python of this very host; anything else that is longer than a path may be a container or another host.
_LOCAL = _CONDAS | {"micromamba", "uv", "poetry", "pdm", "pipenv", "hatch", "env", "nice", "numactl", "taskset"}
_SITES = ("lib/python*/site-packages", "lib64/python*/site-packages", "lib/python*/dist-packages", "Lib/site-packages")


class PythonChoice(NamedTuple):
    """The command that starts the examined Python, why it was chosen, and another Python that holds a torch."""

    argv: tuple[str, ...]
    why: str
    other: str | None = None
    asked: bool = False  # named with --python
    own: bool = False  # the interpreter that runs torchdoctor


class Own(NamedTuple):
    """What the rule needs to know of the interpreter that runs torchdoctor."""

    executable: str
    prefix: str
    as_module: bool = False
    folder: str = "."  # the current one

    @classmethod
    def here(cls) -> Own:
        """This very process."""
        main = getattr(sys.modules.get("__main__"), "__spec__", None)
        as_module = main is not None and main.name.split(".")[0] == "torchdoctor"
        return cls(sys.executable or "python", sys.prefix, as_module, _current_folder())


def _current_folder() -> str:
    """The current folder; empty where it was removed."""
    try:
        return str(Path.cwd())
    except OSError:
        return ""


def choose_python(option: str | None) -> PythonChoice:
    """Choose for this process and its environment."""
    return choose(option, os.environ, Own.here())


def choose(option: str | None, env: Mapping[str, str], own: Own) -> PythonChoice:
    """``--python``, else our own unless it is a tool environment, else VIRTUAL_ENV, CONDA_PREFIX, .venv, our own."""
    if option is not None and not option.strip():
        raise UsageError("--python is empty (give the path of a Python, or a command that starts one)")
    if option is not None:
        argv = command_of(option)
        return PythonChoice(argv, "named with --python", _other(env, own, argv[-1]), asked=True)
    for python, why in _candidates(env, own):
        return PythonChoice((python,), why, _other(env, own, python), own=python == own.executable)
    return PythonChoice((own.executable,), "the Python that runs torchdoctor; no other was found", own=True)


def command_of(option: str) -> tuple[str, ...]:
    """The start command that ``--python`` means: a Python's path, an environment's folder, or a command line."""
    path = Path(option).expanduser()
    if path.is_dir():
        return (_by_path(Path(_interpreter(path) or path / "bin" / "python")),)
    if path.exists() or not option.strip():
        is_path = any(mark in option for mark in (os.sep, os.altsep) if mark)
        return (_by_path(path) if is_path else str(path),)
    import shlex

    try:
        words = shlex.split(option, posix=os.name == "posix")
    except ValueError:
        return (option,)
    first = str(Path(words[0]).expanduser()) if words[0].startswith("~") else words[0]
    return (first, *words[1:])


def _by_path(python: Path) -> str:
    """The path, in full where only the current folder says which it is: a bare name is looked for on PATH."""
    if python.is_absolute() or python.parent.name not in {"", ".."}:
        return str(python)
    return str(python.parent.resolve() / python.name)


def holds_torch(prefix: Path) -> bool:
    """Whether an environment has a torch: looks for its folder and starts nothing."""
    return any(True for site in _SITES for _ in prefix.glob(f"{site}/torch/__init__.py"))


def is_tool_environment(prefix: str) -> bool:
    """Whether an environment belongs to pipx, uvx or ``uv tool``."""
    path = prefix.replace("\\", "/").rstrip("/") + "/"
    return any("/" + folder in path for folder in _TOOL_FOLDERS) or any(
        (Path(prefix) / mark).exists() for mark in _TOOL_MARKS
    )


def _candidates(env: Mapping[str, str], own: Own) -> Iterator[tuple[str, str]]:
    """Pythons to examine, the best first."""
    if own.as_module:
        yield own.executable, "torchdoctor runs as a module of it"
    if holds_torch(Path(own.prefix)):
        yield own.executable, "torch is installed beside torchdoctor"
    if not is_tool_environment(own.prefix):
        yield own.executable, "torchdoctor is installed in it"
    yield from _environments(env, own)


def _environments(env: Mapping[str, str], own: Own) -> Iterator[tuple[str, str]]:
    """Pythons of environments that the user has activated or keeps in the current folder."""
    places = [(env.get(name, ""), f"{name} is set") for name in ("VIRTUAL_ENV", "CONDA_PREFIX")]
    places.append((str(Path(own.folder) / ".venv"), "it is the .venv of the current folder"))
    for folder, why in places:
        python = _interpreter(Path(folder)) if folder else None
        if python:
            yield python, why


def _interpreter(prefix: Path) -> str | None:
    """The Python of an environment."""
    return next((str(prefix / name) for name in _INTERPRETERS if (prefix / name).is_file()), None)


def _other(env: Mapping[str, str], own: Own, chosen: str) -> str | None:
    """The first candidate elsewhere that holds a torch."""
    candidates = [(python, Path(python).parent.parent) for python, _ in _environments(env, own)]
    candidates.append((own.executable, Path(own.prefix)))
    here = _prefix_of(chosen)
    return next((python for python, prefix in candidates if _prefix_of(python) != here and holds_torch(prefix)), None)


def _prefix_of(python: str) -> str:
    """Where an interpreter is started from, links of folders resolved; venvs share the file behind ``bin/python``."""
    path = Path(python)
    return str(path.parent.resolve()) if path.name != python else python


def with_input(argv: Sequence[str]) -> list[str]:
    """The command with the option that lets standard input through: ``docker exec web python`` needs ``-i``."""
    program = PurePath(argv[0]).name.removesuffix(".exe")
    if program in _CONDAS:
        return _insert(list(argv), ("run",), "--no-capture-output", {"--no-capture-output", "--live-stream", "-s"})
    if program in _CONTAINERS:
        words = [_WITH_TERMINAL.get(word, word) for word in argv]
        words = [word for word in words if word]
        option = "-T" if "compose" in words[1:3] else "-i"
        return _insert(words, ("exec", "run"), option, {option, "--interactive", "--stdin", "--no-TTY"})
    return list(argv)


def _insert(words: list[str], subcommands: tuple[str, ...], option: str, present: set[str]) -> list[str]:
    """Put the option behind the sub-command unless one like it is there."""
    at = next((number for number, word in enumerate(words) if number and word in subcommands), 0)
    return words if not at or present & set(words[at:]) else [*words[: at + 1], option, *words[at + 1 :]]


def is_local(argv: Sequence[str]) -> bool:
    """Whether a command surely starts a Python of this host, seeing the same files."""
    return len(argv) == 1 or PurePath(argv[0]).name.removesuffix(".exe") in _LOCAL
