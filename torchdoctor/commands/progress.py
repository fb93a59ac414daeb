"""What a person at a terminal sees while torch is run: the stage, the device and the time, on one line of stderr.

Where a line is read aloud, or cannot be written over, each part of the run is named once in place of that.
"""

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
_PARTS = {
    "start": "starting",
    "import": "importing torch",
    "describe": "asking torch",
    "init": "starting the devices",
    "repro": "reproducibility",
}
_TESTS, _BENCH = "smoke tests", "benchmark"


def _can_be_written_over() -> bool:
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


class Progress:
    """Silent unless stderr is a terminal; the line is written anew each second and wiped at the end.

    ``plain``: no line is written over.
    """

    def __init__(self, *, plain: bool = False) -> None:
        self._begun = time.monotonic()
        self._stage = ""
        self._said: set[str] = set()
        self._over = threading.Event()
        self._says_parts = plain and sys.stderr.isatty()
        is_moving = _can_be_written_over() and not plain
        self._ticking = threading.Thread(target=self._tick, daemon=True) if is_moving else None

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
        part, name = _named(stage)
        self._stage = f"{name} on {device}" if device else name
        self._tell()
        if self._says_parts and part not in self._said:
            self._said.add(part)
            with suppress(OSError, ValueError):
                print(part, file=sys.stderr, flush=True)

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


def _named(stage: str) -> tuple[str, str]:
    """The part of the run that a stage belongs to, and what the stage is called."""
    head, _, rest = stage.partition("-")
    if head == "bench":
        return _BENCH, f"{_BENCH}: {rest}" if rest else _BENCH
    part = _PARTS.get(head, "")
    return (part, part) if part else (_TESTS, stage)
