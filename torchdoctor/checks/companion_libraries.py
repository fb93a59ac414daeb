"""The libraries of companions and their device code: those of the files that were read, else those of the table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from torchdoctor.checks.installed import torch_cuda
from torchdoctor.code_view import Served, is_vendors, of_companion, serves
from torchdoctor.facts import Facts, value_or
from torchdoctor.findings import Row
from torchdoctor.inside import DeviceCode
from torchdoctor.patterns import lazily
from torchdoctor.records import record
from torchdoctor.tables import Tables
from torchdoctor.values import CudaVersion, GpuArch

if TYPE_CHECKING:
    from torchdoctor.tables.companion_code import CompanionLibrary

MAIN, SECONDARY, OPTIONAL = "main", "secondary", "optional"
_UNKNOWN = ""  # the role of a library that the table does not name
_NO_COMPANIONS = ("torch", "triton")
_FOR_CUDA = lazily(r".*_cuda(\d{2,3})")  # as bitsandbytes names the library for each CUDA


@record(frozen=True, slots=True)
class Library:
    """One library that counts: its role, its code, and the row where it was not read from the file itself."""

    role: str
    code: DeviceCode
    row: Row | None = None

    @property
    def folder(self) -> str:
        """The folder that it lies in."""
        return self.code.library.rpartition("/")[0]


@record(frozen=True, slots=True)
class Companion:
    """One package, or a folder of no package, and those of its libraries that count beside this torch."""

    name: str
    version: str
    libraries: tuple[Library, ...]

    @property
    def named(self) -> str:
        """Its name and version; the name alone where it is of no package."""
        return f"{self.name} {self.version}".rstrip()


def companions(facts: Facts, tables: Tables) -> tuple[Companion, ...]:
    """Every companion whose code is known: from the files where they were read, else from the installed versions."""
    codes = value_or(facts.inside.code, None)
    return tuple(_of_files(facts, tables, codes) if codes is not None else _of_table(facts, tables))


def _of_files(facts: Facts, tables: Tables, codes: Sequence[DeviceCode]) -> Iterator[Companion]:
    found: dict[tuple[str, str], list[Library]] = {}
    for code in codes:
        if _is_companions(code) and _is_for(code.library, torch_cuda(facts)):
            role = tables.companion_code.role(code.package, code.library)
            if role == _UNKNOWN and code.package in tables.companion_code.packages:
                role = OPTIONAL  # a new part of a package whose main library is known
            found.setdefault((code.package or _top(code), code.version), []).append(Library(role, code))
    for (name, version), libraries in found.items():
        yield Companion(name, version, tuple(libraries))


def _is_companions(code: DeviceCode) -> bool:
    has_code = bool(code.sass or code.ptx) and not code.error
    return has_code and code.package not in _NO_COMPANIONS and not is_vendors(code)


def _top(code: DeviceCode) -> str:
    """The first folder of a library, or its own name."""
    return code.library.partition("/")[0]


def _is_for(library: str, cuda: CudaVersion | None) -> bool:
    """Whether a library is loaded beside a torch of this CUDA: of one for each CUDA only the one that names it."""
    match = _FOR_CUDA.fullmatch(library.rpartition("/")[2].partition(".")[0])
    return match is None or (cuda is not None and match[1] == f"{cuda.major}{cuda.minor}")


def _of_table(facts: Facts, tables: Tables) -> Iterator[Companion]:
    """By the installed versions; a package that another installer than pip's put there is built by others."""
    os_name, machine = value_or(facts.os.name, None) or "", value_or(facts.os.machine, None) or ""
    for package in facts.packages.items:
        if value_or(package.owner, None) == "conda" or package.name not in tables.companion_code.packages:
            continue
        rows = tables.companion_code.of(package.name, package.version, os_name, machine, torch_cuda(facts))
        yield from measured(rows, torch_cuda(facts))


def measured(rows: Iterable[CompanionLibrary], cuda: CudaVersion | None) -> Iterator[Companion]:
    """The release that these rows of the table are of, as it is beside a torch of this CUDA."""
    counted = [row for row in rows if row.for_cuda in {None, cuda}]
    libraries = tuple(
        Library(row.role, of_companion(row), Row("companion_code", row.key, row.source)) for row in counted
    )
    if libraries:
        yield Companion(counted[0].package, counted[0].version, libraries)


def lacking(companion: Companion, device: GpuArch, tables: Tables, driver: CudaVersion | None) -> Library | None:
    """The library for want of whose code the companion does not serve the GPU; None where it does, or may.

    That is its main one. Of a package that nobody knows no library may have code for the GPU.
    """
    judged = [(library, how_served(library, device, tables, driver)) for library in companion.libraries]
    mains = [(library, how) for library, how in judged if library.role == MAIN]
    for library, how in mains:
        if how in {"", "ptx-driver-too-old"}:
            return library
    strangers = [] if mains else [(library, how) for library, how in judged if library.role == _UNKNOWN]
    if strangers and all(how in {"", "ptx-driver-too-old"} for _, how in strangers):
        return max((library for library, _ in strangers), key=lambda library: library.code.fatbins)
    return None


def how_served(library: Library, device: GpuArch, tables: Tables, driver: CudaVersion | None) -> Served:
    """How a library serves the GPU; nothing is taken for granted of the CUDA that compiled it."""
    return serves(library.code, device, tables, driver)


def only_by_ptx(
    companion: Companion, device: GpuArch, tables: Tables, driver: CudaVersion | None
) -> tuple[Library, ...]:
    """The libraries that serve the GPU by nothing but PTX; one beside another that serves it itself is not used."""
    judged = [(library, how_served(library, device, tables, driver)) for library in companion.libraries]
    native = {library.folder for library, how in judged if library.role == SECONDARY and how == "native"}
    return tuple(
        library
        for library, how in judged
        if how == "ptx" and library.role != OPTIONAL and not (library.role == SECONDARY and library.folder in native)
    )
