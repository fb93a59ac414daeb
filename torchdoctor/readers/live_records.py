"""What is wrong with the installed files of torch and what it needs, by the lists that the installer left."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from torchdoctor.inside import Torn
from torchdoctor.readers.answers import Answers
from torchdoctor.readers.statement import Said
from torchdoctor.recording import Recording, Want

RECORDS = Want(
    "records",
    ("torch", "torchvision", "torchaudio", "torchtext", "torchdata", "torchcodec", "torchao", "triton", "functorch",
     "pytorch-triton", "xformers", "flash-attn", "bitsandbytes", "vllm", "numpy", "nvidia-", "cuda-"),
    seconds=20.0,
    name="files of wheels",
)  # fmt: skip
WANTS = (RECORDS,)

_MOST = 500  # distributions that are taken from an answer
_SOURCE = "RECORD"


def read(recording: Recording) -> Iterator[Said]:
    """One record a distribution with something wrong; nothing where nobody looked."""
    answers = Answers(recording)
    if answers.looked(RECORDS):
        rows = answers.rows(RECORDS)[:_MOST]
        yield Said("inside.torn", tuple(torn for torn in map(_torn, rows) if torn.package), _SOURCE)


def _torn(row: Mapping[str, Any]) -> Torn:
    missing, changed = _names(row, "missing"), _names(row, "changed")
    shared = _names(row, "shared_with")
    return Torn(
        package=_text(row, "package"),
        version=_text(row, "version"),
        files=_number(row, "files"),
        missing=missing,
        changed=changed,
        cut=_names(row, "cut"),
        missing_count=max(_number(row, "missing_count"), len(missing)),
        changed_count=max(_number(row, "changed_count"), len(changed)),
        shared_count=max(_number(row, "shared_count"), len(shared)),
        shared_with=shared,
        others=_names(row, "others"),
    )


def _text(row: Mapping[str, Any], name: str) -> str:
    value = row.get(name)
    return value if isinstance(value, str) else ""


def _number(row: Mapping[str, Any], name: str) -> int:
    value = row.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _names(row: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = row.get(name)
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()
