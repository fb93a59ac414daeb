"""Words inside a library that say more than its name: versions, and the names of what it opens when it is used."""

import os

from torchdoctor.target.binary import Damaged, inside, mapped
from torchdoctor.target.elf import sections
from torchdoctor.target.paths import FILE, read, real

MYPY = False
if MYPY:
    from torchdoctor.target.binary import Bytes

CUDNN, NCCL = "libcudnn", "libnccl.so"
NCCL_TEXT = b"NCCL version "


def names_in(path: str, head: bytes, tail: bytes) -> "list[str]":
    """The texts of the read-only data that begin and end so; none of a file whose sections cannot be read."""
    found = []
    try:
        with mapped(real(path)) as data:
            at, size = constants(data)
            place = data.find(head, at, at + size)
            while place >= 0:
                end = data.find(b"\0", place, place + 100)
                word = bytes(data[place:end]) if end > 0 else b""
                if word.endswith(tail) and word not in found:
                    found.append(word)
                place = data.find(head, place + 1, at + size)
    except (Damaged, OSError):
        pass
    return [word.decode("ascii", "replace") for word in found]


def constants(data: "Bytes") -> "tuple[int, int]":
    """Offset and size of the read-only data; ``Damaged`` where it is not wholly in the file."""
    at, size = sections(data).get(".rodata", (0, 0))
    return inside(data, at, size, "the read-only data")


def read_or_nothing(path: str) -> str:
    """The head of a file; nothing without it."""
    try:
        return read(path, FILE)
    except OSError:
        return ""


def file_version(soname: str, path: str) -> str:
    """The version in the name of the file that a link leads to, or inside NCCL; cuDNN holds none, its header does."""
    place = os.path.realpath(path)
    number = os.path.basename(place).rpartition(".so.")[2]
    if "." in number and number.replace(".", "").isdigit():
        return number
    if soname.startswith(NCCL):
        return nccl_version(place)
    if soname.startswith(CUDNN):
        lib = os.path.dirname(place)
        texts = [read_or_nothing(lib + up + "include/cudnn_version.h") for up in ("/../", "/../../")]
        return next(filter(None, map(cudnn_version, texts)), "")
    return ""


def nccl_version(path: str) -> str:
    """The version that NCCL prints of itself."""
    try:
        with mapped(real(path)) as data:
            at, size = constants(data)
            place = data.find(NCCL_TEXT, at, at + size)
            while place >= 0:
                start = place + len(NCCL_TEXT)
                word = bytes(data[start : start + 20]).partition(b"\0")[0].partition(b"+")[0].partition(b" ")[0]
                text = word.decode("ascii", "replace")
                if text.replace(".", "").isdigit():
                    return text
                place = data.find(NCCL_TEXT, start, at + size)
    except (Damaged, OSError):
        pass
    return ""


def cudnn_version(text: str) -> str:
    """The version in cudnn_version.h."""
    names = ("CUDNN_MAJOR", "CUDNN_MINOR", "CUDNN_PATCHLEVEL")
    words = [line.split() for line in text.splitlines() if line.startswith("#define")]
    found = {row[1]: row[2] for row in words if len(row) > 2 and row[1] in names and row[2].isdigit()}
    return ".".join(found[name] for name in names) if len(found) == len(names) else ""
