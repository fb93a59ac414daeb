"""Writes tiny libraries: ELF and PE files with chosen device code and chosen words for the loader.

    elf(fatbins(["sm_80", "sm_90a", "compute_80"]), needed=["libcudart.so.13"], runpath="$ORIGIN/lib")
    pe({".nv_fatb": fatbin("sm_86")}, imports=["c10.dll"])
    elf({".hip_fatbin": bundle("gfx90a:xnack-", "gfx942")})

Addresses in the ELF files equal offsets, so that they are easy to read; ``readelf`` and ``objdump`` read them as well.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

LOAD, DYNAMIC, STACK = 1, 2, 0x6474E551
NEEDED, STRTAB, STRSZ, SONAME, RPATH, RUNPATH = 1, 5, 10, 14, 15, 29
VERDEF, VERDEFNUM, VERNEED, VERNEEDNUM = 0x6FFFFFFC, 0x6FFFFFFD, 0x6FFFFFFE, 0x6FFFFFFF
PROGBITS, STRINGS, DYNAMIC_SECTION, DEFINED, NEEDED_VERSIONS = 1, 3, 6, 0x6FFFFFFD, 0x6FFFFFFE
COMPRESSED = {"": 0, "lz4": 0x2000, "zstd": 0x8000}
BASE = 0x180000000  # where Windows libraries want to lie


class Section(NamedTuple):
    """One section of an ELF file: its type, bytes and the section it speaks of."""

    kind: int
    data: bytes
    link: int = 0
    entry: int = 0
    info: int = 0


def entry(code: str, *, compressed: str = "", isa: tuple[int, int] = (8, 0), payload: bytes = b"code" * 4) -> bytes:
    """One entry of a fat binary: ``sm_90a``, ``compute_80``, ``sm_120f``; ``lto_90`` for an unknown kind."""
    word, _, name = code.partition("_")
    kind = {"compute": 1, "sm": 2}.get(word, 8)
    letter = name[-1] if name[-1] in "af" else ""
    number = int(name.removesuffix(letter))
    flags = 0x11 | COMPRESSED[compressed] | {"a": 1 << 20, "f": 1 << 21}.get(letter, 0)
    payload += bytes(-len(payload) % 8)
    version = isa if kind == 1 else (1, 8)
    sizes = (len(payload), 4 * len(payload)) if compressed else (0, 0)
    numbers = (kind, 0x101, 64, len(payload), sizes[0], 0, version[1], version[0], number, 0, 0, flags, 0, sizes[1])
    return struct.pack("<HHIQIIHHIIIQQQ", *numbers) + payload


def together(*codes: str, isa: tuple[int, int] = (8, 0)) -> bytes:
    """Entries that were compressed as one, as ``nvcc -concat`` writes them."""
    heads = b""
    for code in codes:
        head = bytearray(entry(code, isa=isa, payload=b"")[:64])
        struct.pack_into("<I", head, 20, 0x40)
        options = b"word" * 5
        heads += bytes(head) + struct.pack("<II", 0x48, len(options)) + options + bytes(4)
    head_size = 64 + 8 + len(heads)
    payload = b"packed payload  "
    numbers = (0x100, 0x101, head_size, len(payload), len(payload), 64, 1, 0, 0, 0, 0, 0x8011, 0, 400)
    listed = struct.pack("<II", len(codes), 8 + len(heads)) + heads
    return struct.pack("<HHIQIIHHIIIQQQ", *numbers) + listed + payload


def fatbin_of(*entries: bytes) -> bytes:
    """A fat binary of ready entries."""
    body = b"".join(entries)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


def fatbin(*codes: str, compressed: str = "", isa: tuple[int, int] = (8, 0)) -> bytes:
    """A fat binary with one entry for each code."""
    return fatbin_of(*(entry(code, compressed=compressed, isa=isa) for code in codes))


def fatbins(*each: Sequence[str], isa: tuple[int, int] = (8, 0)) -> dict[str, bytes]:
    """The section of an ELF library: one fat binary for each list of codes."""
    return {".nv_fatbin": b"".join(fatbin(*codes, isa=isa) for codes in each)}


def bundle(*gfx: str, host: bool = True) -> bytes:
    """An offload bundle of AMD's compiler, with a code object of 64 bytes for each gfx id."""
    ids = ["host-x86_64-unknown-linux-gnu-"] * host + [f"hipv4-amdgcn-amd-amdhsa--{name}" for name in gfx]
    at = 4096
    rows = b""
    for word in ids:
        size = 0 if word.startswith("host") else 64
        rows += struct.pack("<QQQ", at, size, len(word)) + word.encode()
        at += size
    head = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(ids)) + rows
    return head + bytes(4096 - len(head)) + b"\x7fELF" * 16 * len(gfx)


def packed_bundle(inner: bytes, *, version: int = 2, method: int = 0) -> bytes:
    """A compressed offload bundle; a method other than zlib (0) gets bytes that nobody can decompress."""
    body = zlib.compress(inner) if method == 0 else b"(\xb5/\xfd" + b"\xff" * 40
    if version == 1:
        return b"CCOB" + struct.pack("<HHIQ", 1, method, len(inner), 7) + body
    if version == 2:
        return b"CCOB" + struct.pack("<HHIIQ", 2, method, 24 + len(body), len(inner), 7) + body
    return b"CCOB" + struct.pack("<HHQQQ", version, method, 32 + len(body), len(inner), 7) + body


class Words:
    """A table of texts that grows."""

    def __init__(self) -> None:
        self.data = b"\0"

    def add(self, word: str) -> int:
        self.data += word.encode() + b"\0"
        return len(self.data) - len(word.encode()) - 1


def _hash(word: str) -> int:
    """The hash of ELF."""
    value = 0
    for letter in word.encode():
        value = (value << 4) + letter
        value = (value ^ (value & 0xF0000000) >> 24) & 0x0FFFFFFF
    return value


def _needs(order: str, words: Words, needs: Mapping[str, Sequence[str]]) -> bytes:
    data, number = b"", 2
    for place, (library, versions) in enumerate(needs.items()):
        following = 16 + 16 * len(versions) if place < len(needs) - 1 else 0
        data += struct.pack(order + "HHIII", 1, len(versions), words.add(library), 16, following)
        for at, version in enumerate(versions):
            step = 16 if at < len(versions) - 1 else 0
            data += struct.pack(order + "IHHII", _hash(version), 0, number, words.add(version), step)
            number += 1
    return data


def _defines(order: str, words: Words, soname: str, versions: Sequence[str]) -> bytes:
    data = b""
    for number, version in enumerate([soname, *versions]):
        following = 28 if number < len(versions) else 0
        flags = 1 if number == 0 else 0
        data += struct.pack(order + "HHHHIII", 1, flags, number + 1, 1, _hash(version), 20, following)
        data += struct.pack(order + "II", words.add(version), 0)
    return data


def elf(  # noqa: PLR0913 - the more that can be chosen, the better
    sections: Mapping[str, bytes] | None = None,
    *,
    needed: Sequence[str] = (),
    soname: str = "",
    rpath: str = "",
    runpath: str = "",
    needs: Mapping[str, Sequence[str]] | None = None,
    defines: Sequence[str] = (),
    bits: int = 64,
    order: str = "<",
    machine: int = 62,
    exec_stack: bool | None = None,
) -> bytes:
    """A shared library; ``needs``: versions asked of each library, ``defines``: versions it has (it needs a soname)."""
    words = Words()
    told = [(NEEDED, words.add(name)) for name in needed]
    told += [(tag, words.add(word)) for tag, word in ((SONAME, soname), (RPATH, rpath), (RUNPATH, runpath)) if word]
    asked = _needs(order, words, needs or {})
    had = _defines(order, words, soname or "lib.so", defines) if defines else b""
    start = (64 if bits == 64 else 52) + (56 if bits == 64 else 32) * (2 + (exec_stack is not None))
    parts: dict[str, Section] = {".dynstr": Section(STRINGS, words.data)}
    at = {".dynstr": start}
    end = start + len(words.data)
    for name, data, kind, tags, count in (
        (".gnu.version_r", asked, NEEDED_VERSIONS, (VERNEED, VERNEEDNUM), len(needs or {})),
        (".gnu.version_d", had, DEFINED, (VERDEF, VERDEFNUM), len(defines) + 1),
    ):
        if data:
            at[name] = end = -(-end // 8) * 8
            parts[name] = Section(kind, data, link=1, info=count)
            told += [(tags[0], end), (tags[1], count)]
            end += len(data)
    told += [(STRTAB, start), (STRSZ, len(words.data)), (0, 0)]
    form = order + ("QQ" if bits == 64 else "II")
    parts[".dynamic"] = Section(
        DYNAMIC_SECTION, b"".join(struct.pack(form, *row) for row in told), 1, struct.calcsize(form)
    )
    for name, data in (sections or {}).items():
        parts[name] = Section(PROGBITS, data)
    return _assembled(parts, at, bits=bits, order=order, machine=machine, exec_stack=exec_stack)


def _assembled(
    parts: Mapping[str, Section], at: dict[str, int], *, bits: int, order: str, machine: int, exec_stack: bool | None
) -> bytes:
    wide = bits == 64
    head_size, segment_size, section_size = (64, 56, 64) if wide else (52, 32, 40)
    segments = 2 + (exec_stack is not None)
    names = Words()
    offsets = [(names.add(name), name) for name in parts]
    own_name = names.add(".shstrtab")
    body = bytearray(head_size + segment_size * segments)
    for name, part in parts.items():
        body += bytes((at[name] - len(body)) if name in at else (-len(body) % 8))
        at[name] = len(body)
        body += part.data
    names_at = len(body)
    body += names.data + bytes(-(len(body) + len(names.data)) % 8)
    table_at = len(body)
    section = struct.Struct(order + ("IIQQQQIIQQ" if wide else "IIIIIIIIII"))
    body += bytes(section.size)
    for offset, name in offsets:
        part, place = parts[name], at[name]
        body += section.pack(offset, part.kind, 2, place, place, len(part.data), part.link, part.info, 8, part.entry)
    body += section.pack(own_name, STRINGS, 0, 0, names_at, len(names.data), 0, 0, 1, 0)
    dynamic = (at[".dynamic"], len(parts[".dynamic"].data))
    rows = [(LOAD, 5, 0, len(body)), (DYNAMIC, 6, *dynamic)]
    rows += [(STACK, 7 if exec_stack else 6, 0, 0)] if exec_stack is not None else []
    heads = b"".join(_segment(order, wide, *row) for row in rows)
    ident = b"\x7fELF" + bytes([2 if wide else 1, 1 if order == "<" else 2, 1]) + bytes(9)
    form = order + ("HHIQQQIHHHHHH" if wide else "HHIIIIIHHHHHH")
    numbers = (3, machine, 1, 0, head_size, table_at, 0, head_size, segment_size, segments, section_size)
    head = ident + struct.pack(form, *numbers, len(parts) + 2, len(parts) + 1)
    body[: len(head) + len(heads)] = head + heads
    return bytes(body)


def _segment(order: str, wide: bool, kind: int, flags: int, offset: int, size: int) -> bytes:
    if wide:
        return struct.pack(order + "IIQQQQQQ", kind, flags, offset, offset, offset, size, size, 8)
    return struct.pack(order + "IIIIIIII", kind, offset, offset, offset, size, size, flags, 8)


def pe(
    sections: Mapping[str, bytes] | None = None,
    *,
    imports: Sequence[str] = (),
    delayed: Sequence[str] = (),
    version: tuple[int, int, int, int] | None = None,
    wide: bool = True,
    machine: int = 0x8664,
) -> bytes:
    """A DLL of Windows; the imports, delayed imports and the version stand in a section ``.rdata``."""
    optional = (112 if wide else 96) + 8 * 16
    parts = {".rdata": bytes(4), **(sections or {})}
    head = 0x40 + 24 + optional + 40 * len(parts)
    first = -(-head // 512) * 512
    data, directories = _rdata(0x1000, imports, delayed, version)
    parts[".rdata"] = data
    rows, body, address, at = b"", b"", 0x1000, first
    for name, content in parts.items():
        room = -(-len(content) // 512) * 512
        rows += struct.pack("<8sIIII", name.encode()[:8], len(content), address, room, at) + bytes(16)
        body += content + bytes(room - len(content))
        address, at = address + -(-max(room, 1) // 4096) * 4096, at + room
    coff = b"PE\0\0" + struct.pack("<HHIIIHH", machine, len(parts), 0, 0, 0, optional, 0x2022)
    magic = struct.pack("<H", 0x20B if wide else 0x10B)
    base = struct.pack("<Q", BASE) if wide else struct.pack("<II", 0, 0x10000000)
    told = (magic + bytes(22) + base).ljust(optional - 8 * 16 - 4, b"\0") + struct.pack("<I", 16)
    tables = b"".join(struct.pack("<II", *directories.get(number, (0, 0))) for number in range(16))
    dos = b"MZ" + bytes(58) + struct.pack("<I", 0x40)
    return (dos + coff + told + tables + rows).ljust(first, b"\0") + body


def _rdata(
    start: int, imports: Sequence[str], delayed: Sequence[str], version: tuple[int, int, int, int] | None
) -> tuple[bytes, dict[int, tuple[int, int]]]:
    """The bytes of the section at an address, and the data directories that point into it."""
    data, found = bytearray(), {}

    def placed(content: bytes) -> int:
        data.extend(bytes(-len(data) % 8) + content)
        return start + len(data) - len(content)

    if imports:
        names = [placed(name.encode() + b"\0") for name in imports]
        table = b"".join(struct.pack("<IIIII", 1, 0, 0, name, 1) for name in names) + bytes(20)
        found[1] = (placed(table), len(table))
    if delayed:
        names = [placed(name.encode() + b"\0") for name in delayed]
        table = b"".join(struct.pack("<8I", 1, name, 0, 0, 0, 0, 0, 0) for name in names) + bytes(32)
        found[13] = (placed(table), len(table))
    if version:
        high, low = version[0] << 16 | version[1], version[2] << 16 | version[3]
        block = b"VS_VERSION_INFO".ljust(40, b"\0") + struct.pack("<IIII", 0xFEEF04BD, 0x10000, high, low)
        where = placed(block)
        down = [(16, 0x80000018), (1, 0x80000030), (1033, 0x48)]
        tree = b"".join(struct.pack("<IIHHHHII", 0, 0, 0, 0, 0, 1, *row) for row in down)
        found[2] = (placed(tree + struct.pack("<IIII", where, len(block), 0, 0)), len(tree) + 16)
    return bytes(data or bytes(4)), found
