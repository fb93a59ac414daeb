"""Job scripts and commands of batch systems: which scheduler it is, and whether the job asks for a GPU."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchdoctor.patterns import lazily
from torchdoctor.readers.gpu_words import named_gpu
from torchdoctor.readers.recogniser import Recogniser, Spot
from torchdoctor.readers.statement import Said
from torchdoctor.readers.torch_words import torch_said

_SCHEDULERS = {
    "SBATCH": "slurm", "PBS": "pbs", "BSUB": "lsf", "srun": "slurm", "salloc": "slurm", "qsub": "pbs", "bsub": "lsf",
}  # fmt: skip
_DIRECTIVE = lazily(r"\s*#(SBATCH|PBS|BSUB)\s+(-.*)$")
_PROMPT = r"(?:.{0,120}?[$#>%]\s+)?"
_INTERACTIVE = lazily(
    rf"\s*{_PROMPT}(srun\b.{{0,300}}?\s--pty\b|salloc\b|qsub\b.{{0,300}}?\s-I\b|bsub\b.{{0,300}}?\s-Is?p?\b)(.*)$"
)
_GPU = lazily(
    r"--gres[= ]\S*gpu|--gpus|--tres\S*[= ]\S*gpu|(?:^|\s)-G\s?\S*\d"  # Slurm
    r"|(?:^|\s)-gpu\b|n?gpus?(?:_\w+)?=\S|[:\[]gpu|-l\s+gpu"  # LSF, PBS
)
_TORCH_OF_RANK = lazily(
    r"\btorch(?: version)?[ =:]{1,2}(\d\.\d{1,2}\.\d\+(?:cu\d{2,3}|rocm[\d.]{1,8}|cpu|xpu))(?![\w.])"
)
_GPU_OF_RANK = lazily(
    r"\b(?:device|gpu|GPU)(?: name)?[ =:]{1,2}(NVIDIA [\w .-]{2,60}?|AMD Instinct \w{3,10})(?:[,;|)]|\s{2}|$)"
)
_HEADER = 60  # lines that a header and the commands below it take at most
_WHOLE = 3  # lines of a header; fewer may be an excerpt, which tells of no absence


def _script(spot: Spot) -> Iterator[Said]:
    """The header of a job script, read at its first line."""
    lines = [match for text in (spot.text, *spot.following(_HEADER)) if (match := _DIRECTIVE.match(text))]
    if not lines or _in_a_script(spot):
        return
    yield Said("place.scheduler", _SCHEDULERS[lines[0][1]], spot.source)
    yield Said("os.name", "linux", spot.source)
    asks = any(_GPU.search(match[2]) for match in lines)
    if asks or len(lines) >= _WHOLE:
        yield Said("place.job_asks_gpu", asks, spot.source)


def _interactive(spot: Spot) -> Iterator[Said]:
    """A job that is a shell; inside of a script the command inherits what that asked for."""
    match = _INTERACTIVE.match(spot.text)
    if match and not _in_a_script(spot):
        yield Said("place.scheduler", _SCHEDULERS[re.split(r"\W", match[1])[0]], spot.source)
        yield Said("place.job_asks_gpu", bool(_GPU.search(match[1] + match[2])), spot.source)


def _rank(spot: Spot) -> Iterator[Said]:
    """What a rank prints of itself: ``rank 0/8 torch 2.5.1+cu124 device NVIDIA A100-SXM4-80GB``."""
    if torch := _TORCH_OF_RANK.search(spot.text):
        yield from torch_said(torch[1], spot.source)
    if gpu := _GPU_OF_RANK.search(spot.text):
        yield Said("gpus", (named_gpu(gpu[1].strip(), driver_sees=True),), spot.source)


def _in_a_script(spot: Spot) -> bool:
    before = spot.document.texts[max(0, spot.index - _HEADER) : spot.index]
    return any(_DIRECTIVE.match(text) for text in before)


RECOGNISERS = (
    Recogniser(r"\s*#(?:SBATCH|PBS|BSUB)\s+-", _script, words=("#SBATCH ", "#PBS ", "#BSUB "), keeps=True),
    Recogniser(
        rf"\s*{_PROMPT}(?:srun|salloc|qsub|bsub)\s",
        _interactive,
        words=("srun ", "salloc", "qsub ", "bsub "),
        keeps=True,
    ),
    Recogniser(r".{0,80}?\b(?:local_)?rank[ =:]{0,2}\d", _rank, words=("rank ", "rank=", "rank:"), keeps=True),
)
