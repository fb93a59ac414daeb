"""Whether the installed build holds code that this host's NVIDIA GPUs can run, and whether it works at all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torchdoctor.checks.arch_remedies import arch_remedies
from torchdoctor.checks.installed import (
    base_release,
    gpu_evidence,
    gpu_names,
    is_from_conda,
    jetson,
    nvidia_gpus,
    on_jetson,
    package_evidence,
    release,
    torch_was_imported,
)
from torchdoctor.checks.registry import check, seen
from torchdoctor.checks.torch_code import Code, codes_of, is_for_cuda, named, serves, with_capability
from torchdoctor.checks.torchs_own_table import wrong_advice
from torchdoctor.facts import Facts, Gpu, NotKnownError, Package, known, need, value_or
from torchdoctor.findings import Confidence, Finding, Remedy, Row, Severity, Text
from torchdoctor.tables import Tables
from torchdoctor.tables.known_bad_releases import BadRelease


@check("torch-arch-missing", decides=True, severity="error", after=("jetson-wheel",))
def torch_arch_missing(facts: Facts, tables: Tables) -> Iterator[Finding]:
    """The build has no code for this GPU's compute capability."""
    if not is_for_cuda(facts):
        return
    gpus = with_capability(nvidia_gpus(facts))
    if not gpus:
        return
    codes = codes_of(facts, tables)
    missing = [gpu for gpu in gpus if not any(serves(code, gpu, facts, tables) for code in codes)]
    if not missing and facts.quoted.errors and not all(code.sure for code in codes):
        raise NotKnownError("architecture list of the torch build")  # an error may know better than a guess
    served = [gpu for gpu in gpus if gpu not in missing]
    if not missing or (served and value_or(facts.env.get("CUDA_VISIBLE_DEVICES"), "")):
        return
    doubtful = all(_only_by_tegra_rule(codes[0], gpu, facts, tables) for gpu in missing)
    yield Finding(
        summary=Text("torch {build} has no code for {gpu}", build=named(facts), gpu=gpu_names(missing)),
        why=Text(
            "A GPU runs code of its own major version and an equal or lower minor one: {gpus}; this build has {code}. "
            "torch.cuda.is_available() does not look at this, and neither the driver nor the CUDA toolkit can add it.",
            gpus=", ".join(dict.fromkeys(str(gpu.compute_capability) for gpu in missing)),
            code=codes[0].words,
        ),
        evidence=(codes[0].evidence, *codes[0].others, *gpu_evidence(facts, missing, "compute_capability")),
        remedies=arch_remedies(facts, tables, missing, served),
        severity=_severity(bool(served) or doubtful),
        confidence=_confidence(codes, doubtful=doubtful),
        row=codes[0].row,
        beware=wrong_advice(facts, tables, missing),
    )


def _only_by_tegra_rule(code: Code, gpu: Gpu, facts: Facts, tables: Tables) -> bool:
    """On a Jetson with the server CUDA stack code of the same major has been seen to run although torch refuses it."""
    device = need(gpu.compute_capability)
    if not tables.coverage.is_tegra(device) or not on_jetson(facts):
        return False
    jetpack = jetson(facts, tables)
    near = any(arch.major == device.major and arch <= device for arch in code.native)
    return near and jetpack is not None and jetpack.cuda_stack == "SBSA"


def _severity(mild: bool) -> Severity:
    return "warning" if mild else "error"


def _confidence(codes: Sequence[Code], *, doubtful: bool) -> Confidence:
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
