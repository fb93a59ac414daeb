"""What a person at a terminal sees while torch is run: the stage, the device and the time, on one line of stderr."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Self


class Progress:
    """Silent unless stderr is a terminal; the line is wiped at the end."""

    def __init__(self) -> None:
        self._begun = time.monotonic()
        self._shows = sys.stderr.isatty()

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Wipe the line."""
        self._write("")

    def show(self, stage: str, device: str) -> None:
        """Name the stage that begins."""
        place = f" on {device}" if device else ""
        self._write(f"{stage}{place} ({time.monotonic() - self._begun:.0f} s)")

    def _write(self, text: str) -> None:
        if self._shows:
            sys.stderr.write(f"\r{text[:70]:70}\r")
            sys.stderr.flush()
