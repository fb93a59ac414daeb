"""Answers the want "records": installed files that are gone, of another size, or of two packages, by the RECORDs."""

import os

from torchdoctor.target.binary import Damaged, mapped
from torchdoctor.target.elf import LOAD, Elf
from torchdoctor.target.owners import RECORD, distributions, split
from torchdoctor.target.paths import PATH, here, read, real, unique, walk

MYPY = False
if MYPY:
    from collections.abc import Iterator
    from typing import Any

    Rows = dict[str, tuple[str, int]]  # name of a file, from the folder of packages on: its hash and its size

NAMES = 20  # that are told of each kind; the others are counted
LIBRARIES = (".so", ".pyd", ".dll", ".dylib")
CONDAS = ("pytorch-", "libtorch-", "torchvision-", "torchaudio-", "torch-")
CONDA_FILE = 64 * 1024 * 1024


def want_records(args: "tuple[str, ...]", keep: "tuple[str, ...]") -> "list[dict[str, Any]]":
    """The distributions of these names (one that ends with a dash: of all that begin so) with something wrong."""
    found = []
    for entry in unique(entry or here() for entry in PATH):
        folders = [folder for folder in distributions(entry) if is_wanted(split(folder)[0], args)]
        tables = {folder: listed_files(entry, folder) for folder in folders}
        shared = shared_files(tables)
        of_conda = conda_files(entry, tables)
        for folder, rows in tables.items():
            found.append(state(entry, folder, rows, shared.get(folder, {}), of_conda.get(folder, {})))
    return [item for item in found if len(item) > 3]  # noqa: PLR2004 - who it is and how many files it has


def is_wanted(name: str, args: "tuple[str, ...]") -> bool:
    """Whether it is one of the names, or begins with one that ends with a dash."""
    return name in args or name.startswith(tuple(word for word in args if word.endswith("-")))


def listed_files(entry: str, folder: str) -> "Rows":
    """What the installer wrote with a size: neither caches, nor scripts, nor what it writes itself later."""
    try:
        text = read(os.path.join(entry, folder, "RECORD"), RECORD)
    except OSError:
        return {}
    rows = {}
    for line in text.splitlines():
        path, _, size = line.rpartition(",")
        name, _, digest = path.rpartition(",")
        name = (name[1:-1].replace('""', '"') if name[:1] == '"' else name).replace("\\", "/")
        if size.isdecimal() and counts(name, folder):
            rows[name] = (digest, int(size))
    return rows


def counts(name: str, folder: str) -> bool:
    """Whether a file is one that has to be there as it was: inside the folder of packages, and no cache."""
    if name[:1] == "/" or name[1:2] == ":" or name.startswith(("../", folder + "/")):
        return False
    return not name.endswith((".pyc", ".pyo"))


def state(
    entry: str, folder: str, rows: "Rows", shared: "dict[str, str]", of_conda: "dict[str, str]"
) -> "dict[str, Any]":
    """One distribution: what is gone, of another size, cut short, or in the list of another one as well."""
    name, version = split(folder)
    item = {"package": name, "version": version, "files": len(rows)}  # type: dict[str, Any]
    missing, changed = compared(entry, rows)
    cut = [path for path in changed if is_cut(real(os.path.join(entry, path)))]
    for key, names in (("missing", missing), ("changed", changed), ("cut", cut)):
        if names:
            item[key] = sorted(names, key=urgency)[:NAMES]
            item[key + "_count"] = len(names)
    for owners in (shared, of_conda):
        if owners:
            item.setdefault("shared_with", []).extend(sorted(owners, key=urgency)[:NAMES])
            item.setdefault("others", []).extend(sorted(set(owners.values())))
            item["shared_count"] = item.get("shared_count", 0) + len(owners)
    return item


def compared(entry: str, rows: "Rows") -> "tuple[list[str], list[str]]":
    """The files that are gone, and those of another size."""
    missing, changed = [], []
    for name, (_, size) in rows.items():
        try:
            found = os.stat(real(os.path.join(entry, name))).st_size
        except OSError:
            missing.append(name)
            continue
        if found != size:
            changed.append(name)
    return missing, changed


def urgency(name: str) -> "tuple[int, str]":
    """Libraries first, then modules, then the rest."""
    return (0 if is_library(name) else 1 if name.endswith(".py") else 2, name)


def is_library(name: str) -> bool:
    """A library by its name, with or without numbers behind."""
    return name.endswith(LIBRARIES) or ".so." in name.rpartition("/")[2]


def is_cut(path: str) -> bool:
    """Whether a library or a module cannot be loaded because its end is not there."""
    if not is_library(path):
        return path.endswith(".py") and not os.path.getsize(path)
    try:
        with mapped(path) as data:
            if data[:2] == b"MZ":
                return False
            return any(kind == LOAD and at + size > len(data) for kind, _, at, _, size, _ in Elf(data).segments())
    except Damaged:
        return True
    except OSError:
        return False


def shared_files(tables: "dict[str, Rows]") -> "dict[str, dict[str, str]]":
    """By distribution: the files that another one lists with other contents, and that other one."""
    first = {}  # type: dict[str, str]
    found = {}  # type: dict[str, dict[str, str]]
    for folder, rows in tables.items():
        for name, (digest, _) in rows.items():
            other = first.setdefault(name, folder)
            if other != folder and tables[other][name][0] != digest:
                found.setdefault(folder, {})[name] = " ".join(split(other))
                found.setdefault(other, {})[name] = " ".join(split(folder))
    return found


def conda_files(entry: str, tables: "dict[str, Rows]") -> "dict[str, dict[str, str]]":
    """By distribution: the files that a package of conda lists too, if it is not that very distribution."""
    found = {}  # type: dict[str, dict[str, str]]
    head, _, prefix = entry.replace("\\", "/").partition("/lib/python") if "/lib/python" in entry else (entry, "", "")
    head = head if prefix else os.path.dirname(os.path.dirname(entry))
    inner = entry.replace("\\", "/")[len(head) :].strip("/") + "/"
    for path in walk(os.path.join(head, "conda-meta", "*.json")):
        label = os.path.basename(path)[:-5]
        names = frozenset(conda_listed(path, inner)) if label.startswith(CONDAS) else frozenset()
        for folder, rows in tables.items() if names else ():
            both = [name for name in rows if name in names]
            if both and not any(name.startswith(folder + "/") for name in names):
                found.setdefault(folder, {}).update((name, "conda's " + label.rpartition("-")[0]) for name in both)
    return found


def conda_listed(path: str, inner: str) -> "Iterator[str]":
    """The files of one of conda's packages that lie in the folder of packages, from there on."""
    import json

    try:
        files = json.loads(read(path, CONDA_FILE)).get("files", [])
    except (OSError, ValueError, AttributeError):
        return
    for name in files if isinstance(files, list) else ():
        if isinstance(name, str) and name.startswith(inner):
            yield name[len(inner) :]
