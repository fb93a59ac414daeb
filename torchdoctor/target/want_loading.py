"""Answers the want "loading": which libraries torch and its companions would be given, without loading one."""

import os
import sys

from torchdoctor.target.library_words import CUDNN, file_version, names_in, read_or_nothing
from torchdoctor.target.loader import Loader, program
from torchdoctor.target.owners import owners
from torchdoctor.target.paths import FILE, PATH, Absent, here, listed, read, real, unique, walk

MYPY = False
if MYPY:
    from collections.abc import Iterator
    from typing import Any

    from torchdoctor.target.loader import Library, Lookup

TORCH = "torch"
GLOBAL = "libtorch_global_deps.so"
ROCM = "_rocm_init.py"
NVIDIAS = ("libcu", "libnv", "libnccl", "libcaffe2_nvrtc")
DRIVER = "libcuda.so.1"
NAMES = 20  # users of one library that are told
SYSTEM = ("loaded", "cache", "default")


def want_loading(args: "tuple[str, ...]", keep: "tuple[str, ...]") -> "dict[str, Any]":
    """What the loader finds for torch, then for the companions' libraries (patterns from the folder of packages on)."""
    entries = unique(entry or here() for entry in PATH)
    torch = next(
        (path for path in (os.path.join(entry, TORCH) for entry in entries) if "__init__.py" in listed(path)), ""
    )
    loads_otherwise = ROCM in listed(torch)  # its libraries are opened by a package of AMD's
    if "lib" not in listed(torch) or loads_otherwise or sys.platform == "darwin":
        raise Absent
    if sys.platform == "win32":
        return windows(torch, os.environ.get("PATH", "").split(os.pathsep))
    loader = Loader(os.environ.get("LD_LIBRARY_PATH", ""), program())
    start_torch(loader, torch, entries)
    of_torch = len(loader.lookups)
    for pattern in args:
        for path in walk(os.path.join(os.path.dirname(torch), pattern)):
            loader.open(path)
    open_by_name(loader)
    return {"linked": told(loader, torch, entries, of_torch), "error": ""}


def start_torch(loader: "Loader", torch: str, entries: "list[str]") -> None:
    """What ``import torch`` opens, in its order: its global needs, CUDA libraries by their paths, its extension."""
    source = parts(os.path.join(torch, "__init__.py"))
    path = os.path.join(torch, "lib", GLOBAL)
    if os.path.exists(real(path)):
        sound = loader.open(path, undo=True)
        has_cuda = any("libcudart.so" in item.path for item in loader.libraries)
        for folder, name in source[0] if sound and has_cuda else () if sound else source[1]:
            for found in preloaded(entries, torch, folder, name)[:1]:
                loader.open(found)
        if not sound:
            loader.open(path)
    for found in walk(os.path.join(torch, "_C.*.so")) or walk(os.path.join(torch, "_C.so")):
        loader.open(found)


def parts(path: str) -> "tuple[list[tuple[str, str]], list[tuple[str, str]]]":
    """The CUDA libraries that this torch opens by itself: always, and after its global needs were not found."""
    try:
        source = read(path, 4 * FILE)
    except OSError:
        return [], []
    known = pairs(between(source, "def _preload_cuda_deps(", "\ndef "))
    body = between(source, "def _load_global_deps(", "\n\n\n")
    first, _, second = body.partition("except OSError")
    calls = ("_preload_cuda_deps()", "_preload_cuda_deps(required")
    always = pairs(first) or (known if any(call in first for call in calls) else [])
    return always, pairs(second) or known


def between(text: str, start: str, end: str) -> str:
    """The text from one mark to the next."""
    return text.partition(start)[2].partition(end)[0]


def pairs(source: str) -> "list[tuple[str, str]]":
    """Folder and pattern of the libraries in a piece of torch's source, one a line."""
    rows = [line.split('"') for line in source.splitlines() if not line.lstrip().startswith("#")]
    return [(row[1], row[3]) for row in rows if len(row) > 4 and row[3].startswith("lib") and ".so" in row[3]]


def preloaded(entries: "list[str]", torch: str, folder: str, name: str) -> "list[str]":
    """The files that torch tries for one of them, in its order."""
    pattern, last = name.replace("[0-9]", ""), name.endswith("[0-9]")
    major = between(read_or_nothing(os.path.join(torch, "version.py")), "cuda: Optional[str] = '", ".")
    major = major or between(read_or_nothing(os.path.join(torch, "version.py")), "cuda: str | None = '", ".")
    places = ["nvidia/" + folder, "nvidia/cu" + major, folder]
    for entry in entries:
        found = [path for place in places for path in walk(entry + "/" + place + "/lib/" + pattern)]
        found = [path for path in found if path[-1:].isdigit() or not last]
        if found:
            return found
    return []


def open_by_name(loader: "Loader") -> None:
    """What these libraries open by name when they are used: the parts of cuDNN, and the driver."""
    for item in loader.libraries:  # grows on the way
        soname = str(item.told.get("soname", ""))
        if soname.startswith(CUDNN):
            for name in parts_of(loader, item, soname.rpartition(".so")[2]):
                loader.open(name, item, opened=True)
        if soname.startswith("libcudart.so"):
            loader.open(DRIVER, item, opened=True)


def parts_of(loader: "Loader", item: "Library", number: str) -> "list[str]":
    """The parts of cuDNN that one of its libraries opens; first the one that others need, as cuDNN itself does."""
    names = [name + number for name in names_in(item.path, CUDNN.encode() + b"_", b".so")]
    needs = {}  # type: dict[str, int]
    for name in names:
        told = loader.elf(os.path.join(item.folder, name))
        needs[name] = sum(other.startswith(CUDNN) for other in told["needed"]) if isinstance(told, dict) else 0
    return sorted(names, key=lambda name: (needs[name], "graph" not in name))


def told(loader: "Loader", torch: str, entries: "list[str]", of_torch: int) -> "list[dict[str, Any]]":
    """One row a name, and one more for those to whom it lacks something; the first searches are those of torch.

    Of the system's own libraries only those that are missing, lacking or NVIDIA's are told.
    """
    own = own_copies(torch)
    lacking = versions_lacking(loader)
    rows = {}  # type: dict[tuple[str, str, str], dict[str, Any]]
    for number, lookup in enumerate(loader.lookups):
        row = described(lookup, own, lacking)
        known = rows.setdefault((lookup.name, row["path"] or "", " ".join(row["lacks"])), row)
        user = inner(lookup.by.path, entries) if lookup.by else ""
        if user not in known["needed_by"]:
            known["needed_by"].append(user)
        known["opened"] = known["opened"] and lookup.opened
        known["for_torch"] = known["for_torch"] or number < of_torch
    kept = [row for row in rows.values() if counts(row)]
    with_versions(kept, entries)
    for row in kept:
        row["path"], row["own"] = (row[key] and inner(row[key], entries) for key in ("path", "own"))
        row["needed_by"] = row["needed_by"][:NAMES]
    return kept


def described(lookup: "Lookup", own: "dict[str, str]", lacking: "dict[tuple[str, str], list[str]]") -> "dict[str, Any]":
    """One search in words; ``own`` only where another copy than the wheel's is found."""
    found = lookup.found
    copy = own.get(lookup.name)
    is_other = found is not None and copy is not None and os.path.realpath(copy) != os.path.realpath(found.path)
    return {
        "soname": lookup.name,
        "path": found.path if found else None,
        "how": found.how if found and lookup.how == "loaded" and found.how else lookup.how,
        "needed_by": [],
        "own": copy if is_other else None,
        "lacks": lacking.get((found.path, lookup.by.path), []) if found and lookup.by else [],
        "damage": found.damage if found else "",
        "opened": lookup.opened,
        "for_torch": False,
    }


def own_copies(torch: str) -> "dict[str, str]":
    """The libraries that came beside torch, by their names."""
    root = os.path.dirname(torch)
    paths = walk(root + "/nvidia/*/lib/*.so*") + walk(torch + "/lib/*.so*")
    return {os.path.basename(path): path for path in paths}


def versions_lacking(loader: "Loader") -> "dict[tuple[str, str], list[str]]":
    """By the paths of a library and of one that needs it: the versions of symbols that it has not.

    A library without any such version is taken as it is: the loader only warns.
    """
    by_name = {name: item for item in reversed(loader.libraries) for name in item.names}
    found = {}  # type: dict[tuple[str, str], list[str]]
    for item in loader.libraries:
        for name, wanted in item.told.get("needs", {}).items():
            target = by_name.get(name)
            has = target.told.get("defines") if target else None
            if target and has:
                missing = [word for word in wanted if word not in has and word not in target.names]
                found.update({(target.path, item.path): missing} if missing else {})
    return found


def counts(row: "dict[str, Any]") -> bool:
    """Whether it is worth telling."""
    special = row["own"] or row["lacks"] or row["damage"] or row["path"] is None
    return bool(special) or row["how"] not in SYSTEM or row["soname"].startswith(NVIDIAS)


def inner(path: str, entries: "list[str]") -> str:
    """A path from the folder of packages on; as it is elsewhere."""
    clean = os.path.normpath(path)
    for entry in sorted(entries, key=len, reverse=True):
        if entry.endswith("-packages") and clean.startswith(entry.rstrip("/") + "/"):
            return clean[len(entry.rstrip("/")) + 1 :]
    return clean


def with_versions(rows: "list[dict[str, Any]]", entries: "list[str]") -> None:
    """Package and version of what is found, and of the wheel's own copy where another one is."""
    places = {}  # type: dict[str, tuple[str, str]]
    for path in [row[key] for row in rows for key in ("path", "own") if row[key]]:
        short = inner(path, entries)
        whole = os.path.normpath(path)
        places[path] = (whole[: -len(short) - 1], short) if short != whole else ("", short)
    known = owners(entries, {place for place in places.values() if place[0] and not place[1].startswith("torch/")})
    for row in rows:
        package, version = known.get(places.get(row["path"] or "", ("", "")), ("", ""))
        row["package"] = package
        row["version"] = version or (row["path"] and file_version(row["soname"], row["path"])) or None
        own = known.get(places.get(row["own"] or "", ("", "")), ("", ""))
        row["own_version"] = own[1] or (row["own"] and file_version(row["soname"], row["own"])) or None


def windows(torch: str, variable: "list[str]") -> "dict[str, Any]":
    """The same on Windows: what the DLLs in torch's folder import."""
    from torchdoctor.target.dll_search import Dlls, file_version as version_of

    dlls = Dlls(windows_folders(torch, variable))
    for path in walk(torch.replace("\\", "/") + "/lib/*.dll"):
        dlls.open(path)
    rows = list(dlls.rows.values())
    entries = [os.path.dirname(torch)]
    for row in rows:
        is_redistributable = row["soname"].lower().startswith(("msvcp", "vcruntime", "vcomp", "libomp"))
        row["version"] = version_of(row["path"]) if row["path"] and is_redistributable else None
    kept = [row for row in rows if row["path"] is None or row["how"] != "system" or row["version"]]
    for row in kept:
        row["path"] = row["path"] and inner(row["path"], entries)
        row["needed_by"] = [inner(path, entries) for path in row["needed_by"][:NAMES]]
        row["for_torch"] = True
    return {"linked": kept, "error": ""}


def windows_folders(torch: str, variable: "list[str]") -> "list[tuple[str, str]]":
    """Where torch has Windows look, in its order, each with the name of its rule."""
    bases = unique([sys.exec_prefix, getattr(sys, "base_exec_prefix", sys.exec_prefix)])
    system = os.path.join(os.environ.get("SystemRoot", "C:\\Windows"), "System32")
    found = [(os.path.dirname(sys.executable), "python")] + [(base, "python") for base in bases]
    found += [(os.path.join(torch, "lib"), "own")]
    found += [(os.path.join(base, "Library", "bin"), "python") for base in bases]
    found += [(os.path.join(bases[0], "bin"), "python"), (system, "system")]
    return [(path.replace("\\", "/"), how) for path, how in found + [(path, "PATH") for path in variable if path]]
