"""Whether torch sees a GPU, as programs tell it: ``cuda available: False``, Lightning's ``GPU available: False``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchdoctor.patterns import lazily
from torchdoctor.readers.recogniser import Recogniser, Spot
from torchdoctor.readers.statement import Said

_ANSWER = lazily(
    r"\bcuda(?:_| is | )available\)?['\"]?\s{0,8}[:=?]{1,2}\s{0,8}(True|False|yes|no)\b"
    r"|\btorch\.cuda\.is_available(?:\(\))? (?:returns|returned|gives|says|prints|shows) (True|False)\b"
    r"|\bGPU available: (True(?= \(cuda\))|False)[^,]{0,12}, us(?:ed|ing)\b"
    r"|\bdevice['\"]?\s{0,4}[:=]\s{0,4}cpu\b.{0,20}?\bcuda['\"]?\s{0,4}[:=]\s{0,4}(False)\b",
    re.IGNORECASE,
)
_ON_THE_CPU = lazily(
    r"(?:\b(?:CUDA|GPU)s?\b(?: is| are| was)? (?:not|un) ?(?:available|found|detected)"
    r"|\bno (?:CUDA |usable |NVIDIA )?(?:GPUs?|CUDA devices?)(?: is| are| was)?(?: found| available| detected)?)"
    r"[^\w]{1,4}(?:so |will |now )?"
    r"(?:falling back (?:to|on)|(?:using|running|training|executing|working|computing)(?: \w+)?(?: on| with)?"
    r"|default(?:ing)? to|switching to|fall(?:s)? back to)(?: the)? CPU\b",
    re.IGNORECASE,
)
# A line of a program, and a sentence on what to do in such a case, are no answer.
_NO_ANSWER = lazily(
    r"\b(?:print|warn|info|debug|error|raise|echo)\w{0,8}\(|\b(?:if|when|whether|unless|in case)\b", re.IGNORECASE
)
_ASSERTED = lazily(r"\bassert\s+torch\.cuda\.is_available\(\)")
_FAILED = lazily(r"(?:\S{1,12}\s+){0,3}AssertionError\b(?!: Torch not compiled)")
_LINES_TO_FAILURE = 8


def _answer(spot: Spot) -> Iterator[Said]:
    match = _ANSWER.search(spot.text)
    if match and not _NO_ANSWER.search(spot.text):
        word = next(group for group in match.groups() if group).lower()
        yield from _said(word in {"true", "yes"}, spot)


def _on_the_cpu(spot: Spot) -> Iterator[Said]:
    match = _ON_THE_CPU.search(spot.text)
    if match and not _NO_ANSWER.search(spot.text[: match.start()]):
        yield from _said(False, spot)


def _asserted(spot: Spot) -> Iterator[Said]:
    """The assertion that there is a GPU, and below it that it failed."""
    if _ASSERTED.search(spot.text) and any(_FAILED.match(line.strip()) for line in spot.following(_LINES_TO_FAILURE)):
        yield from _said(False, spot)


def _said(answer: bool, spot: Spot) -> Iterator[Said]:
    yield Said("torch.installed", True, spot.source)
    yield Said("torch.cuda_available", answer, spot.source)


_NAMES = (
    "vailable: ",
    "vailable=",
    "vailable = ",
    "vailable? ",
    "vailable): ",
    "cuda: False",
    "cuda=False",
    "is_available() ",
    "is_available ",
)
_FALLS = ("CPU", "cpu")
RECOGNISERS = (
    Recogniser(
        r"(?i:.{0,300}?(?:available\)?['\"]?\s{0,8}[:=?]|is_available|cuda\s?[:=]\s?False))",
        _answer,
        words=_NAMES,
        keeps=True,
    ),
    Recogniser(r"(?i:.{0,300}?\bCPU\b)", _on_the_cpu, words=_FALLS, keeps=True),
    Recogniser(
        r".{0,300}?\bassert\s+torch\.cuda\.is_available", _asserted, words=("torch.cuda.is_available",), keeps=True
    ),
)
