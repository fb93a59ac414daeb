"""Asks a live host: starts the examined Python, hands it the probe, keeps the answers, redacted at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from torchdoctor import nvml
from torchdoctor.ending import end
from torchdoctor.recording import Answer, Recording, Want
from torchdoctor.starting import LiveError, line, program, start
from torchdoctor.which_python import PythonChoice, is_local

Proof = Callable[[PythonChoice, "Answer | None"], Answer]  # given what NVML told, if it was asked
Wants = Callable[[], Sequence[Want]]  # called while the interpreter starts: the readers take time to load
CHOICE, NOISE, PSUTIL, TRIAL = "choice", "noise", "psutil", "trial"
START_SECONDS = 30.0
_MARGIN = 2.0  # beyond the slowest want
_PYTHON = Want("python")
_PARTS = (
    "speaker",
    "paths",
    "want_files",
    "want_python",
    "want_distributions",
    "want_commands",
    "want_library",
    "probe",
)
_PRIVATE = ("home", "home_real", "user", "host", "mark")  # told by the python want for redaction; never recorded
_NOISE = 2000
_TICK = 0.2  # seconds between two looks at whether it is still there


class _Talk:
    """What came back: answers by key, everything else that was printed, the exit status (None: it was ended by us)."""

    def __init__(self) -> None:
        self.answers: dict[str, dict[str, Any]] = {}
        self.out = self.err = ""
        self.status: int | None = None
        self.interrupted = self.damaged = False
        self.wanted: Sequence[Want] = ()


def record(
    python: PythonChoice,
    wants: Wants,
    *,
    timeout: float | None = None,
    proof: Proof | None = None,
    meanwhile: Callable[[], None] = lambda: None,
    inside: Wants | None = None,
) -> Recording:
    """Ask the host where ``python`` runs; raise ``LiveError`` when it cannot be asked. ``meanwhile`` is done then.

    ``timeout`` takes the place of the start's deadline and of that of each command and library. ``proof`` runs torch
    there after the questions; its answer is kept under the key ``trial``. ``inside`` is asked of the installed files
    beside that, by a second program (torchdoctor/xray.py). Ctrl-C ends the questions: what was answered
    until then is recorded, and that it was interrupted; it is raised when nothing was answered.
    """
    asked = nvml.start() if is_local(python.argv) else None
    try:
        answers, private, interrupted = _answers(python, wants, timeout, meanwhile)
        try:
            if not interrupted:
                here = is_local(python.argv) and private["mark"] == _own_mark()
                answers.update(_ask_ourselves(asked, timeout) if here else {})
                with _looking(python, inside, timeout, answers):
                    answers.update({TRIAL: proof(python, answers.get(nvml.KEY))} if proof else {})
        except KeyboardInterrupt:
            interrupted = True
        if interrupted:
            answers[TRIAL] = Answer({"runs": [{"events": [], "ended": {"reason": "interrupted"}}]})
        return _redacted(answers, private)
    finally:
        if asked:
            nvml.end(asked)


@contextmanager
def _looking(
    python: PythonChoice, inside: Wants | None, timeout: float | None, answers: dict[str, Answer]
) -> Iterator[None]:
    """The second program reads the installed files while torch is imported; its answers are added in the end."""
    if inside is None:
        yield
        return
    from torchdoctor import xray

    child, limit = xray.start(python, inside()), timeout or xray.SECONDS
    try:
        yield
        answers.update(xray.finish(child, limit))
    finally:
        if child.process:
            nvml.end(child.process)


def _ask_ourselves(asked: subprocess.Popen[bytes] | None, timeout: float | None) -> dict[str, Answer]:
    """What our own interpreter knows of the host that it shares with the examined one."""
    answers = {nvml.KEY: nvml.finish(asked, timeout or nvml.SECONDS)}
    if not sys.platform.startswith("linux"):
        answers[PSUTIL] = _ask_psutil()
    return answers


def _answers(
    python: PythonChoice, wants: Wants, timeout: float | None, meanwhile: Callable[[], None]
) -> tuple[dict[str, Answer], dict[str, str], bool]:
    """The answers by key, what was told for redaction alone, and whether Ctrl-C cut it short."""
    limit = timeout or START_SECONDS
    talk = _talk(python, wants, timeout, meanwhile)
    host = talk.answers.get(_PYTHON.key, {}).get("value")
    if not isinstance(host, dict):
        if talk.interrupted:
            raise KeyboardInterrupt
        raise LiveError(_trouble(python, talk, limit))
    private = {name: str(host.pop(name, "")) for name in _PRIVATE}
    due = [want for want in talk.wanted if not want.only or str(host.get("platform")).startswith(want.only)]
    answers = {want.key: _answer(want, talk, limit) for want in due} | dict(_about(python, talk))
    return answers, private, talk.interrupted


def _redacted(answers: Mapping[str, Answer], private: Mapping[str, str]) -> Recording:
    from torchdoctor.redact import Identity, Redactor

    redactor = Redactor(Identity((private["home"], private["home_real"]), private["user"], private["host"]))
    kept = {
        key: Answer(redactor.value(answer.value), answer.absent, redactor.text(answer.error))
        for key, answer in answers.items()
    }
    return Recording(kept)


def _answer(want: Want, talk: _Talk, limit: float) -> Answer:
    answer = talk.answers.get(want.key)
    if answer is None:
        why = "an answer came back damaged" if talk.damaged else f"no answer in {limit:g} s"
        return Answer(error="interrupted" if talk.interrupted else why)
    return Answer(answer.get("value"), bool(answer.get("absent")), str(answer.get("error", "")))


def _about(python: PythonChoice, talk: _Talk) -> Iterator[tuple[str, Answer]]:
    """Which Python was asked and why, and what else was printed meanwhile."""
    yield CHOICE, Answer({"argv": list(python.argv), "why": python.why, "other": python.other})
    noise = {name: text[:_NOISE] for name, text in (("out", talk.out.strip()), ("err", talk.err.strip())) if text}
    if noise:
        yield NOISE, Answer(noise)


def _talk(python: PythonChoice, wants: Wants, timeout: float | None, meanwhile: Callable[[], None]) -> _Talk:
    """Start the interpreter, hand over the program, read until it ends or the deadline comes."""
    limit = timeout or START_SECONDS
    nonce = os.urandom(16).hex()
    child = start(python)
    talk = _Talk()
    try:
        talk.wanted = [_PYTHON, *dict.fromkeys(want for want in wants() if want != _PYTHON)]
        request = [(w.key, w.kind, w.args, _deadline(w, timeout), w.keep, w.only) for w in talk.wanted]
        rest = _hand_over(child, program(_PARTS, "probe", nonce, request, own=python.own).encode("ascii"))
        try:
            meanwhile()
            out, err = _listen(child, rest, nonce, (limit, _MARGIN + max(want[3] for want in request)))
        except KeyboardInterrupt:
            talk.interrupted = True
            out, err = _rest(child)
        except SystemExit:  # we are told to end
            _rest(child)
            raise
        talk.status = child.returncode
    finally:
        nvml.end(child)
    talk.err = err.decode("utf-8", "replace").replace("\0", "")
    _read_answers(talk, out.decode("utf-8", "replace"), nonce)
    return talk


def _listen(
    child: subprocess.Popen[bytes], rest: bytes, nonce: str, seconds: tuple[float, float]
) -> tuple[bytes, bytes]:
    """What it writes until it ends; given a first deadline for a first answer, then a second one for all of them."""
    data, limits = rest or None, list(seconds)
    until = time.monotonic() + limits.pop(0)
    while True:
        try:
            return child.communicate(data, timeout=max(0.0, min(_TICK, until - time.monotonic())))
        except subprocess.TimeoutExpired as late:
            data, told = None, (late.stdout or b"", late.stderr or b"")
        if child.poll() is not None:  # and what it started holds its outputs open
            return _after(child, told)
        if time.monotonic() < until:
            continue
        if not limits or (sys.platform != "win32" and nonce.encode() not in told[0]):
            return told
        until = time.monotonic() + limits.pop(0)


def _after(child: subprocess.Popen[bytes], told: tuple[bytes, bytes]) -> tuple[bytes, bytes]:
    """The last of what it wrote before it ended, with an end to what it left behind."""
    end(child, leaves=True)
    try:
        return child.communicate(timeout=_TICK)
    except subprocess.TimeoutExpired as late:
        return late.stdout or told[0], late.stderr or told[1]


def _rest(child: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    """What it wrote until Ctrl-C. It has a session of its own and is told, so that it ends the commands it started."""
    try:
        if hasattr(os, "killpg"):
            os.killpg(child.pid, signal.SIGINT)
        return child.communicate(timeout=1.0)
    except OSError:
        return b"", b""
    except subprocess.TimeoutExpired as late:
        return late.stdout or b"", late.stderr or b""


def _deadline(want: Want, timeout: float | None) -> float:
    """A given deadline holds for each command and library; reading files may take no longer either."""
    if timeout is None:
        return want.seconds
    return timeout if want.kind in ("command", "library") else min(want.seconds, timeout)


def _hand_over(child: subprocess.Popen[bytes], program: bytes) -> bytes:
    """Write what the pipe takes at once, and use the time until the first answer for our own slow imports."""
    if child.stdin and hasattr(os, "set_blocking") and sys.platform != "win32":
        try:
            os.set_blocking(child.stdin.fileno(), False)
            program = program[os.write(child.stdin.fileno(), program) :]
            if not program:
                child.stdin.close()
                child.stdin = None
        except OSError:  # the pipe is full, or nobody reads: communicate() finds out which
            pass
    import json  # noqa: F401 - as said

    import torchdoctor.redact  # noqa: F401 - as said

    return program


def _read_answers(talk: _Talk, text: str, nonce: str) -> None:
    """Take out what stands between whole marks; all the rest is noise."""
    import json

    noise, *pieces = text.split(f"\n{nonce}<")
    for piece in pieces:
        body, mark, rest = piece.partition(f">{nonce}")
        noise += rest
        if not mark:
            continue
        try:
            key, answer = json.loads(body.encode("utf-8", "replace"))
            talk.answers[str(key)] = dict(answer)
        except (ValueError, TypeError):
            talk.damaged = True
    talk.out = noise.replace("\0", "")


def _trouble(python: PythonChoice, talk: _Talk, limit: float) -> str:
    """One line on why there was no answer."""
    if talk.damaged:
        return line(
            python, "what it answers comes back damaged, folded or cut", "start it without what edits its output"
        )
    if talk.status is None:
        return line(python, f"it did not answer in {limit:g} s", f"give it longer with --timeout {4 * limit:g}")
    if "SyntaxError" in talk.err:
        return line(python, "it is older than Python 3.6, or no Python")
    last = next((line.strip() for line in reversed((talk.err or talk.out).splitlines()) if line.strip()), "")
    said = f" and said: {last[:200]}" if last else " and said nothing"
    return line(python, f"it ended with status {talk.status}{said}")


def _own_mark() -> str:
    """The mark of this very process, as the probe makes it of the examined one (target/want_python.py)."""
    try:
        boot, root = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip(), Path("/").stat()
    except OSError:
        return ""
    return f"{boot} {root.st_dev} {root.st_ino}"


def _ask_psutil() -> Answer:
    """Memory and processors of this host where there is no /proc."""
    try:
        import psutil
    except ImportError as error:
        return Answer(error=f"psutil: {error}")
    memory = psutil.virtual_memory()
    return Answer({"total": memory.total, "available": memory.available, "cpus": psutil.cpu_count()})
