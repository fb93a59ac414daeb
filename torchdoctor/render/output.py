"""Where rendered text goes: a terminal with colour, a pipe without, or a file written atomically."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from torchdoctor.render.line import Line

_STYLES = {
    "fail": "bold red", "error": "bold red", "warning": "bold yellow", "ok": "bold green", "unknown": "bold magenta",
    "info": "bold blue", "command": "cyan", "dim": "dim",
}  # fmt: skip


def show(lines: Sequence[Line], *, plain: bool) -> None:
    """Write lines to stdout: with rich on a terminal, bare elsewhere."""
    if plain or not _wants_colour():
        write("".join(f"{line.text}\n" for line in lines))
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)
    for line in lines:
        console.print(Text(line.text, style=_STYLES.get(line.style, "")))


def _wants_colour() -> bool:
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return bool(os.environ.get("FORCE_COLOR")) or sys.stdout.isatty()


def write(text: str) -> None:
    """Write to stdout whatever its encoding; a character it cannot show becomes an escape."""
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))


def save(text: str, path: str) -> None:
    """Write a file in one step, so that a reader never sees half of it."""
    target = Path(path)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
