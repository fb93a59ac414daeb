"""Hears a child: two threads read its outputs; marked lines are events, of all else the end is kept."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import IO, Any

_TAIL = 6000  # characters of its other output that are kept
_LONGEST = 1 << 16  # bytes of a line that is no event
_STACK = "Timeout ("  # as faulthandler begins the stack of a process that is late
_MOMENT = 0.1  # seconds from the first line of a stack to its last


class Ear:
    """Events in a queue, None at the end of them, and the tail of everything else that the child wrote."""

    def __init__(self, child: subprocess.Popen[bytes], nonce: str) -> None:
        self.events: queue.Queue[list[Any] | None] = queue.Queue()
        self.tail = ""
        self._nonce = nonce.encode()
        self._open, self._close = f"{nonce}<".encode(), f">{nonce}".encode()
        self._threads = [
            threading.Thread(target=self._listen, args=(child.stdout,), daemon=True),
            threading.Thread(target=self._keep, args=(child.stderr,), daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def wait_for_stack(self, seconds: float) -> None:
        """Give the child time to print where it is, as it does at its deadline."""
        until = time.monotonic() + seconds
        while _STACK not in self.tail and self._threads[1].is_alive() and time.monotonic() < until:
            time.sleep(_MOMENT / 4)
        time.sleep(_MOMENT)

    def settle(self) -> None:
        """Wait for what is still in the pipes, but not for ever: something out of our reach may hold them open."""
        for thread in self._threads:
            thread.join(0.5)

    def _listen(self, stream: IO[bytes]) -> None:
        rest = b""
        for chunk in _chunks(stream):
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                self._hear(line)
            if len(rest) > _LONGEST and not rest.startswith(self._open):
                self._add(rest)
                rest = b""
        self._hear(rest)
        self.events.put(None)

    def _hear(self, line: bytes) -> None:
        """A marked line is an event; a damaged one is none, and nothing to show either."""
        text = line.rstrip(b"\r\n")
        if self._nonce not in text:
            self._add(line + b"\n")
        elif text.startswith(self._open) and text.endswith(self._close):
            with suppress(ValueError):
                self.events.put(json.loads(text[len(self._open) : -len(self._close)]))

    def _keep(self, stream: IO[bytes]) -> None:
        for chunk in _chunks(stream):
            self._add(chunk)

    def _add(self, data: bytes) -> None:
        self.tail = (self.tail + data.decode("utf-8", "replace").replace("\0", ""))[-_TAIL:]


def _chunks(stream: IO[bytes]) -> Iterator[bytes]:
    """What is written until nobody can write any more.

    Read below the stream's buffer: its lock would be held as long as the pipe is open, and its closing wait for that.
    """
    with suppress(OSError), stream:
        while chunk := os.read(stream.fileno(), 1 << 16):
            yield chunk
