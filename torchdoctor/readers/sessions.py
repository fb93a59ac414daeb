"""What people typed at a prompt and the answer below: ``>>> torch.__version__``, ``python -c "..."``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import takewhile

from torchdoctor.facts import Gpu
from torchdoctor.patterns import lazily
from torchdoctor.readers.document import command_of
from torchdoctor.readers.gpu_words import named_gpu, vendor_of
from torchdoctor.readers.recogniser import Recogniser, Spot
from torchdoctor.readers.statement import Said
from torchdoctor.readers.torch_words import torch_said
from torchdoctor.values import CudaVersion, GpuArch

_CALLS = r"cuda\.(?:is_available|get_arch_list|get_device_name|get_device_capability)"
_NAMES = rf"__version__|__file__|version\.(?:cuda|hip)|{_CALLS}"
_EXPRESSION = lazily(rf"torch\.({_NAMES})(?:\s*\(\s*(?:\d|[\"']?cuda(?::\d)?[\"']?)?\s*\))?")
_BESIDE = lazily(r"\s*(?:[:=]|->|#)?\s*(\S.{0,2000})$")
_OUT = lazily(r"Out\s?\[\d+\]:\s*")
_NAME = "cuda.get_device_name"
_WORD = lazily(r"\[[^\]]{0,2000}\]|\([^)]{0,40}\)|\S+")
_ARCHES = lazily(r"\[((?:'(?:(?:sm|compute)_\d{2,3}[af]?|gfx\w{3,12})'(?:, )?){1,40})\]")
_PAIR = lazily(r"\((\d{1,2}), (\d)\)")
_TUPLE = lazily(r"\(((?:'[^']{0,120}'|\([^()]{0,40}\)|\[[^\[\]]{0,2000}\]|[^\s,'()\[\]]{1,80})(?:, |\)$)){2,9}")
_ITEM = lazily(r"('[^']{0,120}'|\([^()]{0,40}\)|\[[^\[\]]{0,2000}\]|[^\s,'()\[\]]{1,80})(?:, |\)$)")
_AS_ROOT = lazily(r"(?:^|[$#%>;&|]\s{0,4})\s*(?:sudo|doas)\s(?!(?:.{0,60}?\s)?-u\s?(?!root\b|0\b))")
_WINDOW = 5  # lines in which an answer may follow: a warning may stand between


def _typed(spot: Spot) -> Iterator[Said]:
    """Each expression on the line with its part of the answer."""
    matches = list(_EXPRESSION.finditer(spot.text))
    if not matches or _AS_ROOT.search(spot.text[: matches[0].start()]):  # what root sees others may not
        return
    names = [match[1] for match in matches]
    answers = list(_answers(spot, spot.text[matches[-1].end() :]))
    for answer in answers:
        said = list(_pair_up(names, answer, spot.source))
        if said:
            yield from said
            return
    yield from _line_by_line(_printed(spot.text, matches), answers, spot.source)


def _answers(spot: Spot, rest: str) -> Iterator[str]:
    """Where the answer may stand: behind the expression, or on the next lines up to the next prompt."""
    if (match := _BESIDE.match(rest)) and rest.strip()[0] not in ")\"';,":
        yield match[1]
    lines = (line.strip() for line in spot.following(_WINDOW))
    yield from (_OUT.sub("", line) for line in takewhile(lambda line: not command_of(line), lines) if line)


def _printed(text: str, matches: list[re.Match[str]]) -> list[list[str]]:
    """The expressions of each statement of a command: every print has a line of its own."""
    groups: dict[int, list[str]] = {}
    for match in matches:
        groups.setdefault(text.count("print(", 0, match.start()), []).append(match[1])
    return list(groups.values())


def _line_by_line(groups: list[list[str]], answers: list[str], source: str) -> Iterator[Said]:
    """The answers of several statements, the first of them below warnings at most."""
    for start in range(len(answers) - len(groups) + 1 if len(groups) > 1 else 0):
        said = [list(_pair_up(names, answers[start + place], source)) for place, names in enumerate(groups)]
        if all(said):
            yield from (item for items in said for item in items)
            return


def _pair_up(names: list[str], answer: str, source: str) -> Iterator[Said]:
    words = [answer] if len(names) == 1 else _items(answer) or _WORD.findall(answer)
    if names[-1] == _NAME and len(words) > len(names):  # a name of several words, printed last
        words[len(names) - 1 :] = [" ".join(words[len(names) - 1 :])]
    if len(words) == len(names):
        for name, word in zip(names, words, strict=True):
            yield from _READERS[name](word.strip().strip("'\"`"), source)


def _items(answer: str) -> list[str]:
    """What a prompt echoes for several expressions: a tuple."""
    return _ITEM.findall(answer[1:]) if _TUPLE.fullmatch(answer) else []


def _cuda(answer: str, source: str) -> Iterator[Said]:
    try:
        cuda = None if answer == "None" else CudaVersion.parse(answer)
    except ValueError:
        return
    yield Said("torch.installed", True, source)
    yield Said("torch.cuda", cuda, source)


def _hip(answer: str, source: str) -> Iterator[Said]:
    if answer == "None" or re.fullmatch(r"\d+\.\d+[\w.-]{0,40}", answer):
        yield Said("torch.hip", None if answer == "None" else answer, source)


def _available(answer: str, source: str) -> Iterator[Said]:
    if answer in {"True", "False"}:
        yield Said("torch.installed", True, source)
        yield Said("torch.cuda_available", answer == "True", source)


def _arch_list(answer: str, source: str) -> Iterator[Said]:
    if match := _ARCHES.match(answer):
        yield Said("torch.arch_list", tuple(word.strip("'") for word in match[1].split(", ")), source)


def _device_name(answer: str, source: str) -> Iterator[Said]:
    if vendor_of(answer) and len(answer) < 100:  # noqa: PLR2004 - no GPU has a longer name
        yield Said("gpus", (named_gpu(answer, driver_sees=True),), source)


def _capability(answer: str, source: str) -> Iterator[Said]:
    if match := _PAIR.fullmatch(answer):
        arch = GpuArch(int(match[1]), int(match[2]))
        yield Said("gpus", (Gpu(vendor="nvidia", compute_capability=arch, driver_sees=True),), source)


def _file(answer: str, source: str) -> Iterator[Said]:
    if re.fullmatch(r"(?:/|[A-Za-z]:\\).{1,400}[\\/]torch[\\/]__init__\.py", answer):
        yield Said("torch.installed", True, source)
        yield Said("torch.locations", (answer[: -len("/__init__.py")],), source)
        if answer[0] != "/":
            yield Said("os.name", "windows", source)


_READERS: Mapping[str, Callable[[str, str], Iterator[Said]]] = {
    "__version__": torch_said,
    "version.cuda": _cuda,
    "version.hip": _hip,
    "cuda.is_available": _available,
    "cuda.get_arch_list": _arch_list,
    "cuda.get_device_name": _device_name,
    "cuda.get_device_capability": _capability,
    "__file__": _file,
}

_WORDS = ("torch.__", "torch.version.", "torch.cuda.is_available", "torch.cuda.get_")
RECOGNISERS = (Recogniser(rf".{{0,200}}?\btorch\.(?:{_NAMES})", _typed, words=_WORDS, keeps=True),)
