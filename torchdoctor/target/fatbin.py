"""Lists CUDA fat binaries: kind and architecture of every entry, from the heads alone; nothing is decompressed.

Layout (checked against the vendor's cuobjdump and compiler, CUDA 11.7 to 13.5). A fat binary is a head of 16 bytes (magic,
version, size of the head, size of what follows), then entries, each a head and a payload. An entry's head says its kind,
sizes, two version numbers (of PTX: the PTX ISA version), the architecture and flags: the code is for that one
architecture ("a") or for its family ("f"). One kind of entry holds the heads of several, compressed together.
"""

import struct

from torchdoctor.target.binary import Damaged, unpack

MYPY = False
if MYPY:
    from typing import Any

    from torchdoctor.target.binary import Bytes

MAGIC = b"\x50\xed\x55\xba"
EXECUTABLE = (".nv_fatbin", ".nv_fatb")  # what is loaded; the short name is that of Windows
RELOCATABLE = ("__nv_relfatbin", "__nv_rel")  # for a linker, which may be the driver: it compiles and links their PTX
PTX, SASS, TOGETHER = 1, 2, 0x100
SPECIFIC, FAMILY = 1 << 20, 1 << 21
LARGEST = 400000  # entries of one file; the largest library of today has some ten thousand
HEAD = struct.Struct("<4sHHQ")
ENTRY = struct.Struct("<HHIQIIHHIIIQ")
OPTIONS = struct.Struct("<II")
COUNT = struct.Struct("<II")


class Listing:
    """What was counted: names of code as the compiler writes them, and why it ended early."""

    def __init__(self) -> None:
        self.fatbins = self.entries = self.others = 0
        self.codes = {}  # type: dict[tuple[int, int, str], int]  # kind, architecture, letter
        self.isa = (0, 0)
        self.error = ""

    def add(self, kind: int, version: "tuple[int, int]", architecture: int, flags: int) -> None:
        """Count one entry."""
        self.entries += 1
        if kind not in (PTX, SASS):
            self.others += 1  # intermediate code for the linker's optimiser, and what is not known yet
            return
        letter = "a" if flags & SPECIFIC else "f" if flags & FAMILY else ""
        name = (kind, architecture, letter)
        self.codes[name] = self.codes.get(name, 0) + 1
        if kind == PTX and version > self.isa:
            self.isa = version

    def named(self, kind: int, prefix: str) -> "dict[str, int]":
        """The counts of one kind by name: sm_90a, compute_80."""
        rows = sorted((number, letter, count) for (of, number, letter), count in self.codes.items() if of == kind)
        return {"%s_%d%s" % (prefix, number, letter): count for number, letter, count in rows}

    def answer(self) -> "dict[str, Any]":
        """The counts as they are recorded."""
        found = {
            "fatbins": self.fatbins,
            "sass": self.named(SASS, "sm"),
            "ptx": self.named(PTX, "compute"),
            "ptx_isa": "%d.%d" % self.isa if self.isa > (0, 0) else "",
        }  # type: dict[str, Any]
        return dict(found, others=self.others) if self.others else found


def listed_in(data: "Bytes", sections: "dict[str, tuple[int, int]]") -> "dict[str, Any]":
    """What a library's sections hold, empty where no fat binary is in them.

    Native code counts where it is executable: only that is loaded. Relocatable code is told apart, as cuobjdump does; an
    object file has no other.
    """
    main = listed(data, [sections[name] for name in EXECUTABLE if name in sections])
    other = listed(data, [sections[name] for name in RELOCATABLE if name in sections])
    if not main.fatbins and not main.error:
        main, other = other, Listing()
    if not main.fatbins and not main.error:
        return {}
    found = dict(main.answer(), error=main.error or other.error)
    if other.fatbins or other.error:
        found["relocatable"] = other.answer()
        take_ptx(main, other)
        found.update(ptx=main.named(PTX, "compute"), ptx_isa=main.answer()["ptx_isa"])
    return found


def take_ptx(main: Listing, other: Listing) -> None:
    """Count relocatable PTX too: for a GPU that has no executable code the driver compiles and links all of it anew.

    It can do so where every object has that PTX.
    """
    for name, count in other.codes.items():
        if name[0] == PTX and count >= other.fatbins:
            main.codes[name] = main.codes.get(name, 0) + count
            main.isa = max(main.isa, other.isa)


def listed(data: "Bytes", found: "list[tuple[int, int]]") -> Listing:
    """Every entry in these places (offset, size). What cannot be read to its end says so in ``error``."""
    listing = Listing()
    try:
        for at, size in found:
            section(listing, data, at, size)
    except Damaged as damage:
        listing.error = str(damage)
    return listing


def section(listing: Listing, data: "Bytes", at: int, size: int) -> None:
    """One fat binary after the other; between two of them there may be filling."""
    end = min(at + size, len(data))
    missing = at + size - end
    at = data.find(MAGIC, at, end) if at < end else -1
    while at >= 0:
        at = data.find(MAGIC, fatbin(listing, data, at, end), end)
    if missing:
        raise Damaged("the section of device code is cut: %d bytes of it are missing" % missing)


def fatbin(listing: Listing, data: "Bytes", at: int, end: int) -> int:
    """One fat binary; returns where it ends."""
    _, version, head, size = unpack(HEAD, data, at, "a fat binary")
    if version != 1 or head < HEAD.size:
        raise Damaged("a fat binary of unknown version %d at %d" % (version, at))
    stop = at + head + size
    if stop > end:
        raise Damaged("a fat binary at %d is cut: %d bytes of it are missing" % (at, stop - end))
    listing.fatbins += 1
    at += head
    while at + ENTRY.size <= stop:
        at = entry(listing, data, at, stop)
        if listing.entries > LARGEST:
            raise Damaged("more than %d entries: the rest was not read" % LARGEST)
    return stop


def entry(listing: Listing, data: "Bytes", at: int, stop: int) -> int:
    """One entry; returns where the next one starts."""
    numbers = ENTRY.unpack_from(data, at)  # type: tuple[int, ...]
    kind, _, head, size, _, _, minor, major, architecture, _, _, flags = numbers
    after = at + head + size
    if head < ENTRY.size or after > stop:
        raise Damaged("a damaged entry of a fat binary at %d" % at)
    if kind == TOGETHER:
        together(listing, data, at, at + head)
    else:
        listing.add(kind, (major, minor), architecture, flags)
    return after


def together(listing: Listing, data: "Bytes", at: int, stop: int) -> None:
    """The heads of entries that were compressed as one, in the head of that one."""
    at += 64
    count, size = unpack(COUNT, data, at, "a list of entries")
    if at + size > stop:
        raise Damaged("a damaged list of entries at %d" % at)
    end, at = at + size, at + COUNT.size
    for _ in range(count):
        if at + 64 > end:
            raise Damaged("a list of %d entries at %d ends before" % (count, at))
        kind, _, _, _, _, options, minor, major, architecture, _, _, flags = ENTRY.unpack_from(data, at)
        listing.add(kind, (major, minor), architecture, flags)
        at += 64 + (room(data, at + options, end) if options else 0)


def room(data: "Bytes", at: int, end: int) -> int:
    """The bytes that the options of an entry take: two numbers, a text that ends with a zero, up to a multiple of eight."""
    if at + OPTIONS.size > end:
        raise Damaged("damaged options of an entry at %d" % at)
    length = OPTIONS.unpack_from(data, at)[1]  # type: int
    return OPTIONS.size + (length + 4 + 7) // 8 * 8
