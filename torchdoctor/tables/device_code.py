"""The device code inside each measured wheel of torch, library by library: what torch's own list does not tell."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from torchdoctor.records import record
from torchdoctor.tables.cells import cell, code_name, filled, iso_date, one_of, paired, yes_no
from torchdoctor.tables.loading import TableFile, TableRow
from torchdoctor.values import Build, Version


@record(frozen=True, slots=True, eq=False, repr=False)
class LibraryCode(TableRow):
    """One library of one wheel; ``code`` and ``ptx`` count entries by the compiler's names.

    ``main`` marks the library that torch's own kernels are in; the others serve some calls only.
    """

    torch: Version = cell(Version.parse)
    build: Build = cell(Build.parse)
    os: str = cell(one_of("linux", "windows"))
    machine: str = cell(one_of("x86_64", "aarch64"))
    library: str = cell(filled)
    main: bool = cell(yes_no)
    fatbins: int = cell(int)
    code: Mapping[str, int] = cell(paired(code_name, int))
    ptx: Mapping[str, int] = cell(paired(code_name, int))
    notes: str = cell(str)
    source: str = cell(filled)
    checked: str = cell(iso_date)

    @property
    def key(self) -> str:
        """The row's name in findings: ``2.14.1+cu130 linux x86_64 libtorch_cuda_linalg.so``."""
        return f"{self.torch}+{self.build} {self.os} {self.machine} {self.library}"


FILE = TableFile(
    "device_code.csv",
    LibraryCode,
    ("torch", "build", "os", "machine", "library"),
    "Libraries of measured torch wheels: entries of device code (SASS) and of PTX per architecture.",
)


class DeviceCodes:
    """Look-ups over the libraries."""

    def __init__(self, rows: Iterable[LibraryCode]) -> None:
        self.rows: tuple[LibraryCode, ...] = tuple(rows)
        self.beside: frozenset[str] = frozenset(row.library for row in self.rows if not row.main)

    def of(self, torch: Version, build: Build, os: str, machine: str) -> tuple[LibraryCode, ...]:
        """The libraries of one wheel; none where nobody opened it."""
        wheel = (torch, build, os, machine)
        return tuple(row for row in self.rows if (row.torch, row.build, row.os, row.machine) == wheel)
