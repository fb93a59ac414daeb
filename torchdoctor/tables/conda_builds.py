"""The torch packages of conda-forge, as builds that the same conditions judge."""

from __future__ import annotations

from collections.abc import Iterable

from torchdoctor.records import record
from torchdoctor.tables.cells import cell, filled, iso_date, listed, one_of, optional
from torchdoctor.tables.loading import TableFile, TableRow
from torchdoctor.tables.torch_builds import CHANNEL, TorchBuild
from torchdoctor.values import Build, CudaVersion, GpuArch, PythonTag, Version


@record(frozen=True, slots=True, eq=False, repr=False)
class CondaBuild(TableRow):
    """One torch version in one build for one platform of conda-forge; ``build`` is named as a wheel's."""

    torch: Version = cell(Version.parse)
    build: Build = cell(Build.parse)
    os: str = cell(one_of("linux", "windows", "macos"))
    machine: str = cell(one_of("x86_64", "aarch64", "arm64"))
    pythons: tuple[PythonTag, ...] = cell(listed(PythonTag.parse))
    glibc_min: Version | None = cell(optional(Version.parse))
    os_min: Version | None = cell(optional(Version.parse))
    cuda: CudaVersion | None = cell(optional(CudaVersion.parse))
    code: tuple[GpuArch, ...] = cell(listed(GpuArch.parse))
    ptx: tuple[GpuArch, ...] = cell(listed(GpuArch.parse))
    code_confidence: str = cell(one_of("read", "inferred", "none"))
    notes: str = cell(str)
    source: str = cell(filled)
    checked: str = cell(iso_date)

    @property
    def key(self) -> str:
        """The row's name in findings: ``conda-forge 2.13.0 cu129 linux x86_64``."""
        return f"{CHANNEL} {self.torch} {self.build} {self.os} {self.machine}"

    def as_build(self) -> TorchBuild:
        """The row as a build whose only index is the channel."""
        return TorchBuild(
            torch=self.torch,
            build=self.build,
            os=self.os,
            machine=self.machine,
            pythons=self.pythons,
            python_confidence="read",
            glibc_min=self.glibc_min,
            os_min=self.os_min,
            os_min_exceptions={},
            windows_min=None,
            on_pypi=False,
            indexes=(CHANNEL,),
            advertised=True,
            emit=True,
            code=self.code,
            ptx=self.ptx,
            gfx=(),
            gfx_broken=(),
            code_confidence=self.code_confidence,
            cuda=self.cuda,
            cuda_toolkit="",
            cudnn="",
            nccl="",
            triton="",
            existence="read",
            released=self.checked,
            notes=self.notes,
            source=self.source,
            code_source="",
            checked=self.checked,
        )


FILE = TableFile(
    "conda_builds.csv",
    CondaBuild,
    ("torch", "build", "os", "machine"),
    "Torch packages of conda-forge: version x build x system x machine, their Pythons, minimums and device code.",
)


def as_builds(rows: Iterable[CondaBuild]) -> tuple[TorchBuild, ...]:
    """Every row as a build."""
    return tuple(row.as_build() for row in rows)
