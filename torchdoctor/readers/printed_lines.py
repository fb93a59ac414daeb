"""What a program prints of torch in one go, and nothing tells how: its version, its CUDA and whether there is a GPU."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.patterns import lazily
from torchdoctor.readers.recogniser import Recogniser, Spot
from torchdoctor.readers.statement import Said
from torchdoctor.readers.torch_words import VERSION, torch_said
from torchdoctor.values import CudaVersion

_PRINTED = lazily(
    rf"[(\[]?['\"]?({VERSION})['\"]?,?\s{{1,4}}['\"]?(None|\d{{1,2}}\.\d)['\"]?,?\s{{1,4}}(True|False)[)\]]?(?:\s.*)?$"
)
_LABELLED = lazily(
    rf"[^\d]{{0,30}}?[Tt]orch\D{{0,20}}?({VERSION})[\s,;|]{{1,4}}[^\d]{{0,24}}?\b(None|\d{{1,2}}\.\d)[\s,;|]{{1,4}}"
    r"[^\d]{0,24}?\b(True|False)\b"
)
_LINES = 5  # of three prints: prompts and blank lines may stand between their answers


def _printed(spot: Spot) -> Iterator[Said]:
    """``print(torch.__version__, torch.version.cuda, torch.cuda.is_available())``, its answer alone on one line."""
    yield from _print_said(spot.text, spot)


def _printed_below(spot: Spot) -> Iterator[Said]:
    """The same on three lines; this is the last of them."""
    before = spot.document.texts[max(0, spot.index - _LINES) : spot.index]
    words = [*(text.strip().strip("'\"") for text in before if text.strip()), spot.text][-3:]
    yield from _print_said(" ".join(words), spot)


def _print_said(text: str, spot: Spot) -> Iterator[Said]:
    if match := _PRINTED.match(text) or _LABELLED.match(text):
        yield from torch_said(match[1], spot.source)
        yield Said("torch.cuda", None if match[2] == "None" else CudaVersion.parse(match[2]), spot.source)
        yield Said("torch.cuda_available", match[3] == "True", spot.source)


_ANSWERS = ("True", "False")
_BEHIND = ("None", "None,", *(f".{digit}{mark}" for digit in range(10) for mark in ("", "'", ",", "',")))
_NAMES = ("vailable", "vailable()", "cuda", "gpu", "GPU")
_PLAIN = tuple(f"{word} {answer}" for word in _BEHIND for answer in _ANSWERS)
_LABELS = tuple(f"{name}{mark}{answer}" for name in _NAMES for mark in (" ", ": ", "=") for answer in _ANSWERS)
RECOGNISERS = (
    Recogniser(r"[(\[]?['\"]?\d\.\d", _printed, words=_PLAIN, keeps=True),
    Recogniser(r"[^\d]{0,30}?[Tt]orch\D{0,20}?\d", _printed, words=_LABELS, keeps=True),
    Recogniser(r"(?:True|False)$", _printed_below, "true false", keeps=True),
)
