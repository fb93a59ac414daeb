"""The installed distributions by the names of their folders; importlib.metadata would cost many times as much."""

import os
import sys

from torchdoctor.target.paths import FILE, PATH, SMALL, exists, here, listed, read, unique, walk

MYPY = False
if MYPY:
    from typing import Any


def want_distributions(args: "tuple[str, ...]", keep: "tuple[str, ...]") -> "list[dict[str, Any]]":
    """Every distribution in the order of the path, so that duplicates are seen; then conda's own packages."""
    found = []
    for entry in unique(entry or here() for entry in PATH):
        names = [name for name in listed(entry) if name.endswith((".dist-info", ".egg-info")) and name[0] != "~"]
        found += [distribution(entry, name, args) for name in sorted(names)]
    return [item for item in found if item["version"]] + conda_packages()


def distribution(entry: str, folder: str, wanted: "tuple[str, ...]") -> "dict[str, Any]":
    """One distribution: name and version from its folder, more from its files when its name is wanted."""
    name, _, version = folder.rpartition(".")[0].partition("-")
    path = os.path.join(entry, folder)
    item = {
        "name": name,
        "version": version.partition("-py")[0],
        "path": entry,
        "installer": head(path, "INSTALLER", 100),
    }
    if plain(name) in wanted and folder.endswith(".dist-info"):
        item.update(details(path))
    return item


def details(path: str) -> "dict[str, Any]":
    """Requirements, wheel tags, and whether it came from an address of its own instead of an index."""
    metadata = head(path, "METADATA", FILE).partition("\n\n")[0].splitlines()
    wheel = head(path, "WHEEL", SMALL).splitlines()
    return {
        "requires": [line[15:] for line in metadata if line.startswith("Requires-Dist: ")],
        "tags": [line[5:] for line in wheel if line.startswith("Tag: ")],
        "direct_url": exists(os.path.join(path, "direct_url.json")),
    }


def want_requirers(args: "tuple[str, ...]", keep: "tuple[str, ...]") -> "list[dict[str, Any]]":
    """The distributions whose names begin so, and all that require one of them; the metadata of all are read for it.

    Nothing is read where no such distribution is there.
    """
    folders = [
        (entry, name)
        for entry in unique(entry or here() for entry in PATH)
        for name in listed(entry)
        if name.endswith((".dist-info", ".egg-info")) and name[0] != "~"
    ]
    if not any(plain(folder).startswith(args) for _, folder in folders):
        return []
    found = [requirer(os.path.join(entry, folder), folder, args) for entry, folder in folders]
    return [item for item in found if item]


def requirer(path: str, folder: str, prefixes: "tuple[str, ...]") -> "dict[str, Any] | None":
    """One distribution: what it requires of them, and whether it was asked for by its own name; None: neither."""
    lines = requirements(path, folder, [prefix.rstrip("-") for prefix in prefixes])
    lines = [line for line in lines if plain(line).startswith(prefixes)]
    if not lines and not plain(folder).startswith(prefixes):
        return None
    return {
        "name": folder.rpartition(".")[0].partition("-")[0],
        "requires": lines,
        "requested": exists(os.path.join(path, "REQUESTED")),
        "installer": head(path, "INSTALLER", 100),
    }


def requirements(path: str, folder: str, words: "list[str]") -> "list[str]":
    """What a distribution requires, where one of the words stands among it; most of the time it does not."""
    if folder.endswith(".egg-info"):
        return head(path, "requires.txt", FILE).splitlines()
    text = head(path, "METADATA", 2 * SMALL)
    if "\n\n" not in text:
        text = head(path, "METADATA", FILE)
    text = text.partition("\n\n")[0]
    lowered = text.lower()
    if not any(word in lowered for word in words):
        return []
    return [line[14:].strip() for line in text.splitlines() if line.startswith("Requires-Dist:")]


def plain(name: str) -> str:
    """The name as the packaging rules compare it, but for signs in a row."""
    return name.lower().replace("_", "-").replace(".", "-")


def head(folder: str, name: str, limit: int) -> str:
    """The head of a file, or nothing without the file."""
    try:
        return read(os.path.join(folder, name), limit).strip()
    except OSError:
        return ""


def conda_packages() -> "list[dict[str, Any]]":
    """Conda's packages from their file names, which are name-version-build."""
    names = [os.path.basename(path)[:-5] for path in walk(os.path.join(sys.prefix, "conda-meta", "*.json"))]
    parts = [name.rsplit("-", 2) for name in names if name.count("-") > 1]
    return [{"name": name, "version": version, "build": build, "installer": "conda"} for name, version, build in parts]
