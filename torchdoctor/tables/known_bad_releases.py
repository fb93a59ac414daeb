"""Releases that are broken as published on some platform, or beside some other package."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from torchdoctor.records import record
from torchdoctor.tables.cells import cell, filled, iso_date, one_of, optional
from torchdoctor.tables.loading import TableFile
from torchdoctor.values import Build, Version


@record(frozen=True, slots=True, eq=False)
class BadRelease:
    """One fault of the releases from ``version_min`` to ``version_max``; an empty cell of a condition means any.

    ``nightly_min`` and ``nightly_max`` are days (20250325) and then only nightlies of those days are meant. ``beside``
    names a package whose presence from ``beside_min`` on is needed for the fault.
    """

    package: str = cell(filled)
    version_min: Version = cell(Version.parse)
    version_max: Version = cell(Version.parse)
    nightly_min: int | None = cell(optional(int))
    nightly_max: int | None = cell(optional(int))
    build: Build | None = cell(optional(Build.parse))
    owner: str = cell(one_of("", "conda"))
    os: str = cell(one_of("", "linux", "windows", "macos"))
    machine: str = cell(one_of("", "x86_64", "aarch64", "arm64"))
    beside: str = cell(str)
    beside_min: Version | None = cell(optional(Version.parse))
    breaks: str = cell(one_of("import", "accelerator"))
    effect: str = cell(filled)
    fix: str = cell(filled)
    source: str = cell(filled)
    checked: str = cell(iso_date)

    @property
    def key(self) -> str:
        """The row's name in findings: ``torch 2.4.0``, with the platform or package that matters."""
        return " ".join(part for part in (self.package, str(self.version_min), self.os, self.beside) if part)

    def concerns(self, version: Version, nightly: int | None) -> bool:
        """Whether this release, or the nightly of this day, is among the bad ones."""
        if not self.version_min <= version <= self.version_max:
            return False
        if self.nightly_min is None or self.nightly_max is None:
            return nightly is None
        return nightly is not None and self.nightly_min <= nightly <= self.nightly_max


FILE = TableFile(
    "known_bad_releases.csv",
    BadRelease,
    ("package", "version_min", "os", "beside"),
    "Releases broken as published: on which platform or beside which package, what breaks, and what to do.",
)


class KnownBadReleases:
    """Look-ups over the bad releases."""

    def __init__(self, rows: Iterable[BadRelease]) -> None:
        self.rows: tuple[BadRelease, ...] = tuple(rows)

    def matching(self, package: str, version: Version, nightly: int | None = None) -> Iterator[BadRelease]:
        """Yield the faults of this release; their platform and neighbour are for the caller to compare."""
        yield from (row for row in self.rows if row.package == package and row.concerns(version, nightly))
