"""Lists AMD's offload bundles: the gfx ids of every code object, for one and for several bundles in a row.

A bundle (clang's documentation, "Clang Offload Bundler") starts with a magic and a number of entries, each an offset, a
size and an id like ``hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-``. A compressed one is read only as far as its list goes.
"""

import struct
import zlib

from torchdoctor.target.binary import Damaged, unpack

MYPY = False
if MYPY:
    from typing import Any

    from torchdoctor.target.binary import Bytes

SECTION = ".hip_fatbin"
MAGIC, PACKED = b"__CLANG_OFFLOAD_BUNDLE__", b"CCOB"
TARGET = "amdgcn"
BUNDLES, ENTRIES, WORD = 100000, 256, 256  # more, and a longer id, no compiler writes
WINDOW = 1 << 14
LIST = 1 << 17  # as much is looked at, and less decompressed: the list stands first
NUMBER = struct.Struct("<Q")
ROW = struct.Struct("<QQQ")
HEADS = {1: struct.Struct("<4sHHIQ"), 2: struct.Struct("<4sHHIIQ"), 3: struct.Struct("<4sHHQQQ")}
ZLIB, ZSTD = 0, 1


class Listing:
    """How many bundles, and how many code objects for each gfx id."""

    def __init__(self) -> None:
        self.bundles = 0
        self.gfx = {}  # type: dict[str, int]
        self.error = ""

    def answer(self) -> "dict[str, Any]":
        """The counts as they are recorded."""
        return {"fatbins": self.bundles, "gfx": dict(sorted(self.gfx.items()))}


def listed(data: "Bytes", at: int, size: int) -> Listing:
    """Every bundle of a section. What cannot be read to its end says so in ``error``."""
    listing, end = Listing(), min(at + size, len(data))
    missing = at + size - end
    try:
        at = following(data, at, end) if at < end else -1
        while at >= 0:
            listing.bundles += 1
            if listing.bundles > BUNDLES:
                raise Damaged("more than %d bundles: the rest was not read" % BUNDLES)
            packed = data[at : at + 4] == PACKED
            at = following(data, compressed(listing, data, at, end) if packed else bundle(listing, data, at, end), end)
        if missing:
            raise Damaged("the section of device code is cut: %d bytes of it are missing" % missing)
    except Damaged as damage:
        listing.error = str(damage)
    return listing


def following(data: "Bytes", at: int, end: int) -> int:
    """Where the next bundle starts, or -1; between two there is filling. It is near: looking for each kind alone to the
    end of a large file, again and again, would take long."""
    while at < end:
        window = bytes(data[at : min(at + WINDOW + len(MAGIC), end)])
        places = [place for place in (window.find(MAGIC), window.find(PACKED)) if place >= 0]
        if places:
            return at + min(places)
        at += WINDOW
    return -1


def bundle(listing: Listing, data: "Bytes", at: int, end: int) -> int:
    """One bundle; returns where its last code object ends."""
    rows = listed_rows(data, at, end)
    for _, size, word in rows:
        if TARGET in word and size:
            name = word.partition("--")[2] or word.rpartition("-")[2]
            listing.gfx[name] = listing.gfx.get(name, 0) + 1
    last = max([at + offset + size for offset, size, _ in rows] + [at + len(MAGIC)])
    if last > end:
        raise Damaged("a bundle at %d is cut: %d bytes of it are missing" % (at, last - end))
    return last


def listed_rows(data: "Bytes", at: int, end: int) -> "list[tuple[int, int, str]]":
    """Offset, size and id of every entry of one bundle."""
    (count,) = unpack(NUMBER, data, at + len(MAGIC), "the list of a bundle")
    if count > ENTRIES:
        raise Damaged("a bundle at %d says that it has %d entries" % (at, count))
    rows, place = [], at + len(MAGIC) + NUMBER.size
    for _ in range(count):
        offset, size, length = unpack(ROW, data, place, "the list of a bundle")
        place += ROW.size
        if length > WORD or place + length > min(end, len(data)):
            raise Damaged("a damaged list of a bundle at %d" % at)
        rows.append((offset, size, bytes(data[place : place + length]).decode("ascii", "replace")))
        place += length
    return rows


def compressed(listing: Listing, data: "Bytes", at: int, end: int) -> int:
    """One compressed bundle; returns where it ends."""
    version, method = struct.unpack_from("<HH", data, at + 4) if at + 8 <= end else (0, 0)
    if version not in HEADS:
        raise Damaged("a compressed bundle of unknown version %d at %d" % (version, at))
    head = HEADS[version]
    size = unpack(head, data, at, "a compressed bundle")[3] if version > 1 else end - at
    if size < head.size or at + size > end:
        raise Damaged("a compressed bundle at %d is cut or damaged" % at)
    inner = beginning(bytes(data[at + head.size : at + min(size, head.size + LIST)]), method)
    if inner[: len(MAGIC)] != MAGIC:
        raise Damaged("a compressed bundle at %d holds no list" % at)
    bundle(listing, inner, 0, 1 << 62)
    return at + size


def beginning(data: bytes, method: int) -> bytes:
    """The first bytes of what was compressed."""
    if method == ZLIB:
        try:
            return zlib.decompressobj().decompress(data, LIST)
        except zlib.error as error:
            raise Damaged("a compressed bundle cannot be decompressed: %s" % error) from None
    if method == ZSTD:
        from torchdoctor.target.zstd_head import head

        return head(data)
    raise Damaged("a bundle is compressed in an unknown way (%d)" % method)
