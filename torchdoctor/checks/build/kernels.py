"""Whether the installed build holds code that this host's NVIDIA GPUs can run, and whether it works at all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torchdoctor.checks.arch_remedies import arch_remedies
from torchdoctor.checks.installed import (
    CODE_PREFIXES,
    base_release,
    driver_cuda,
    gpu_evidence,
    gpu_names,
    is_foreign,
    is_from_conda,
    jetson,
    nvidia_gpus,
    official_rows,
    on_jetson,
    package_evidence,
    quoted_archs,
    release,
    torch_cuda,
    torch_was_imported,
)
from torchdoctor.checks.registry import check, seen
from torchdoctor.facts import Facts, Gpu, NotKnownError, Package, is_known, known, need, value_or
from torchdoctor.findings import Confidence, Evidence, Finding, Remedy, Row, Severity, Text
from torchdoctor.records import record, replace
from torchdoctor.tables import Tables
from torchdoctor.tables.known_bad_releases import BadRelease
from torchdoctor.tables.torch_builds import TorchBuild
from torchdoctor.values import CudaVersion, GpuArch

_SURE = {"measured", "read"}


@record(frozen=True, slots=True)
class _Code:
    """The device code that the installed build holds, or may hold at most."""

    native: tuple[GpuArch, ...]
    ptx: tuple[GpuArch, ...]
    cuda: CudaVersion | None
    words: str
    evidence: Evidence
    sure: bool
    row: Row | None = None


@check("torch-arch-missing", decides=True, severity="error", after=("jetson-wheel",))
def torch_arch_missing(facts: Facts, tables: Tables) -> Iterator[Finding]:
    """The build has no code for this GPU's compute capability."""
    if not _is_for_cuda(facts):
        return
    gpus = _with_capability(nvidia_gpus(facts))
    if not gpus:
        return
    codes = _codes(facts, tables)
    missing = [gpu for gpu in gpus if not any(_serves(code, gpu, facts, tables) for code in codes)]
    if not missing and facts.quoted.errors and not all(code.sure for code in codes):
        raise NotKnownError("architecture list of the torch build")  # an error may know better than a guess
    served = [gpu for gpu in gpus if gpu not in missing]
    if not missing or (served and value_or(facts.env.get("CUDA_VISIBLE_DEVICES"), "")):
        return
    doubtful = all(_only_by_tegra_rule(codes[0], gpu, facts, tables) for gpu in missing)
    yield Finding(
        summary=Text("torch {build} has no code for {gpu}", build=_named(facts), gpu=gpu_names(missing)),
        why=Text(
            "A GPU runs code of its own major version and an equal or lower minor one: {gpus}; this build has {code}. "
            "torch.cuda.is_available() does not look at this, and neither the driver nor the CUDA toolkit can add it.",
            gpus=", ".join(dict.fromkeys(str(gpu.compute_capability) for gpu in missing)),
            code=codes[0].words,
        ),
        evidence=(codes[0].evidence, *gpu_evidence(facts, missing, "compute_capability")),
        remedies=arch_remedies(facts, tables, missing, served),
        severity=_severity(bool(served) or doubtful),
        confidence=_confidence(codes, doubtful=doubtful),
        row=codes[0].row,
    )


def code_for_all(facts: Facts, tables: Tables) -> Evidence | None:
    """What proves that the build has code for every NVIDIA GPU of the host; None where it has not or nobody knows."""
    gpus = nvidia_gpus(facts) if _is_for_cuda(facts) else []
    if not gpus or any(value_or(gpu.compute_capability, None) is None for gpu in gpus):
        return None
    codes = _codes(facts, tables)
    proven = all(code.sure and _serves(code, gpu, facts, tables) for code in codes for gpu in gpus)
    return codes[0].evidence if proven else None


def _is_for_cuda(facts: Facts) -> bool:
    """Whether the build is one for CUDA; where its name is unknown, torch's own list of architectures tells."""
    quoted, _ = quoted_archs(facts)
    own = value_or(facts.torch.arch_list, ())
    if quoted or (own and not is_known(facts.torch.build)):
        return any(name.startswith(CODE_PREFIXES) for name in quoted or own)
    return need(facts.torch.build).backend == "cuda"


def _named(facts: Facts) -> str:
    """The build's name, else the version, else nothing."""
    if quoted_archs(facts)[0]:
        return "that the program imports"
    build = value_or(facts.torch.build, None)
    return str(build) if build else value_or(facts.torch.full, "") or value_or(facts.torch.version, "") or "itself"


def _with_capability(gpus: Sequence[Gpu]) -> list[Gpu]:
    """Keep the GPUs of known compute capability; skip the check when there are GPUs and none is known."""
    told = [gpu for gpu in gpus if value_or(gpu.compute_capability, None)]
    if gpus and not told:
        need(gpus[0].compute_capability)
    return told


def _codes(facts: Facts, tables: Tables) -> list[_Code]:
    """What the build holds: its own list, else the rows of the official wheel, else what its CUDA could compile."""
    quoted, source = quoted_archs(facts)
    native = tuple(name for name in quoted if name.startswith("sm_"))  # that its PTX does not help, it says itself
    own = native or value_or(facts.torch.arch_list, ())
    if own:
        return [_code_of_list(facts, own, source)]
    rows = official_rows(facts, tables)
    if any(not row.code for row in rows):
        raise NotKnownError("architecture list of the torch build")
    codes = [_code_of_row(facts, row) for row in rows]
    name = f"{rows[0].torch}+{rows[0].build}" if rows else ""
    return _any_of(facts, codes, name) if len(codes) > 1 else codes or [_ceiling(facts, tables)]


def _code_of_list(facts: Facts, own: Sequence[str], source: str) -> _Code:
    native = tuple(GpuArch.parse_each(arch for arch in own if arch.startswith("sm_")))
    ptx = tuple(GpuArch.parse_each(arch for arch in own if arch.startswith("compute_")))
    words = " ".join(own)
    return _Code(native, ptx, torch_cuda(facts), words, seen(facts, "torch.arch_list", words, source), sure=True)


def _code_of_row(facts: Facts, row: TorchBuild) -> _Code:
    listed = " ".join([*map(str, row.code), *(f"{arch}+PTX" for arch in row.ptx)])
    evidence = seen(facts, "torch.arch_list", listed, f"torch_builds: {row.key}")
    version, _ = base_release(need(facts.torch.version))
    exact = release(need(facts.torch.version)) == version and not is_from_conda(facts)
    return _Code(
        row.code,
        row.ptx,
        row.cuda,
        listed,
        evidence,
        sure=exact and row.code_confidence in _SURE,
        row=Row("torch_builds", row.key, row.code_source or row.source),
    )


def _any_of(facts: Facts, codes: Sequence[_Code], name: str) -> list[_Code]:
    """Cite all wheels that can be the installed one: system or machine is unknown, and what holds, holds for each."""
    native = sorted({arch for code in codes for arch in code.native})
    ptx = sorted({arch for code in codes for arch in code.ptx})
    listed = " ".join([*map(str, native), *(f"{arch}+PTX" for arch in ptx)])
    evidence = seen(facts, "torch.arch_list", listed, f"torch_builds: all {len(codes)} wheels of {name}")
    return [replace(code, words=f"{listed} at most", evidence=evidence, row=None) for code in codes]


def _ceiling(facts: Facts, tables: Tables) -> _Code:
    """An unknown build holds at most what its CUDA compiles for; another maker's may hold all of it as PTX too."""
    cuda = torch_cuda(facts)
    toolkit = tables.toolkits.of(cuda) if cuda else None
    if cuda is None or toolkit is None:
        raise NotKnownError("architecture list of the torch build")
    words = f"code for {toolkit.arch_min} to {toolkit.arch_max} at most, which is what CUDA {cuda} compiles for"
    row = Row("cuda_toolkits", toolkit.key, toolkit.source)
    ptx = toolkit.archs if is_foreign(facts) else ()
    return _Code(toolkit.archs, ptx, cuda, words, seen(facts, "torch.cuda", cuda), sure=False, row=row)


def _serves(code: _Code, gpu: Gpu, facts: Facts, tables: Tables) -> bool:
    device = need(gpu.compute_capability)
    driver = driver_cuda(facts, tables) if code.ptx else None
    if tables.coverage.serves(code.native, code.ptx, device, code.cuda, driver):
        return True
    if any(arch <= device for arch in code.ptx):
        if driver is None:
            raise NotKnownError("CUDA version of the driver")
        if code.cuda is None:
            raise NotKnownError("CUDA version of the torch build")
    return False


def _only_by_tegra_rule(code: _Code, gpu: Gpu, facts: Facts, tables: Tables) -> bool:
    """On a Jetson with the server CUDA stack code of the same major has been seen to run although torch refuses it."""
    device = need(gpu.compute_capability)
    if not tables.coverage.is_tegra(device) or not on_jetson(facts):
        return False
    jetpack = jetson(facts, tables)
    near = any(arch.major == device.major and arch <= device for arch in code.native)
    return near and jetpack is not None and jetpack.cuda_stack == "SBSA"


def _severity(mild: bool) -> Severity:
    return "warning" if mild else "error"


def _confidence(codes: Sequence[_Code], *, doubtful: bool) -> Confidence:
    if doubtful:
        return "possible"
    return "certain" if all(code.sure for code in codes) else "likely"


@check("known-bad-release", severity="error", parent="torch-import-fails")
def known_bad_release(facts: Facts, tables: Tables) -> Iterator[Finding]:
    """This very release is broken on this platform."""
    version, nightly = base_release(need(facts.torch.version))
    name = "pytorch" if is_from_conda(facts) else "torch"
    if version is None:
        return
    for row in tables.known_bad_releases.matching(name, version, nightly):
        beside = _beside(facts, row)
        works = row.breaks == "import" and torch_was_imported(facts)
        if works or beside is False or not _is_platform(facts, row):
            continue
        yield Finding(
            summary=Text("{name} {version} is broken as published here", name=name, version=need(facts.torch.version)),
            why=Text("{effect}.", effect=row.effect),
            evidence=(
                seen(facts, "torch.version", need(facts.torch.version)),
                *((package_evidence(facts, beside),) if isinstance(beside, Package) else ()),
            ),
            remedies=_bad_release_remedies(row),
            confidence="certain" if row.breaks == "accelerator" else "likely",
            row=Row("known_bad_releases", row.key, row.source),
        )


def _beside(facts: Facts, row: BadRelease) -> Package | bool:
    """Return the neighbour that triggers the fault, True when none is needed, False when it is not there."""
    if not row.beside:
        return True
    package = known(facts.packages.find(row.beside))
    version = release(package.version) if package else None
    return package if package and version and row.beside_min and version >= row.beside_min else False


def _is_platform(facts: Facts, row: BadRelease) -> bool:
    return (
        (not row.os or need(facts.os.name) == row.os)
        and (not row.machine or need(facts.os.machine) == row.machine)
        and (row.build is None or need(facts.torch.build) == row.build)
    )


def _bad_release_remedies(row: BadRelease) -> tuple[Remedy, ...]:
    remedy = Remedy(Text("Instead: {fix}", fix=row.fix), installs=not row.beside)
    if not row.beside:
        return (remedy,)
    return (Remedy(remedy.text, commands=(f'conda install "{row.beside}<{row.beside_min}"',)),)
