"""Paths and texts for the probe: what a want names, globs, bounded reads, where programs and libraries lie."""

import os
import sys

MYPY = False
if MYPY:
    from collections.abc import Iterable, Iterator

SMALL, FILE = 4096, 256 * 1024
CACHE = "/etc/ld.so.cache"  # of the loader: texts that end with a zero, paths among them
NAMES = 20000
LISTED = {}  # type: dict[str, list[str]]  # the names in folders already read
PATH = []  # type: list[str]  # sys.path of the examined programs, filled in by the probe
ROOT = []  # type: list[str]  # the folder of a recorded tree that is read in place of this machine's files


class Absent(Exception):
    """Looked, and it is not there."""


def real(path: str) -> str:
    """Where a path lies: below the root of a recorded tree if one is given, drives and all."""
    if not ROOT:
        return path
    path = path.replace("\\", "/")
    is_absolute = path.startswith("/") or path[1:2] == ":"
    return ROOT[0] + "/" + path.lstrip("/") if is_absolute else path


def exists(path: str) -> bool:
    """Whether something is there, links followed."""
    return os.path.exists(real(path))


def here() -> str:
    """The current folder, or the root where it was removed."""
    try:
        folder = os.getcwd()
    except OSError:
        return os.sep
    return folder[len(ROOT[0]) :] or os.sep if ROOT and folder.startswith(ROOT[0]) else folder


def expand(path: str) -> "list[str]":
    """The paths meant by ``$NAME``, ``$NAME/x``, ``~/x``, ``@prefix/x``, ``@path/x`` (all of sys.path), ``@cgroup/x``."""
    head, _, rest = path.partition("/")
    if head == "@path":
        return unique(os.path.join(entry or here(), rest) for entry in PATH)
    if head == "@cgroup":
        return [folder + "/" + rest for folder in cgroups()]
    if head == "@prefix":
        return [os.path.join(sys.prefix, rest)]
    if head.startswith("$"):
        value = os.environ.get(head[1:])
        return [os.path.join(value, rest) if rest else value] if value else []
    return [os.path.expanduser(path)]


def unique(items: "Iterable[str]") -> "list[str]":
    """The items in their order, each once."""
    return list(dict.fromkeys(items))


def cgroups() -> "Iterator[str]":
    """Folders of the unified and the memory control group of this process, then of those above them."""
    try:
        lines = read("/proc/self/cgroup", SMALL).splitlines()
    except OSError:
        lines = []
    for line in lines:
        names, _, inner = line.partition(":")[2].partition(":")
        if names not in ("", "memory"):
            continue
        root = "/sys/fs/cgroup/memory" if names else "/sys/fs/cgroup"
        while inner.strip("/"):
            yield root + inner
            inner = os.path.dirname(inner)
        yield root


def matches(name: str, parts: "list[str]") -> bool:
    """Whether a file name fits a pattern that was split at its stars."""
    first, last = parts[0], parts[-1]
    if len(name) < len(first) + len(last) or not name.startswith(first) or not name.endswith(last):
        return False
    at, end = len(first), len(name) - len(last)
    for piece in parts[1:-1]:
        at = name.find(piece, at, end)
        if at < 0:
            return False
        at += len(piece)
    return True


def glob(pattern: str) -> "list[str]":
    """Sorted paths that fit; a star stands for anything inside one name."""
    return [hit for path in expand(pattern) for hit in walk(path)][:NAMES]


def walk(pattern: str) -> "list[str]":
    """Sorted paths that fit an expanded pattern; none where a folder is missing or closed."""
    if "*" not in pattern:
        return [pattern] if os.path.lexists(real(pattern)) else []
    parts = pattern.replace(os.sep, "/").split("/")
    at = next(number for number, part in enumerate(parts) if "*" in part)
    folder, rest = "/".join(parts[:at]) or "/", parts[at + 1 :]
    wanted = parts[at].split("*")
    names = [name for name in listed(folder) if name.startswith(wanted[0]) and matches(name, wanted)]
    paths = [folder.rstrip("/") + "/" + name for name in sorted(names)]
    return [hit for path in paths for hit in walk("/".join([path] + rest))] if rest else paths


def listed(folder: str) -> "list[str]":
    """The names in a folder, asked once; none where it is missing or closed."""
    if folder not in LISTED:
        try:
            LISTED[folder] = os.listdir(real(folder))
        except OSError:
            LISTED[folder] = []
    return LISTED[folder]


def read(path: str, limit: int) -> str:
    """The head of a file as text. Asks for bytes, since files of /proc and /sys tell no size."""
    with open(real(path), "rb", 0) as handle:
        data = b""
        while len(data) < limit:
            more = handle.read(limit - len(data))
            if not more:
                break
            data += more
    return data.decode("utf-8", "replace")


def as_text(data: bytes) -> str:
    """What a command printed: UTF-16 as some tools of Windows write it, UTF-8, else the code page of the console."""
    if data[:2] == b"\xff\xfe" or (data[1:4:2] == b"\0\0" and data[0]):
        return data.decode("utf-16-le", "replace").lstrip("\ufeff")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("oem" if os.name == "nt" else "utf-8", "replace")


def kept(text: str, words: "tuple[str, ...]") -> str:
    """The text, or with words only those of its lines that hold one of them."""
    if not words:
        return text
    return "".join(line for line in text.splitlines(True) if any(word in line for word in words))


def which(names: str) -> str:
    """The first of ``name|/other/path`` that can be started, or an empty text."""
    folders = [folder for folder in os.environ.get("PATH", os.defpath).split(os.pathsep) if folder]
    endings = ("",) if os.name == "posix" else (".exe", ".bat", ".cmd", "")
    for name in names.split("|"):
        paths = expand(name) if "/" in name or os.sep in name else [os.path.join(folder, name) for folder in folders]
        for path in [path + ending for path in paths for ending in endings]:
            if os.path.isfile(real(path)) and os.access(real(path), os.X_OK):
                return path
    return ""


def library_files(soname: str, folders: "tuple[str, ...]") -> "list[str]":
    """Paths of that name: the loader's variable, the loader's cache, the given folders."""
    variable = [folder for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":") if folder]
    tried = [hit for folder in variable for hit in walk(folder + "/" + soname)]
    tried += cached(soname)
    tried += [hit for folder in folders for hit in glob(folder + "/" + soname)]
    return unique(path for path in tried if exists(path))


def cached(soname: str) -> "list[str]":
    """The paths of that name in the loader's cache."""
    try:
        with open(real(CACHE), "rb") as handle:
            data = handle.read(64 * FILE)
    except OSError:
        return []
    name, at = ("/" + soname + "\0").encode("ascii"), 0
    paths = []  # type: list[str]
    while True:
        at = data.find(name, at + 1)
        if at < 0:
            return paths
        start = data.rfind(b"\0", 0, at) + 1
        paths.append(data[start : at + len(name) - 1].decode("utf-8", "replace"))
