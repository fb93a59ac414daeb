"""Finds shared libraries as the loader of a Linux would, without loading one: what is needed, in which order, where."""

import os

from torchdoctor.target.binary import Damaged
from torchdoctor.target.elf import read_elf
from torchdoctor.target.ld_cache import SUBFOLDERS, cache, levels, musls_folders, own_folders
from torchdoctor.target.paths import FILE, read, real

MYPY = False
if MYPY:
    from collections.abc import Iterable, Iterator
    from typing import Any

MAPS = "/proc/self/maps"
MOST = 3000  # libraries; an environment has some hundreds


class Library:
    """One library that is loaded: its file, what it tells the loader, and on whose behalf it came."""

    def __init__(self, path: str, told: "dict[str, Any]", by: "Library | None", damage: str = "") -> None:
        self.path = path
        self.told = told
        self.by = by
        self.damage = damage
        self.how = ""
        self.names = {str(told["soname"])} if told.get("soname") else set()

    @property
    def folder(self) -> str:
        """What $ORIGIN stands for: where its file lies, links to the folder resolved."""
        return os.path.realpath(os.path.dirname(self.path))


class Lookup:
    """One name that was looked for: who needs it, and what was found (None: nothing)."""

    def __init__(self, name: str, by: "Library | None", found: "Library | None", how: str, opened: bool) -> None:
        self.name = name
        self.by = by
        self.found = found
        self.how = how
        self.opened = opened  # by name while the program runs; nothing that is loaded needs it


class Loader:
    """The libraries of one process; ``lookups`` is every search that was not answered by a path."""

    def __init__(self, variable: str, program: "Iterable[str]" = ()) -> None:
        self.libraries = []  # type: list[Library]
        self.lookups = []  # type: list[Lookup]
        self.elves = {}  # type: dict[str, dict[str, Any] | Damaged | None]
        self.variable = [part or "." for part in variable.replace(";", ":").split(":")] if variable else []
        self.levels = levels()
        for path in program:
            told = self.elf(path)
            if isinstance(told, dict):
                self.libraries.append(Library(path, told, None))
        self.main = self.libraries[0] if self.libraries else None
        self.bits = self.main.told["bits"] if self.main else 64
        self.machine = self.main.told["machine"] if self.main else ""
        self.set_up([item.path for item in self.libraries])

    def set_up(self, paths: "list[str]") -> None:
        """What depends on the C library."""
        musl = any(os.path.basename(path).startswith(("ld-musl", "libc.musl")) for path in paths)
        libc = next((path for path in paths if os.path.basename(path).startswith(("libc.so", "libc-"))), "")
        self.musl = musl
        self.cache = {} if musl else cache(self.levels)
        self.folders = musls_folders(self.machine) if musl else own_folders(libc)
        self.lib = "".join(self.folders[:1]).strip("/")

    def elf(self, path: str) -> "dict[str, Any] | Damaged | None":
        """What a file tells the loader; the damage where it is no library, None where it is not there."""
        if path not in self.elves:
            try:
                self.elves[path] = read_elf(real(path))
            except Damaged as damage:
                self.elves[path] = damage
            except OSError:
                self.elves[path] = None
        return self.elves[path]

    def open(self, name: str, by: "Library | None" = None, opened: bool = False, undo: bool = False) -> bool:
        """``dlopen``: the library and all it needs, level by level; False where one is missing or cannot be read.

        What was loaded on the way stays, so that all that is missing is seen at once, unless it shall be undone.
        """
        at, told = len(self.libraries), len(self.lookups)
        known, sound = at, self.find(name, by or self.main, opened) is not None
        while at < len(self.libraries):
            item = self.libraries[at]
            sound = sound and not item.damage
            for needed in item.told["needed"]:
                sound = self.find(needed, item, False) is not None and sound
            at += 1
        if undo and not sound:
            del self.libraries[known:], self.lookups[told:]
        return sound

    def find(self, name: str, by: "Library | None", opened: bool) -> "Library | None":
        """One library by path or by name; a name is told in ``lookups``."""
        if "/" in name:
            path = self.expanded(name, by) if by else name
            known = self.same(path)
            return known or self.added(path, by, "path")
        for item in self.libraries:
            if name in item.names:
                self.lookups.append(Lookup(name, by, item, "loaded", opened))
                return item
        path, how = self.searched(name, by)
        known = self.same(path) if path else None
        found = known or (self.added(path, by, how) if path else None)
        if found:
            found.names.add(name)
        self.lookups.append(Lookup(name, by, found, how if found else "", opened))
        return found

    def same(self, path: str) -> "Library | None":
        """The loaded library of the same file."""
        place = os.path.realpath(path)
        return next((item for item in self.libraries if os.path.realpath(item.path) == place), None)

    def added(self, path: str, by: "Library | None", how: str) -> "Library | None":
        """A library of this path, loaded now; None where there is no such file."""
        told = self.elf(path)
        if told is None or len(self.libraries) >= MOST:
            return None
        damage = "" if isinstance(told, dict) else str(told)
        item = Library(path, told if isinstance(told, dict) else {"needed": []}, by, damage)
        item.how = how
        self.libraries.append(item)
        return item

    def searched(self, name: str, by: "Library | None") -> "tuple[str, str]":
        """The path that the loader takes for a name, and the rule; two empty texts where it finds none."""
        for folder, how in self.musls_order(by) if self.musl else self.order(by):
            path = self.tried(folder, name)
            if path:
                return path, how
        for path in self.cache.get(name, ()):
            if self.fits(path):
                return path, "cache"
        for folder in self.folders:
            path = self.tried(folder, name)
            if path:
                return path, "default"
        return "", ""

    def order(self, by: "Library | None") -> "Iterator[tuple[str, str]]":
        """The folders in the order of glibc; an RPATH counts for all below, unless who asks has a RUNPATH."""
        chain = list(self.chain(by))
        if by is None or not by.told.get("runpath"):
            for item in chain + ([self.main] if self.main and self.main not in chain else []):
                if not item.told.get("runpath"):
                    yield from ((self.expanded(part, item), "rpath") for part in item.told.get("rpath", ()))
        yield from ((part, "LD_LIBRARY_PATH") for part in self.variable)
        if by is not None:
            yield from ((self.expanded(part, by), "runpath") for part in by.told.get("runpath", ()))

    def musls_order(self, by: "Library | None") -> "Iterator[tuple[str, str]]":
        """The folders in the order of musl: the variable first, both kinds of path are one and count for all below."""
        yield from ((part, "LD_LIBRARY_PATH") for part in self.variable)
        for item in self.chain(by):
            parts = item.told.get("runpath") or item.told.get("rpath", ())
            yield from ((self.expanded(part, item), "runpath") for part in parts)

    def chain(self, by: "Library | None") -> "Iterator[Library]":
        """Who asks, on whose behalf that one was loaded, and so on."""
        while by is not None:
            yield by
            by = by.by

    def expanded(self, path: str, item: Library) -> str:
        """A path with what $ORIGIN, $LIB and $PLATFORM stand for."""
        for word, value in (("ORIGIN", item.folder), ("LIB", self.lib), ("PLATFORM", self.machine)):
            path = path.replace("${" + word + "}", value).replace("$" + word, value)
        return path

    def tried(self, folder: str, name: str) -> str:
        """The library of that name in a folder, in its part for this processor first."""
        for level in () if self.musl else self.levels:
            path = folder + SUBFOLDERS + level + "/" + name
            if self.fits(path):
                return path
        path = folder + "/" + name
        return path if self.fits(path) else ""

    def fits(self, path: str) -> bool:
        """Whether the loader takes this file: one of another machine is passed over, a damaged one is not."""
        if not os.path.exists(real(path)):
            return False
        told = self.elf(path)
        if isinstance(told, dict):
            return (told["bits"], told["machine"]) == (self.bits, self.machine) or not self.machine
        return told is not None


def program() -> "list[str]":
    """The files of this process: the interpreter, then the libraries that it has loaded."""
    try:
        lines = read(MAPS, 16 * FILE).splitlines()
    except OSError:
        return []
    paths = [line[line.index("/") :] for line in lines if "/" in line and "(deleted)" not in line]
    found = dict.fromkeys(path for path in paths if ".so" in os.path.basename(path))
    return [os.path.realpath("/proc/self/exe")] + list(found)
