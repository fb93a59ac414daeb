"""Watches the process that does a rank's work: hears what it tells, and ends it when a stage takes too long.

torchrun waits for a stopped or hung child for ever, so this process, which imports no torch, is the one it waits for.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import Any

from torchdoctor.net.place import Place
from torchdoctor.net.worker import END, PAIRS, RENDEZVOUS, STAGES, Plan

_TICK = 0.2
_MOST_BYTES = 32_000_000
_IMPORT_SECONDS = 120.0
Told = dict[int, list[Mapping[str, Any]]]


class Watched:
    """What was told of each rank, and how this rank's own process ended."""

    def __init__(self) -> None:
        self.told: Told = {}
        self.ended = ""
        self.stage = ""

    def hear(self, line: bytes, own: int) -> None:
        """Take one line; a broken one is dropped."""
        try:
            event = json.loads(line)
            rank = int(event["rank"])
            if "events" in event:
                self.told[rank] = list(event["events"])
            else:
                self.told.setdefault(rank, []).append(event["event"])
                if rank == own and event["event"].get("state") == "begun":
                    self.stage = str(event["event"]["stage"])
        except (ValueError, KeyError, TypeError):
            return


def watch(place: Place, plan: Plan) -> Watched:
    """Start the work, hear it out, end it when it is late; Ctrl-C and SIGTERM end it too."""
    asked = json.dumps({"place": place._asdict(), "plan": plan._asdict()})
    child = subprocess.Popen(  # noqa: S603 - our own interpreter and our own code
        [sys.executable, "-m", "torchdoctor.net.worker", asked], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL
    )
    watched = Watched()
    try:
        _follow(child, watched, place.rank, plan)
    finally:
        if child.poll() is None:
            child.send_signal(getattr(signal, "SIGKILL", signal.SIGTERM))
        child.wait()
    if not watched.ended and child.returncode:
        watched.ended = f"signal {-child.returncode}" if child.returncode < 0 else f"status {child.returncode}"
    return watched


def _follow(child: subprocess.Popen[bytes], watched: Watched, own: int, plan: Plan) -> None:
    assert child.stdout is not None  # noqa: S101 - a pipe was asked for
    rest, heard, last, stage = b"", 0, time.monotonic(), ""
    with selectors.DefaultSelector() as ready:
        ready.register(child.stdout, selectors.EVENT_READ)
        while True:
            for _ in ready.select(_TICK):
                data = os.read(child.stdout.fileno(), 65536)
                heard += len(data)
                if not data or heard > _MOST_BYTES:
                    return
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    watched.hear(line, own)
            if watched.stage != stage:
                stage, last = watched.stage, time.monotonic()
            if time.monotonic() - last > _limit(stage, plan):
                watched.ended = f"no answer in the stage {stage or STAGES[0]}"
                return
            if child.poll() is not None and not ready.select(0):
                return


def _limit(stage: str, plan: Plan) -> float:
    """The stage's own time-out comes first, and tells more; this one is for what does not heed it."""
    if stage in ("", STAGES[0]):
        return max(_IMPORT_SECONDS, plan.seconds)
    if stage == RENDEZVOUS:
        return 2 * plan.meeting + 3
    turns = 8 if stage == PAIRS else 1
    return turns * (2 * plan.seconds + 3) if stage != END else 15
