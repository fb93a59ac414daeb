"""Ends a child with all that it started, which is what is left of its session; each child of ours leads its own."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress

_PATIENCE = 1.0  # seconds for a child to go
_REST = 0.3  # for what it started: most of that hears of its end and tidies up
_KILL = getattr(signal, "SIGKILL", signal.SIGTERM)


def end(child: subprocess.Popen[bytes], *, leaves: bool) -> bool:
    """Let it leave, or end it, and what it leaves behind in any case; returns whether it went before it was told to.

    To be called as soon as the child is known to be gone: later its number may be that of another session.
    """
    try:
        return _end(child, leaves=leaves)
    except BaseException:  # told to end ourselves meanwhile
        tell(child, _KILL)
        raise


def _end(child: subprocess.Popen[bytes], *, leaves: bool) -> bool:
    if not leaves:
        tell(child, signal.SIGTERM)
    went = _has_gone(child) and leaves
    until = time.monotonic() + _REST
    while tell(child, 0) and time.monotonic() < until:
        time.sleep(0.01)
    if tell(child, _KILL):
        _has_gone(child)
    return went


def tell(child: subprocess.Popen[bytes], number: int) -> bool:
    """Send a signal to the child and to all that it started, or ask with 0; returns whether any of them is there."""
    try:
        if hasattr(os, "killpg"):
            os.killpg(child.pid, number)
        elif number:
            child.kill()
    except OSError:
        return False
    return hasattr(os, "killpg") or child.poll() is None


def _has_gone(child: subprocess.Popen[bytes]) -> bool:
    with suppress(subprocess.TimeoutExpired):
        child.wait(_PATIENCE)
    return child.returncode is not None
