"""csv output of ``nvidia-smi --query-gpu``, with its header or without."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from torchdoctor.patterns import lazily
from torchdoctor.readers.gpu_words import pci_address, vendor_of
from torchdoctor.readers.nvidia_smi_values import ARCH, MEMORY, NAMES, NOT_THERE, Values, rows_said
from torchdoctor.readers.statement import Said

_COLUMN = lazily(r"([a-z][a-z0-9_.]{1,60})(?: \[[A-Za-z%/]{1,8}\])?")
_KNOWN = {
    *NAMES, "index", "driver_version", "compute_cap", "memory.total", "pci.bus_id", "gpu_bus_id", "uuid", "gpu_uuid",
}  # fmt: skip
_NOT_GPUS = {"pid", "used_gpu_memory", "process_name"}
_DRIVER = lazily(r"\d{3}\.\d{2,3}(?:\.\d{2,3})?")
_UUID = lazily(r"(?:GPU|MIG)-\S+")
_NUMBER = lazily(r"\d{1,7}(?:\.\d{1,3})?(?: (?:MiB|W|%|MHz))?")


def is_csv(text: str) -> bool:
    """Whether a text is csv output: a header of known columns, or rows that hold a GPU's name and nothing odd."""
    first, _, following = text.lstrip().partition("\n")
    columns = _columns(first)
    if columns is not None and len(columns) == 1:
        return _is_value_of(columns[0], following.split("\n")[0].strip())
    return columns is not None or _bare_row(first) is not None


def _is_value_of(column: str, value: str) -> bool:
    if column in NAMES:
        return vendor_of(value) == "nvidia"
    return bool(
        _DRIVER.fullmatch(value) if column == "driver_version" else column == "compute_cap" and ARCH.fullmatch(value)
    )


def _columns(line: str) -> list[str] | None:
    cells = line.strip().split(", ")
    matches = [_COLUMN.fullmatch(cell) for cell in cells]
    names = [match[1] for match in matches if match]
    if len(names) != len(cells) or _NOT_GPUS & set(names) or not _KNOWN & set(names):
        return None
    return names


def _bare_row(line: str) -> dict[str, str] | None:
    """A row without a header: a cell with a GPU's name; the others are told by their form."""
    cells = [cell.strip() for cell in line.split(",")]
    named = [place for place, cell in enumerate(cells) if vendor_of(cell) == "nvidia"]
    if len(cells) < 2 or len(named) != 1:  # noqa: PLR2004 - one column alone could be any text
        return None
    values = {"name": cells[named[0]]}
    for place, cell in enumerate(cells):
        if place != named[0] and (kind := _kind_of(cell, place)) is not None:
            values.setdefault(kind, cell)
        elif place != named[0] and not NOT_THERE.fullmatch(cell) and not _NUMBER.fullmatch(cell):
            return None
    return values


def _kind_of(cell: str, place: int) -> str | None:
    forms: tuple[tuple[str, Callable[[str], object]], ...] = (
        ("driver_version", _DRIVER.fullmatch),
        ("pci.bus_id", pci_address),
        ("uuid", _UUID.fullmatch),
        ("compute_cap", ARCH.fullmatch),
        ("memory.total", lambda text: text.endswith("MiB") and MEMORY.fullmatch(text)),
        ("index", lambda text: place == 0 and text.isdigit()),
    )
    return next((kind for kind, fits in forms if fits(cell)), None)


def read_csv(text: str, source: str) -> Iterator[Said]:
    """The rows of csv output, matched by their header when there is one."""
    lines = [line.strip() for line in text.strip().split("\n")]
    columns = _columns(lines[0])
    rows: list[Values] = []
    for line in lines[1:] if columns else lines:
        values = dict(zip(columns, map(str.strip, line.split(",")), strict=False)) if columns else _bare_row(line)
        if values is None or (columns and len(values) != len(columns)):
            break
        rows.append(values)
    yield from rows_said(rows, source)
