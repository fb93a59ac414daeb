"""Which installed distribution a library belongs to, by the RECORD that the installer left."""

import os

from torchdoctor.target.paths import listed, read
from torchdoctor.target.want_distributions import plain

MYPY = False
if MYPY:
    from collections.abc import Iterator

    Place = tuple[str, str]  # an entry of the path, and the name of a file from there on
    Owner = tuple[str, str]  # name and version of a distribution

RECORD = 32 * 1024 * 1024  # the longest that is read; that of torch has about two megabytes
NOBODY = ("", "")


def owners(entries: "list[str]", wanted: "set[Place]") -> "dict[Place, Owner]":
    """The distributions that list these files."""
    found = {}  # type: dict[Place, Owner]
    for entry in entries:
        names = {name for place, name in wanted if place == entry}
        for folder in distributions(entry) if names else []:
            for name in recorded(entry, folder):
                if name in names:
                    found[(entry, name)] = split(folder)
    return found


def owner_of(entries: "list[str]", library: str) -> "Owner":
    """The distribution that is named like the folder of a library; nobody where none is."""
    top = plain(library.partition("/")[0])
    for entry in entries:
        for folder in distributions(entry):
            if plain(split(folder)[0]) in (top, top.replace("-libs", "")):
                return split(folder)
    return NOBODY


def owned(entry: str, name: str) -> "list[str]":
    """The paths of all files that the distribution of this name lists."""
    folders = [folder for folder in distributions(entry) if split(folder)[0] == plain(name)]
    return [os.path.join(entry, inner) for folder in folders for inner in recorded(entry, folder)]


def distributions(entry: str) -> "list[str]":
    """The folders of distributions in one entry of the path."""
    return sorted(name for name in listed(entry) if name.endswith(".dist-info") and name[0] != "~")


def split(folder: str) -> "Owner":
    """Name as the packaging rules compare it, and version, of the folder of a distribution."""
    name, _, version = folder[: -len(".dist-info")].partition("-")
    return plain(name), version


def recorded(entry: str, folder: str) -> "Iterator[str]":
    """The names in a RECORD, from the folder of packages on."""
    try:
        text = read(os.path.join(entry, folder, "RECORD"), RECORD)
    except OSError:
        return
    for line in text.splitlines():
        name = line.rpartition(",")[0].rpartition(",")[0]
        yield (name[1:-1].replace('""', '"') if name[:1] == '"' else name).replace("\\", "/")
