"""What a person at a terminal sees while torch is run: the stage, the device and the time, on one line of stderr."""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Self

_EACH = 1.0  # seconds
_WIDEST = 70


def _can_be_written_over() -> bool:
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


class Progress:
    """Silent unless stderr is a terminal; the line is written anew each second and wiped at the end."""

    def __init__(self) -> None:
        self._begun = time.monotonic()
        self._stage = ""
        self._over = threading.Event()
        self._ticking = threading.Thread(target=self._tick, daemon=True) if _can_be_written_over() else None

    def __enter__(self) -> Self:
        """Begin."""
        if self._ticking:
            self._ticking.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Wipe the line."""
        if self._ticking:
            self._over.set()
            self._ticking.join(_EACH)
            self._write("")

    def show(self, stage: str, device: str) -> None:
        """Name the stage that begins."""
        self._stage = f"{stage} on {device}" if device else stage
        self._tell()

    def _tick(self) -> None:
        while not self._over.wait(_EACH):
            self._tell()

    def _tell(self) -> None:
        if self._ticking and self._stage:
            self._write(f"{self._stage} ({time.monotonic() - self._begun:.0f} s)")

    def _write(self, text: str) -> None:
        with suppress(OSError, ValueError):  # a terminal that is gone is no reason to stop
            width = min(_WIDEST, (os.get_terminal_size(sys.stderr.fileno()).columns or _WIDEST + 1) - 1)
            sys.stderr.write(f"\r{text[:width]:{width}}\r")
            sys.stderr.flush()
