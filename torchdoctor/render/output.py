"""Where rendered text goes: a terminal with colour, a pipe without, or a file written atomically."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from errno import EACCES, EBUSY, EISDIR, EPERM, EROFS
from pathlib import Path
from stat import S_IMODE
from typing import IO, Any

from torchdoctor.render.line import Line, ascii_json, on_one_line
from torchdoctor.render.look import Look

_STYLES = {
    "fail": "bold red", "error": "bold red", "warning": "bold yellow", "ok": "bold green", "unknown": "bold magenta",
    "info": "bold blue", "command": "cyan", "dim": "dim",
}  # fmt: skip
_NAMES_OF_STREAMS = {"/dev", "/dev/fd", "/proc/self/fd"}


def show(lines: Sequence[Line], *, plain: bool = False, colour: str = "auto") -> None:
    """Write lines to stdout: with colour where it is wanted, folded at words on a terminal, bare elsewhere.

    ``colour`` is auto, always or never.
    """
    if sys.stdout.isatty():
        lines = _folded(lines)
    if plain or not _wants_colour(colour):
        write("".join(f"{line.text}\n" for line in lines))
    elif os.name == "nt" and sys.stdout.isatty():
        _paint(lines, sys.stdout)  # a console of Windows may know no codes: rich asks it, and calls it instead
    else:
        from io import StringIO

        written = StringIO()
        _paint(lines, written, force_terminal=True, no_color=False, color_system="standard", legacy_windows=False)
        write(written.getvalue())


def _wants_colour(colour: str) -> bool:
    """What the option says, else the variables that many programs heed, else whether it is a terminal."""
    if colour != "auto":
        return colour == "always"
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    forced = os.environ.get("FORCE_COLOR") or os.environ.get("CLICOLOR_FORCE", "0") not in {"", "0"}
    return bool(forced) or sys.stdout.isatty()


def _paint(lines: Sequence[Line], stream: IO[str], **settings: Any) -> None:
    """The lines in the colours of their styles."""
    from rich.console import Console
    from rich.text import Text

    console = Console(file=stream, highlight=False, soft_wrap=True, **settings)
    for line in lines:
        console.print(Text(line.text, style=_STYLES.get(line.style, "")))


def look_of_stdout(*, plain: bool = False) -> Look:
    """The room and the signs of the terminal that stdout is; what is no terminal has all the room, and ASCII."""
    if not sys.stdout.isatty():
        return Look(plain=plain)
    return Look(_columns(), plain=plain, blocks=_shows_blocks())


def _shows_blocks() -> bool:
    """Not where a locale says that it is ASCII, whatever Python makes of it."""
    names = (os.environ.get(name, "") for name in ("LC_ALL", "LC_CTYPE", "LANG"))
    if os.name != "nt" and next(filter(None, names), "C") in {"C", "POSIX"}:
        return False
    try:
        "\u2588".encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _columns() -> int:
    import shutil

    return shutil.get_terminal_size().columns - 1


def _folded(lines: Sequence[Line]) -> list[Line]:
    """Lines that a terminal would break anywhere, broken between words; a command stays in one piece, to be copied.

    What a break brings to the beginning of a line is no order there either.
    """
    width = _columns()
    return [part for line in lines for part in _parts(line, width)]


def _parts(line: Line, width: int) -> list[Line]:
    if line.style == "command":
        return [line]
    from torchdoctor.render.fold import fold

    return [Line(on_one_line(part), line.style) for part in fold(line.text, width)]


def write(text: str, *, is_json: bool = False) -> None:
    """Write to stdout whatever its encoding: a character that it cannot show becomes an escape, in JSON one of JSON."""
    encoding = sys.stdout.encoding or "utf-8"
    if is_json and encoding.lower().replace("-", "") != "utf8":
        text = ascii_json(text)
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))


def save(content: str | bytes, path: str) -> None:
    """Write a file in one step, so that a reader never sees half of it; in place where no other can take its place."""
    target = _file_of(path)
    if _is_special(target):
        _fill(target, content)
        return
    temporary = _beside(target)
    try:
        _fill(temporary, content)
        if target.exists():
            temporary.chmod(S_IMODE(target.stat().st_mode))
        temporary.replace(target)
    except OSError as error:
        if not _stays(target, error):
            raise
        _fill(target, content)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def _fill(target: Path, content: str | bytes) -> None:
    if isinstance(content, bytes):
        target.write_bytes(content)
    else:
        target.write_text(content, encoding="utf-8")


def _stays(target: Path, error: OSError) -> bool:
    """Whether the file is mounted where it is (/dev/termination-log of a pod), or its folder takes no other file."""
    return error.errno in {EBUSY, EACCES, EPERM, EROFS} and target.is_file() and os.access(target, os.W_OK)


def try_out(path: str) -> None:
    """Raise the ``OSError`` that saving there would end in, as far as it can be known before."""
    if Path(path).is_dir():
        raise IsADirectoryError(EISDIR, "it is a folder")
    target = _file_of(path)
    if _is_special(target):
        return
    try:
        _beside(target).touch()
        _beside(target).unlink()
    except OSError as error:
        if not _stays(target, error):
            raise


def append(text: str, path: str) -> None:
    """Add to a file that others write to as well."""
    with Path(path).open("a", encoding="utf-8") as stream:
        stream.write(text)


def size_of(path: str) -> int:
    """The bytes of a file; none where there is none."""
    target = Path(path)
    return target.stat().st_size if target.exists() else 0


def _file_of(path: str) -> Path:
    """The file itself where the path is a link to one: the link stays."""
    named = Path(path)
    return named.resolve() if named.is_symlink() and not _is_special(named) else named


def _beside(target: Path) -> Path:
    return target.with_name(f".{target.name}.{os.getpid()}.tmp")


def _is_special(target: Path) -> bool:
    """Whether it is a device, a pipe or a name of one (/dev/stdout), which is written to and never replaced."""
    return target.exists() and (not target.is_file() or target.parent.as_posix() in _NAMES_OF_STREAMS)
