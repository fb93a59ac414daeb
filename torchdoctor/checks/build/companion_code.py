"""Extensions whose own kernels do not reach as far as torch's."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.checks.build.kernels import code_for_all
from torchdoctor.checks.installed import gpu_evidence, gpu_names, nvidia_gpus
from torchdoctor.checks.registry import check, told_by_a_text
from torchdoctor.facts import Facts
from torchdoctor.findings import Evidence, Finding, Remedy, Text
from torchdoctor.tables import Tables

_NO_KERNEL = "no-kernel-image"  # the known error that torch and extensions raise in the same words


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
    code = code_for_all(facts, tables) if quoted else None
    if quoted is None or code is None:
        yield from told_by_a_text(facts, tables)
        return
    gpus = nvidia_gpus(facts)
    yield Finding(
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
            Remedy(Text("Prove that torch itself works"), commands=("torchdoctor smoke",)),
            Remedy(
                Text("Renew the extension, or compile it for this GPU"),
                commands=("python -m pip install --upgrade EXTENSION",),
            ),
        ),
        confidence="likely",
    )
