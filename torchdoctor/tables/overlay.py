"""The folder that lies over the tables: the user's own rows, or those of ``--tables``; one with DATE replaces all."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from torchdoctor.errors import UsageError
from torchdoctor.tables import Tables

VARIABLE = "TORCHDOCTOR_TABLES"
NONE = ("", "none")


def tables_of(folder: str | None, environ: Mapping[str, str] = os.environ) -> Tables:
    """Open the tables: of the folder asked for, else with the user's own over them where there are any."""
    if folder is not None:
        return _opened(Path(folder), f"--tables {folder}")
    named = environ.get(VARIABLE)
    if named is None:
        own = own_folder(environ)
        return _opened(own, str(own)) if own and own.is_dir() else Tables()
    return Tables() if named in NONE else _opened(Path(named), f"{VARIABLE}={named}")


def target_folder(folder: str | None, environ: Mapping[str, str] = os.environ) -> Path | None:
    """Where new rows are written: the folder asked for, else the user's own, which need not be there yet.

    None where the user's own is to be left out: rows that lie there must not be lost.
    """
    named = folder if folder is not None else environ.get(VARIABLE)
    if named is None:
        return own_folder(environ)
    return None if folder is None and named in NONE else Path(named)


def _opened(folder: Path, asked: str) -> Tables:
    if not folder.is_dir():
        raise UsageError(f"{asked}: no such folder")
    return Tables(folder) if (folder / "DATE").is_file() else Tables(over=folder)


def own_folder(environ: Mapping[str, str] = os.environ) -> Path | None:
    """Where the user's own rows lie, whether or not there are any: the platform's folder for configuration."""
    base = _configuration(environ)
    return base / "torchdoctor" / "tables" if base else None


def _configuration(environ: Mapping[str, str]) -> Path | None:
    home = environ.get("HOME") or environ.get("USERPROFILE")
    if sys.platform == "win32":
        roaming = environ.get("APPDATA")
        return Path(roaming) if roaming else None
    if sys.platform == "darwin":
        return Path(home) / "Library" / "Application Support" if home else None
    configured = environ.get("XDG_CONFIG_HOME", "")
    if configured.startswith("/"):  # the specification: a relative path is to be ignored
        return Path(configured)
    return Path(home) / ".config" if home else None
