"""The device code of the installed libraries, as the second program of the examined Python listed it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from torchdoctor.inside import DeviceCode
from torchdoctor.readers.answers import Answers
from torchdoctor.readers.statement import Said
from torchdoctor.recording import Recording, Want
from torchdoctor.values import GpuArch

CODE = Want("code", name="device code", seconds=20.0)
WANTS = (CODE,)

_SOURCE = "files of the libraries"
_MOST = 2000  # libraries that are taken from an answer


def read(recording: Recording) -> Iterator[Said]:
    """One record a library; nothing where nobody looked, or where the looking ended before it began."""
    answers = Answers(recording)
    files = answers.table(CODE).get("files")
    if isinstance(files, list):
        rows = (row for row in files[:_MOST] if isinstance(row, dict))
        yield Said("inside.code", tuple(code for code in map(device_code, rows) if code.library), _SOURCE)


def device_code(row: Mapping[str, Any]) -> DeviceCode:
    """One library as the second program described it; what is missing or of another shape reads as nothing."""
    return DeviceCode(
        library=_text(row, "library").replace("\\", "/"),
        package=_text(row, "package"),
        version=_text(row, "version"),
        fatbins=_number(row.get("fatbins")),
        sass=tuple(_counts(row.get("sass"))),
        ptx=tuple(_counts(row.get("ptx"))),
        ptx_isa=_text(row, "ptx_isa"),
        gfx=tuple(_pairs(row.get("gfx"))),
        error=_text(row, "error"),
    )


def _text(row: Mapping[str, Any], name: str) -> str:
    value = row.get(name)
    return value if isinstance(value, str) else ""


def _number(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _pairs(value: object) -> Iterator[tuple[str, int]]:
    for name, count in value.items() if isinstance(value, dict) else ():
        if isinstance(name, str) and _number(count):
            yield name, count


def _counts(value: object) -> Iterator[tuple[str, int]]:
    """Those of the names that are names of code: an answer may be mangled, and every reader of facts parses them."""
    for name, count in _pairs(value):
        try:
            GpuArch.parse(name)
        except ValueError:
            continue
        yield name, count
