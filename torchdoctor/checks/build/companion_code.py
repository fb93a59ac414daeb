"""Extensions whose own kernels do not reach as far as torch's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torchdoctor.checks.companion_libraries import Companion, Library, companions, how_served, lacking, only_by_ptx
from torchdoctor.checks.installed import driver_cuda, gpu_evidence, gpu_names, nvidia_gpus
from torchdoctor.checks.registry import check, seen, told_by_a_text
from torchdoctor.checks.torch_code import code_for_all, is_for_cuda, with_capability
from torchdoctor.code_view import main_codes, ptx_floor
from torchdoctor.facts import ErrorText, Facts, Gpu, need, value_or
from torchdoctor.findings import Evidence, Finding, Remedy, Text
from torchdoctor.tables import Tables
from torchdoctor.values import CudaVersion

_NO_KERNEL = "no-kernel-image"  # the known error that torch and extensions raise in the same words
_SMOKE = Remedy(Text("Prove that torch itself works"), commands=("torchdoctor smoke",))


@check(
    "companion-arch-missing",
    spares_torch=True,
    severity="warning",
    parent="torch-companion-mismatch",
    after=("torch-arch-missing",),
)
def companion_arch_missing(facts: Facts, tables: Tables) -> Iterator[Finding]:
    """Torch has kernels for this GPU and an extension has none."""
    quoted = next((error for error in facts.quoted.errors if error.id == _NO_KERNEL and not error.doubtful), None)
    known = companions(facts, tables)
    found = tuple(_lacking(facts, tables, known, quoted))
    yield from found
    if found or (known and not facts.quoted.errors):
        return
    code = code_for_all(facts, tables) if quoted else None
    if quoted is None or code is None:
        yield from told_by_a_text(facts, tables)
    else:
        yield _some_extension(facts, quoted, code)


def _some_extension(facts: Facts, quoted: ErrorText, code: Evidence) -> Finding:
    """What an error proves where torch is known to have the code and nobody knows which extension has not."""
    gpus = nvidia_gpus(facts)
    return Finding(
        summary=Text("torch has code for {gpu} and an extension has none", gpu=gpu_names(gpus)),
        why=Text(
            "The installed torch was built for this GPU, so the kernel that is missing belongs to a library compiled "
            "beside it; the last frames of the traceback, or the file that the error names, say which. Neither "
            "another torch nor a driver adds kernels to it."
        ),
        evidence=(
            Evidence(f"error.{quoted.id}", quoted.text, quoted.source),
            code,
            *gpu_evidence(facts, gpus, "compute_capability"),
        ),
        remedies=(
            _SMOKE,
            Remedy(
                Text("Renew the extension, or compile it for this GPU"),
                commands=("python -m pip install --upgrade EXTENSION",),
            ),
        ),
        confidence="likely",
    )


def _lacking(facts: Facts, tables: Tables, known: Sequence[Companion], quoted: ErrorText | None) -> Iterator[Finding]:
    """One finding a companion whose library has nothing for a GPU that is used."""
    gpus = with_capability(nvidia_gpus(facts)) if known and is_for_cuda(facts) else []
    driver = driver_cuda(facts, tables)
    for companion in known if gpus else ():
        libraries = [lacking(companion, need(gpu.compute_capability), tables, driver) for gpu in gpus]
        missing = [gpu for gpu, library in zip(gpus, libraries, strict=True) if library]
        if not missing or (len(missing) < len(gpus) and value_or(facts.env.get("CUDA_VISIBLE_DEVICES"), "")):
            continue
        library = next(library for library in libraries if library)
        if how_served(library, need(missing[0].compute_capability), tables, driver) == "ptx-driver-too-old":
            yield _too_old(facts, tables, companion, library, missing)
        else:
            yield _without_code(facts, companion, library, missing, quoted)


def _without_code(
    facts: Facts, companion: Companion, library: Library, missing: Sequence[Gpu], quoted: ErrorText | None
) -> Finding:
    return Finding(
        summary=Text(
            "{package} has no code for {gpu}",
            package=companion.named,
            gpu=gpu_names(missing),
        ),
        why=Text(
            "{library} holds {code}: nothing that runs on {gpus}, and no PTX that a driver could compile for it. Its "
            "kernels end in 'no kernel image is available'. Torch itself is not the cause, and no driver adds kernels.",
            library=library.code.library,
            code=" ".join(main_codes(library.code)) or "no code that all of its kernels have",
            gpus=", ".join(dict.fromkeys(str(gpu.compute_capability) for gpu in missing)),
        ),
        evidence=(
            *((Evidence(f"error.{quoted.id}", quoted.text, quoted.source),) if quoted else ()),
            _evidence(facts, library),
            *gpu_evidence(facts, missing, "compute_capability"),
        ),
        remedies=(
            _SMOKE,
            Remedy(
                Text(
                    "Look for a release of {package} with code for it, or compile it for this GPU",
                    package=companion.name,
                ),
            ),
        ),
        confidence="likely" if library.row else "certain",
        row=library.row,
    )


def _too_old(facts: Facts, tables: Tables, companion: Companion, library: Library, missing: Sequence[Gpu]) -> Finding:
    floor = ptx_floor(library.code, tables, None)
    driver = driver_cuda(facts, tables)
    return Finding(
        summary=Text(
            "{package} reaches {gpu} by PTX that this driver cannot compile",
            package=companion.named,
            gpu=gpu_names(missing),
        ),
        why=Text(
            "{library} holds PTX {isa} and no code for this GPU. A driver compiles PTX up to its own version: this one "
            "speaks CUDA {driver}, and PTX {isa} came with CUDA {floor}.",
            library=library.code.library,
            isa=library.code.ptx_isa,
            driver=driver,
            floor=floor,
        ),
        evidence=(
            _evidence(facts, library),
            *_driver_evidence(facts, driver),
            *gpu_evidence(facts, missing, "compute_capability"),
        ),
        remedies=(
            Remedy(
                Text("Update the driver to one that speaks CUDA {floor} or newer", floor=floor), risk="changes-system"
            ),
        ),
        fixable_by="admin",
        confidence="likely" if library.row else "certain",
        row=library.row,
    )


def _driver_evidence(facts: Facts, driver: CudaVersion | None) -> tuple[Evidence, ...]:
    shown = value_or(facts.driver.cuda_shown, None)
    version = value_or(facts.driver.version, None)
    if shown is None and version is not None:
        return (seen(facts, "driver.version", version),)
    return (seen(facts, "driver.cuda_shown", driver),)


def _evidence(facts: Facts, library: Library) -> Evidence:
    code = library.code
    held = " ".join(main_codes(code)) or " ".join(name for name, _ in (*code.sass, *code.ptx))
    source = f"companion_code: {library.row.key}" if library.row else facts.source("inside.code")
    return Evidence("inside.code", f"{code.library}: {held}", source)


@check(
    "companion-ptx-only",
    spares_torch=True,
    severity="info",
    parent="companion-arch-missing",
    after=("torch-arch-missing",),
)
def companion_ptx_only(facts: Facts, tables: Tables) -> Iterator[Finding]:
    """An extension has no code of this GPU's own: the driver compiles its PTX at first use."""
    known = companions(facts, tables)
    gpus = with_capability(nvidia_gpus(facts)) if known and is_for_cuda(facts) else []
    driver = driver_cuda(facts, tables)
    for companion in known if gpus else ():
        served: dict[str, tuple[Library, list[Gpu]]] = {}
        for gpu in gpus:
            for library in only_by_ptx(companion, need(gpu.compute_capability), tables, driver):
                served.setdefault(library.code.library, (library, []))[1].append(gpu)
        for library, by_ptx in served.values():
            yield _compiled_at_first_use(facts, companion, library, by_ptx)


def _compiled_at_first_use(facts: Facts, companion: Companion, library: Library, served: Sequence[Gpu]) -> Finding:
    return Finding(
        summary=Text(
            "{package} runs on {gpu} by PTX alone",
            package=companion.named,
            gpu=gpu_names(served),
        ),
        why=Text(
            "{library} holds {code}, and none of it is this GPU's own. The driver compiles the PTX when a kernel is "
            "first used and keeps the result in ~/.nv/ComputeCache: the first call takes long, and what newer GPUs do "
            "faster is not used.",
            library=library.code.library,
            code=" ".join(main_codes(library.code)),
        ),
        evidence=(_evidence(facts, library), *gpu_evidence(facts, served, "compute_capability")),
        confidence="likely" if library.row else "certain",
        row=library.row,
    )
