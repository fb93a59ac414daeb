"""The last library that was loaded before the import of torch crashed: the loader's own account of a second import."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from torchdoctor.which_python import PythonChoice, is_local

_KILL = "SIGKILL"  # from outside, and perhaps for want of memory: nothing to find, and not to be done twice
_INIT = "calling init: "


def last_library(first: dict[str, Any], python: PythonChoice, child: Callable[[PythonChoice], dict[str, Any]]) -> str:
    """The path of the library, when the first child crashed in its import, the second does too, and glibc tells."""
    ended = first["ended"]
    crashed = ended["stage"] == "import" and ended["signal"] and ended["signal"] != _KILL
    if not crashed or not sys.platform.startswith("linux") or not is_local(python.argv):
        return ""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="torchdoctor-") as folder:
        traced = ("env", "LD_DEBUG=files", f"LD_DEBUG_OUTPUT={folder}/loader", *python.argv)
        again = child(python._replace(argv=traced, own=False))["ended"]
        return _last(Path(folder)) if (again["stage"], again["signal"]) == ("import", ended["signal"]) else ""


def _last(folder: Path) -> str:
    """Each process has a file of its own; the one that imported has the longest."""
    files = sorted(folder.iterdir(), key=lambda path: path.stat().st_size)
    lines = files[-1].read_text("utf-8", "replace").splitlines() if files else []
    return next((line.partition(_INIT)[2].strip() for line in reversed(lines) if _INIT in line), "")
