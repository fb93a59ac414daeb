"""Starts the examined interpreter, wherever it is, and packs the program it is to run."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any

from torchdoctor.which_python import PythonChoice, with_input

_TARGET = Path(__file__).parent / "target"
_MARSHAL = 4  # the format that every Python 3 reads


class LiveError(Exception):
    """The examined Python could not be asked: one line that says what was seen and what to type."""


def start(python: PythonChoice) -> subprocess.Popen[bytes]:
    """Start the interpreter so that it reads its program from standard input; raise ``LiveError`` when it cannot."""
    argv = [*with_input(python.argv), "-B", "-"]
    pipe, env = subprocess.PIPE, {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    try:
        return subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=pipe, env=env, start_new_session=True)  # noqa: S603 - the command the user named, no shell
    except OSError as error:
        reason = {"FileNotFoundError": "no such program", "PermissionError": "it may not be started"}
        raise LiveError(line(python, reason.get(type(error).__name__, error.strerror or str(error)))) from error


def program(parts: Sequence[str], entry: str, nonce: str, request: Any, *, own: bool) -> str:
    """One text: its head, and all else packed, since an interpreter reads a program slowly from a pipe.

    ``entry`` is the part whose ``main(nonce, path, request)`` is called; ``request`` holds plain values. Our own
    interpreter gets the parts as compiled for it (and kept by the import system), any other gets texts.
    """
    import binascii
    import marshal
    import zlib

    modules: dict[str, Any] = {"torchdoctor": "", "torchdoctor.target": ""}
    for name in parts:
        full, path = f"torchdoctor.target.{name}", _TARGET / f"{name}.py"
        modules[full] = SourceFileLoader(full, str(path)).get_code(full) if own else path.read_text("utf-8")
    packed = zlib.compress(marshal.dumps((modules, entry, nonce, request), _MARSHAL), 1)
    head = (_TARGET / "start.py").read_text("utf-8")
    return f"{head}\nrun('{binascii.b2a_base64(packed, newline=False).decode()}')\n"


def line(
    python: PythonChoice, seen: str, advice: str = "give the path of a Python, or a command that starts one"
) -> str:
    """One line: which Python, what was seen, what to type."""
    shown = " ".join(python.argv)[:200]
    if python.asked:
        return f"--python {shown}: {seen} ({advice})"
    return f"cannot examine {shown} ({python.why}): {seen} ({advice}: --python PATH)"
