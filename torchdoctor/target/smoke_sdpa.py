"""Attention: each implementation forced, against the plain formula in float64."""

from torchdoctor.target.smoke_numerics import UNITS, compare, exact, flags
from torchdoctor.target.smoke_run import Skip

MYPY = False
if MYPY:
    from typing import Any

    from torchdoctor.target.smoke_run import Job

SHAPE = (2, 4, 128, 64)  # batch, heads, tokens, width
MARGIN = 16.0


def sdpa_math(job: "Job") -> "dict[str, Any]":
    """The plain implementation."""
    return attention(job, "MATH")


def sdpa_flash(job: "Job") -> "dict[str, Any]":
    """Flash attention."""
    return attention(job, "FLASH_ATTENTION")


def sdpa_efficient(job: "Job") -> "dict[str, Any]":
    """Memory-efficient attention."""
    return attention(job, "EFFICIENT_ATTENTION")


def sdpa_cudnn(job: "Job") -> "dict[str, Any]":
    """cuDNN's attention."""
    return attention(job, "CUDNN_ATTENTION")


def attention(job: "Job", backend: str) -> "dict[str, Any]":
    """Causal attention by one implementation. One that is not there for this device is skipped by its own error."""
    torch = job.torch
    module = getattr(torch.nn, "attention", None)  # type: Any
    if not hasattr(module, "sdpa_kernel") or not hasattr(module.SDPBackend, backend):
        raise Skip("this torch cannot force this implementation of attention")
    name = "float16" if job.device.kind in ("cuda", "xpu") else "float32"
    q, k, v = (job.random(*SHAPE, seed=seed).to(getattr(torch, name)) for seed in (1, 2, 3))
    with flags(torch), module.sdpa_kernel(getattr(module.SDPBackend, backend)):
        got = torch.nn.functional.scaled_dot_product_attention(
            *(tensor.to(job.device.name) for tensor in (q, k, v)), is_causal=True
        )
        job.device.synchronize()
    bound = MARGIN * UNITS[name] * float(v.abs().max())
    return compare("attention", got, formula(torch, exact(q), exact(k), exact(v)), bound)


def formula(torch: "Any", q: "Any", k: "Any", v: "Any") -> "Any":
    """Attention as it is defined: each token sees itself and those before it."""
    scores = q @ k.transpose(-1, -2) / SHAPE[3] ** 0.5
    later = torch.ones(SHAPE[2], SHAPE[2]).triu(1).bool()
    return scores.masked_fill(later, -float("inf")).softmax(-1) @ v
