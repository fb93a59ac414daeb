"""Jetson Linux (L4T) and JetPack releases: their CUDA, driver number, Python, and where their torch comes from."""

from __future__ import annotations

import re
from collections.abc import Iterable

from torchdoctor.records import record
from torchdoctor.tables.cells import cell, filled, iso_date, listed, one_of, optional, yes_no
from torchdoctor.tables.loading import TableFile, TableRow
from torchdoctor.values import CudaVersion, DriverVersion, GpuArch, PythonTag, Version


@record(frozen=True, slots=True, eq=False, repr=False)
class Jetpack(TableRow):
    """One release. ``cuda_stack`` is ``Tegra`` (server wheels do not run) or ``SBSA`` (they do)."""

    l4t: str = cell(filled)
    jetpack: str = cell(str)
    preview: bool = cell(yes_no)
    modules: str = cell(filled)
    socs: tuple[str, ...] = cell(listed(filled))
    capabilities: tuple[GpuArch, ...] = cell(listed(GpuArch.parse))
    ubuntu: str = cell(filled)
    python: PythonTag = cell(PythonTag.parse)
    cuda: CudaVersion = cell(CudaVersion.parse)
    driver: DriverVersion | None = cell(optional(DriverVersion.parse))
    cuda_stack: str = cell(one_of("Tegra", "SBSA"))
    index_path: str = cell(str)
    official_wheels: bool = cell(yes_no)
    confidence: str = cell(one_of("read", "recalled", "inferred"))
    notes: str = cell(str)
    source: str = cell(filled)
    checked: str = cell(iso_date)

    @property
    def key(self) -> str:
        """The row's name in findings: the Jetson Linux release."""
        return self.l4t


FILE = TableFile(
    "jetpacks.csv",
    Jetpack,
    ("l4t",),
    "Jetson Linux and JetPack releases: CUDA, driver number, Python, torch wheels.",
)


def _parts(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text))


def _common(left: tuple[int, ...], right: tuple[int, ...]) -> int:
    pairs = zip(left, right, strict=False)
    return next((place for place, (a, b) in enumerate(pairs) if a != b), min(len(left), len(right)))


class Jetpacks:
    """Look-ups over the releases; ``rows`` are oldest first."""

    def __init__(self, rows: Iterable[Jetpack]) -> None:
        self.rows: tuple[Jetpack, ...] = tuple(sorted(rows, key=lambda row: _parts(row.l4t)))
        self._jetsons = [row for row in self.rows if row.jetpack]

    def by_l4t(self, text: str) -> Jetpack | None:
        """Return the release of ``36.4.3`` or ``R36 (release), REVISION: 4.3``; else the nearest of the same major."""
        return self._nearest(_parts(text), "l4t")

    def by_jetpack(self, text: str) -> Jetpack | None:
        """Return the release of ``6.2``; the newest of the series for ``6``."""
        try:
            wanted = Version.parse(text.strip())
        except ValueError:
            return None
        exact = [row for row in self._jetsons if Version.parse(row.jetpack) == wanted]
        return exact[-1] if exact else self._nearest(wanted.parts, "jetpack")

    def by_driver(self, text: str) -> Jetpack | None:
        """Return the newest release that prints exactly this driver number; None for those of other drivers."""
        try:
            driver = DriverVersion.parse(text.strip())
        except ValueError:
            return None
        return next((row for row in reversed(self._jetsons) if row.driver == driver), None)

    def _nearest(self, wanted: tuple[int, ...], column: str) -> Jetpack | None:
        """Return the newest row that shares the longest start with the wanted number, the major at least."""
        best = max(
            self._jetsons,
            key=lambda row: (_common(wanted, _parts(getattr(row, column))), _parts(row.l4t)),
            default=None,
        )
        return best if best and _common(wanted, _parts(getattr(best, column))) else None
