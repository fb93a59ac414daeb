"""Lists of packages: ``pip list``, ``pip freeze``, ``conda list``, whole or only a few grepped lines."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator

from torchdoctor.facts import Package, Packages
from torchdoctor.patterns import lazily
from torchdoctor.readers.document import Document, Line, Part
from torchdoctor.readers.package_rows import conda_row, freeze_row, is_conda_build, table_row
from torchdoctor.readers.statement import Said
from torchdoctor.readers.torch_words import torch_said

PIP, CONDA = "pip_list", "conda_list"

_PIP_HEADER = lazily(r"\s*Package\s+Version\b")
_CONDA_HEADER = lazily(
    r"\s*#\s*(?:packages in environment at|Name\s+Version\b)|\s*List of packages in environment", re.IGNORECASE
)
_RULE = lazily(r"\s*-{3,}(?:\s+-{2,})*\s*$")
_CONDA_COLUMNS = lazily(r"\s*\S+\s+v?\d\S*\.\S*\s+(\S+)(?:\s+\[[\w,-]+\])?(?:\s+(\S+))?\s*$")
_CHANNELS = {"conda-forge", "pytorch", "nvidia", "defaults", "main", "anaconda", "intel", "pypi", "xformers"}
# A list without a header counts only when it names one of these: then the other lines are packages too.
_ANCHORS = {
    "torch", "torchvision", "torchaudio", "torchtext", "pytorch", "pytorch-cuda", "pip", "setuptools", "numpy",
    "triton", "pytorch-triton", "pytorch-triton-rocm", "pytorch-triton-xpu", "xformers", "flash-attn", "vllm",
}  # fmt: skip
_ANCHOR = lazily(
    r"nvidia-(?:[a-z-]+-cu\d\d|cublas|cudnn|nccl|cuda-(?:runtime|nvrtc|cupti|nvcc))|torch-[a-z]+|cuda-[a-z]+|rocm-sdk-[a-z]+"
)
_ANCHOR_STARTS = ("nvidia-", "torch-", "torch_", "cuda-", "rocm-sdk")
_OFFER = lazily(r"\bonly the following versions? of\b|^[\s\u2502]*(?:are )?available:$")
_PIP_ITSELF = "pip"
_MANY = 20  # lines that differ in their digits alone and are no rows
_WHOLE = 5  # a complete list is longer than this

RowReader = Callable[[str], Package | None]


def find(document: Document) -> list[Part]:
    """Every package list in a text."""
    return [*_with_header(document), *_without_header(document)]


def _with_header(document: Document) -> Iterator[Part]:
    for index in document.lines_with("Package", "# packages in environment", "# Name", "#  Name", "List of packages"):
        text = document.texts[index]
        if _PIP_HEADER.match(text):
            yield document.take(PIP, _block(document, index, table_row))
        elif _CONDA_HEADER.match(text) and document.is_free(index):
            yield document.take(CONDA, _block(document, index, conda_row))


def _block(document: Document, start: int, row: RowReader) -> list[int]:
    """The header's line and the rows after it, up to the first line that is none."""
    indices = [start]
    for index in range(start + 1, len(document)):
        text = document.texts[index].strip()
        header = _RULE.match(text) or _CONDA_HEADER.match(text) or text in {"#", ""}
        if not document.is_free(index) or not (header or row(text)):
            break
        indices.append(index)
    return indices


def _without_header(document: Document) -> Iterator[Part]:
    """Rows without a header around a package of the torch world; what stands beside it in that form is a row too."""
    others: Counter[bytes] = Counter()  # kinds of lines that are no row, in a flood of them
    for index in document.lines_with(*_ANCHORS, *_ANCHOR_STARTS):
        if others[document.alike(index)] > _MANY:
            continue
        others[document.alike(index)] += 1
        for kind, row in _FORMS:
            package = row(document.texts[index].strip()) if document.is_free(index) else None
            if package:
                others.clear()
            if package and _is_anchor(package.name) and not _is_offer(document, rows := _run(document, index, row)):
                yield document.take(kind, rows)


def _is_offer(document: Document, rows: range) -> bool:
    """Whether a resolver lists what an index holds, of which nothing is installed."""
    before = document.texts[max(0, rows.start - 3) : rows.start]
    return any(_OFFER.search(text) for text in before)


def _run(document: Document, index: int, row: RowReader) -> range:
    """The stretch of rows of one form around a line."""
    first = last = index
    while first > 0 and document.is_free(first - 1) and row(document.texts[first - 1].strip()):
        first -= 1
    while last + 1 < len(document) and document.is_free(last + 1) and row(document.texts[last + 1].strip()):
        last += 1
    return range(first, last + 1)


def _bare_table_row(text: str) -> Package | None:
    row = table_row(text)
    return row if row and "." in row.version else None


def _bare_conda_row(text: str) -> Package | None:
    columns = _CONDA_COLUMNS.match(text)
    return conda_row(text) if columns and (is_conda_build(columns[1]) or columns[2] in _CHANNELS) else None


_FORMS: tuple[tuple[str, RowReader], ...] = ((PIP, freeze_row), (CONDA, _bare_conda_row), (PIP, _bare_table_row))


def _is_anchor(name: str) -> bool:
    return name in _ANCHORS or bool(_ANCHOR.match(name))


def read(part: Part) -> Iterator[Said]:
    """The packages a list names; complete only when it is long and names pip itself, which every whole list does."""
    conda = part.kind == CONDA
    row = conda_row if conda else _pip_row
    rows = [(line, package) for line in part.lines if (package := row(line.text.strip())) and not _is_header(line.text)]
    if not rows:
        return
    items = tuple(package for _, package in rows)
    whole = len(items) > _WHOLE and any(item.name == _PIP_ITSELF for item in items) and not conda
    yield Said("packages", Packages(items, complete=whole), part.at(part.lines[0]))
    yield from _torch(rows, conda, part)
    if whole and not any(item.name == "torch" for item in items):
        yield Said("torch.installed", False, part.at(part.lines[0]))


def _pip_row(text: str) -> Package | None:
    return freeze_row(text) or table_row(text)


def _is_header(text: str) -> bool:
    return bool(_PIP_HEADER.match(text) or _RULE.match(text))


def _torch(rows: list[tuple[Line, Package]], conda: bool, part: Part) -> Iterator[Said]:
    for line, package in rows:
        if package.name == "torch" or (conda and package.name == "pytorch"):
            yield from torch_said(package.version, part.at(line))
            yield from _owner(package, part.at(line))


def _owner(package: Package, source: str) -> Iterator[Said]:
    if package.owner in {"pip", "conda"}:
        yield Said("torch.owner", package.owner, source)
