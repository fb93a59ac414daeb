"""NVIDIA's monthly torch images: what each release holds, for texts that name only the image."""

from __future__ import annotations

from collections.abc import Iterable

from torchdoctor.records import record
from torchdoctor.tables.cells import cell, filled, iso_date, one_of
from torchdoctor.tables.loading import TableFile, TableRow
from torchdoctor.values import CudaVersion, PythonTag


@record(frozen=True, slots=True, eq=False, repr=False)
class NgcImage(TableRow):
    """One release. ``torch`` is its version up to the commit, empty where nobody noted it."""

    release: str = cell(filled)
    distribution: str = cell(filled)
    python: PythonTag = cell(PythonTag.parse)
    torch: str = cell(str)
    cuda: CudaVersion = cell(CudaVersion.parse)
    confidence: str = cell(one_of("read", "recalled", "inferred"))
    source: str = cell(filled)
    checked: str = cell(iso_date)

    @property
    def key(self) -> str:
        """The row's name in findings: ``24.07``."""
        return self.release


FILE = TableFile(
    "ngc_images.csv",
    NgcImage,
    ("release",),
    "NVIDIA's monthly torch images: distribution, Python, torch and CUDA inside.",
)


class NgcImages:
    """Look-ups over the releases."""

    def __init__(self, rows: Iterable[NgcImage]) -> None:
        self.rows: tuple[NgcImage, ...] = tuple(rows)

    def find(self, release: str) -> NgcImage | None:
        """Return the release of this number, ``24.07``; None when it is not known."""
        return next((row for row in self.rows if row.release == release), None)
