"""Libraries and kernels that fail when they are used: told by the smoke tests and by CUDA's own answers."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.checks.answers import UNEXPLAINED, proved
from torchdoctor.checks.ranks import failed_with_a_rank
from torchdoctor.checks.registry import check
from torchdoctor.facts import Facts
from torchdoctor.findings import Finding
from torchdoctor.tables import Tables

_OF_AMD = ("rocm-gfx-unsupported", "rocm-computes-wrong", "hsa-override")
_DEVICE = ("torch-arch-missing", "gpu-lost", "kernel-fault", *_OF_AMD)


@check("kernel-fault", severity="error", after=("gpu-lost", "torch-arch-missing"))
def kernel_fault(facts: Facts, tables: Tables) -> Iterator[Finding]:
    """A kernel read or wrote where it must not, or asked for more than the GPU has."""
    return proved(facts, tables, "kernel-fault")


@check("cublas-failure", severity="error", after=(*_DEVICE, "gpu-memory-held", "out-of-memory"))
def cublas_failure(facts: Facts, tables: Tables) -> Iterator[Finding]:
    """Matrix products fail or are wrong on the device (cuBLAS)."""
    return proved(facts, tables, "cublas-failure")


@check("cudnn-failure", severity="error", after=_DEVICE)
def cudnn_failure(facts: Facts, tables: Tables) -> Iterator[Finding]:
    """Convolutions or recurrent nets fail or are wrong on the device (cuDNN, MIOpen)."""
    return proved(facts, tables, "cudnn-failure")


@check("cusolver-failure", severity="error", after=_DEVICE)
def cusolver_failure(facts: Facts, tables: Tables) -> Iterator[Finding]:
    """Linear algebra (solve, SVD, Cholesky) fails or is wrong on the device (cuSOLVER)."""
    return proved(facts, tables, "cusolver-failure")


@check("nccl-failure", severity="error", after=_DEVICE)
def nccl_failure(facts: Facts, tables: Tables) -> Iterator[Finding]:
    """A collective over the GPUs of this host fails or is wrong (NCCL, RCCL)."""
    consequence = failed_with_a_rank(facts, tables) if facts.quoted.errors else None
    return iter((consequence,)) if consequence else proved(facts, tables, "nccl-failure")


@check(UNEXPLAINED, severity="error", after=_DEVICE)
def smoke_test_failed(facts: Facts, tables: Tables) -> Iterator[Finding]:
    """A small computation failed or was wrong, and no finer finding explains it."""
    return proved(facts, tables, UNEXPLAINED)
