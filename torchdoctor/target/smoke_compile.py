"""Code made at run time: by the runtime's compiler, by torch.compile, by Triton."""

import contextlib
import importlib.util
import os
import sys

from torchdoctor.target.smoke_numerics import compare, flags, same
from torchdoctor.target.smoke_run import Skip

MYPY = False
if MYPY:
    from collections.abc import Iterator
    from typing import Any

    from torchdoctor.target.smoke_run import Job

COUNT = 1000
CUDA = """extern "C" __global__ void twice(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * 2.0f + 1.0f;
}"""
JITERATOR = "template <typename T> T twice(T x) { return x * T(2) + T(1); }"
METAL = """kernel void twice(device float* x, device float* y, uint i [[thread_position_in_grid]]) {
    y[i] = x[i] * 2 + 1;
}"""
TRITON = """import triton
import triton.language as tl

@triton.jit
def twice(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) * 2 + 1, mask=i < n)
"""


def runtime_compile(job: "Job") -> "dict[str, Any]":
    """A kernel compiled by the runtime's own compiler, which must know this GPU."""
    job.device.need("runtime-compile")
    torch = job.torch
    numbers = torch.arange(COUNT, dtype=torch.float32)
    x = numbers.to(job.device.name)
    y = torch.zeros_like(x)
    if job.device.kind == "mps":
        if not hasattr(torch.mps, "compile_shader"):
            raise Skip("this torch compiles no shaders")
        how = "torch.mps.compile_shader"
        torch.mps.compile_shader(METAL).twice(x, y)
    elif hasattr(torch.cuda, "_compile_kernel") and job.device.backend == "cuda":
        how = "torch.cuda._compile_kernel"
        kernel = torch.cuda._compile_kernel(CUDA, "twice")
        kernel(grid=(4, 1, 1), block=(256, 1, 1), args=[x, y, COUNT])
    else:
        how = "torch.cuda.jiterator"
        y = torch.cuda.jiterator._create_jit_fn(JITERATOR)(x)
    same("the result of a kernel compiled at run time", y, numbers * 2 + 1)
    return {"how": how}


def compile(job: "Job") -> "dict[str, Any]":
    """A small network compiled, forward and backward, against itself as it is."""
    job.need_folder()
    torch = job.torch
    if not hasattr(torch, "compile"):
        raise Skip("this torch has no torch.compile")
    with torch.random.fork_rng(devices=[]):
        net = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.GELU(), torch.nn.Linear(32, 4)).to(job.device.name)
    x = job.random(8, 16).to(job.device.name).requires_grad_()
    (want_slope,) = torch.autograd.grad(net(x).pow(2).sum(), x)
    want = net(x)
    with one_process():
        got = torch.compile(net)(x)
        (slope,) = torch.autograd.grad(got.pow(2).sum(), x)
    torch._dynamo.reset()
    compare("the gradient of a compiled network", slope, want_slope, 1e-4 * max(1.0, float(want_slope.abs().max())))
    return compare("a compiled network", got, want, 1e-4)


@contextlib.contextmanager
def one_process() -> "Iterator[None]":
    """Compile in this process: helpers would each import torch, and outlive a run that is ended."""
    name = "TORCHINDUCTOR_COMPILE_THREADS"
    before = os.environ.get(name)
    os.environ[name] = "1"
    try:
        yield
    finally:
        os.environ.pop(name)
        if before is not None:
            os.environ[name] = before


def triton(job: "Job") -> "dict[str, Any]":
    """A kernel written in Triton. It reads its own source, so that has to be a file."""
    job.device.need("triton")
    if importlib.util.find_spec("triton") is None:
        raise Skip("Triton is not installed")
    torch = job.torch
    path = os.path.join(job.need_folder(), "torchdoctor_triton_kernel.py")
    with open(path, "w") as file:
        file.write(TRITON)
    spec = importlib.util.spec_from_file_location("torchdoctor_triton_kernel", path)
    assert spec is not None and spec.loader is not None
    part = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = part
    spec.loader.exec_module(part)
    numbers = torch.arange(COUNT, dtype=torch.float32)
    x = numbers.to(job.device.name)
    y = torch.zeros_like(x)
    part.twice[(4,)](x, y, COUNT, BLOCK=256)
    same("the result of a Triton kernel", y, numbers * 2 + 1)
    return {"version": str(getattr(sys.modules.get("triton"), "__version__", None))}
