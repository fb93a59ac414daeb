"""Starts the X-ray where the examined Python runs, beside whatever else is asked there, and takes its answers."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from torchdoctor import nvml
from torchdoctor.recording import Answer, Want
from torchdoctor.starting import LiveError, program
from torchdoctor.starting import start as start_python
from torchdoctor.which_python import PythonChoice

SECONDS = 20.0  # for what is asked of a whole environment; a small one takes one
_PARTS = (
    "speaker",
    "paths",
    "binary",
    "elf",
    "pe",
    "fatbin",
    "hip_bundle",
    "zstd_head",
    "metal",
    "code_of",
    "owners",
    "want_distributions",
    "want_python",
    "want_code",
    "want_records",
    "ld_cache",
    "loader",
    "dll_search",
    "library_words",
    "want_loading",
    "want_source",
    "xray",
)


class Child(NamedTuple):
    """An X-ray under way; ``process`` is None where it could not be started, and ``trouble`` says why."""

    process: subprocess.Popen[bytes] | None
    wants: Sequence[Want]
    nonce: str = ""
    rest: bytes = b""  # of the program, where the pipe did not take all of it at once
    trouble: str = ""


def start(python: PythonChoice, wants: Sequence[Want]) -> Child:
    """Start it; returns at once. Nothing is raised for a Python that cannot be started."""
    nonce = os.urandom(16).hex()
    request = [(want.key, want.kind, want.args, want.seconds, want.keep, want.only) for want in wants]
    try:
        process = start_python(python)
    except LiveError as error:
        return Child(None, wants, trouble=str(error))
    text = program(_PARTS, "xray", nonce, request, own=python.own).encode("ascii")
    return Child(process, wants, nonce, _written(process, text))


def finish(child: Child, seconds: float) -> dict[str, Answer]:
    """Wait for the answers and end it; a want without one gets an error that says why."""
    process = child.process
    if process is None:
        return {want.key: Answer(error=child.trouble) for want in child.wants}
    try:
        out, trouble = _heard(process, child.rest, seconds)
    finally:
        nvml.end(process)
    told = _read(out.decode("utf-8", "replace"), child.nonce)
    return {want.key: _answer(told.get(want.key), trouble) for want in child.wants}


def _written(process: subprocess.Popen[bytes], text: bytes) -> bytes:
    """Write what the pipe takes without waiting; returns the rest, which ``finish`` hands over."""
    if not process.stdin or sys.platform == "win32":
        return text
    try:
        os.set_blocking(process.stdin.fileno(), False)
        text = text[os.write(process.stdin.fileno(), text) :]
        if not text:
            process.stdin.close()
            process.stdin = None
    except OSError:  # the pipe is full, or nobody reads: communicate() finds out which
        pass
    return text


def _heard(process: subprocess.Popen[bytes], rest: bytes, seconds: float) -> tuple[bytes, str]:
    """What it wrote until it ended or the time was over, and why an answer may be missing."""
    until = time.monotonic() + seconds
    try:
        out, err = process.communicate(rest or None, timeout=max(0.0, until - time.monotonic()))
    except subprocess.TimeoutExpired as late:
        return late.stdout or b"", f"no answer in {seconds:g} s"
    except (OSError, ValueError) as error:
        return b"", f"it could not be heard: {error}"
    last = err.decode("utf-8", "replace").strip().rpartition("\n")[2][:200]
    return out, f"it ended with status {process.returncode}{f' and said: {last}' if last else ''}"


def _read(text: str, nonce: str) -> Mapping[str, Any]:
    """The answers between whole marks; whatever else was printed is dropped."""
    import json

    told: dict[str, Any] = {}
    for piece in text.split(f"\n{nonce}<")[1:]:
        body, mark, _ = piece.partition(f">{nonce}")
        try:
            key, answer = json.loads(body) if mark else ("", {})
            told[str(key)] = dict(answer)
        except (ValueError, TypeError):
            continue
    return told


def _answer(told: Any, trouble: str) -> Answer:
    if told is None:
        return Answer(error=trouble)
    return Answer(told.get("value"), bool(told.get("absent")), str(told.get("error", "")))
