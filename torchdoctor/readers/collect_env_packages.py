"""The package lists at the end of a collect_env report, and who owns torch there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from torchdoctor.facts import Package, Packages
from torchdoctor.patterns import lazily
from torchdoctor.readers.document import Part
from torchdoctor.readers.package_rows import conda_row, freeze_row
from torchdoctor.readers.statement import Said
from torchdoctor.readers.torch_words import torch_said

if TYPE_CHECKING:
    from torchdoctor.readers.collect_env_lines import Field

_ROW = lazily(r"\s*\[(pip3?|conda)\]\s*(\S.*)?$")
_NONE = ("could not collect", "no relevant packages")


def is_package_line(text: str) -> bool:
    """Whether this is a ``[pip3]`` or ``[conda]`` line."""
    return bool(_ROW.match(text))


def read_packages(part: Part, fields: Mapping[str, Field]) -> Iterator[Said]:
    """The listed packages; the list is a filtered one, so what is missing from it may still be installed."""
    pip, conda, conda_said = [], [], False
    source = ""
    for line in part.lines:
        match = _ROW.match(line.text)
        if not match:
            continue
        source = source or part.at(line)
        text = (match[2] or "").strip()
        if match[1] == "conda":
            conda_said = True
            conda += _kept(conda_row(text))
        elif not text.lower().startswith(_NONE):
            pip += _kept(freeze_row(text))
    if source:
        yield Said("packages", Packages((*pip, *conda)), source)
        yield from _torch(pip, conda, conda_said, fields, source)


def _kept(row: Package | None) -> list[Package]:
    return [row] if row else []


def _torch(
    pip: list[Package], conda: list[Package], conda_said: bool, fields: Mapping[str, Field], source: str
) -> Iterator[Said]:
    """Who owns torch, and whether it is there at all."""
    printed = fields["pytorch version"].value if "pytorch version" in fields else ""
    owner = _owner(pip, conda, conda_said, printed.partition("+")[0])
    if owner:
        yield Said("torch.owner", owner, source)
    wheel = next((row for row in pip if row.name == "torch"), None)
    if wheel is None:
        if (
            printed.upper() == "N/A"
            and pip
            and conda_said
            and not any(row.name in {"torch", "pytorch"} for row in conda)
        ):
            yield Said("torch.installed", False, source)
        return
    yield Said("torch.installed", True, source)
    if printed.upper() in {"", "N/A"} and owner != "conda":
        yield from torch_said(wheel.version, source)


def _owner(pip: list[Package], conda: list[Package], conda_said: bool, version: str) -> str:
    by_conda = {row.version for row in conda if row.name in {"pytorch", "torch"} and row.owner == "conda"}
    if by_conda and (not version or version in by_conda or not any(row.name == "torch" for row in pip)):
        return "conda"
    if any(row.name == "torch" for row in (*pip, *conda)) and conda_said and not by_conda:
        return "pip"
    return ""
