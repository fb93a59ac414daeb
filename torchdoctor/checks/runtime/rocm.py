"""Whether the installed ROCm build holds code that this host's AMD GPUs can run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from torchdoctor.checks.installed import base_release, gpu_evidence, gpu_names, official_rows, release
from torchdoctor.checks.other_vendors import for_amd, holds
from torchdoctor.checks.registry import check, seen
from torchdoctor.facts import Facts, Gpu, NotKnownError, is_known, need, value_or
from torchdoctor.findings import Evidence, Finding, Remedy, Row, Text, setting
from torchdoctor.records import record
from torchdoctor.tables import Tables
from torchdoctor.tables.torch_builds import TorchBuild
from torchdoctor.values import GfxId

_SURE = frozenset({"measured", "read"})
_MASKS = ("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")
DISGUISE = "HSA_OVERRIDE_GFX_VERSION"
PARTS = 3  # major, minor, stepping


@record(frozen=True, slots=True)
class Code:
    """The targets a ROCm build works on, those it lists in vain, and how sure that is."""

    works: tuple[GfxId, ...]
    broken: tuple[GfxId, ...]
    evidence: Evidence
    sure: bool
    row: Row | None = None


@check("rocm-gfx-unsupported", severity="error", after=("torch-wrong-vendor", "duplicate-torch", "rocm-computes-wrong"))
def rocm_gfx_unsupported(facts: Facts, tables: Tables) -> Iterator[Finding]:
    """The ROCm build has no kernels for this GPU's gfx id."""
    if need(facts.torch.build).backend != "rocm":
        return
    gpus = of_known_target(facts)
    if not gpus:
        return
    code = code_of(facts, tables)
    # Where the GPU's own code is there and an override passes it off as another, the override is to blame.
    missing = [gpu for gpu in gpus if not {_target(facts, gpu), need(gpu.gfx)} & set(code.works)]
    served = len(missing) < len(gpus)
    if not missing or has_computed(facts) or (served and _is_masked(facts)):
        return
    yield Finding(
        summary=Text("torch {build} has no code for {gpu}", build=need(facts.torch.build), gpu=named(missing)),
        why=_why(code, missing),
        evidence=(code.evidence, *gpu_evidence(facts, missing, "gfx")),
        remedies=_remedies(facts, tables, missing, served=served),
        severity="info" if served or _only_by_name(facts) else None,
        confidence="certain" if code.sure else "likely",
        row=code.row,
    )


def of_known_target(facts: Facts) -> list[Gpu]:
    """Keep AMD's GPUs of known gfx id; skip the check when there are some and none is known."""
    gpus = [gpu for gpu in need(facts.gpus) if value_or(gpu.vendor, "") == "amd" and gpu.driver_sees is not False]
    told = [gpu for gpu in gpus if value_or(gpu.gfx, None)]
    if gpus and not told:
        need(gpus[0].gfx)
    return told


def _target(facts: Facts, gpu: Gpu) -> GfxId:
    """The target whose code the runtime loads: the GPU's own, or the one that the override passes it off as."""
    return target_of(value_or(facts.env.get(DISGUISE), "").strip()) or need(gpu.gfx)


def target_of(override: str) -> GfxId | None:
    """The gfx id that a value such as 10.3.0 stands for; None for what is none."""
    parts = override.split(".")
    if len(parts) != PARTS or not all(part.isdecimal() for part in parts):
        return None
    major, minor, stepping = map(int, parts)
    try:
        return GfxId.parse(f"gfx{major}{minor:x}{stepping:x}")
    except ValueError:
        return None


def code_of(facts: Facts, tables: Tables) -> Code:
    """What the build holds: its own list, less what the official wheels of that name are known to lack all the same."""
    rows = official_rows(facts, tables)
    own = tuple(_parsed(value_or(facts.torch.arch_list, ())))
    if own:
        broken = tuple(gfx for gfx in own if rows and all(gfx in row.gfx_broken for row in rows))
        listed = seen(facts, "torch.arch_list", " ".join(map(str, own)))
        return Code(tuple(gfx for gfx in own if gfx not in broken), broken, listed, sure=True)
    if not rows or any(not row.gfx for row in rows):
        raise NotKnownError("list of gfx ids in the torch build")
    return _code_of_row(facts, rows[0])  # ROCm builds exist for one system and machine only


def _code_of_row(facts: Facts, row: TorchBuild) -> Code:
    works = tuple(gfx for gfx in row.gfx if holds(row, gfx))
    evidence = seen(facts, "torch.arch_list", " ".join(map(str, row.gfx)), f"torch_builds: {row.key}")
    version = need(facts.torch.version)
    is_release = release(version) == base_release(version)[0]
    return Code(
        works,
        row.gfx_broken,
        evidence,
        sure=is_release and row.code_confidence in _SURE,
        row=Row("torch_builds", row.key, row.code_source or row.source),
    )


def _parsed(names: Sequence[str]) -> Iterator[GfxId]:
    """The targets of a list; a feature such as ``:xnack-`` behind a target does not matter here."""
    for name in names:
        with suppress(ValueError):
            yield GfxId.parse(name.partition(":")[0])


def has_computed(facts: Facts) -> bool:
    """Whether a smoke test has computed on a GPU, which proves more than any list."""
    probes = value_or(facts.trial.probes, ())
    return any(probe.outcome == "passed" and probe.device.startswith("cuda") for probe in probes)


def _only_by_name(facts: Facts) -> bool:
    """Whether nobody printed a gfx id, and the override that many set on such GPUs may be set."""
    count = len(value_or(facts.gpus, ()))
    by_name = any(facts.source(f"gpus[{place}].gfx").startswith("amd_gpus") for place in range(count))
    return by_name and not is_known(facts.env.get(DISGUISE))


def _is_masked(facts: Facts) -> bool:
    return any(value_or(facts.env.get(name), "") for name in _MASKS)


def named(gpus: Sequence[Gpu]) -> str:
    """The names of some GPUs, and the gfx ids behind them."""
    names, targets = gpu_names(gpus), ", ".join(dict.fromkeys(str(need(gpu.gfx)) for gpu in gpus))
    return names if targets in names else f"{names} ({targets})"


def _why(code: Code, missing: Sequence[Gpu]) -> Text:
    if any(need(gpu.gfx) in code.broken for gpu in missing):
        return Text(
            "The build lists this gfx id and its math libraries have no kernels for it. That the GPU is listed by "
            "rocminfo, or that torch.cuda.is_available() is True, does not change that."
        )
    return Text(
        "ROCm code runs on the gfx ids it was compiled for and on no others; this build has {code}. The GPU is listed "
        "all the same, and torch.cuda.is_available() does not look at this. Neither the kernel driver nor a ROCm of "
        "the system adds code to the build.",
        code=" ".join(map(str, code.works)),
    )


def _remedies(facts: Facts, tables: Tables, missing: Sequence[Gpu], *, served: bool) -> tuple[Remedy, ...]:
    if not served:
        return (for_amd(facts, tables, missing),)
    mine = [gpu for gpu in need(facts.gpus) if gpu.vendor == "amd"]
    visible = ",".join(str(index) for index, gpu in enumerate(mine) if gpu not in missing)
    return (Remedy(Text("Hide {gpu} from the program", gpu=named(missing)), (setting(HIP_VISIBLE_DEVICES=visible),)),)
