"""Reads PE files, the DLLs of Windows: sections, the DLLs that are imported, the file's version. Bounded."""

import struct

from torchdoctor.target.binary import Damaged, mapped, text, unpack

MYPY = False
if MYPY:
    from typing import Any

    from torchdoctor.target.binary import Bytes

MAGIC = b"MZ"
MACHINES = {0x14C: "i386", 0x8664: "x86_64", 0xAA64: "aarch64", 0xA641: "arm64ec", 0x1C4: "arm"}
SECTIONS, IMPORTS, RESOURCES = 96, 2000, 200  # the loader takes no more sections; more of the others no linker writes
IMPORT, RESOURCE, DELAYED = 1, 2, 13  # the numbers of the data directories
VERSION_TYPE = 16
FIXED = b"\xbd\x04\xef\xfe"  # starts the numbers of a version resource
SECTION = struct.Struct("<8sIIII")
PAIR, DLL, DELAY = struct.Struct("<II"), struct.Struct("<IIIII"), struct.Struct("<IIIIIIII")


class Pe:
    """The head of one file: machine, sections, data directories. ``Damaged`` where it is none."""

    def __init__(self, data: "Bytes") -> None:
        self.data = data
        if data[:2] != MAGIC:
            raise Damaged("no PE file")
        (at,) = unpack(struct.Struct("<I"), data, 0x3C, "the PE head")
        if data[at : at + 4] != b"PE\0\0":
            raise Damaged("a DOS program without a PE head")
        self.machine, count, _, _, _, size, _ = unpack(struct.Struct("<HHIIIHH"), data, at + 4, "the PE head")
        self.optional = at + 24
        (magic,) = unpack(struct.Struct("<H"), data, self.optional, "the optional head")
        if magic not in (0x10B, 0x20B):
            raise Damaged("a PE file of unknown kind 0x%x" % magic)
        self.wide = magic == 0x20B
        base = struct.Struct("<Q" if self.wide else "<4xI")
        (self.base,) = unpack(base, data, self.optional + 24, "the optional head")
        if count > SECTIONS:
            raise Damaged("a PE file that says it has %d sections" % count)
        rows = [unpack(SECTION, data, self.optional + size + 40 * number, "a section") for number in range(count)]
        self.sections = rows  # type: list[Any]  # name, size in memory, address, size in the file, offset

    def directory(self, number: int) -> int:
        """The address of one table, 0 where there is none."""
        start = self.optional + (112 if self.wide else 96)
        (count,) = unpack(struct.Struct("<I"), self.data, start - 4, "the data directories")
        return unpack(PAIR, self.data, start + 8 * number, "a data directory")[0] if number < count else 0

    def offset(self, address: int) -> int:
        """Where in the file an address is loaded from; -1: nowhere."""
        for _, _, start, size, at in self.sections:
            if start <= address < start + size:
                return int(at + address - start)
        return -1

    def word(self, address: int) -> str:
        """The text at an address."""
        at = self.offset(address)
        return text(self.data, at, len(self.data)) if at >= 0 else ""


def sections(data: "Bytes") -> "dict[str, tuple[int, int]]":
    """Offset and size in the file of each section by name (eight letters at most), the first of a name."""
    found = {}  # type: dict[str, tuple[int, int]]
    for name, used, _, size, at in Pe(data).sections:
        found.setdefault(name.rstrip(b"\0").decode("ascii", "replace"), (at, min(used, size) if used else size))
    return found


def read_pe(path: str) -> "dict[str, Any]":
    """What the loader of Windows is told by one file.

    ``imports`` and ``delayed``: names of DLLs in their order; ``file_version``: four numbers, None where it says none.
    Raises ``Damaged``, and ``OSError`` where the file cannot be read.
    """
    with mapped(path) as data:
        return described(data)


def described(data: "Bytes") -> "dict[str, Any]":
    """The same of bytes at hand."""
    pe = Pe(data)
    return {
        "format": "pe",
        "bits": 64 if pe.wide else 32,
        "order": "little",
        "machine": MACHINES.get(pe.machine, "machine 0x%x" % pe.machine),
        "imports": imports(pe),
        "delayed": delayed(pe),
        "file_version": file_version(pe),
    }


def imports(pe: Pe) -> "list[str]":
    """The DLLs that are loaded with it."""
    return names(pe, IMPORT, DLL, 3, 0)


def delayed(pe: Pe) -> "list[str]":
    """The DLLs that are loaded when one of their functions is first called. Old linkers wrote addresses in memory."""
    at = pe.offset(pe.directory(DELAYED))
    plain = at < 0 or unpack(DELAY, pe.data, at, "the delayed imports")[0] & 1
    return names(pe, DELAYED, DELAY, 1, 0 if plain else pe.base)


def names(pe: Pe, directory: int, form: struct.Struct, column: int, base: int) -> "list[str]":
    """The names in a table of imports, which ends with a row of zeros."""
    at, found = pe.offset(pe.directory(directory)), []  # type: int, list[str]
    while at >= 0 and len(found) < IMPORTS:
        row = unpack(form, pe.data, at, "the imports")
        if not row[column]:
            break
        found.append(pe.word(row[column] - base))
        at += form.size
    return [name for name in found if name]


def file_version(pe: Pe) -> "str | None":
    """The version in the file's resources: type, name, language, then the numbers."""
    root = pe.offset(pe.directory(RESOURCE))
    if root < 0:
        return None
    at = 0
    for wanted in (VERSION_TYPE, None, None):
        row = resource(pe, root, at & 0x7FFFFFFF, wanted)
        if row is None:
            return None
        at = row
    address, size = unpack(PAIR, pe.data, root + (at & 0x7FFFFFFF), "a resource")
    start = pe.offset(address)
    place = pe.data.find(FIXED, start, start + min(size, 4096)) if start >= 0 else -1
    if place < 0:
        return None
    high, low = unpack(PAIR, pe.data, place + 8, "the version")
    return "%d.%d.%d.%d" % (high >> 16, high & 0xFFFF, low >> 16, low & 0xFFFF)


def resource(pe: Pe, root: int, at: int, wanted: "int | None") -> "int | None":
    """Where the wanted (else the first) entry of one folder of resources leads to; None: it is not there."""
    named, numbered = unpack(struct.Struct("<HH"), pe.data, root + at + 12, "the resources")
    for number in range(min(named + numbered, RESOURCES)):
        key, to = unpack(PAIR, pe.data, root + at + 16 + 8 * number, "the resources")
        if wanted is None or key == wanted:
            return to
    return None
