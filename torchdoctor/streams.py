"""Standard streams that the caller closed."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def open_missing() -> None:
    """Give each closed stream the null device, so that nothing has to ask whether it is there."""
    null = Path(os.devnull)
    sys.stdin = sys.stdin or null.open(encoding="utf-8")
    sys.stdout = sys.stdout or null.open("w", encoding="utf-8")
    sys.stderr = sys.stderr or null.open("w", encoding="utf-8")
