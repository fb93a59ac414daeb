"""How the device code inside a library serves a GPU: by itself, by PTX that the driver compiles, in part, or not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Literal

from torchdoctor.checks.installed import driver_cuda, torch_cuda
from torchdoctor.facts import Facts, Gpu, value_or
from torchdoctor.inside import DeviceCode
from torchdoctor.records import record
from torchdoctor.tables import Tables
from torchdoctor.values import CudaVersion, GpuArch

if TYPE_CHECKING:
    from torchdoctor.tables.companion_code import CompanionLibrary
    from torchdoctor.tables.device_code import LibraryCode

Served = Literal["native", "ptx", "partly", "ptx-driver-too-old", "ptx-unknown-driver", ""]

_ONE_CHIP, _FAMILY = "a", "f"  # how the compiler's names of code end that is no code for later GPUs
_VENDORS, _BUNDLED = "nvidia-", ".libs"


@record(frozen=True, slots=True)
class CodeRow:
    """One library and how it serves each GPU, by the GPU's place in the list of facts; unknown GPUs are left out."""

    code: DeviceCode
    gpus: tuple[tuple[int, Served], ...] = ()


def serves(
    code: DeviceCode, gpu: GpuArch, tables: Tables, driver: CudaVersion | None, cuda: CudaVersion | None = None
) -> Served:
    """How a library serves an NVIDIA GPU: what at least half of its fat binaries have counts, the rest is ``partly``.

    ``driver`` is the CUDA that the driver speaks, ``cuda`` the one the library was compiled with; None: unknown.
    """
    native = _counts(name for name in code.sass if _runs(name[0], gpu, tables, cuda))
    if _is_most(native, code):
        return "native"
    ptx = _counts(name for name in code.ptx if _compiles(name[0], gpu, tables, cuda))
    if _is_most(ptx, code):
        return _by_driver(code, tables, driver, cuda)
    return "partly" if native or ptx else ""


def _counts(entries: Iterable[tuple[str, int]]) -> dict[GpuArch, int]:
    """The entries by architecture: a kernel is compiled for one of its variants."""
    counted: dict[GpuArch, int] = defaultdict(int)
    for name, count in entries:
        counted[GpuArch.parse(name)] += count
    return counted


def _is_most(counted: dict[GpuArch, int], code: DeviceCode) -> bool:
    return any(2 * count >= code.fatbins for count in counted.values())


def _runs(name: str, gpu: GpuArch, tables: Tables, cuda: CudaVersion | None) -> bool:
    """Whether the GPU runs this code; of an architecture that the table does not know, by NVIDIA's general rule."""
    arch = GpuArch.parse(name)
    if name.endswith(_ONE_CHIP):
        return arch == gpu
    if tables.coverage.knows(arch):
        return tables.coverage.covers(arch, gpu, cuda)
    return arch.major == gpu.major and arch <= gpu


def _compiles(name: str, gpu: GpuArch, tables: Tables, cuda: CudaVersion | None) -> bool:
    """Whether a driver that is new enough makes code for the GPU of this PTX."""
    arch = GpuArch.parse(name)
    if name.endswith(_ONE_CHIP):
        return arch == gpu
    if name.endswith(_FAMILY) and arch.major != gpu.major:
        return False
    return arch <= gpu and not tables.coverage.is_exception(gpu, cuda)


def _by_driver(code: DeviceCode, tables: Tables, driver: CudaVersion | None, cuda: CudaVersion | None) -> Served:
    floor = ptx_floor(code, tables, cuda)
    if floor is None or driver is None:
        return "ptx-unknown-driver"
    return "ptx" if driver >= floor else "ptx-driver-too-old"


def ptx_floor(code: DeviceCode, tables: Tables, cuda: CudaVersion | None) -> CudaVersion | None:
    """The CUDA that a driver must speak to compile a library's PTX; None where nobody knows."""
    return tables.ptx_versions.cuda(code.ptx_isa) if code.ptx_isa else cuda


def main_codes(code: DeviceCode) -> tuple[str, ...]:
    """What a library was built for: the names of code and PTX that at least half of its fat binaries have."""
    return tuple(name for name, count in (*code.sass, *code.ptx) if 2 * count >= code.fatbins)


def of_torch(row: LibraryCode) -> DeviceCode:
    """A row of the table of torch's libraries as if the file had been read."""
    return DeviceCode(
        library=f"torch/lib/{row.library}",
        package="torch",
        version=str(row.torch),
        fatbins=row.fatbins,
        sass=tuple(row.code.items()),
        ptx=tuple(row.ptx.items()),
    )


def of_companion(row: CompanionLibrary) -> DeviceCode:
    """A row of the table of companions as if the file had been read."""
    return DeviceCode(
        library=row.library,
        package=row.package,
        version=row.version,
        fatbins=row.fatbins,
        sass=tuple(row.code.items()),
        ptx=tuple(row.ptx.items()),
        ptx_isa=row.ptx_isa,
    )


def torch_library(facts: Facts, tables: Tables) -> DeviceCode | None:
    """The installed library that torch's own kernels are in, where the files were read to their ends."""
    codes = [code for code in value_or(facts.inside.code, None) or () if code.package == "torch" and code.sass]
    codes = [code for code in codes if file_name(code) not in tables.device_code.beside]
    largest = max(codes, key=lambda code: code.fatbins, default=None)
    return None if largest is None or largest.error else largest


def is_vendors(code: DeviceCode) -> bool:
    """Whether a library is NVIDIA's own, also inside another's wheel: these choose and compile code by themselves."""
    top = code.library.partition("/")[0]
    return code.package.startswith(_VENDORS) or top == "nvidia" or top.endswith(_BUNDLED)


def file_name(code: DeviceCode) -> str:
    """The name of a library without its folder."""
    return code.library.replace("\\", "/").rpartition("/")[2]


def code_rows(facts: Facts, tables: Tables) -> tuple[CodeRow, ...] | None:
    """Every library with device code and how it serves the GPUs of the host; None where no file was looked into.

    Of NVIDIA's own libraries, and of those that could not be read to their ends, nothing is said but what they hold.
    """
    codes = value_or(facts.inside.code, None)
    if codes is None:
        return None
    gpus = tuple(enumerate(value_or(facts.gpus, ())))
    driver, cuda = driver_cuda(facts, tables), torch_cuda(facts)
    return tuple(CodeRow(code, tuple(_on(code, gpus, tables, driver, cuda))) for code in codes)


def _on(
    code: DeviceCode,
    gpus: Iterable[tuple[int, Gpu]],
    tables: Tables,
    driver: CudaVersion | None,
    cuda: CudaVersion | None,
) -> Iterator[tuple[int, Served]]:
    for place, gpu in gpus:
        arch, gfx = value_or(gpu.compute_capability, None), value_or(gpu.gfx, None)
        if code.error or is_vendors(code):
            continue
        if arch is not None and (code.sass or code.ptx):
            yield place, serves(code, arch, tables, driver, cuda)
        elif gfx is not None and code.gfx:
            yield place, "native" if any(name.partition(":")[0] == gfx.name for name, _ in code.gfx) else ""
