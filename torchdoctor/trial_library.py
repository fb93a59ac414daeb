"""The last library that was loaded before the import of torch crashed or hung: the loader's account of a second import.

Only the loader of glibc gives one; elsewhere the library stays unknown.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from torchdoctor.facts import FROM_OUTSIDE
from torchdoctor.starting import LiveError
from torchdoctor.trial import Limits
from torchdoctor.which_python import PythonChoice, is_local

_INIT = "calling init: "
_AGAIN = 10.0  # seconds after which a second hang is ended; the first has filled the caches of the disk
_QUIET = 1.0  # seconds without a new library: less, and the import is not stuck but under way

Child = Callable[[PythonChoice, Limits], dict[str, Any]]


def last_library(first: dict[str, Any], python: PythonChoice, limits: Limits, child: Child) -> str:
    """The path of the library, when a child crashed or hung in its import, a second one does too, and it tells."""
    ended = first["ended"]
    hung = ended["reason"] == "timed out" and not ended["unkillable"]
    crashed = ended["signal"] and ended["signal"] not in FROM_OUTSIDE  # of those there is nothing to find
    if ended["stage"] != "import" or not (hung or crashed):
        return ""
    if not sys.platform.startswith("linux") or not is_local(python.argv):
        return ""
    from tempfile import TemporaryDirectory

    # Where nothing can be written, or env is not there, the library stays unknown.
    with suppress(OSError, LiveError), TemporaryDirectory(prefix="torchdoctor-", ignore_cleanup_errors=True) as folder:
        traced = ("env", "LD_DEBUG=files", f"LD_DEBUG_OUTPUT={folder}/loader", *python.argv)
        again = child(python._replace(argv=traced, own=False), _shorter(limits) if hung else limits)["ended"]
        if all(again[name] == ended[name] for name in ("stage", "signal", "reason")):
            return _last(Path(folder), time.time() - _QUIET if hung else time.time())
    return ""


def _shorter(limits: Limits) -> Limits:
    """The second hang costs a few seconds, not the whole deadline once more."""
    return limits._replace(importing=max(2 * _QUIET, min(_AGAIN, limits.importing)))


def _last(folder: Path, latest: float) -> str:
    """Each process has a file of its own, and the one that imported has the longest; written to up to ``latest``."""
    files = sorted(folder.iterdir(), key=lambda path: path.stat().st_size)
    if not files or files[-1].stat().st_mtime > latest:
        return ""
    lines = files[-1].read_text("utf-8", "replace").splitlines()
    return next((line.partition(_INIT)[2].strip() for line in reversed(lines) if _INIT in line), "")
