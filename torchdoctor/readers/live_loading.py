"""The libraries that torch and its companions would be given, as the second program of the examined Python found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from torchdoctor.inside import Linked
from torchdoctor.readers.answers import Answers
from torchdoctor.readers.statement import Said
from torchdoctor.recording import Recording, Want

# What an import of these opens beside torch's own; what is only for some uses (sox, FFmpeg) may rightly lack a library.
LOADING = Want(
    "loading",
    ("torchvision/*.so", "torchaudio/lib/libtorchaudio.so", "torchaudio/lib/_torchaudio.so", "triton/_C/libtriton.so",
     "xformers/_C.so", "flash_attn_2_cuda*.so", "vllm/_C*.so"),
    seconds=20.0,
    name="loader's view",
)  # fmt: skip
WANTS = (LOADING,)

_MOST = 2000  # libraries that are taken from an answer
_SOURCE = "files, by the loader's rules"


def read(recording: Recording) -> Iterator[Said]:
    """One record a library; nothing where nobody looked, or where there is no such loader."""
    linked = Answers(recording).table(LOADING).get("linked")
    if isinstance(linked, list):
        rows = (row for row in linked[:_MOST] if isinstance(row, dict))
        yield Said("inside.linked", tuple(item for item in map(_linked, rows) if item.soname), _SOURCE)


def _linked(row: Mapping[str, Any]) -> Linked:
    return Linked(
        soname=_text(row, "soname"),
        path=_text(row, "path") or None,
        how=_text(row, "how"),
        needed_by=_names(row, "needed_by"),
        package=_text(row, "package"),
        version=_text(row, "version") or None,
        own=_text(row, "own") or None,
        own_version=_text(row, "own_version") or None,
        lacks=_names(row, "lacks"),
        damage=_text(row, "damage"),
        opened=row.get("opened") is True,
        for_torch=row.get("for_torch") is True,
    )


def _text(row: Mapping[str, Any], name: str) -> str:
    value = row.get(name)
    return value if isinstance(value, str) else ""


def _names(row: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = row.get(name)
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()
