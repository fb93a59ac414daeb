"""Packages that projects list beside torch: what the PyTorch index holds, what needs a GPU, and what is compiled."""

from __future__ import annotations

from collections.abc import Iterable

from torchdoctor.records import record
from torchdoctor.tables.cells import cell, filled, iso_date, listed, one_of, yes_no
from torchdoctor.tables.loading import TableFile, TableRow


@record(frozen=True, slots=True, eq=False, repr=False)
class ListedPackage(TableRow):
    """One package.

    ``index_held``: the PyTorch index holds it. ``built_per_build``: with one wheel for every build of torch. ``needs``
    are the backends of torch it has code for (empty: any). ``compiles``: installing it compiles code for the GPU.
    ``system_cuda``: it may use the CUDA, cuDNN or nvcc of the host or image, not that of torch.
    """

    name: str = cell(filled)
    index_held: bool = cell(yes_no)
    built_per_build: bool = cell(yes_no)
    needs: tuple[str, ...] = cell(listed(one_of("cuda", "rocm", "xpu")))
    compiles: bool = cell(yes_no)
    system_cuda: bool = cell(yes_no)
    notes: str = cell(str)
    source: str = cell(filled)
    checked: str = cell(iso_date)

    @property
    def key(self) -> str:
        """The row's name in findings: the package."""
        return self.name


FILE = TableFile(
    "listed_packages.csv",
    ListedPackage,
    ("name",),
    "Packages beside torch: held by the PyTorch index or not, built for each build, the backends and CUDA they need.",
)


class ListedPackages:
    """Look-ups over the packages."""

    def __init__(self, rows: Iterable[ListedPackage]) -> None:
        self.rows: tuple[ListedPackage, ...] = tuple(rows)
        self._by_name = {row.name: row for row in self.rows}

    def find(self, name: str) -> ListedPackage | None:
        """Return the row of a package; None when the table does not speak of it."""
        return self._by_name.get(name)

    def built_per_build(self) -> tuple[str, ...]:
        """Return the packages, torch among them, that have one wheel for each build of torch."""
        return tuple(row.name for row in self.rows if row.built_per_build)
