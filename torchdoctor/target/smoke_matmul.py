"""Products of matrices in every type of number, against float64 products of the same rounded inputs."""

import math

from torchdoctor.target.smoke_numerics import (
    MARGIN,
    compare,
    distance,
    exact,
    flags,
    matmul_bound,
    same,
    tf32_inputs,
    threads,
)
from torchdoctor.target.smoke_run import Skip, Wrong

MYPY = False
if MYPY:
    from typing import Any

    from torchdoctor.target.smoke_devices import Device
    from torchdoctor.target.smoke_run import Job

# Matrix units add up in float32 at least; older versions of torch add up half precision in itself on a CPU.
EXACT_SUMS = ("cuda", "xpu")


def matmul_fp64(job: "Job") -> "dict[str, Any]":
    """Integers, whose product is exact in float64 and known from integer arithmetic."""
    job.device.need("float64")
    torch = job.torch
    a, b = ((job.random(256, 256, seed=seed) * 9).to(torch.int64) for seed in (1, 2))
    got = a.double().to(job.device.name) @ b.double().to(job.device.name)
    return compare("a float64 product", got, (a @ b).double(), 0.0)


def matmul_fp32(job: "Job") -> "dict[str, Any]":
    """With TF32 off; an error of the size of TF32's means that it is on all the same."""
    return product(job, "float32", size(job, 512))


def matmul_tf32(job: "Job") -> "dict[str, Any]":
    """With TF32 on; the values tell whether the device has made use of it."""
    job.device.need("tf32")
    a, b = inputs(job, "float32", size(job, 512))
    want = exact(a) @ exact(b)
    with flags(job.torch, tf32=True):
        got = a.to(job.device.name) @ b.to(job.device.name)
        job.device.synchronize()
    inner, largest = a.shape[1], float(want.abs().max())
    values = compare("a TF32 product", got, want, matmul_bound(largest, inner, "float32", tf32_inputs(a, b, inner)))
    return dict(values, in_use=values["error"] > matmul_bound(largest, inner, "float32"))


def matmul_fp16(job: "Job") -> "dict[str, Any]":
    """Half precision."""
    return product(job, "float16", size(job, 256))


def matmul_bf16(job: "Job") -> "dict[str, Any]":
    """Brain floating point; devices without it emulate it."""
    return product(job, "bfloat16", size(job, 256))


def size(job: "Job", on_cpu: int) -> int:
    """Rows and columns: small on a CPU, where half precision may be emulated."""
    return on_cpu if job.device.kind == "cpu" else 2048 if job.long else 512


def inputs(job: "Job", dtype: str, count: int) -> "tuple[Any, Any]":
    """Two square matrices, rounded to the type."""
    kind = getattr(job.torch, dtype)
    return job.random(count, count, seed=1).to(kind), job.random(count, count, seed=2).to(kind)


def product(job: "Job", dtype: str, count: int) -> "dict[str, Any]":
    """The product of two square matrices within the bound of the type."""
    a, b = inputs(job, dtype, count)
    with flags(job.torch), threads(job.torch, job.threads):
        got = a.to(job.device.name) @ b.to(job.device.name)
        job.device.synchronize()
    want = exact(a) @ exact(b)
    sums = "float32" if job.device.kind in EXACT_SUMS else dtype
    return compare("a %s product" % dtype, got, want, matmul_bound(float(want.abs().max()), count, dtype, sums=sums))


def matmul_fp8(job: "Job") -> "dict[str, Any]":
    """8-bit inputs with scales, the result in bfloat16."""
    job.device.need("float8")
    torch = job.torch
    if not hasattr(torch, "_scaled_mm") or not hasattr(torch, "float8_e4m3fn"):
        raise Skip("this torch has no product of 8-bit floats")
    dtype = torch.float8_e4m3fn
    try:
        return scaled_product(job, dtype)
    except RuntimeError as error:
        if job.device.backend != "rocm" or "fnuz" not in str(error):
            raise
        return scaled_product(job, torch.float8_e4m3fnuz)


def scaled_product(job: "Job", dtype: "Any") -> "dict[str, Any]":
    """The product of 8-bit matrices, the second stored by columns as the libraries want it."""
    torch, name, count = job.torch, job.device.name, 256
    a, b = (job.random(count, count, seed=seed).to(dtype) for seed in (1, 2))
    one = torch.tensor(1.0, device=name)
    got = torch._scaled_mm(a.to(name), b.to(name).t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16)
    got = got[0] if isinstance(got, tuple) else got
    want = a.float().double() @ b.float().double().t()
    values = compare("an 8-bit product", got, want, matmul_bound(float(want.abs().max()), count, "bfloat16"))
    return dict(values, dtype=str(dtype))


def int8(job: "Job") -> "dict[str, Any]":
    """A quantised product: rounded to 8-bit integers, added up in 32 bits (exact), scaled back."""
    torch, name, count = job.torch, job.device.name, 64
    if not hasattr(torch, "_int_mm"):
        raise Skip("this torch has no product of 8-bit integers")
    a, b = (job.random(count, count, seed=seed) for seed in (1, 2))
    (rows, by_row), (columns, by_column) = quantised(a.to(name), 1), quantised(b.to(name), 0)
    try:
        whole = torch._int_mm(rows, columns)
    except RuntimeError as error:
        if "NOT_SUPPORTED" in str(error):
            raise Skip("the library has no product of 8-bit integers for this GPU")
        raise
    want = rows.cpu().to(torch.int64) @ columns.cpu().to(torch.int64)
    same("an 8-bit integer product", whole, want.to(torch.int32))
    got, bound = whole.float() * by_row * by_column, quantised_bound(a, b, by_row, by_column)
    return dict(compare("a quantised product", got, exact(a) @ exact(b), bound), size=count)


def quantised(matrix: "Any", dim: int) -> "tuple[Any, Any]":
    """8-bit integers, and for each row (``dim`` 1) or column (0) the number that scales them back."""
    scale = matrix.abs().amax(dim=dim, keepdim=True) / 127
    return (matrix / scale).round().clamp(-127, 127).char(), scale


def quantised_bound(a: "Any", b: "Any", by_row: "Any", by_column: "Any") -> float:
    """The largest error of the product: rounding moves an element by its scale over the root of 12 in the mean."""
    by_a = float(by_row.max()) * math.sqrt(b.square().mean())
    by_b = float(by_column.max()) * math.sqrt(a.square().mean())
    return 2 * MARGIN * math.sqrt(a.shape[1] / 12) * math.hypot(by_a, by_b)


def repeat(job: "Job") -> "dict[str, Any]":
    """The same chain of products many times: a healthy device gives the same bits each time."""
    job.need_idle()
    repeats, count = (20, 256) if job.device.kind == "cpu" else (300, 2048)
    a, b = (matrix.to(job.device.name) for matrix in inputs(job, "float32", count))
    with flags(job.torch):
        first = chain(a, b)
        different = sum(int((chain(a, b) != first).any()) for _ in range(repeats))
    values = {"repeats": repeats, "different": different, "checksum": "%.17g" % float(exact(first).sum())}
    if different:
        raise Wrong("%d of %d repeats gave other bits" % (different, repeats), values)
    if not distance(first, first) == 0.0:
        raise Wrong("the repeated products hold something that is not a number", values)
    return values


def chain(a: "Any", b: "Any") -> "Any":
    """Products one after the other, kept in range."""
    x = a
    for _ in range(4):
        x = (x @ b) / b.shape[0] ** 0.5
    return x


def equal_gpus(job: "Job") -> "dict[str, Any]":
    """The same chain of products on all devices of one model: the same bits, or one of them computes wrongly."""
    models = {}  # type: dict[tuple[Any, ...], list[Device]]
    for device in job.devices:
        known = device.properties()
        model = (device.kind, getattr(known, "name", None), getattr(known, "multi_processor_count", None))
        models.setdefault(model, []).append(device)
    groups = [group for group in models.values() if len(group) > 1]
    if not groups:
        raise Skip("no two devices of this host are of one model")
    with flags(job.torch):
        results = [[(device.name, chained(job, device)) for device in group] for group in groups]
    for (first, want), *others in results:
        for name, got in others:
            same("a chain of products on %s and on %s" % (first, name), got, want)
    return {"checksums": {name: "%.17g" % float(got.double().sum()) for group in results for name, got in group}}


def chained(job: "Job", device: "Device") -> "Any":
    """The result of the chain on a device, brought to the CPU."""
    a, b = inputs(job, "float32", 256 if device.kind == "cpu" else 2048)
    with device.current():
        return chain(a.to(device.name), b.to(device.name)).cpu()
