"""Answers to wants about files, folders and variables."""

import os

from torchdoctor.target.paths import FILE, SMALL, Absent, exists, expand, glob, kept, matches, read, real

FILES = 512
KINDS = {0o040000: "folder", 0o100000: "file", 0o020000: "device", 0o060000: "device"}


def want_file(args: "tuple[str, ...]", keep: "tuple[str, ...]") -> str:
    """The text of the first path that is there."""
    for path in expand(args[0]):
        if exists(path):
            return kept(read(path, FILE), keep)
    raise Absent


def want_files(args: "tuple[str, ...]", keep: "tuple[str, ...]") -> "dict[str, str]":
    """The heads of all files that fit; with words to keep, of those that hold one."""
    texts = {}
    for path in glob(args[0]):
        try:
            text = read(path, SMALL)
        except OSError:
            continue
        if not keep or any(word in text for word in keep):
            texts[path] = text
        if len(texts) >= FILES:
            break
    return texts


def want_glob(args: "tuple[str, ...]", keep: "tuple[str, ...]") -> "list[str]":
    """The paths that fit."""
    return glob(args[0])


def want_links(args: "tuple[str, ...]", keep: "tuple[str, ...]") -> "dict[str, str]":
    """The symbolic links that fit, with their targets."""
    return {path: os.readlink(real(path)) for path in glob(args[0]) if os.path.islink(real(path))}


def want_stat(args: "tuple[str, ...]", keep: "tuple[str, ...]") -> "dict[str, object]":
    """What one path is and what this user may do with it."""
    for path in glob(args[0]):
        return describe(path)
    raise Absent


def want_stats(args: "tuple[str, ...]", keep: "tuple[str, ...]") -> "dict[str, dict[str, object]]":
    """The same for all paths that fit."""
    return {path: describe(path) for path in glob(args[0])[:FILES]}


def describe(path: str) -> "dict[str, object]":
    """Kind, access and size; a dangling link is of kind "gone"."""
    try:
        info = os.stat(real(path))
    except OSError:
        return {"type": "gone", "readable": False, "writable": False, "size": 0}
    return {
        "type": KINDS.get(info.st_mode & 0o170000, "other"),
        "readable": os.access(real(path), os.R_OK),
        "writable": os.access(real(path), os.W_OK),
        "size": info.st_size,
    }


def want_space(args: "tuple[str, ...]", keep: "tuple[str, ...]") -> int:
    """The size of the file system that holds a path."""
    if not exists(args[0]):
        raise Absent
    info = os.statvfs(real(args[0]))
    return info.f_frsize * info.f_blocks


def want_env(args: "tuple[str, ...]", keep: "tuple[str, ...]") -> "dict[str, str]":
    """The named variables that are set; a star in a name stands for any letters."""
    exact = {name for name in args if "*" not in name}
    stars = [name.split("*") for name in args if "*" in name]
    pairs = sorted(os.environ.items())
    return {name: value for name, value in pairs if name in exact or any(matches(name, star) for star in stars)}
