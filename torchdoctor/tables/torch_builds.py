"""Every official torch wheel: which versions, builds, systems and Pythons exist, and the device code inside."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from torchdoctor.records import record
from torchdoctor.tables.cells import (
    cell,
    date_or_empty,
    filled,
    iso_date,
    listed,
    one_of,
    optional,
    paired,
    yes_no,
    yes_no_unknown,
)
from torchdoctor.tables.loading import TableFile, TableRow
from torchdoctor.values import Build, CudaVersion, GfxId, GpuArch, PythonTag, Version

CHANNEL = "conda-forge"


@record(frozen=True, slots=True, eq=False, repr=False)
class TorchBuild(TableRow):
    """One wheel family: a torch version in one build for one operating system and machine.

    ``on_pypi`` is None, and ``code_confidence`` unknown, in a row that only a page of an index has shown so far.
    """

    torch: Version = cell(Version.parse)
    build: Build = cell(Build.parse)
    os: str = cell(one_of("linux", "windows", "macos"))
    machine: str = cell(one_of("x86_64", "aarch64", "arm64"))
    pythons: tuple[PythonTag, ...] = cell(listed(PythonTag.parse))
    python_confidence: str = cell(one_of("read", "inferred", "unknown"))
    glibc_min: Version | None = cell(optional(Version.parse))
    os_min: Version | None = cell(optional(Version.parse))
    os_min_exceptions: Mapping[PythonTag, Version] = cell(paired(PythonTag.parse, Version.parse))
    windows_min: Version | None = cell(optional(Version.parse))
    on_pypi: bool | None = cell(yes_no_unknown)
    indexes: tuple[str, ...] = cell(listed(filled))
    advertised: bool = cell(yes_no)
    emit: bool = cell(yes_no)
    code: tuple[GpuArch, ...] = cell(listed(GpuArch.parse))
    ptx: tuple[GpuArch, ...] = cell(listed(GpuArch.parse))
    gfx: tuple[GfxId, ...] = cell(listed(GfxId.parse))
    gfx_broken: tuple[GfxId, ...] = cell(listed(GfxId.parse))
    code_confidence: str = cell(one_of("measured", "read", "inferred", "unknown", "none"))
    cuda: CudaVersion | None = cell(optional(CudaVersion.parse))
    cuda_toolkit: str = cell(str)
    cudnn: str = cell(str)
    nccl: str = cell(str)
    triton: str = cell(str)
    existence: str = cell(one_of("read", "inferred"))
    released: str = cell(date_or_empty)
    notes: str = cell(str)
    source: str = cell(filled)
    code_source: str = cell(str)
    checked: str = cell(iso_date)

    @property
    def key(self) -> str:
        """The row's name in findings: ``2.14.1+cu126 linux x86_64``."""
        return f"{self.torch}+{self.build} {self.os} {self.machine}"

    @property
    def is_of_conda(self) -> bool:
        """Whether it is a package of conda-forge: no label, and the solver of conda fits what stands beside it."""
        return CHANNEL in self.indexes


FILE = TableFile(
    "torch_builds.csv",
    TorchBuild,
    ("torch", "build", "os", "machine"),
    "Official torch wheels: version x build x system x machine, their Pythons, minimums, indexes and device code.",
)


class TorchBuilds:
    """Look-ups over the builds."""

    def __init__(self, rows: Iterable[TorchBuild]) -> None:
        self.rows: tuple[TorchBuild, ...] = tuple(rows)
        self._backends: dict[tuple[str, str, str, tuple[PythonTag, ...]], tuple[TorchBuild, ...]] = {}
        self._hosts: dict[tuple[str, str], tuple[TorchBuild, ...]] = {}
        self._versions: tuple[Version, ...] = ()
        self._by_key = {(row.torch.parts, row.build.name, row.os, row.machine): row for row in self.rows}

    def for_host(self, os: str, machine: str) -> tuple[TorchBuild, ...]:
        """Every build for this system and machine, newest torch first."""
        if (os, machine) not in self._hosts:
            fitting = [row for row in self.rows if row.os == os and row.machine == machine]
            self._hosts[os, machine] = tuple(sorted(fitting, key=lambda row: row.torch.parts, reverse=True))
        return self._hosts[os, machine]

    def of_backend(
        self, os: str, machine: str, backend: str, pythons: tuple[PythonTag, ...] = ()
    ) -> tuple[TorchBuild, ...]:
        """The builds of a backend (``cuda``), of one variant (``cu126``) or of all (empty): read first, newest first.

        With ``pythons``, only those that have a wheel for each of these.
        """
        key = (os, machine, backend, pythons)
        if key not in self._backends:
            rows = [row for row in self.for_host(os, machine) if backend in {row.build.backend, row.build.name, ""}]
            rows.sort(key=lambda row: row.existence == "read", reverse=True)
            self._backends[key] = tuple(row for row in rows if all(tag in row.pythons for tag in pythons))
        return self._backends[key]

    def find(self, torch: Version, build: Build, os: str, machine: str) -> TorchBuild | None:
        """Return the build of this name, or None when it never existed."""
        return self._by_key.get((torch.parts, build.name, os, machine))

    def pypi_default(self, torch: Version, os: str, machine: str) -> TorchBuild | None:
        """Return the build that a plain install from PyPI gets for this torch version."""
        return next((row for row in self.for_host(os, machine) if row.on_pypi and row.torch == torch), None)

    def newest(self) -> Version:
        """Return the newest torch version of the table."""
        return self.versions()[0]

    def versions(self) -> tuple[Version, ...]:
        """Every torch version, newest first."""
        if not self._versions:
            self._versions = tuple(sorted({row.torch for row in self.rows}, reverse=True))
        return self._versions
