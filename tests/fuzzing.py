"""Mutate real inputs and diagnose them in this process: nothing may crash, hang, or reach a terminal unescaped.

usage: PYTHONPATH=. python tests/fuzzing.py --count 1000000 --seed 1 [--whole 16] [--keep DIR]

Every input is read to facts; one in ``--whole`` is checked and rendered as well. An input is made of the seed and its
number alone, so ``--first N --count 1`` repeats it. Exit 1 when anything failed; ``--keep`` saves those inputs.
"""

from __future__ import annotations

import argparse
import io
import json
import re
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from types import FrameType
from typing import NamedTuple

from torchdoctor.facts import Request
from torchdoctor.pipeline import examine
from torchdoctor.prescribe.writing import Writing
from torchdoctor.readers.texts import BadInputError, load_text
from torchdoctor.reading import facts_of
from torchdoctor.recording import Recording
from torchdoctor.render import json_v1, text
from torchdoctor.tables import Tables

HERE = Path(__file__).parent
DEADLINE = 5.0  # seconds of processor time for one input: a busy machine is no fault
MOST = 4096  # bytes of nearly every input: small ones find as much and are many
RARELY = 2000  # one input in so many is long
REPORT_EVERY = 20_000
SUFFIXES = {".txt", ".log", ".json"}
REPAIRED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]|^\s*::|##(?:\[|vso\[|teamcity\[)", re.MULTILINE)
HOSTILE = (
    b"\x1b[2J\x1b]0;title\x07", b"\x1b]8;;http://x\x1b\\", b"\x1b[", b"\x9b31m", b"\r", b"\r\n", b"\x00", b"\xff\xfe",
    b"\xef\xbb\xbf", b"\xc2\x85", b"\xe2\x80\xa8", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"::error file=a::b\n",
    b"\n::set-output name=a::b\n", b"##[error]x", b"##vso[task.setvariable variable=a]b", b"<script>", b"{x}", b"{0!r}",
    b"%s%n", b"\xd9\xa3\xd9\xa4", b"\xef\xbc\x91", b"\xc2\xb2", b"\xe0\xa5\xa7", b"9" * 40, b"9" * 5000, b"-1",
    b"0", b"1e999", b"nan", b"inf", b"99.99.99", b"0.0", b"2.", b"..", b"+", b"None", b"N/A", b"[Not Supported]",
    b"(" * 60, b"[" * 60, b"|", b"`", b"'", b'"', b"\t", b" " * 300, b"\n" * 50, b"sm_999", b"gfx", b"cu0", b"cu999",
)  # fmt: skip
FIRST_WORDS = ("RuntimeError: ", "torch==", "PyTorch version: ", "Driver Version: ", "FROM ", "[pip3] ", "GPU 0: ")


class Failure(NamedTuple):
    """What went wrong with an input."""

    kind: str  # crash, time-out, check, output
    where: str


class LateError(BaseException):
    """The deadline of one input has passed. No ``Exception``: nothing on the way may swallow it."""


def seeds() -> list[bytes]:
    """Every text among the tests' data and cases."""
    folders = (HERE / "data", HERE / "cases")
    paths = sorted(path for folder in folders for path in folder.rglob("*") if path.suffix in SUFFIXES)
    return [data for path in paths if (data := path.read_bytes()[: 64 * 1024])]


def _flip(data: bytearray, draw: Random) -> bytearray:
    for _ in range(draw.randint(1, 8)):
        data[draw.randrange(len(data))] = draw.randrange(256)
    return data


def _cut(data: bytearray, draw: Random) -> bytearray:
    start = draw.randrange(len(data))
    del data[start : start + draw.randint(1, 1 + len(data) // 2)]
    return data


def _repeat(data: bytearray, draw: Random) -> bytearray:
    start = draw.randrange(len(data))
    piece = data[start : start + draw.randint(1, 200)]
    return data[:start] + piece * draw.randint(2, 40) + data[start:]


def _insert(data: bytearray, draw: Random) -> bytearray:
    place = draw.randrange(len(data))
    return data[:place] + draw.choice(HOSTILE) + data[place:]


def _shuffle(data: bytearray, draw: Random) -> bytearray:
    lines = data.split(b"\n")
    draw.shuffle(lines)
    return bytearray(b"\n".join(lines))


def _twice(data: bytearray, draw: Random) -> bytearray:
    lines = data.split(b"\n")
    place = draw.randrange(len(lines))
    lines[place:place] = [draw.choice(lines)] * draw.randint(1, 4)
    return bytearray(b"\n".join(lines))


def _number(data: bytearray, draw: Random) -> bytearray:
    places = [match.span() for match in re.finditer(rb"\d+", data)]
    if places:
        start, end = draw.choice(places)
        data[start:end] = draw.choice((b"", b"0", b"-1", b"99999999999", b"9" * 400, b"x", b"1.", b"08"))
    return data


def _encode(data: bytearray, draw: Random) -> bytearray:
    encoding = draw.choice(("utf-16", "utf-16-le", "utf-16-be", "latin-1", "utf-8-sig", "utf-32"))
    return bytearray(data.decode("utf-8", "replace").encode(encoding, "replace"))


def _word(data: bytearray, draw: Random) -> bytearray:
    return bytearray(draw.choice(FIRST_WORDS).encode()) + data


MUTATIONS: tuple[Callable[[bytearray, Random], bytearray], ...] = (
    _flip, _cut, _repeat, _insert, _insert, _shuffle, _twice, _number, _number, _word,
)  # fmt: skip


def mutated(pool: list[bytes], draw: Random) -> bytes:
    """One input: a stretch of a seed, or of two, changed a few times."""
    data = _stretch(pool, draw)
    if not draw.randrange(4):
        data += _stretch(pool, draw)
    for _ in range(draw.randint(1, 4)):
        data = draw.choice(MUTATIONS)(data or bytearray(b" "), draw)[:MOST]
    if not draw.randrange(25):
        data = _encode(data, draw)
    if not draw.randrange(RARELY):
        data = data * draw.randint(2, 200)
    return bytes(data)


def _stretch(pool: list[bytes], draw: Random) -> bytearray:
    seed = draw.choice(pool)
    size = draw.choice((200, 600, 1500))
    start = draw.randrange(max(1, len(seed) - size // 2))
    return bytearray(seed[start : start + size])


def _late(_signal: int, _frame: FrameType | None) -> None:
    raise LateError


def failures_of(data: bytes, tables: Tables, *, whole: bool) -> Iterator[Failure]:
    """Read an input, or diagnose it wholly, and tell what went wrong; at most one crash, any number of the rest."""
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGVTALRM, _late)
        signal.setitimer(signal.ITIMER_VIRTUAL, DEADLINE)
    try:
        yield from _diagnosed(data, tables) if whole else _read(data, tables)
    except BadInputError:
        return
    except LateError:
        yield Failure("time-out", _place())
    except Exception:  # noqa: BLE001 - every crash is what we look for
        yield Failure("crash", _place())
    finally:
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def _read(data: bytes, tables: Tables) -> Iterator[Failure]:
    facts_of(Recording(texts=(load_text(io.BytesIO(data), "input"),)), tables, Request())
    yield from ()


def _diagnosed(data: bytes, tables: Tables) -> Iterator[Failure]:
    pasted = load_text(io.BytesIO(data), "input")
    report = examine(Recording(texts=(pasted,)), tables, Request(), Writing())
    for outcome in report.outcomes:
        if outcome.outcome == "crashed":
            yield Failure("check", f"{outcome.id}: {outcome.reason[:160]}")
    json.loads(json_v1.render(report))
    for line in text.render(report, 1):
        if wrong := REPAIRED.search(line.text):
            yield Failure("output", f"{wrong[0]!r} in {line.text[:60]!r}")


def _place() -> str:
    kind, error, trace = sys.exc_info()
    frames = [frame for frame in traceback.extract_tb(trace) if "torchdoctor" in frame.filename]
    places = " < ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in reversed(frames[-4:]))
    return f"{kind.__name__ if kind else ''}: {str(error)[:100]} at {places}"


def say(line: str) -> None:
    """Tell at once: a run takes an hour."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    """Run, say what was seen now and then, and leave with 1 when anything failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first input")
    parser.add_argument("--whole", type=int, default=16, help="one input in so many is checked and rendered too")
    parser.add_argument("--keep", type=Path, help="folder for the inputs that failed")
    options = parser.parse_args()
    tables, pool, seen = Tables(), seeds(), Counter[Failure]()
    begun = time.monotonic()
    for number in range(options.first, options.first + options.count):
        data = mutated(pool, Random(options.seed * 1_000_000_007 + number))  # noqa: S311 - a sample, no secret
        for failure in failures_of(data, tables, whole=not number % options.whole):
            if failure not in seen:
                say(f"input {number}: {failure.kind}: {failure.where}")
                if options.keep:
                    options.keep.mkdir(parents=True, exist_ok=True)
                    (options.keep / f"{options.seed}-{number}.bin").write_bytes(data)
            seen[failure] += 1
        if not (number + 1) % REPORT_EVERY:
            say(f"{number + 1} inputs, {time.monotonic() - begun:.0f} s, {sum(seen.values())} failures")
    count = Counter(failure.kind for failure in seen.elements())
    say(f"{options.count} inputs in {time.monotonic() - begun:.0f} s: {dict(count) or 'no failure'}")
    sys.exit(bool(seen))


if __name__ == "__main__":
    main()
