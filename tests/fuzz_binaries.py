"""Mutate libraries and read them: nothing may crash, hang or take much memory, and every refusal has words.

usage: PYTHONPATH=.:tests python tests/fuzz_binaries.py --count 10000 --seed 1 [--real FILE...] [--keep DIR]

Every input is made of the seed and its number alone, so ``--first N --count 1`` repeats it. ``--real`` adds libraries
to mutate. Exit 1 when anything failed; ``--keep`` saves those inputs.
"""

from __future__ import annotations

import argparse
import resource
import signal
import struct
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any, NamedTuple

from binary_files import bundle, elf, entry, fatbin, fatbin_of, fatbins, packed_bundle, pe, together

from torchdoctor.target.binary import Damaged
from torchdoctor.target.code_of import code_of
from torchdoctor.target.elf import read_elf
from torchdoctor.target.pe import read_pe

DEADLINE = 2.0  # seconds of processor time for one input: a busy machine is no fault
REAL = Path(__file__).parent / "data" / "fatbins"
MAGICS = (b"\x7fELF", b"MZ", b"PE\0\0", b"\x50\xed\x55\xba", b"__CLANG_OFFLOAD_BUNDLE__", b"CCOB", b"MTLB")
EXTREMES = (
    0, 1, 2, 3, 7, 8, 15, 16, 63, 64, 127, 128, 255, 256, 4095, 4096, 65535, 1 << 31, (1 << 31) - 1, (1 << 32) - 1,
    1 << 32, 1 << 40, 1 << 62, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, (1 << 64) - 8,
)  # fmt: skip
READERS: tuple[Callable[[str], Any], ...] = (code_of, read_elf, read_pe)
MOST_MEMORY = 300  # MiB at its height, of which Python itself takes a tenth


class LateError(BaseException):
    """The deadline of one input has passed. No ``Exception``: nothing on the way may swallow it."""


class Failure(NamedTuple):
    """What went wrong with an input."""

    kind: str  # crash, time-out, silent
    where: str


def seeds(real: Sequence[Path] = ()) -> list[bytes]:
    """Libraries of every shape, small enough to be mutated in many places."""
    needs = {"libstdc++.so.6": ["GLIBCXX_3.4.32"], "libc.so.6": ["GLIBC_2.28", "GLIBC_2.2.5"]}
    code = fatbins(["sm_80", "sm_90a", "compute_80"], ["sm_120f", "lto_90"])
    mixed = fatbin_of(together("sm_75", "sm_120f"), entry("sm_80", compressed="zstd")) + bytes(24) + fatbin("sm_90")
    hip = bundle("gfx90a:xnack-", "gfx942")
    made = [
        *(elf(code, needed=["libcudart.so.13"], soname="libx.so", rpath="$ORIGIN", needs=needs, defines=["X_1"],
              bits=bits, order=order, exec_stack=True) for bits in (64, 32) for order in "<>"),
        elf({".nv_fatbin": mixed, "__nv_relfatbin": fatbin("compute_90") * 3}),
        elf({".hip_fatbin": hip + bytes(32) + packed_bundle(hip) + packed_bundle(hip, version=3)}),
        elf({".hip_fatbin": packed_bundle(hip, version=1)}),
        *(elf({".hip_fatbin": _with_zstd(path.read_bytes())}) for path in REAL.glob("*.zst")),
        pe({".nv_fatb": mixed}, imports=["c10.dll", "MSVCP140.dll"], delayed=["cupti.dll"], version=(14, 38, 33135, 0)),
        pe({".nv_fatb": fatbin("sm_86")}, imports=["a.dll"], delayed=["b.dll"], version=(1, 2, 3, 4), wide=False),
        mixed,
    ]  # fmt: skip
    return made + [path.read_bytes()[: 1 << 20] for path in (*sorted(REAL.glob("scale*")), *real)]


def _with_zstd(frame: bytes) -> bytes:
    return b"CCOB" + struct.pack("<HHIIQ", 2, 1, 24 + len(frame), 1, 7) + frame


def mutated(data: bytes, others: Sequence[bytes], random: Random) -> bytes:
    """One to eight changes: bits, numbers, cuts, repeats, pieces of another library."""
    changed = bytearray(data)
    for _ in range(random.randint(1, 8)):
        if not changed:
            break
        random.choice(CHANGES)(changed, others, random)
    return bytes(changed)


def _place(data: bytearray, random: Random) -> int:
    """Anywhere, more often in the head, where most of the numbers are, or behind a magic."""
    kind = random.randrange(4)
    if kind == 0:
        return random.randrange(min(len(data), 512))
    at = data.find(random.choice(MAGICS), random.randrange(len(data))) if kind == 1 else -1
    return min(len(data) - 1, at + random.randrange(96)) if at >= 0 else random.randrange(len(data))


def _bit(data: bytearray, _others: Sequence[bytes], random: Random) -> None:
    data[_place(data, random)] ^= 1 << random.randrange(8)


def _number(data: bytearray, _others: Sequence[bytes], random: Random) -> None:
    size = random.choice((2, 4, 8))
    at = _place(data, random) // size * size
    value = random.choice((random.choice(EXTREMES), random.getrandbits(8 * size), len(data) + random.randint(-16, 16)))
    data[at : at + size] = struct.pack("<Q", value % (1 << 64))[:size]


def _cut(data: bytearray, _others: Sequence[bytes], random: Random) -> None:
    del data[_place(data, random) :]


def _removed(data: bytearray, _others: Sequence[bytes], random: Random) -> None:
    at = _place(data, random)
    del data[at : at + random.randint(1, 64)]


def _repeated(data: bytearray, _others: Sequence[bytes], random: Random) -> None:
    at = _place(data, random)
    data[at:at] = bytes(data[at : at + random.randint(1, 256)]) * random.choice((1, 1, 1, 50))


def _piece(data: bytearray, others: Sequence[bytes], random: Random) -> None:
    other = random.choice(others)
    start = random.randrange(len(other))
    at = _place(data, random)
    piece = other[start : start + random.randint(1, 512)]
    data[at : at + random.choice((0, len(piece)))] = piece


def _magic(data: bytearray, _others: Sequence[bytes], random: Random) -> None:
    at, magic = _place(data, random), random.choice(MAGICS)
    data[at : at + len(magic)] = magic


CHANGES = (_bit, _number, _number, _number, _cut, _removed, _repeated, _piece, _magic)


def inputs(count: int, seed: int, first: int, known: Sequence[bytes]) -> Iterator[tuple[int, bytes]]:
    """The mutated libraries with their numbers."""
    for number in range(first, first + count):
        random = Random(f"{seed} {number}")  # noqa: S311 - to be repeatable, not secret
        yield number, mutated(random.choice(known), known, random)


def failure_of(path: Path, outcomes: Counter[str]) -> Failure | None:
    """What goes wrong when a file is read by every reader; None where all of them answer or refuse in words."""
    return next(filter(None, (_failure_in(reader, path, outcomes) for reader in READERS)), None)


def _failure_in(reader: Callable[[str], Any], path: Path, outcomes: Counter[str]) -> Failure | None:
    try:
        found = reader(str(path))
        outcomes["nothing there" if found is None else "damaged within" if found.get("error") else "read"] += 1
    except Damaged as damage:
        outcomes["refused"] += 1
        return None if str(damage) else Failure("silent", reader.__name__)
    except LateError:
        return Failure("time-out", reader.__name__)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is what is looked for
        where = traceback.extract_tb(error.__traceback__)[-1]
        return Failure("crash", f"{type(error).__name__} {where.name}:{where.lineno} {error}")
    return None


def late(_number: int, _frame: FrameType | None) -> None:
    """What the system's timer calls."""
    raise LateError


def run(count: int, seed: int, first: int = 0, real: Sequence[Path] = (), keep: Path | None = None) -> Counter[str]:
    """Read every input; returns the outcomes, failures under their kind."""
    known, outcomes = seeds(real), Counter[str]()
    signal.signal(signal.SIGVTALRM, late)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "library.so"
        for number, data in inputs(count, seed, first, known):
            path.write_bytes(data)
            signal.setitimer(signal.ITIMER_VIRTUAL, DEADLINE)
            try:
                failure = failure_of(path, outcomes)
            finally:
                signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            if failure:
                outcomes[f"FAILED {failure.kind}"] += 1
                print(f"input {number}: {failure.kind}: {failure.where}")  # noqa: T201 - a script
                if keep:
                    (keep / f"input-{seed}-{number}").write_bytes(data)
    return outcomes


def main() -> int:
    """Read the options, run, tell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--real", type=Path, nargs="*", default=[])
    parser.add_argument("--keep", type=Path)
    given = parser.parse_args()
    start = time.monotonic()
    outcomes = run(given.count, given.seed, given.first, given.real, given.keep)
    height = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    took = f"{time.monotonic() - start:.1f} s, {height} MiB"
    print(f"{given.count} inputs in {took}: {dict(outcomes)}")  # noqa: T201 - a script
    return int(height > MOST_MEMORY or any(name.startswith("FAILED") for name in outcomes))


if __name__ == "__main__":
    sys.exit(main())
