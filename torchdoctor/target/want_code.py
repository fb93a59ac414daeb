"""Answers the want "code": which device code the installed libraries hold, read from the files."""

import os
import time

from torchdoctor.target.binary import Damaged
from torchdoctor.target.code_of import code_of
from torchdoctor.target.owners import owned, owner_of, owners
from torchdoctor.target.paths import PATH, here, listed, unique
from torchdoctor.target.want_distributions import plain

MYPY = False
if MYPY:
    from collections.abc import Iterator
    from typing import Any

TORCH = ("torch",)
KNOWN = (  # read first, in this order, and with their errors; whatever else holds device code is listed after them
    "nvidia",
    "torchvision",
    "torchvision.libs",
    "torchaudio",
    "torchaudio.libs",
    "xformers",
    "flash_attn",
    "flash_attn_3",
    "bitsandbytes",
    "vllm",
    "torchao",
    "triton",
)
ENDINGS = (".so", ".pyd", ".dll", ".metallib")
SKIPPED = ("__pycache__", "include", ".git", "node_modules")  # folders without libraries
NO_PACKAGE = (".dist-info", ".egg-info")
PACKAGES = "-packages"  # how the folders end that installers fill
FILES, FOLDERS, DEPTH = 20000, 100000, 12


def want_code(args: "tuple[str, ...]", seconds: float) -> "dict[str, Any]":
    """Device code of what is named, or of torch and all that lies beside it; ends early when the time is over."""
    search = Search(time.monotonic() + seconds * 0.8)
    for name in sorted(args, key=lambda name: not os.path.isfile(absolute(name))):  # files first: each is told of
        if not search.named(name):
            search.unknown.append(name)
    if not args:
        search.everything()
    return search.answer()


class Search:
    """Looks into libraries one after the other; knows what was found, each file once, and how long it may go on."""

    def __init__(self, until: float) -> None:
        self.until = until
        self.entries = unique(entry or here() for entry in PATH)
        self.files = {}  # type: dict[str, dict[str, Any]]
        self.seen = set()  # type: set[str]
        self.asked = set()  # type: set[str]  # files that were named
        self.by_path = set()  # type: set[str]  # those, and all in folders that were
        self.unknown = []  # type: list[str]
        self.folders = 0
        self.cut = ""

    def everything(self) -> None:
        """Torch, what is known beside it, then the rest of the folders of packages."""
        for name in TORCH + KNOWN:
            for entry in self.entries:
                if name in listed(entry):
                    self.folder(os.path.join(entry, name), told=True)
        for entry in self.entries:
            if entry.rstrip(os.sep).endswith(PACKAGES):
                self.folder(entry, told=False)

    def named(self, name: str) -> bool:
        """A file, a folder, or what a package installed; False: no such thing is there."""
        path = absolute(name)
        if os.path.isfile(path):
            self.asked.add(path)
            self.by_path.add(path)
            self.file(path, told=True)
        elif os.sep in name or "/" in name:
            if not os.path.isdir(path):
                return False
            before = set(self.files)
            self.folder(path, told=True)
            self.by_path |= set(self.files) - before
        else:
            return self.package(name)
        return True

    def package(self, name: str) -> bool:
        """The libraries of a distribution, and of the folders of that name."""
        found = False
        for entry in self.entries:
            folders = [item for item in listed(entry) if plain(item) in (plain(name), plain(name) + "-libs")]
            for item in folders:
                path = os.path.join(entry, item)
                if os.path.isdir(path):
                    found = True
                    self.folder(path, told=True)
            for path in owned(entry, name):
                found = True
                if is_library(os.path.basename(path)):
                    self.file(path, told=True)
        return found

    def folder(self, top: str, told: bool) -> None:
        """All libraries below a folder, without following links to folders."""
        for path in walk(self, top, DEPTH):
            self.file(path, told)

    def over(self) -> bool:
        """Whether it has to end, and why."""
        if not self.cut and time.monotonic() > self.until:
            self.cut = "the time was over: not every library was read"
        elif not self.cut and (len(self.seen) >= FILES or self.folders >= FOLDERS):
            self.cut = "too many files: not every library was read"
        return bool(self.cut)

    def file(self, path: str, told: bool) -> None:
        """One library. What cannot be read is told where it was asked for or belongs to what is known."""
        place = os.path.realpath(path)
        if place in self.seen or self.over():
            return
        self.seen.add(place)
        try:
            found = code_of(path)
        except Damaged as damage:
            found = {"format": "", "error": str(damage)} if told else None
        except OSError as error:
            found = {"format": "", "error": error.strerror or type(error).__name__} if told else None
        if found is None and path in self.asked:
            found = {"format": "", "error": "", "fatbins": 0}
        if found:
            self.files[path] = found

    def answer(self) -> "dict[str, Any]":
        """What was found, with the names from the folder of packages on and the distributions they belong to."""
        inner = {path: self.inner(path) for path in self.files}
        known = owners(self.entries, set(inner.values()))
        rows = []
        for path, found in self.files.items():
            package, version = known.get(inner[path]) or owner_of(self.entries, inner[path][1])
            library = inner[path][1]
            rows.append(dict(found, library=library, package=package, version=version))
        asked = [row["library"] for path, row in zip(self.files, rows) if path in self.asked]
        return {"files": rows, "asked": asked, "cut": self.cut, "unknown": self.unknown, "read": len(self.seen)}

    def inner(self, path: str) -> "tuple[str, str]":
        """The entry of the path that holds a file, and the name from there on; an absolute one where none does."""
        for entry in sorted(self.entries, key=len, reverse=True):
            top = entry.rstrip(os.sep)
            if path.startswith(top + os.sep) and (top.endswith(PACKAGES) or path not in self.by_path):
                return entry, path[len(top) + 1 :].replace(os.sep, "/")
        return "", path


def absolute(name: str) -> str:
    """The path that a name on the command line means."""
    return os.path.abspath(os.path.expanduser(name))


def is_library(name: str) -> bool:
    """Whether the name of a file is that of a library: libx.so, libx.so.9, x.pyd, x.dll, x.metallib."""
    return name.endswith(ENDINGS) or ".so." in name


def walk(search: Search, top: str, depth: int) -> "Iterator[str]":
    """The libraries below a folder in the order of their names."""
    search.folders += 1
    try:
        with os.scandir(top) as items:
            entries = sorted(items, key=lambda item: item.name)
    except OSError:
        return
    for item in entries:
        if search.over():
            return
        if is_library(item.name):
            if item.is_file():
                yield item.path
        elif depth and is_folder(item):
            yield from walk(search, item.path, depth - 1)


def is_folder(item: "os.DirEntry[str]") -> bool:
    """Whether it is a folder that may hold libraries."""
    return item.name not in SKIPPED and not item.name.endswith(NO_PACKAGE) and item.is_dir(follow_symlinks=False)
