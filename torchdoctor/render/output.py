"""Where rendered text goes: a terminal with colour, a pipe without, or a file written atomically."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from errno import EISDIR
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
    target, temporary = Path(path), _beside(path)
    if _is_special(target):
        target.write_text(text, encoding="utf-8")
        return
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def try_out(path: str) -> None:
    """Raise the ``OSError`` that saving there would end in, as far as it can be known before."""
    if Path(path).is_dir():
        raise IsADirectoryError(EISDIR, "it is a folder")
    if not _is_special(Path(path)):
        _beside(path).touch()
        _beside(path).unlink()


def _beside(path: str) -> Path:
    return Path(path).with_name(f".{Path(path).name}.{os.getpid()}.tmp")


def _is_special(target: Path) -> bool:
    """Whether it is a device or a pipe, which is written to and never replaced."""
    return target.exists() and not target.is_file()
