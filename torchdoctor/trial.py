"""Runs a script that may crash, hang or be killed in a child of the examined interpreter, and says how it went.

Whatever becomes of the child is an answer: its events so far, the stage it was in, the signal, the stack it printed.
"""

from __future__ import annotations

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

from torchdoctor.ending import end
from torchdoctor.starting import program, start
from torchdoctor.trial_ear import Ear
from torchdoctor.which_python import PythonChoice

IMPORT_SECONDS, COMPILE_SECONDS, OTHER_SECONDS = 120.0, 120.0, 30.0
# torch.compile calls a compiler; MIOpen may search a minute for its first convolution; a benchmark has its own clock.
_COMPILING = ("compile", "triton", "runtime-compile", "export", "onnx", "conv", "lstm", "train", "amp", "bench")
_IMPORTING = ("all-reduce-processes",)  # a process for each GPU imports torch
GRACE = 2.0  # seconds beyond a deadline for the stack that the child prints; nothing else is taken any more
_FOLDER = "torchdoctor-"  # the prefix that target/smoke_folder.py gives
_OOM_COUNTS = ("/proc/vmstat", "/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control")
_TICK = 0.5  # seconds from one look at a silent child to the next
_LATE, CLOSED = "timed out", "its output was closed"

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
        slow = dict.fromkeys((*_COMPILING, *_IMPORTING), self.compiling)
        bench = max(self.compiling, self.benching)
        return {"import": self.importing, **slow, "bench": bench, "other": self.other}


def run(
    python: PythonChoice, module: str, parts: Sequence[str], request: Mapping[str, Any], limits: Limits, watch: Watch
) -> dict[str, Any]:
    """Run one trial to its end, its deadline or Ctrl-C; ``watch`` hears of every stage (id, device).

    Returns ``{"events": [[kind, fields], ...], "ended": {...}}``; see ``_ended``.
    """
    nonce = os.urandom(16).hex()
    child = start(python)
    ear = Ear(child, nonce)
    events: list[list[Any]] = []
    begun, reason, kills = time.monotonic(), "", _oom_kills()
    stage_begun = begun

    def heard(stage: str, device: str) -> None:
        nonlocal stage_begun
        stage_begun = time.monotonic()
        watch(stage, device)

    asked = {**request, "module": module, "limits": limits.by_stage(), "parent": os.getpid()}
    try:
        text = program((*parts, "speaker", "stage"), "stage", nonce, asked, own=False)
        if child.stdin:
            _hand_over(child.stdin, text)
        reason = _follow(child, ear, events, limits, heard)
        now = time.monotonic()
        if reason == _LATE:
            ear.wait_for_stack(GRACE)
    except KeyboardInterrupt:
        reason, now = "interrupted", time.monotonic()
    finally:
        went = end(child, leaves=not reason)
        ear.settle()
        events = _tidied(events)
    ended = _ended(child, ear, events, reason or ("" if went else CLOSED))
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


def _hand_over(pipe: IO[bytes], text: str) -> None:
    def write() -> None:
        with suppress(OSError, ValueError), pipe:
            pipe.write(text.encode("ascii"))

    threading.Thread(target=write, daemon=True).start()


def _follow(child: subprocess.Popen[bytes], ear: Ear, events: list[list[Any]], limits: Limits, watch: Watch) -> str:
    """Take events until the child ends; each stage has a deadline of its own. Returns why it stopped short, if so."""
    deadline, is_gone = time.monotonic() + limits.importing, False
    while True:
        try:
            event = ear.events.get(timeout=max(0.0, min(_TICK, deadline - time.monotonic())))
        except queue.Empty:
            if time.monotonic() >= deadline:
                return _LATE
            if is_gone:
                return ""
            is_gone = child.poll() not in {None, 0}  # with 0 it may have handed over to another process
            continue
        if event is None or event[0] == "end":
            return ""
        events.append(event)
        if event[0] == "stage":
            deadline = time.monotonic() + limits.of(event[1]["id"])
            watch(str(event[1]["id"]), str(event[1].get("device", "")))


def _tidied(events: list[list[Any]]) -> list[list[Any]]:
    """Remove the folder that a child which crashed could not remove; whose folder it was is nobody's business."""
    for kind, fields in events:
        path = Path(str(fields.get("path") or ""))
        if kind == "folder" and path.name.startswith(_FOLDER):
            shutil.rmtree(path, ignore_errors=True)
    return [event for event in events if event[0] != "folder"]


def _ended(child: subprocess.Popen[bytes], ear: Ear, events: list[list[Any]], reason: str) -> dict[str, Any]:
    """How it ended: exit status, signal, why we ended it, the last stage, and the tail of its other output."""
    stage: Mapping[str, Any] = next((fields for kind, fields in reversed(events) if kind == "stage"), {})
    is_done = any(kind == "done" for kind, _ in events)
    status = child.returncode
    return {
        "status": status,
        "signal": "" if reason or is_done else _signal(status),
        "reason": "" if reason == CLOSED and is_done else reason,
        "stage": "" if is_done else str(stage.get("id", "start")),
        "device": str(stage.get("device", "")),
        "unkillable": status is None,
        "output": ear.tail,
    }


def _signal(status: int | None) -> str:
    """The name of the signal behind an exit status; starters such as docker and ssh add it to 128."""
    number = -status if status is not None and status < 0 else (status or 0) - 128
    try:
        return signal.Signals(number).name
    except ValueError:
        return ""
