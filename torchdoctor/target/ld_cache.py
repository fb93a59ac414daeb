"""Where the loader of a Linux looks by itself: its cache, its own folders, and the subfolders for this processor."""

import os
import struct

from torchdoctor.target.paths import CACHE, SMALL, read, real, unique, walk

MYPY = False
if MYPY:
    from collections.abc import Iterator

LIMIT = 64 * 1024 * 1024
MAGIC = b"glibc-ld.so.cache1.1"
OLD, OLD_ENTRY = b"ld.so-1.7.0\0", 12
HEAD, ENTRY = struct.Struct("II"), struct.Struct("iIIIQ")
HEAD_SIZE, EXTENDED = 48, 1 << 62  # a processor's subfolder is told by a number beside this bit, and by the path
MOST = 200000
# The sets of instructions that a level asks for, as /proc/cpuinfo spells them; each asks for those before it too.
LEVELS = (
    ("x86-64-v2", "cx16 lahf_lm popcnt sse4_1 sse4_2 ssse3"),
    ("x86-64-v3", "avx avx2 bmi1 bmi2 f16c fma abm movbe xsave"),
    ("x86-64-v4", "avx512f avx512bw avx512cd avx512dq avx512vl"),
)
SUBFOLDERS = "/glibc-hwcaps/"


def levels() -> "list[str]":
    """The subfolders below glibc-hwcaps that this processor may use, best first."""
    try:
        lines = read("/proc/cpuinfo", SMALL * 2).splitlines()
    except OSError:
        return []
    flags = next((set(line.split()) for line in lines if line.startswith("flags")), set())  # type: set[str]
    found = []  # type: list[str]
    for name, words in LEVELS:
        if not flags.issuperset(words.split()):
            break
        found.insert(0, name)
    return found


def cache(supported: "list[str]") -> "dict[str, list[str]]":
    """The paths of each name in the loader's cache, best first; empty without a cache of the form since glibc 2.2."""
    try:
        with open(real(CACHE), "rb") as handle:
            data = handle.read(LIMIT)
    except OSError:
        return {}
    found = {}  # type: dict[str, list[tuple[int, str]]]
    for name, path, extended in entries(data, start(data)):
        rank = standing(path, extended, supported)
        if rank >= 0:
            found.setdefault(name, []).append((rank, path))
    return {name: [path for _, path in sorted(rows, key=lambda row: row[0])] for name, rows in found.items()}


def start(data: bytes) -> int:
    """Where the new form begins: at once, or behind entries of the old one; -1: nowhere."""
    if data.startswith(MAGIC):
        return 0
    if not data.startswith(OLD) or len(data) < len(OLD) + 4:
        return -1
    (count,) = struct.unpack_from("I", data, len(OLD))
    at = len(OLD) + 4 + count * OLD_ENTRY
    at += -at % 8
    return at if data[at : at + len(MAGIC)] == MAGIC else -1


def entries(data: bytes, at: int) -> "Iterator[tuple[str, str, bool]]":
    """Name, path, and whether it is for certain processors; an entry for a platform of old glibc is left out."""
    if at < 0 or at + HEAD_SIZE > len(data):
        return
    count, _ = HEAD.unpack_from(data, at + len(MAGIC))
    for number in range(min(count, MOST)):
        place = at + HEAD_SIZE + number * ENTRY.size
        if place + ENTRY.size > len(data):
            return
        _, name, path, _, processors = ENTRY.unpack_from(data, place)
        if not processors or processors & EXTENDED:
            yield word(data, at + name), word(data, at + path), bool(processors)


def word(data: bytes, at: int) -> str:
    """The text that ends with a zero."""
    end = data.find(b"\0", at, at + 4096)
    return data[at:end].decode("utf-8", "replace") if 0 <= at < end else ""


def standing(path: str, extended: bool, supported: "list[str]") -> int:
    """How soon it is taken: the better the processor is used, the sooner; -1: not on this processor."""
    if not extended:
        return len(supported)
    level = path.partition(SUBFOLDERS)[2].partition("/")[0]
    return supported.index(level) if level in supported else -1


def own_folders(libc: str) -> "list[str]":
    """The folders that the loader searches last, by where its C library lies: every distribution has its own."""
    folder = os.path.dirname(libc)
    inner = folder[4:] if folder.startswith("/usr/") else folder
    if not inner.startswith("/lib"):
        return [folder] if folder else ["/lib", "/usr/lib"]
    more = ["/lib", "/usr/lib"] if inner.count("/") > 1 else []
    return unique([inner, "/usr" + inner] + more)


def musls_folders(machine: str) -> "list[str]":
    """The folders that musl searches: it has no cache, one file names them."""
    for path in walk("/etc/ld-musl-" + machine + "*.path"):
        try:
            return [word for word in read(path, SMALL).replace("\n", ":").split(":") if word]
        except OSError:
            break
    return ["/lib", "/usr/local/lib", "/usr/lib"]
