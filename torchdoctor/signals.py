"""Ctrl-C, or being told to end, is heeded once: what then ends our children must not be cut short itself."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
_AGAIN = 5.0  # seconds after which one more is heeded: all that ends a child takes less


@contextmanager
def heeded_once() -> Iterator[None]:
    """Until the end of the block Ctrl-C raises ``KeyboardInterrupt``, and SIGTERM and SIGHUP end us with 128 + n.

    A signal that was ignored when we were started (nohup), or that somebody else handles, is left as it is.
    """
    last = float("-inf")

    def heed(number: int, _frame: FrameType | None) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last < _AGAIN:
            return
        last = now
        raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)

    usual = (signal.SIG_DFL, signal.default_int_handler)
    numbers = [getattr(signal, name) for name in _NAMES if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in numbers}
    ours = [number for number in numbers if before[number] in usual]
    try:
        for number in ours:
            signal.signal(number, heed)
    except ValueError:  # not in the main thread, where no signal arrives
        ours = []
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, before[number])
