"""The device code of the installed torch: read in its files, listed by itself, measured of its wheel, or bounded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torchdoctor.checks.installed import (
    CODE_PREFIXES,
    base_release,
    driver_cuda,
    is_foreign,
    is_from_conda,
    nvidia_gpus,
    official_rows,
    quoted_archs,
    release,
    torch_cuda,
)
from torchdoctor.checks.registry import seen
from torchdoctor.code_view import main_codes, torch_library
from torchdoctor.code_view import serves as file_serves
from torchdoctor.facts import Facts, Gpu, NotKnownError, is_known, need, value_or
from torchdoctor.findings import Evidence, Row
from torchdoctor.inside import DeviceCode
from torchdoctor.records import record, replace
from torchdoctor.tables import Tables
from torchdoctor.tables.torch_builds import TorchBuild
from torchdoctor.values import CudaVersion, GpuArch

_SURE = {"measured", "read"}
_IN_FILES = "inside.code"


@record(frozen=True, slots=True)
class Code:
    """The device code that the installed build holds, or may hold at most; ``others`` say something else of it."""

    native: tuple[GpuArch, ...]
    ptx: tuple[GpuArch, ...]
    cuda: CudaVersion | None
    words: str
    evidence: Evidence
    sure: bool
    row: Row | None = None
    file: DeviceCode | None = None
    others: tuple[Evidence, ...] = ()


def is_for_cuda(facts: Facts) -> bool:
    """Whether the build is one for CUDA; where its name is unknown, torch's own list of architectures tells."""
    quoted, _ = quoted_archs(facts)
    own = value_or(facts.torch.arch_list, ())
    if quoted or (own and not is_known(facts.torch.build)):
        return any(name.startswith(CODE_PREFIXES) for name in quoted or own)
    return need(facts.torch.build).backend == "cuda"


def named(facts: Facts) -> str:
    """The build's name, else the version, else nothing."""
    if quoted_archs(facts)[0]:
        return "that the program imports"
    build = value_or(facts.torch.build, None)
    return str(build) if build else value_or(facts.torch.full, "") or value_or(facts.torch.version, "") or "itself"


def with_capability(gpus: Sequence[Gpu]) -> list[Gpu]:
    """Keep the GPUs of known compute capability; skip the check when there are GPUs and none is known."""
    told = [gpu for gpu in gpus if value_or(gpu.compute_capability, None)]
    if gpus and not told:
        need(gpus[0].compute_capability)
    return told


def code_for_all(facts: Facts, tables: Tables) -> Evidence | None:
    """What proves that the build has code for every NVIDIA GPU of the host; None where it has not or nobody knows."""
    gpus = nvidia_gpus(facts) if is_for_cuda(facts) else ()
    if not gpus or any(value_or(gpu.compute_capability, None) is None for gpu in gpus):
        return None
    codes = codes_of(facts, tables)
    proven = all(code.sure and serves(code, gpu, facts, tables) for code in codes for gpu in gpus)
    return codes[0].evidence if proven else None


def codes_of(facts: Facts, tables: Tables) -> list[Code]:
    """What the build holds: its files, else its own list, else the official wheel, else what its CUDA could compile."""
    quoted, source = quoted_archs(facts)
    native = tuple(name for name in quoted if name.startswith("sm_"))  # that its PTX does not help, it says itself
    library = None if native else torch_library(facts, tables)
    if library is not None:
        return [_code_of_file(facts, tables, library)]
    own = native or value_or(facts.torch.arch_list, ())
    if own:
        return [_code_of_list(facts, own, source)]
    rows = official_rows(facts, tables)
    if any(not row.code for row in rows):
        raise NotKnownError("architecture list of the torch build")
    codes = [_code_of_row(facts, row) for row in rows] or list(_code_of_own_table(facts))
    name = f"{rows[0].torch}+{rows[0].build}" if rows else ""
    return _any_of(facts, codes, name) if len(codes) > 1 else codes or [_ceiling(facts, tables)]


def _code_of_file(facts: Facts, tables: Tables, library: DeviceCode) -> Code:
    """What torch's largest library holds. What torch lists itself, or the table has, is shown where it differs."""
    names = main_codes(library)
    words = " ".join(names)
    others = tuple(_who_differ(facts, tables, {arch.sm for arch in GpuArch.parse_each(names)}))
    return Code(
        tuple(GpuArch.parse_each(name for name in names if name.startswith("sm_"))),
        tuple(GpuArch.parse_each(name for name in names if name.startswith("compute_"))),
        torch_cuda(facts),
        words,
        seen(facts, _IN_FILES, words, library.library),
        sure=True,
        file=library,
        others=others,
    )


def _who_differ(facts: Facts, tables: Tables, real: set[str]) -> Iterator[Evidence]:
    own = value_or(facts.torch.arch_list, ())
    if own and {arch.sm for arch in GpuArch.parse_each(own)} != real:
        yield seen(facts, "torch.arch_list", " ".join(own))
    if not (is_known(facts.torch.version) and is_known(facts.torch.build)):
        return
    for row in official_rows(facts, tables):
        if row.code and {arch.sm for arch in (*row.code, *row.ptx)} != real:
            yield seen(facts, "torch.arch_list", " ".join(map(str, row.code)), f"torch_builds: {row.key}")


def _code_of_own_table(facts: Facts) -> Iterator[Code]:
    """What a torch newer than our tables says of the builds of its own release."""
    table, cuda = value_or(facts.inside.own_table, None), torch_cuda(facts)
    machine = value_or(facts.os.machine, "")
    for version, own_machine, names in table.builds if table and not is_foreign(facts) else ():
        if version == str(cuda) and own_machine in {"", machine}:
            native = tuple(GpuArch.parse_each(names))
            words = " ".join(names)
            evidence = seen(facts, "inside.own_table", words, "torch/cuda/__init__.py")
            yield Code(native, (), cuda, words, evidence, sure=False)


def _code_of_list(facts: Facts, own: Sequence[str], source: str) -> Code:
    native = tuple(GpuArch.parse_each(arch for arch in own if arch.startswith("sm_")))
    ptx = tuple(GpuArch.parse_each(arch for arch in own if arch.startswith("compute_")))
    words = " ".join(own)
    return Code(native, ptx, torch_cuda(facts), words, seen(facts, "torch.arch_list", words, source), sure=True)


def _code_of_row(facts: Facts, row: TorchBuild) -> Code:
    listed = " ".join([*map(str, row.code), *(f"{arch}+PTX" for arch in row.ptx)])
    evidence = seen(facts, "torch.arch_list", listed, f"torch_builds: {row.key}")
    version, _ = base_release(need(facts.torch.version))
    exact = release(need(facts.torch.version)) == version and not is_from_conda(facts)
    return Code(
        row.code,
        row.ptx,
        row.cuda,
        listed,
        evidence,
        sure=exact and row.code_confidence in _SURE,
        row=Row("torch_builds", row.key, row.code_source or row.source),
    )


def _any_of(facts: Facts, codes: Sequence[Code], name: str) -> list[Code]:
    """Cite all wheels that can be the installed one: system or machine is unknown, and what holds, holds for each."""
    native = sorted({arch for code in codes for arch in code.native})
    ptx = sorted({arch for code in codes for arch in code.ptx})
    listed = " ".join([*map(str, native), *(f"{arch}+PTX" for arch in ptx)])
    evidence = seen(facts, "torch.arch_list", listed, f"torch_builds: all {len(codes)} wheels of {name}")
    return [replace(code, words=f"{listed} at most", evidence=evidence, row=None) for code in codes]


def _ceiling(facts: Facts, tables: Tables) -> Code:
    """An unknown build holds at most what its CUDA compiles for; another maker's may hold all of it as PTX too."""
    cuda = torch_cuda(facts)
    toolkit = tables.toolkits.of(cuda) if cuda else None
    if cuda is None or toolkit is None:
        raise NotKnownError("architecture list of the torch build")
    words = f"code for {toolkit.arch_min} to {toolkit.arch_max} at most, which is what CUDA {cuda} compiles for"
    row = Row("cuda_toolkits", toolkit.key, toolkit.source)
    ptx = toolkit.archs if is_foreign(facts) else ()
    return Code(toolkit.archs, ptx, cuda, words, seen(facts, "torch.cuda", cuda), sure=False, row=row)


def serves(code: Code, gpu: Gpu, facts: Facts, tables: Tables) -> bool:
    """Whether the GPU runs the code; skip the check where that turns on a driver or a CUDA that nobody knows."""
    device = need(gpu.compute_capability)
    driver = driver_cuda(facts, tables) if code.ptx else None
    if code.file is not None:
        how = file_serves(code.file, device, tables, driver, code.cuda)
        if how == "ptx-unknown-driver":
            raise NotKnownError("CUDA version of the driver")
        return how in {"native", "ptx"}
    if tables.coverage.serves(code.native, code.ptx, device, code.cuda, driver):
        return True
    if any(arch <= device for arch in code.ptx):
        if driver is None:
            raise NotKnownError("CUDA version of the driver")
        if code.cuda is None:
            raise NotKnownError("CUDA version of the torch build")
    return False
