"""The device code inside measured wheels of companions, and which of their libraries a GPU cannot do without."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from torchdoctor.records import record
from torchdoctor.tables.cells import cell, code_name, filled, iso_date, one_of, optional, paired
from torchdoctor.tables.loading import TableFile, TableRow
from torchdoctor.values import Build, CudaVersion


@record(frozen=True, slots=True, eq=False, repr=False)
class CompanionLibrary(TableRow):
    """One library of one release's wheel; ``code`` and ``ptx`` count entries by the compiler's names.

    Of a ``main`` library a GPU must find code, a ``secondary`` one is used where none beside it serves the GPU, and an
    ``optional`` one is made for some GPUs only. Where ``build`` is named, the release has others, or loads beside a
    torch of that CUDA major only. ``for_cuda`` is the CUDA version of the torch that loads this library and none of
    its siblings.
    """

    package: str = cell(filled)
    version: str = cell(filled)
    build: Build | None = cell(optional(Build.parse))
    os: str = cell(one_of("linux", "windows"))
    machine: str = cell(one_of("x86_64", "aarch64"))
    library: str = cell(filled)
    role: str = cell(one_of("main", "secondary", "optional"))
    for_cuda: CudaVersion | None = cell(optional(CudaVersion.parse))
    fatbins: int = cell(int)
    code: Mapping[str, int] = cell(paired(code_name, int))
    ptx: Mapping[str, int] = cell(paired(code_name, int))
    ptx_isa: str = cell(str)
    notes: str = cell(str)
    source: str = cell(filled)
    checked: str = cell(iso_date)

    @property
    def key(self) -> str:
        """The row's name in findings: ``xformers 0.0.35 linux x86_64 xformers/_C.so``."""
        return f"{self.package} {self.version} {self.os} {self.machine} {self.library}"

    def is_of(self, label: str, cuda: CudaVersion | None) -> bool:
        """Whether the measured wheel can be the installed one: by its local label, else by the CUDA of torch."""
        if label or self.build is None:
            return not label or (self.build is not None and self.build.name == label)
        return cuda is not None and self.build.cuda is not None and cuda.major == self.build.cuda.major

    @property
    def stem(self) -> str:
        """The library without what changes with the release: its hash, its ABI, its suffix."""
        return stem(self.library)


def stem(library: str) -> str:
    """``vllm/_C.abi3.so`` and ``vllm/_C.pyd`` are both ``vllm/_C``."""
    folder, slash, name = library.replace("\\", "/").rpartition("/")
    return f"{folder}{slash}{name.partition('.')[0]}"


FILE = TableFile(
    "companion_code.csv",
    CompanionLibrary,
    ("package", "version", "os", "machine", "library"),
    "Libraries of measured companion wheels: role, and entries of device code (SASS) and of PTX per architecture.",
)


class CompanionCode:
    """Look-ups over the libraries."""

    def __init__(self, rows: Iterable[CompanionLibrary]) -> None:
        self.rows: tuple[CompanionLibrary, ...] = tuple(rows)
        self.packages: frozenset[str] = frozenset(row.package for row in self.rows)

    def of(
        self, package: str, version: str, os: str, machine: str, cuda: CudaVersion | None
    ) -> tuple[CompanionLibrary, ...]:
        """The libraries of one release beside a torch of this CUDA; none where nobody opened that wheel.

        A version with a local label is of the measured wheel where the label is that wheel's; one without, where the
        major version of CUDA is.
        """
        public, _, label = version.partition("+")
        wheel = (package, public, os, machine)
        rows = [row for row in self.rows if (row.package, row.version, row.os, row.machine) == wheel]
        return tuple(row for row in rows if row.is_of(label, cuda))

    def role(self, package: str, library: str) -> str:
        """What a library of any release is to its package; empty where no row is of a library of that name."""
        name = stem(library)
        return next((row.role for row in self.rows if row.package == package and row.stem == name), "")
