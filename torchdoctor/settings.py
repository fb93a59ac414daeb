"""What a site or a project sets once: environment variables, and the ``torchdoctor`` table of a TOML file.

The file is looked for in the current folder and upwards: to the top of its repository, or to the user's home folder.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from torchdoctor.errors import UsageError

INDEX_BASE = "TORCHDOCTOR_INDEX_BASE"
CONFIG = "TORCHDOCTOR_CONFIG"
_FILES = (("torchdoctor.toml", ()), ("pyproject.toml", ("tool", "torchdoctor")))
_TOPS = (".git", ".hg")
_MOST_BYTES = 1_000_000


class Setting(NamedTuple):
    """A value and where it was set, for the line that says so."""

    value: str
    source: str


class Found(NamedTuple):
    """The table, the path of its file, and the files passed over because another user may have put them there."""

    path: str = ""
    table: Mapping[str, Any] = {}
    left_out: tuple[str, ...] = ()

    @property
    def remarks(self) -> tuple[str, ...]:
        """A line for each file that was passed over."""
        return tuple(f"{path} is left out: another user put it there" for path in self.left_out)


def index_base(
    tell: Callable[[str], None] | None = None, *, config: str | None = None, no_config: bool = False
) -> Setting | None:
    """The mirror of the PyTorch index: the variable, else the key ``index-base`` of the file.

    ``tell`` is given a line about each file that was left out.
    """
    if value := os.environ.get(INDEX_BASE, "").strip():
        return Setting(value, INDEX_BASE)
    found = config_of(config, no_config=no_config)
    if tell:
        for line in found.remarks:
            tell(line)
    if not found.table:
        return None
    from torchdoctor.policy.parse import policy_of  # only where there is a file: a key that is not known is an error

    entry = policy_of(found.path, found.table).get("index-base")
    return Setting(entry.value, found.path) if entry and entry.value else None


def config_of(named: str | None = None, *, no_config: bool = False) -> Found:
    """The table of the file that an option or else a variable names, or of the nearest one; or of none."""
    if no_config:
        return Found()
    path = named or os.environ.get(CONFIG, "").strip()
    return _named(path) if path else nearest_table()


def _named(path: str) -> Found:
    """The table of a file that was asked for: that it has none is an error."""
    file = Path(path).expanduser()
    info = _regular(file)
    if info is None:
        raise UsageError(f"cannot read {path}: {'it is no file' if file.exists() else 'there is no such file'}")
    table = _table(file, info, dict(_FILES).get(file.name, ()))
    if table is None:
        raise UsageError(f"{path}: there is no table tool.torchdoctor in it")
    return Found(path, table)


def nearest_table(start: Path | None = None) -> Found:
    """The table for torchdoctor in the nearest folder that has one, from ``start`` (None: the current one) upwards."""
    left_out = list[str]()
    for folder in _upwards(start or Path()):
        for name, keys in _FILES:
            path = folder / name if _has(folder, name) else None
            info = _regular(path) if path else None
            if path is None or info is None:
                continue
            is_trusted = _is_trusted(path, info)
            table = _table(path, info, keys) if is_trusted else None
            if table is not None:
                return Found(str(path), table, tuple(left_out))
            if not is_trusted and _speaks_of_us(path, info, keys):
                left_out.append(str(path))
    return Found(left_out=tuple(left_out))


def _upwards(start: Path) -> Iterator[Path]:
    """The folder and those above it, to the first one that tops a repository or is the user's home."""
    try:
        here = start.resolve()
    except OSError:  # the current folder was removed
        return
    home = _home()
    for folder in (here, *here.parents):
        yield folder
        if folder == home or any(_has(folder, name) for name in _TOPS):
            return


def _has(folder: Path, name: str) -> bool:
    return os.path.lexists(f"{folder}/{name}")  # no path is made for what is nearly never there: every run looks


def _home() -> Path | None:
    try:
        return Path("~").expanduser().resolve()
    except (OSError, RuntimeError):  # nobody's: no user of that number is known
        return None


def _regular(path: Path) -> os.stat_result | None:
    try:
        info = path.stat()
    except OSError:
        return None
    return info if stat.S_ISREG(info.st_mode) else None


def _is_trusted(path: Path, info: os.stat_result) -> bool:
    """Whether the file is ours, the system's, or of the one whose folder it is in, where not everybody may write.

    In a folder such as /tmp anybody may put a file above the folders of others.
    """
    if sys.platform == "win32":
        return True
    user = os.getuid()
    caller = os.environ.get("SUDO_UID", "") if user == 0 else ""
    ours = {user, 0, int(caller) if caller.isdecimal() else 0}
    owners = {info.st_uid, path.lstat().st_uid}
    if owners <= ours:
        return True
    folder = path.parent.stat()
    return owners <= ours | {folder.st_uid} and not folder.st_mode & stat.S_IWOTH


def _speaks_of_us(path: Path, info: os.stat_result, keys: tuple[str, ...]) -> bool:
    try:
        return not keys or _named_in(path, _text(path, info, is_ours=False) or "", keys) is not None
    except UsageError:  # it does, and is no TOML
        return True


def _named_in(path: Path, text: str, keys: tuple[str, ...]) -> Any:
    """What stands there of us in a file of others, or None; in one that is no TOML the usual heading tells."""
    if keys[-1] not in text:
        return None  # and no TOML is parsed for the many projects that say nothing of us
    try:
        found: Any = _parsed(path, text)
    except UsageError:
        if f"[{'.'.join(keys)}" in text:
            raise
        return None
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    return found


def _table(path: Path, info: os.stat_result, keys: tuple[str, ...]) -> Mapping[str, Any] | None:
    text = _text(path, info, is_ours=not keys)
    if text is None:
        return None
    table: Any = _named_in(path, text, keys) if keys else _parsed(path, text)
    if table is not None and not isinstance(table, dict):
        raise UsageError(f"{path}: {'.'.join(keys)} is not a table")
    return table


def _parsed(path: Path, text: str) -> dict[str, Any]:
    from torchdoctor import toml

    try:
        table: dict[str, Any] = toml.loads(text)
    except ValueError as error:  # a number of thousands of digits is one too
        raise UsageError(f"{path}: {error}") from error
    except RecursionError as error:
        raise UsageError(f"{path}: nested too deeply") from error
    return table


def _text(path: Path, info: os.stat_result, *, is_ours: bool) -> str | None:
    """The text of a file; one of other people's that cannot be read says nothing of us."""
    try:
        if info.st_size <= _MOST_BYTES:
            with path.open(encoding="utf-8-sig") as stream:
                return stream.read(_MOST_BYTES)
        reason = f"longer than {_MOST_BYTES} bytes"
    except UnicodeDecodeError:
        reason = "not UTF-8"
    except OSError as error:
        reason = error.strerror or str(error)
    if is_ours:
        raise UsageError(f"cannot read {path}: {reason}")
    return None
