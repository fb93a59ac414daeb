"""Environment variables as people paste them: ``KEY=value``, ``export KEY=value``, ``ENV KEY value``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchdoctor.facts import Variables
from torchdoctor.patterns import lazily
from torchdoctor.readers.document import command_of
from torchdoctor.readers.env_names import is_listed
from torchdoctor.readers.recogniser import Recogniser, Spot
from torchdoctor.readers.statement import Said

# Names and families of names that say something about torch, its libraries or the place it runs in.
FAMILIES = (
    "CUDA_", "NVIDIA_", "CONDA_", "HSA_", "HIP_", "ROCR_", "ROCM_", "ZE_", "ONEAPI_", "PYTORCH_", "TORCH_", "NCCL_",
    "CUBLAS_", "CUDNN_", "OMP_", "MKL_", "TRITON_", "SLURM_", "APPTAINER_", "SINGULARITY_", "WSL_", "UV_", "PIP_",
)  # fmt: skip
NAMES = (
    "LD_LIBRARY_PATH", "LD_PRELOAD", "PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "CI", "KUBERNETES_SERVICE_HOST",
    "ACCELERATE_TORCH_DEVICE", "GPU_DEVICE_ORDINAL",
)  # fmt: skip

_NAME = rf"(?:(?:{'|'.join(FAMILIES)})[A-Z0-9_]{{1,60}}|{'|'.join(NAMES)})"
_LINE = lazily(
    r"(?:.{0,160}?[$#>%]\s+)?"
    r"(?:export\s+|declare -x\s+|set\s+|setx\s+|env\s+|ENV\s+|-e\s+|[-*]\s+|\$env:|os\.environ\[[\"'])?"
    rf"({_NAME})(?:[\"']\])?(?:\s*=\s*|:\s+|\s+)(.*)$"
)
_ECHO = lazily(
    rf".{{0,160}}?(?:\becho\s+[\"'\[]*\$\{{?|\becho\s+[\"']?%|(?:^|>\s*|\becho\s+\"?)\$env:)({_NAME})[}}%]?[\"'\]]*\s*$"
)
_SHOWN = lazily(r"[\"'\[]?(.{0,4000}?)[\"'\]]?\s*$")
_JSON = lazily(rf"\s*\"({_NAME})=([^\"]{{0,4000}})\",?$")
_MANIFEST = lazily(rf"\s*-?\s*name:\s+[\"']?({_NAME})[\"']?$")
_MANIFEST_VALUE = lazily(r"value:\s+(\S.*)$")
_CREDENTIALS = lazily(r"://[^/\s@]+@")


def _assigned(spot: Spot) -> Iterator[Said]:
    match = _LINE.match(spot.text)
    if match and "$(" not in match[2] and "`" not in match[2]:  # a command's output is not shown
        yield from _said(match[1], match[2], spot.source)


def _said(name: str, value: str, source: str) -> Iterator[Said]:
    if not is_listed(name):
        return
    quoted = re.match(r"([\"'])(.*?)\1", value)
    value = quoted[2] if quoted else value.split("  #", maxsplit=1)[0]
    yield Said("env", Variables({name: _CREDENTIALS.sub("://", value.strip())}), source)
    if name.startswith("SLURM_JOB"):
        yield Said("place.scheduler", "slurm", source)
    if name == "KUBERNETES_SERVICE_HOST":
        yield Said("place.container", "kubernetes", source)


def _listed(spot: Spot) -> Iterator[Said]:
    """An element of a list: ``docker inspect`` prints the environment so."""
    if match := _JSON.match(spot.text):
        yield from _said(match[1], match[2], spot.source)


def _manifest(spot: Spot) -> Iterator[Said]:
    """``- name: X`` and below it ``value: Y``: a container's environment in a manifest."""
    name, value = _MANIFEST.match(spot.text), _MANIFEST_VALUE.match(spot.next_line())
    if name and value:
        yield from _said(name[1], value[1], spot.source)


def _before_a_command(spot: Spot) -> Iterator[Said]:
    """``CUDA_VISIBLE_DEVICES=1 python train.py``: set for that one program, which is the failing one."""
    for name, value in re.findall(rf"\b({_NAME})=(\S*)", spot.text):
        yield from _said(name, value, spot.source)


def _echoed(spot: Spot) -> Iterator[Said]:
    """``echo $NAME``, ``echo %NAME%`` or PowerShell's bare ``$env:NAME``, and on the next line the value.

    An empty one may mean set to nothing or not set.
    """
    match = _ECHO.match(spot.text)
    if match:
        answer = spot.next_line()
        shown = _SHOWN.match(answer)
        if shown and (shown[1] or match[1].endswith("PATH")) and not command_of(answer):
            yield from _said(match[1], shown[1], spot.source)


_SET = r"(?:export\s+|declare -x\s+|set\s+|setx\s+|ENV\s+|[-*]\s+|\$env:|os\.environ\[[\"'])"
_PROMPT = r"(?:.{0,120}[$#>%]\s+)?"
_FIRST = " ".join({"env", "export", "declare"} | {name.partition("_")[0].lower() for name in (*FAMILIES, *NAMES)})
_TYPED = ("export ", "$env:", "os.environ[", "echo ", "set CUDA", "setx ")
RECOGNISERS = (
    Recogniser(
        rf"\s*{_PROMPT}(?:echo\s+[\"'\[]*(?:\$\{{?|%)|(?:echo\s+\"?)?\$env:){_NAME}[}}%]?[\"'\]]*\s*$",
        _echoed,
        words=_TYPED,
        keeps=True,
    ),
    Recogniser(rf"\s*(?:[$#>%]\s+)?(?:{_NAME}=\S*\s+){{1,8}}[\w./]+\s", _before_a_command, _FIRST),
    Recogniser(rf"\s*{_PROMPT}{_SET}?{_NAME}(?:[\"']\])?(?:\s*=|:\s)", _assigned, _FIRST, words=_TYPED),
    Recogniser(rf"\s*ENV\s+{_NAME}\s", _assigned, "env"),
    Recogniser(rf"\s*{_NAME}\s{{2,}}(?:[A-Za-z]:\\|/|-?\d+$)", _assigned, _FIRST),  # PowerShell's table
    Recogniser(rf"\s*\"{_NAME}=", _listed, _FIRST),
    Recogniser(r"\s*-?\s*name:\s", _manifest, "name"),
)
