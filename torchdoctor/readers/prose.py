"""Short descriptions in free words: "Jetson Xavier NX, JetPack 5.1.2", "I'm using Windows with WSL1".

Only short texts are read so, only their lines that are no part of a log, and a fact counts only when all of them agree.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from torchdoctor.patterns import lazily
from torchdoctor.readers.document import Document
from torchdoctor.readers.gpu_words import named_gpu
from torchdoctor.readers.platform_words import distribution_said, platform_said, python_said
from torchdoctor.readers.statement import Said
from torchdoctor.readers.torch_words import torch_said
from torchdoctor.values import DriverVersion, canonical_machine

_SHORT_TEXT = 40  # lines: a longer text is a log
_SHORT_LINE = 140
_LONG_LINE = 600
_LOG = lazily(
    r"Error\b|ERROR\b|\.whl\b|Exception|Warning|Traceback|^\s*File \"|^\s+at |https?://|\bFATAL|==|[{}]|->|=>"
    r"|compared|tried|tested|works on|built for|you have|requires|ninstall|existing installation|candidates|"
    r"[A-Za-z]:\\|^\s*[#$>]|\"\"\"|^\s*\[|\bpip\b|\bimport\b|\bWARNING|\bINFO\b|command not found|\bnot found\b"
)
_DISTRIBUTION = lazily(
    r"\b((?:Ubuntu|Debian GNU/Linux|Debian|Fedora(?: Linux)?|CentOS(?: Linux)?|Rocky Linux|AlmaLinux"
    r"|Amazon Linux|RHEL|openSUSE Leap)\s+"
    r"(?:\w+ \(\d{1,2}(?:\.\d{1,2})?\)|\d{1,4}(?:\.\d{1,2})?(?: LTS)?))"
)
_WINDOWS = lazily(r"\b(?:Windows|windows)\s?(?:10|11|Server)?\b")
_MAC = lazily(
    r"\b(?:macos-\d\d|macOS|Mac ?OS X|MacBook|Mac ?[Mm]ini|iMac|Mac (?:Studio|Pro|M[1-9])|Intel Mac|Apple M[1-9]"
    r"|Darwin \d\d\.\d)\b"
)
_MAC_INTEL = lazily(r"\bIntel Mac\b|\b(?:MacBook|iMac|Mac)\b.{0,30}\bIntel\b")
_MAC_ARM = lazily(r"\b(?:MacBook|iMac|Mac)\b.{0,30}\bM[1-9]\b|\bApple (?:[Ss]ilicon|M[1-9])\b")
_MAC_CHIP = lazily(r"\bM[1-9](?: (?:Pro|Max|Ultra)\b)?")
_WSL = lazily(r"(?<!no )(?<!not )(?<!without )\bWSL ?([12])\b(?!\.)")
_MACHINE = lazily(r"\b(x86_64|aarch64|arm64)\b")
_JETSON = lazily(r"\b(Jetson (?i:Nano|TX[12]|(?:AGX )?(?:Xavier|Orin|Thor)(?: (?:NX|Nano|AGX))?))\b")
_JETPACK = lazily(r"\b[Jj]et[Pp]ack (\d\.\d(?:\.\d)?)\b")
_L4T = lazily(r"\bL4T [rR]?(\d{2}\.\d{1,2}(?:\.\d{1,2})?)\b")
_GPU = lazily(
    r"\b(NVIDIA [A-Z]{1,2}\d{1,3}[A-Z]{0,2}\b(?:-[A-Z]+\d?-\d+GB)?|(?:NVIDIA )?(?:GeForce )?[RG]TX ?(?:PRO )?\d{3,4}"
    r"(?: ?T[Ii]| SUPER)*(?: Laptop GPU)?"
    r"|(?:AMD )?(?:Radeon(?:\(TM\))? (?:RX )?|RX ?)\d{3,4}[A-Z]{0,3}(?: (?:XTX?|GRE))?"
    r"|(?:Intel )?Arc (?:Pro )?[AB]\d{2,3}M?)\b"
)
_ONLY_INTEL = lazily(  # the graphics inside a processor count only where the writer says that there are no others
    r"(?:(?<=\bonly )|(?=[^.,;]{4,60}\bonly\b))"
    r"\b(Intel(?:\(R\))? (?:Iris|U?HD)(?:\(R\))?(?: (?:Xe|Plus|Pro))?(?: Graphics)?(?: \d{3,4})?)\b"
)
_OWN = (
    r"(?:用的(?:是)?|我的(?:显卡|卡)?是?|显卡(?:是|为|\uff1a|:)?"
    r"|\b[Mm]y (?:GPU|gpu|(?:graphics |video )?card)(?: is|:)(?: an?)?"
    r"|\bI(?:'m| am)? (?:have|use|using|own|bought|got|running)(?: on)?(?: an?| my)?|\b(?:with|on) my)"
)
_OWN_AMD = lazily(  # the digits alone may be those of a processor
    rf"{_OWN} {{0,2}}((?i:(?:AMD )?(?:Radeon )?(?:RX|Vega|Radeon) ?(?:\d{{2,4}}|VII)(?: ?(?:XTX?|GRE|M))?"
    r"|AMD ?\d{4} ?(?:XTX?|GRE)|(?:AMD|Radeon)(?: Radeon)? ?(?:GPU|显卡|(?:graphics |video )?card)))(?![A-Za-z0-9])"
)
_FIRST_PERSON = lazily(r"(?:I am|I'm|I use|I have|We are|We use|We have|My)\b")
_LISTED = lazily(  # a sentence that lists what a host has: hardware and systems between commas, and no verb
    r"(?=[^,]{2,60}, [^,]{2,60}, )(?:\d{1,2} ?x ?)?"
    r"(?:(?:NVIDIA |AMD )?(?:GeForce |Radeon |Tesla |Quadro )?(?:[RG]TX|RX|[AHLTV]\d{1,3})\b"
    r"|Ubuntu|Debian|Fedora|Windows|macOS|WSL|Jetson)"
    r"(?!.{0,140}\b(?:is|are|was|works?|need\w*|support\w*|should|can|if|or)\b)"
)
_SENTENCE_END = lazily(r"(?<=[.!?])\s+")
_GFX = lazily(r"^\s*((?:AMD )?Radeon.{1,60}\(gfx[0-9a-f]{3,4}\))")
_PYTHON = lazily(r"\b[Pp]ython(?: version)?[ :=-]{0,2}v?(3\.\d{1,2}(?:\.\d{1,2})?)\b")
_TORCH = lazily(
    r"\b(?:[Pp]y)?[Tt]orch(?: version)?(?: is|[=:-])? ?v?"
    r"(\d\.\d{1,2}(?:\.\d)?(?:\+(?:cu|rocm)\d[\d.]*|\+cpu|\+xpu)?)(?!\w|\.\w)"
)
_DRIVER = lazily(
    r"\b(?:nvidia-smi(?: shows| says| reports)?|[Dd]river(?: version)?)(?: is| version)?[ :]{1,2}"
    r"(\d{3}\.\d{2,3}(?:\.\d{2})?)(?![\d.]*\d| or (?:newer|later|higher))"
)
_PART = lazily(r"[,;]\s+|(?<=[.!?])\s+|\s+and\s+")
_BY_PIP = lazily(r"\b(?:installed|install) (?:it )?(?:by|with|via|using|from|through) .*$")
_TRIED = lazily(r"\b(?:tried|tested|compared|both)\b")  # of several hosts
_FEW_LINES = 3
_RELEASED = lazily(r"\d\.\d{1,2}\.\d(?:\+\w[\w.]*)?")


def read_prose(document: Document) -> Iterator[Said]:
    """What a short description says; a path on which its lines disagree is dropped."""
    if len(document) > _SHORT_TEXT:
        return
    lines = list(document.free())
    parted = lines if sum(1 for text in document.texts if text) > _FEW_LINES else list(_parted(lines))
    said = [item for index, text in parted for item in _said(text, document.at(index))]
    for path in dict.fromkeys(item.path for item in said):
        values = [item.value for item in said if item.path == path]
        if all(value == values[0] for value in values):
            yield next(item for item in said if item.path == path)


def _parted(lines: list[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """A question of a line or two, in the parts that each speak of one thing."""
    for index, text in lines:
        if len(text) <= _LONG_LINE and not _TRIED.search(text):
            yield from ((index, _BY_PIP.sub("", part).strip()) for part in _PART.split(text))
        else:
            yield index, text


def _said(text: str, source: str) -> Iterator[Said]:
    """What a line says, or of a long one the sentences that speak of the writer's own host."""
    sentences = [text] if len(text) <= _SHORT_LINE else filter(_is_of_the_writer, _SENTENCE_END.split(text))
    for sentence in filter(_is_prose, sentences):
        yield from _line(sentence, source)
    if len(text) <= _LONG_LINE and (own := _OWN_AMD.search(text)):
        yield Said("gpus", (named_gpu(own[1], vendor="amd"),), source)


def _is_of_the_writer(sentence: str) -> bool:
    return bool(_FIRST_PERSON.match(sentence) or _LISTED.match(sentence))


def _is_prose(text: str) -> bool:
    return len(text) <= _SHORT_LINE and not _LOG.search(text)


def _line(text: str, source: str) -> Iterator[Said]:
    yield from platform_said(text, source)
    yield from _system(text, source)
    for pattern, reader in _WORDS:
        found = pattern.findall(text)
        if len(found) == 1 and not (pattern is _GPU and (_GFX.search(text) or _JETSON.search(text))):
            yield from reader(found[0], source)
    if "Jetson AI Lab" in text or "jetson-ai-lab" in text:
        yield Said("torch.origin", "jetson", source)


def _system(text: str, source: str) -> Iterator[Said]:
    """The operating system: a Linux named beside Windows runs inside it."""
    if wsl := _WSL.search(text):
        yield Said("place.wsl", int(wsl[1]), source)
        yield Said("os.name", "linux", source)
    distributions = _DISTRIBUTION.findall(text)
    if len(distributions) == 1:
        yield from distribution_said(distributions[0], source)
    elif not wsl and _MAC.search(text):
        yield from _mac(text, source)
    elif not wsl and not distributions and _WINDOWS.search(text):
        yield Said("os.name", "windows", source)
        if build := re.search(r"\b10\.0\.\d{5}\b", text):
            yield Said("os.version", build[0], source)
    elif not distributions and re.search(r"\bLinux\b", text):
        yield Said("os.name", "linux", source)


def _mac(text: str, source: str) -> Iterator[Said]:
    yield Said("os.name", "macos", source)
    if version := re.search(r"\bmac(?:OS |os-)(\d{2}(?:\.\d{1,2}){0,2})\b", text):
        yield Said("os.version", version[1], source)
    if _MAC_INTEL.search(text):
        yield Said("os.machine", "x86_64", source)
    elif _MAC_ARM.search(text):
        yield Said("os.machine", "arm64", source)
        if chip := _MAC_CHIP.search(text):
            yield Said("cpu.model", f"Apple {chip[0]}", source)


def _jetson(name: str, source: str) -> Iterator[Said]:
    yield Said("gpus", (named_gpu(name, vendor="nvidia"),), source)
    yield Said("os.name", "linux", source)
    yield Said("os.machine", "aarch64", source)


def _torch(version: str, source: str) -> Iterator[Said]:
    if _RELEASED.fullmatch(version):
        yield from torch_said(version, source)


def _driver(version: str, source: str) -> Iterator[Said]:
    yield Said("driver.version", DriverVersion.parse(version), source)
    yield Said("driver.source", "pasted", source)


_WORDS: tuple[tuple[re.Pattern[str], Callable[[str, str], Iterator[Said]]], ...] = (
    (_MACHINE, lambda text, source: iter([Said("os.machine", canonical_machine(text), source)])),
    (_JETSON, _jetson),
    (_JETPACK, lambda text, source: iter([Said("place.jetpack", text, source)])),
    (_L4T, lambda text, source: iter([Said("place.l4t", text, source)])),
    (_GFX, lambda text, source: iter([Said("gpus", (named_gpu(text),), source)])),
    (_GPU, lambda text, source: iter([Said("gpus", (named_gpu(text),), source)])),
    (_ONLY_INTEL, lambda text, source: iter([Said("gpus", (named_gpu(text),), source)])),
    (_PYTHON, python_said),
    (_TORCH, _torch),
    (_DRIVER, _driver),
)
