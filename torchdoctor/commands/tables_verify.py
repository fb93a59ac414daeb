"""``torchdoctor tables verify``: load every table, ask every rule across them, and say file and line of each fault."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from torchdoctor.tables import TableError, Tables, known_errors
from torchdoctor.tables.describe import table_files
from torchdoctor.tables.invariants import INVARIANTS, Fault, faults
from torchdoctor.tables.loading import TableFile, read_text


class Verified(NamedTuple):
    """What was looked at, and what is wrong: a ``Fault`` of a row, or the text of one that could not be read."""

    files: int
    rows: int
    invariants: int
    faults: tuple[Fault | str, ...]


def verify(tables: Tables) -> Verified:
    """Load everything first: rules across tables are asked only of tables that can be read."""
    files, rows, unreadable = table_files(), 0, list(_strays(tables))
    for file in files:
        try:
            rows += len(file.load(tables.root, tables.over))
        except TableError as error:  # noqa: PERF203 - each table has its own fault
            unreadable.append(_in_folder(str(error), tables.root))
    unreadable += _without_texts(tables)
    found: tuple[Fault | str, ...] = tuple(unreadable) or tuple(faults(tables))
    return Verified(len(files) + 1, rows, len(INVARIANTS), found)


def _in_folder(text: str, root: Path) -> str:
    """An error of an overlay names its whole path already."""
    return text if Path(text.partition(":")[0]).is_absolute() or text.partition(":")[0].count("/") else f"{root / text}"


def _without_texts(tables: Tables) -> Iterator[str]:
    try:
        list(known_errors.KnownErrors(read_text(tables.root, known_errors.FILE)))
        _ = tables.date
    except TableError as error:
        yield _in_folder(str(error), tables.root)


def _strays(tables: Tables) -> Iterator[str]:
    """Files that look like tables and lie over none."""
    names = {file.name for file in table_files()}
    for folder in (tables.root, tables.over):
        for path in sorted(folder.iterdir()) if folder and folder.is_dir() else ():
            is_stray = path.suffix == ".csv" and path.name not in names
            if is_stray or (folder == tables.over and path.suffix == ".toml"):
                yield f"{path}:1: no table of this name can lie here"


def located(fault: Fault | str, tables: Tables) -> str:
    """The fault with the file and the line of its row."""
    if isinstance(fault, str):
        return fault
    file = next(file for file in table_files() if file.name == fault.file)
    for folder in (tables.over, tables.root):
        line = _line(file, folder, fault.key) if folder else 0
        if folder and line:
            return f"{folder / file.name}:{line}: {fault.key}: {fault.text}"
    return f"{tables.root / file.name}: {fault.key}: {fault.text}"


def _line(file: TableFile[Any], folder: Path, key: str) -> int:
    if not (folder / file.name).is_file():
        return 0
    text = read_text(folder, file.name)
    numbers = (number for number, _ in file.lines(text))
    return next((number for number, row in zip(numbers, file.parse(text), strict=True) if row.key == key), 0)
