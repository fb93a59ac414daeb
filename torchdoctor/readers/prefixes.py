"""What programs put before every line of a log: time stamps, ranks, containers, levels, the frames of boxes."""

from __future__ import annotations

import re
import string

_MOST = 8  # prefixes stand behind one another: a container's, a stamp, a rank, a level
_LEVEL = r"(?:DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL)"
_DAY = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?"
_OTHER_DAY = r"\d\d/\d\d/\d\d \d\d:\d\d:\d\d"
_HOST = r"(?:[\w.-]{1,64}|<host[\d-]{0,6}>)"  # which may have been taken out already
_SYSLOG = rf"[A-Z][a-z]{{2}} [ \d]\d \d\d:\d\d:\d\d {_HOST} (?=[\w./@()-]{{1,60}}(?:\[\d{{1,8}}\])?: )"
_LOGGER = rf"[\w.-]{{1,60}} - {_LEVEL} - "  # logging's usual configuration, behind its stamp
_FRAMES = "\u2502\u2503\u2551"

_DIGIT = (rf"{_DAY}(?:\s-\s(?:{_LOGGER})?| \|\s|\s(?:\d\d[OE][ +])?)",)
_SQUARE = (
    rf"\[(?:{_DAY}|{_OTHER_DAY}|\d\d:\d\d:\d\d)\]\s+(?:{_LEVEL}\s{{1,8}}(?=\S))?",
    rf"\[{_LEVEL}\]\s+",
    r"\[(?:rank|default|trainer|worker|Rank )\s?\d{1,5}(?:\|\d{1,5})?\]:?\s?",  # torchrun
    r"\[\d{1,4},(?:\d{1,5}|mpirank:\d{1,5},[\w.-]{1,40})\]<std(?:out|err)>:\s?",  # mpirun, SageMaker
    r"\[pod/[\w./-]{1,160}\]\s",
)
_ROUND = (
    r"\((?:[\w.<>:-]{1,60},? )?(?:rank=\d{1,5},? )?pid=\d{1,8}(?:, ip=[\d.]{1,40})?\)\s?",  # vLLM, Ray, SkyPilot
)
_NUMBER_SIGN = (r"#\d{1,4} \d{1,6}\.\d{1,4} ",)  # BuildKit
_BLANK = (rf"\s{{0,12}}[{_FRAMES}](?:\s|$)", r"(?:\s{0,12}>(?!>) ?)+")  # a box; quoted in a mail or an issue
_JOB = (rf"[^\t]{{1,80}}\t[^\t]{{1,80}}\t(?={_DAY})",)  # gh run view --log
_COMPOSE = (r"[a-z0-9][\w.-]{0,60}[-_]\d{1,3}\s{1,20}\| ",)  # docker compose
_CAPITAL = (
    rf"{_LEVEL} \d\d-\d\d \d\d:\d\d:\d\d \[?[\w./-]{{1,60}}:\d{{1,6}}\]\s",  # vLLM
    rf"{_LEVEL}\s*\| [\w.:<>]{{1,80}} - ",  # loguru
    rf"{_LEVEL}:[\w.]{{1,60}}:(?!\s*$)",  # logging without a configuration
    rf"{_SYSLOG}(?:(?!kernel)[\w./@()-]{{1,60}}(?:\[\d{{1,8}}\])?: )?",
)


def _any(*words: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{word})" for word in words))


_BLANKS = _any(*_BLANK)
_STARTS: tuple[tuple[str, re.Pattern[str]], ...] = (
    (string.digits, _any(*_DIGIT, *_COMPOSE)),
    ("[", _any(*_SQUARE)),
    ("(", _any(*_ROUND)),
    ("#", _any(*_NUMBER_SIGN)),
    (f" \t>{_FRAMES}", _BLANKS),
    (string.ascii_lowercase, _any(*_COMPOSE, *_JOB)),
    (string.ascii_uppercase, _any(*_CAPITAL, *_JOB)),
)
_BY_START = {start: pattern for starts, pattern in _STARTS for start in starts}
_FRAME_END = re.compile(rf"\s*[{_FRAMES}]\s*$")

# Whether a line may have a prefix at all: most lines of a long log have none, and this says so in one look.
may_have_prefix = re.compile(
    rf"[\d\[(#>{_FRAMES}]|\s{{1,12}}[>{_FRAMES}]"
    rf"|{_LEVEL}[ :|]|[A-Z][a-z]{{2}} [ \d]\d \d\d:"
    r"|[a-z][\w.-]{0,60}\s{1,20}\| |[^\t]{1,80}\t[^\t]{1,80}\t\d{4}-"
).match


def without_prefix(line: str) -> str:
    """A line without what a logger, a launcher, a container or a frame put before it."""
    framed = False
    for _ in range(_MOST):
        pattern = _BY_START.get(line[:1])
        match = pattern.match(line) if pattern else None
        if not match:
            break
        framed = framed or (pattern is _BLANKS and match[0].strip() in _FRAMES)
        line = line[match.end() :]
    return _FRAME_END.sub("", line) if framed else line
