"""Fourier transforms, linear algebra and sparse products."""

import math

from torchdoctor.target.smoke_numerics import UNITS, compare, exact, flags, matmul_bound
from torchdoctor.target.smoke_run import Skip

MYPY = False
if MYPY:
    from collections.abc import Callable
    from typing import Any

    from torchdoctor.target.smoke_run import Job

SIZE = 96
SIDE = 128  # the libraries want multiples of 64
SPARSE_CORES = 8  # major compute capability that brings them
UNIT = UNITS["float32"]


def fft(job: "Job") -> "dict[str, Any]":
    """A transform of real numbers, and back; a length that is no power of two is included."""
    torch, values = job.torch, {}  # type: Any, dict[str, Any]
    for length in (1024, 1000):
        x = job.random(8, length)
        got = torch.fft.rfft(x.to(job.device.name))
        want = torch.view_as_real(torch.fft.rfft(x.double()))
        bound = 16 * UNIT * math.log2(length) * float(want.abs().max())
        values = compare("a Fourier transform", torch.view_as_real(got.cpu()), want, bound)
        compare("its inverse", torch.fft.irfft(got, n=length), x, 16 * UNIT * math.log2(length) * float(x.abs().max()))
    return values


def matrix(job: "Job") -> "Any":
    """A square matrix far from singular."""
    return job.random(SIZE, SIZE, seed=3) + SIZE**0.5 * 2 * job.torch.eye(SIZE)


def solve(job: "Job") -> "dict[str, Any]":
    """A system of equations: what is left over is small next to what was put in."""
    a, b = matrix(job), job.random(SIZE, 4, seed=4)
    with flags(job.torch):
        x = exact(job.torch.linalg.solve(a.to(job.device.name), b.to(job.device.name)))
    scale = float(exact(a).norm() * x.norm())
    return compare("the product with the solution", exact(a) @ x, b, 16 * UNIT * scale)


def svd(job: "Job") -> "dict[str, Any]":
    """Singular values are those of float64, and the factors multiply to the matrix."""
    a = job.random(SIZE, SIZE // 2, seed=5)
    with flags(job.torch):
        u, s, v = job.torch.linalg.svd(a.to(job.device.name), full_matrices=False)
    want = job.torch.linalg.svdvals(a.double())
    bound = 64 * UNIT * float(want.max())
    compare("the largest and other singular values", s, want, bound)
    return compare("the product of the factors", exact(u) * exact(s) @ exact(v), a, bound)


def cholesky(job: "Job") -> "dict[str, Any]":
    """The factor of a symmetric matrix, multiplied out."""
    a = job.random(SIZE, SIZE, seed=6).double()
    a = (a @ a.t() / SIZE + job.torch.eye(SIZE).double()).float()
    with flags(job.torch):
        factor = exact(job.torch.linalg.cholesky(a.to(job.device.name)))
    return compare("the square of the factor", factor @ factor.t(), a, 64 * UNIT * float(a.abs().max()))


def sparse(job: "Job") -> "dict[str, Any]":
    """A sparse matrix times a dense one, in both common forms."""
    torch, values = job.torch, {}  # type: Any, dict[str, Any]
    a = job.random(SIZE, SIZE, seed=7)
    a = a * (a.abs() > 1.5)
    b = job.random(SIZE, 16, seed=8)
    want = a.double() @ b.double()
    bound = matmul_bound(float(want.abs().max()), SIZE, "float32")
    with flags(torch):
        for form in (a.to_sparse().coalesce(), a.to_sparse_csr()):
            got = torch.sparse.mm(form.to(job.device.name), b.to(job.device.name))
            values = compare("a sparse product", got, want, bound)
    return dict(values, nonzero=int((a != 0).sum()))


def sparse_semi_structured(job: "Job") -> "dict[str, Any]":
    """A matrix of which two of every four numbers are zero, times a dense one."""
    job.device.need("semi-structured")
    torch, device = job.torch, job.device
    form = getattr(torch.sparse, "to_sparse_semi_structured", None)
    if form is None:
        raise Skip("this torch has no semi-structured matrices")
    if device.backend == "cuda" and device.module.get_device_capability(device.index)[0] < SPARSE_CORES:
        raise Skip("this GPU has no sparse tensor cores")
    a = job.random(SIDE, SIDE, seed=9).half() * torch.tensor([0, 0, 1, 1]).repeat(SIDE // 4)
    b = job.random(SIDE, SIDE // 2, seed=10).half()
    want = a.double() @ b.double()
    with flags(torch):
        got = unless_unsupported(lambda: torch.mm(form(a.to(device.name)), b.to(device.name)))
    bound = matmul_bound(float(want.abs().max()), SIDE, "float16")
    return compare("a semi-structured product", got, want, bound)


def unless_unsupported(action: "Callable[[], Any]") -> "Any":
    """What it gives; the libraries know some generations of GPUs only, which they say in several ways."""
    try:
        return action()
    except RuntimeError as error:
        if "upported" in str(error) or "CUSPARSE_STATUS_ARCH_MISMATCH" in str(error):
            raise Skip(str(error).partition("\n")[0])
        raise
