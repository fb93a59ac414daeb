"""Reads ELF files: sections, what the loader is told (needed, paths, symbol versions). Bounded, nothing is believed."""

import struct

from torchdoctor.target.binary import Damaged, inside, mapped, text, unpack

MYPY = False
if MYPY:
    from collections.abc import Iterator
    from typing import Any

    from torchdoctor.target.binary import Bytes

MAGIC = b"\x7fELF"
MACHINES = {
    3: "i386",
    8: "mips",
    20: "ppc",
    21: "ppc64",
    22: "s390",
    40: "arm",
    62: "x86_64",
    183: "aarch64",
    190: "cuda",
    224: "amdgpu",
    243: "riscv",
    258: "loongarch",
}
TYPES = {1: "object", 2: "executable", 3: "shared", 4: "core"}
SECTIONS, SEGMENTS, ENTRIES = 20000, 512, 20000  # more of them are not looked at
LOAD, DYNAMIC, INTERP, STACK = 1, 2, 3, 0x6474E551
NEEDED, STRTAB, STRSZ, SONAME, RPATH, RUNPATH = 1, 5, 10, 14, 15, 29
VERDEF, VERDEFNUM, VERNEED, VERNEEDNUM = 0x6FFFFFFC, 0x6FFFFFFD, 0x6FFFFFFE, 0x6FFFFFFF
NOBITS, EXECUTABLE = 8, 1


class Elf:
    """The head of one file: class, byte order, machine, where its tables are. ``Damaged`` where it is none."""

    def __init__(self, data: "Bytes") -> None:
        self.data = data
        ident = bytes(data[:16])
        if len(ident) < 16 or ident[:4] != MAGIC:
            raise Damaged("no ELF file")
        if ident[4] not in (1, 2) or ident[5] not in (1, 2):
            raise Damaged("an ELF file of unknown class %d or byte order %d" % (ident[4], ident[5]))
        self.wide, self.order = ident[4] == 2, "<" if ident[5] == 1 else ">"
        head = unpack(self.form("HHIQQQIHHHHHH" if self.wide else "HHIIIIIHHHHHH"), data, 16, "the ELF head")
        self.type, self.machine, self.flags = head[0], head[1], head[6]
        self.segments_at, self.sections_at = head[4], head[5]
        self.segment_size, self.segment_count = head[8], head[9]
        self.section_size, self.section_count, self.names = head[10], head[11], head[12]

    def form(self, letters: str) -> struct.Struct:
        """A layout in the file's byte order."""
        return struct.Struct(self.order + letters)

    def segments(self) -> "list[tuple[int, int, int, int, int, int]]":
        """Type, flags, offset, address, size in the file, size in memory of each."""
        form, found = self.form("IIQQQQQQ" if self.wide else "IIIIIIII"), []
        if self.segment_count and self.segment_size < form.size:
            raise Damaged("program headers of %d bytes" % self.segment_size)
        for number in range(min(self.segment_count, SEGMENTS)):
            row = unpack(form, self.data, self.segments_at + number * self.segment_size, "a program header")
            if self.wide:
                found.append((row[0], row[1], row[2], row[3], row[5], row[6]))
            else:
                found.append((row[0], row[6], row[1], row[2], row[4], row[5]))
        return found

    def headers(self) -> "list[tuple[int, int, int, int]]":
        """Name's offset, type, offset, size of each section; none where the table was stripped."""
        form = self.form("IIQQQQIIQQ" if self.wide else "IIIIIIIIII")
        if not self.sections_at:
            return []
        if self.section_size < form.size:
            raise Damaged("section headers of %d bytes" % self.section_size)
        first = unpack(form, self.data, self.sections_at, "the section table")
        count = self.section_count or first[5]
        if self.names == 0xFFFF:
            self.names = first[6]
        inside(self.data, self.sections_at, min(count, SECTIONS) * self.section_size, "the section table")
        rows = [
            form.unpack_from(self.data, self.sections_at + number * self.section_size)
            for number in range(min(count, SECTIONS))
        ]
        return [(row[0], row[1], row[4], row[5]) for row in rows]


def sections(data: "Bytes") -> "dict[str, tuple[int, int]]":
    """Offset and size of each section by name, the first of a name; those without bytes in the file are left out."""
    elf = Elf(data)
    headers = elf.headers()
    if not headers:
        return {}
    if elf.names >= len(headers):
        raise Damaged("the section of names is number %d of %d" % (elf.names, len(headers)))
    _, _, start, size = headers[elf.names]
    found = {}  # type: dict[str, tuple[int, int]]
    for name, kind, at, length in headers:
        if kind not in (0, NOBITS):
            found.setdefault(text(data, start + name, start + size), (at, length))
    return found


def read_elf(path: str) -> "dict[str, Any]":
    """What the loader is told by one file.

    ``needed``, ``rpath``, ``runpath``: texts in their order, ``$ORIGIN`` kept; ``needs``: versions asked of each library
    by its name; ``defines``: versions it has itself; ``exec_stack``: None where it does not say. Raises ``Damaged``,
    and ``OSError`` where the file cannot be read.
    """
    with mapped(path) as data:
        return described(data)


def described(data: "Bytes") -> "dict[str, Any]":
    """The same of bytes at hand."""
    elf = Elf(data)
    segments = elf.segments()
    stack = [flags & EXECUTABLE for kind, flags, _, _, _, _ in segments if kind == STACK]
    found = {
        "format": "elf",
        "bits": 64 if elf.wide else 32,
        "order": "little" if elf.order == "<" else "big",
        "machine": MACHINES.get(elf.machine, "machine %d" % elf.machine),
        "type": TYPES.get(elf.type, "type %d" % elf.type),
        "exec_stack": bool(stack[0]) if stack else None,
    }  # type: dict[str, Any]
    found.update(told(elf, segments))
    return found


def told(elf: Elf, segments: "list[tuple[int, int, int, int, int, int]]") -> "dict[str, Any]":
    """The dynamic section in words."""
    entries = list(dynamic(elf, segments))
    first = {}  # type: dict[int, int]
    for tag, value in entries:
        first.setdefault(tag, value)
    start = offset(segments, first.get(STRTAB, 0))
    end = start + first.get(STRSZ, 0)

    def word(at: int) -> str:
        return text(elf.data, start + at, end)

    return {
        "needed": [word(value) for tag, value in entries if tag == NEEDED],
        "soname": word(first[SONAME]) if SONAME in first else "",
        "rpath": folders(word(first[RPATH])) if RPATH in first else [],
        "runpath": folders(word(first[RUNPATH])) if RUNPATH in first else [],
        "needs": needs(elf, offset(segments, first.get(VERNEED, 0)), first.get(VERNEEDNUM, 0), start, end),
        "defines": defines(elf, offset(segments, first.get(VERDEF, 0)), first.get(VERDEFNUM, 0), start, end),
    }


def folders(path: str) -> "list[str]":
    """The parts between colons that are not empty."""
    return [part for part in path.split(":") if part]


def dynamic(elf: Elf, segments: "list[tuple[int, int, int, int, int, int]]") -> "Iterator[tuple[int, int]]":
    """Tag and value of each entry up to the one that ends them."""
    form = elf.form("QQ" if elf.wide else "II")
    for kind, _, at, _, size, _ in segments:
        if kind == DYNAMIC:
            inside(elf.data, at, size, "the dynamic section")
            for number in range(min(size // form.size, ENTRIES)):
                tag, value = form.unpack_from(elf.data, at + number * form.size)
                if not tag:
                    return
                yield tag, value
            return


def offset(segments: "list[tuple[int, int, int, int, int, int]]", address: int) -> int:
    """Where in the file an address is loaded from; -1: nowhere, or not given."""
    for kind, _, at, start, size, _ in segments:
        if kind == LOAD and address and start <= address < start + size:
            return at + address - start
    return -1


def needs(elf: Elf, at: int, count: int, start: int, end: int) -> "dict[str, list[str]]":
    """The versions asked of each library."""
    found = {}  # type: dict[str, list[str]]
    row, inner = elf.form("HHIII"), elf.form("IHHII")
    left = ENTRIES
    while at >= 0 and count > 0 and left > 0:
        _, number, name, first, following = unpack(row, elf.data, at, "a version need")
        versions = found.setdefault(text(elf.data, start + name, end), [])
        place = at + first
        while number > 0 and left > 0:
            _, _, _, word, step = unpack(inner, elf.data, place, "a needed version")
            versions.append(text(elf.data, start + word, end))
            place, number, left = place + step, number - 1 if step else 0, left - 1
        at, count, left = at + following, count - 1 if following else 0, left - 1
    return found


def defines(elf: Elf, at: int, count: int, start: int, end: int) -> "list[str]":
    """The versions a library has itself, but for the one that is its own name."""
    found = []
    row, inner = elf.form("HHHHIII"), elf.form("II")
    left = ENTRIES
    while at >= 0 and count > 0 and left > 0:
        _, flags, _, number, _, first, following = unpack(row, elf.data, at, "a version definition")
        if number and not flags & 1:
            name, _ = unpack(inner, elf.data, at + first, "a defined version")
            found.append(text(elf.data, start + name, end))
        at, count, left = at + following, count - 1 if following else 0, left - 1
    return found
