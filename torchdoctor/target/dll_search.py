"""Finds DLLs as the loader of Windows would for torch, without loading one: what is imported, in which folder."""

import os

from torchdoctor.target.binary import Damaged
from torchdoctor.target.pe import read_pe
from torchdoctor.target.paths import listed, real

MYPY = False
if MYPY:
    from typing import Any

VIRTUAL = ("api-ms-win-", "ext-ms-")  # names of sets of functions that Windows maps to DLLs of its own
MOST = 3000


class Dlls:
    """The DLLs of one process. ``folders``: where they are looked for, each with the name of its rule."""

    def __init__(self, folders: "list[tuple[str, str]]") -> None:
        self.folders = folders
        self.names = {}  # type: dict[str, dict[str, str]]
        self.rows = {}  # type: dict[str, dict[str, Any]]
        self.seen = set()  # type: set[str]

    def open(self, path: str) -> None:
        """One DLL and all it imports. What is imported only when it is called is not looked for."""
        queue = [path]
        for item in queue:
            if item.lower() in self.seen or len(self.seen) >= MOST:
                continue
            self.seen.add(item.lower())
            try:
                imports = read_pe(real(item))["imports"]
            except Damaged as damage:
                self.row(os.path.basename(item.replace("\\", "/")), item, "own")["damage"] = str(damage)
                continue
            except OSError:
                continue
            queue += [found for name in imports for found in [self.found(name, item)] if found]

    def found(self, name: str, by: str) -> "str | None":
        """Where a name leads to; what Windows has itself by another name is not told."""
        key = name.lower()
        if key.startswith(VIRTUAL):
            return None
        folder = by.replace("\\", "/").rpartition("/")[0]
        for place, how in [(folder, "own")] + self.folders:
            real_name = self.listed(place).get(key)
            if real_name:
                path = place.rstrip("/") + "/" + real_name
                self.row(name, path, how)["needed_by"].append(by)
                return None if how == "system" else path
        self.row(name, None, "")["needed_by"].append(by)
        return None

    def listed(self, folder: str) -> "dict[str, str]":
        """The names in a folder by their small letters."""
        if folder not in self.names:
            self.names[folder] = {name.lower(): name for name in listed(folder)}
        return self.names[folder]

    def row(self, name: str, path: "str | None", how: str) -> "dict[str, Any]":
        """What is told of one name."""
        row = {"soname": name, "path": path, "how": how, "needed_by": [], "version": None}  # type: dict[str, Any]
        return self.rows.setdefault(name.lower(), row)


def file_version(path: str) -> "str | None":
    """The version in a DLL's resources."""
    try:
        found = read_pe(real(path))["file_version"]
    except (Damaged, OSError):
        return None
    return str(found) if found else None
