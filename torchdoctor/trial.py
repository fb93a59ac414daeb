"""Runs a script that may crash, hang or be killed in a child of the examined interpreter, and says how it went.

Whatever becomes of the child is an answer: its events so far, the stage it was in, the signal, the stack it printed.
"""

from __future__ import annotations

import json
import os
import queue
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, NamedTuple

from torchdoctor import nvml
from torchdoctor.starting import program, start
from torchdoctor.which_python import PythonChoice

IMPORT_SECONDS, COMPILE_SECONDS, OTHER_SECONDS = 120.0, 120.0, 30.0
# torch.compile calls a compiler; MIOpen may search a minute for its first convolution; a benchmark has its own clock.
_COMPILING = ("compile", "triton", "runtime-compile", "export", "onnx", "conv", "lstm", "train", "amp", "bench")
_GRACE = 2.0  # for the stack that the child prints at its own deadline
_FOLDER = "torchdoctor-"  # the prefix that target/smoke_folder.py gives
_OOM_COUNTS = ("/proc/vmstat", "/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control")
_TAIL = 6000  # characters of its other output that are kept

Watch = Callable[[str, str], None]


class Limits(NamedTuple):
    """Seconds for the import, for stages that compile or search for kernels, and for any other stage.

    A stage of a benchmark has those of compiling, or ``benching`` if that is longer.
    """

    importing: float = IMPORT_SECONDS
    compiling: float = COMPILE_SECONDS
    other: float = OTHER_SECONDS
    benching: float = 0.0

    def of(self, stage: str) -> float:
        """The limit of a stage."""
        limits = self.by_stage()
        return limits.get(stage, limits.get(stage.partition("-")[0], self.other))

    def by_stage(self) -> dict[str, float]:
        """The limits as the child is told them."""
        slow = dict.fromkeys(_COMPILING, self.compiling)
        bench = max(self.compiling, self.benching)
        return {"import": self.importing, **slow, "bench": bench, "other": self.other}


class _Ear:
    """Two threads that read the child's outputs; events go into a queue, all else is kept as a tail."""

    def __init__(self, child: subprocess.Popen[bytes], nonce: str) -> None:
        self.events: queue.Queue[list[Any] | None] = queue.Queue()
        self.tail = ""
        self.open, self.close = f"{nonce}<".encode(), f">{nonce}".encode()
        self.threads = [
            threading.Thread(target=self._listen, args=(child.stdout,), daemon=True),
            threading.Thread(target=self._keep, args=(child.stderr,), daemon=True),
        ]
        for thread in self.threads:
            thread.start()

    def _listen(self, stream: IO[bytes]) -> None:
        with suppress(ValueError, OSError):
            for line in stream:
                text = line.rstrip(b"\n")
                if text.startswith(self.open) and text.endswith(self.close):
                    self.events.put(json.loads(text[len(self.open) : -len(self.close)]))
                else:
                    self._add(line)
        self.events.put(None)

    def _keep(self, stream: IO[bytes]) -> None:
        with suppress(ValueError, OSError):
            while chunk := os.read(stream.fileno(), 65536):
                self._add(chunk)

    def _add(self, data: bytes) -> None:
        self.tail = (self.tail + data.decode("utf-8", "replace").replace("\0", ""))[-_TAIL:]


def run(
    python: PythonChoice, module: str, parts: Sequence[str], request: Mapping[str, Any], limits: Limits, watch: Watch
) -> dict[str, Any]:
    """Run one trial to its end, its deadline or Ctrl-C; ``watch`` hears of every stage (id, device).

    Returns ``{"events": [[kind, fields], ...], "ended": {...}}``; see ``_ended``.
    """
    nonce = os.urandom(16).hex()
    child = start(python)
    ear = _Ear(child, nonce)
    events: list[list[Any]] = []
    begun, reason, kills = time.monotonic(), "", _oom_kills()
    stage_begun = begun

    def heard(stage: str, device: str) -> None:
        nonlocal stage_begun
        stage_begun = time.monotonic()
        watch(stage, device)

    asked = {**request, "module": module, "limits": limits.by_stage()}
    try:
        text = program((*parts, "speaker", "stage"), "stage", nonce, asked, own=False)
        _hand_over(child, text)
        reason = _follow(ear, events, limits, heard)
    except KeyboardInterrupt:
        reason = "interrupted"
    finally:
        now = time.monotonic()
        alive = _finish(child, ear)
    events = _tidied(events)
    ended = _ended(child, ear, events, reason, alive=alive)
    times = {"seconds": round(now - begun, 3), "stage_seconds": round(now - stage_begun, 3)}
    return {"events": events, "ended": {**ended, **times, "oom_kills": _oom_kills() - kills}}


def _oom_kills() -> int:
    """How often the kernel, or the cgroup of this process, has killed for want of memory."""
    total = 0
    for place in _OOM_COUNTS:
        with suppress(OSError, ValueError):
            lines = Path(place).read_text("ascii", "replace").splitlines()
            total += sum(int(line.split()[1]) for line in lines if line.startswith("oom_kill "))
    return total


def _hand_over(child: subprocess.Popen[bytes], text: str) -> None:
    def write() -> None:
        with suppress(OSError, ValueError):
            if child.stdin:
                child.stdin.write(text.encode("ascii"))
                child.stdin.close()

    threading.Thread(target=write, daemon=True).start()


def _follow(ear: _Ear, events: list[list[Any]], limits: Limits, watch: Watch) -> str:
    """Take events until the child ends; each stage has a deadline of its own. Returns why it stopped short, if so."""
    deadline = time.monotonic() + limits.importing + _GRACE
    while True:
        try:
            event = ear.events.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            return "timed out"
        if event is None or event[0] == "end":
            return ""
        events.append(event)
        if event[0] == "stage":
            deadline = time.monotonic() + limits.of(event[1]["id"]) + _GRACE
            watch(str(event[1]["id"]), str(event[1].get("device", "")))


def _finish(child: subprocess.Popen[bytes], ear: _Ear) -> bool:
    """Let it leave, then end it with all it started; returns whether it is still there (a wait inside the kernel)."""
    for ending in (None, signal.SIGTERM, getattr(signal, "SIGKILL", signal.SIGTERM)):
        if ending is not None and child.returncode is None:
            with suppress(OSError):
                os.killpg(child.pid, ending) if hasattr(os, "killpg") else child.kill()
        with suppress(subprocess.TimeoutExpired):
            child.wait(1.0)
            break
    alive = child.returncode is None
    nvml.end(child)
    for thread in ear.threads:
        thread.join(0.5)
    return alive


def _tidied(events: list[list[Any]]) -> list[list[Any]]:
    """Remove the folder that a child which crashed could not remove; whose folder it was is nobody's business."""
    for kind, fields in events:
        path = Path(str(fields.get("path") or ""))
        if kind == "folder" and path.name.startswith(_FOLDER):
            shutil.rmtree(path, ignore_errors=True)
    return [event for event in events if event[0] != "folder"]


def _ended(
    child: subprocess.Popen[bytes], ear: _Ear, events: list[list[Any]], reason: str, *, alive: bool
) -> dict[str, Any]:
    """How it ended: exit status, signal, why we ended it, the last stage, and the tail of its other output."""
    stage: Mapping[str, Any] = next((fields for kind, fields in reversed(events) if kind == "stage"), {})
    is_done = any(kind == "done" for kind, _ in events)
    status = child.returncode
    return {
        "status": status,
        "signal": "" if reason or is_done else _signal(status),
        "reason": reason,
        "stage": "" if is_done else str(stage.get("id", "start")),
        "device": str(stage.get("device", "")),
        "unkillable": alive,
        "output": ear.tail,
    }


def _signal(status: int | None) -> str:
    """The name of the signal behind an exit status; starters such as docker and ssh add it to 128."""
    number = -status if status is not None and status < 0 else (status or 0) - 128
    try:
        return signal.Signals(number).name
    except ValueError:
        return ""
