"""Search for slow patterns: each pattern of known_errors.toml against texts built to make it run away.

usage: PYTHONPATH=. python benchmarks/patterns.py [--limit-ms 30] [--repeat 3] [ID ...]

For every pattern its own beginnings are repeated over one window, and each of its repetitions is fed for as long as the
window goes without what must follow. Prints the slowest text of each pattern above the limit; exit 1 if there is one.
"""

from __future__ import annotations

import argparse
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from torchdoctor.readers.windows import OVERLAP, STRIDE
from torchdoctor.tables import Tables

if sys.version_info >= (3, 11):
    from re import _constants as constants
    from re import _parser as parser
else:
    import sre_constants as constants
    import sre_parse as parser

DEADLINE = 0.2  # seconds of one search: what is slower runs away
SIZE = 2 * STRIDE + OVERLAP  # the longest window
FILLERS = ("a", "0", " ", ".", "/", "(", "'", '"', "-", "_", ":", "a ", "0.", "x=1, ", "\u00e9", "Error: ", "A0 ")
CATEGORIES = {"CATEGORY_DIGIT": "7", "CATEGORY_WORD": "w", "CATEGORY_SPACE": " ", "CATEGORY_NOT_SPACE": "s",
              "CATEGORY_NOT_DIGIT": "x", "CATEGORY_NOT_WORD": "-"}  # fmt: skip


class LateError(Exception):
    """A search has taken so long that there is no need to wait for its end."""


def sample(items: Any) -> str:
    """A short text that the parsed items match, roughly: enough to lead a pattern astray."""
    return "".join(_one(op, argument) for op, argument in items)


def _one(op: Any, argument: Any) -> str:
    if op in (constants.MAX_REPEAT, constants.MIN_REPEAT):
        return sample(argument[2]) * int(max(1, argument[0]))
    made: dict[object, Callable[[], str]] = {
        constants.LITERAL: lambda: chr(argument),
        constants.NOT_LITERAL: lambda: "y" if argument == ord("z") else "z",
        constants.ANY: lambda: "z",
        constants.IN: lambda: _member(argument),
        constants.SUBPATTERN: lambda: sample(argument[3]),
        constants.BRANCH: lambda: sample(argument[1][0]),
    }
    return made[op]() if op in made else ""


def _member(members: Any) -> str:
    if members[0][0] is constants.NEGATE:
        return next(char for char in "zq7 -/" if not any(_is(char, item) for item in members[1:]))
    op, argument = members[0]
    if op is constants.LITERAL:
        return chr(argument)
    return chr(argument[0]) if op is constants.RANGE else CATEGORIES.get(str(argument), "c")


def _is(char: str, item: Any) -> bool:
    op, argument = item
    if op is constants.LITERAL:
        return char == chr(argument)
    if op is constants.RANGE:
        return chr(argument[0]) <= char <= chr(argument[1])
    return char == CATEGORIES.get(str(argument))


def flat(items: Any) -> Iterator[Any]:
    """The items of a pattern in order, groups opened, branches by each of their own."""
    for item in items:
        yield item
        if item[0] is constants.SUBPATTERN:
            yield from flat(item[1][3])
        elif item[0] is constants.BRANCH:
            for branch in item[1][1]:
                yield from flat(branch)


def hostile_texts(pattern: str) -> Iterator[str]:
    """Windows that are likely to make a pattern slow."""
    items = list(flat(parser.parse(pattern)))
    for end in range(1, len(items) + 1):
        begin = sample(items[:end])
        if begin:
            yield filled(begin)
            yield filled(begin + " ")
        if items[end - 1][0] in (constants.MAX_REPEAT, constants.MIN_REPEAT):
            fed = sample(items[end - 1][1][2]) or "z"
            yield filled(begin, fed)
            for filler in FILLERS:
                yield filled(begin, filler)
                yield filled(begin + filler * 5)
    for word in re.findall(r"[A-Za-z]{3,}", pattern):
        yield filled(word)
        yield filled(word + " ")
    yield from map(filled, FILLERS)


def filled(begin: str, rest: str = "") -> str:
    """A text of one window: a beginning and then what fills it, or that beginning over and over."""
    unit = rest or begin
    return (begin if rest else "") + unit * (SIZE // len(unit))


def slowest(pattern: str, repeat: int) -> tuple[float, str]:
    """The worst time of one search in ms, and the beginning of its text."""
    compiled = re.compile(pattern)
    worst, worst_text = 0.0, ""
    for text in dict.fromkeys(text[:SIZE] for text in hostile_texts(pattern)):
        best = timed(compiled, text)
        if best >= DEADLINE * 1000:
            return best, text[:70]
        if best > worst:
            best = min([best, *(timed(compiled, text) for _ in range(repeat - 1))])
        if best > worst:
            worst, worst_text = best, text[:70]
    return worst, worst_text


def timed(compiled: re.Pattern[str], text: str) -> float:
    """Milliseconds of processor time of finding every match, at most the deadline."""
    begun = time.process_time()
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, DEADLINE)
        for _ in compiled.finditer(text):
            pass
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    except LateError:
        return DEADLINE * 1000
    return (time.process_time() - begun) * 1000


def _late(_signal: int, _frame: FrameType | None) -> None:
    raise LateError


def main() -> None:
    """Measure every pattern, or those named."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--limit-ms", type=float, default=30)
    options.add_argument("--repeat", type=int, default=3)
    options.add_argument("ids", nargs="*", metavar="ID")
    asked = options.parse_args()
    signal.signal(signal.SIGVTALRM, _late)
    times = []
    for entry in Tables().known_errors:
        if not asked.ids or entry.id in asked.ids:
            spent, text = slowest(entry.pattern, asked.repeat)
            times.append(spent)
            if spent > asked.limit_ms:
                print(f"{spent:9.1f} ms  {entry.id}: {text!r}", flush=True)
    over = sum(spent > asked.limit_ms for spent in times)
    print(
        f"{len(times)} patterns, slowest {max(times):.1f} ms, {over} above {asked.limit_ms:g} ms on {SIZE} characters"
    )
    sys.exit(bool(over))


if __name__ == "__main__":
    main()
