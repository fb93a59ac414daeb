"""The packages that must fit torch: torchvision, torchaudio, triton and others, as ranges where they are ranges."""

from __future__ import annotations

from collections.abc import Iterable

from torchdoctor.records import record
from torchdoctor.tables.cells import cell, filled, iso_date, listed, one_of, optional, yes_no
from torchdoctor.tables.loading import TableFile, TableRow
from torchdoctor.values import CudaVersion, Version


@record(frozen=True, slots=True, eq=False, repr=False)
class Companion(TableRow):
    """One release of a companion. An empty ``torch_max`` is an open end; equal ends are an exact pin.

    ``listed_for`` are the torch versions this release was published for. ``any_patch`` extends the row to later patch
    releases of the same minor. ``built_cuda`` names the CUDA versions of its wheels where it is not pinned to a torch,
    ``cuda_only_on`` the systems for which its only wheel is one of those; elsewhere that wheel holds code for the CPU.
    """

    name: str = cell(filled)
    version: Version = cell(Version.parse)
    any_patch: bool = cell(yes_no)
    torch_min: Version = cell(Version.parse)
    torch_max: Version | None = cell(optional(Version.parse))
    listed_for: tuple[Version, ...] = cell(listed(Version.parse))
    pythons_excluded: tuple[Version, ...] = cell(listed(Version.parse))
    cuda_rule: str = cell(one_of("", "major", "exact"))
    built_cuda: tuple[CudaVersion, ...] = cell(listed(CudaVersion.parse))
    cuda_only_on: tuple[str, ...] = cell(listed(one_of("linux", "windows", "macos")))
    labelled: str = cell(one_of("yes", "no", "unknown"))
    confidence: str = cell(one_of("read", "inferred"))
    notes: str = cell(str)
    source: str = cell(filled)
    checked: str = cell(iso_date)

    @property
    def key(self) -> str:
        """The row's name in findings: ``torchvision 0.29.0``."""
        return f"{self.name} {self.version}"

    @property
    def is_pinned(self) -> bool:
        """Whether this release belongs to exactly one torch version."""
        return self.torch_min == self.torch_max

    def fits(self, torch: Version) -> bool:
        """Whether this release accepts the torch version."""
        return self.torch_min <= torch and (self.torch_max is None or torch <= self.torch_max)

    def accepts_python(self, python: Version) -> bool:
        """Whether wheels exist for this Python; an excluded 3.11 means every 3.11.x."""
        return not any(python.parts[: len(gap.parts)] == gap.parts for gap in self.pythons_excluded)

    def accepts_cuda(self, cuda: CudaVersion | None, *, os: str = "", backend: str = "") -> bool:
        """Whether one of its wheels loads beside a torch of this CUDA version.

        ``os`` and ``backend`` (cuda, cpu, xpu, rocm) are of that torch; empty where they are unknown. A wheel for CUDA
        needs the CUDA libraries of torch itself, which no other build has.
        """
        if cuda is None:
            return backend in {"", "cuda"} or os not in self.cuda_only_on
        is_for_cpu = bool(self.cuda_only_on) and os not in {"", *self.cuda_only_on}
        return is_for_cpu or self.has_code_for(cuda)

    def has_code_for(self, cuda: CudaVersion) -> bool:
        """Whether one of its wheels was built for this CUDA version, or for one that serves it."""
        if not self.built_cuda:
            return True
        if self.cuda_rule == "exact":
            return cuda in self.built_cuda
        return any(built.major == cuda.major for built in self.built_cuda)

    def is_release(self, version: Version) -> bool:
        """Whether this row speaks of that version."""
        later_patch = self.any_patch and version.parts[:2] == self.version.parts[:2] and version > self.version
        return version == self.version or later_patch


FILE = TableFile(
    "torch_companions.csv",
    Companion,
    ("name", "version"),
    "Companion packages: the torch versions, Pythons and CUDA versions each release accepts.",
)


_PARTS = 3


def _whole(version: Version) -> Version:
    """A release written short in full, as PEP 440 compares it: 0.24 is 0.24.0."""
    parts = (*version.parts, *(0,) * (_PARTS - len(version.parts)))
    while len(parts) > _PARTS and not parts[-1]:
        parts = parts[:-1]
    return Version(parts)


class Companions:
    """Look-ups over the companions."""

    def __init__(self, rows: Iterable[Companion]) -> None:
        self.rows: tuple[Companion, ...] = tuple(rows)
        self._by_name: dict[str, list[Companion]] = {}
        for row in sorted(self.rows, key=lambda row: row.version, reverse=True):
            self._by_name.setdefault(row.name, []).append(row)

    def names(self) -> tuple[str, ...]:
        """Return the packages of the table."""
        return tuple(sorted(self._by_name))

    def releases(self, name: str) -> tuple[Companion, ...]:
        """Return every known release of a package, newest first."""
        return tuple(self._by_name.get(name, ()))

    def find(self, name: str, version: str) -> Companion | None:
        """Return one release; a local label in ``version`` is ignored."""
        try:
            wanted = Version.parse(version.partition("+")[0])
        except ValueError:
            return None
        rows = self._by_name.get(name, ())
        return next((row for row in rows if row.is_release(wanted) or row.is_release(_whole(wanted))), None)

    def best(
        self,
        name: str,
        torch: Version,
        cuda: CudaVersion | None = None,
        *,
        os: str = "",
        backend: str = "",
        python: Version | None = None,
    ) -> Companion | None:
        """Return the release published for this torch, else the newest that fits it; None when there is none.

        ``cuda``, ``os`` and ``backend`` are of the torch build: releases none of whose wheels load beside it are passed
        over, and those without a wheel for ``python``; what is not given excludes nothing.
        """
        fitting = [
            row
            for row in self._by_name.get(name, ())
            if row.fits(torch)
            and row.accepts_cuda(cuda, os=os, backend=backend)
            and (python is None or row.accepts_python(python))
        ]
        if cuda is not None:
            fitting = [row for row in fitting if row.has_code_for(cuda)] or fitting
        published = [row for row in fitting if torch in row.listed_for]
        return next(iter(published or fitting), None)

    def fits(self, name: str, version: str, torch: Version) -> bool | None:
        """Return whether an installed release accepts this torch; None when the table does not hold it."""
        row = self.find(name, version)
        return None if row is None else row.fits(torch)
