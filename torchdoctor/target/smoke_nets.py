"""Layers of networks, forward and backward, against the same layers in float64 on the CPU."""

import math

from torchdoctor.target.smoke_numerics import UNITS, compare, flags

MYPY = False
if MYPY:
    from typing import Any

    from torchdoctor.target.smoke_run import Job

# Libraries may choose Winograd or FFT forms of a convolution, which lose a few bits more than plain sums.
CONV_MARGIN = 16.0


def conv(job: "Job") -> "dict[str, Any]":
    """A convolution and its gradients; from the standard level on also with the library's own search for the fastest."""
    want = conv_once(job, "cpu", job.torch.float64)
    with flags(job.torch):
        values = check_conv(conv_once(job, job.device.name, job.torch.float32), want)
        if job.level != "quick" and job.device.kind == "cuda":
            job.torch.backends.cudnn.benchmark = True  # taken back with the other flags
            check_conv(conv_once(job, job.device.name, job.torch.float32), want)
    return dict(values, cudnn=bool(job.device.kind == "cuda" and job.torch.backends.cudnn.enabled))


def conv_once(job: "Job", place: str, dtype: "Any") -> "dict[str, Any]":
    """The result and gradients by name, each with the number of terms in its sums."""
    torch = job.torch
    x, weight, up = (job.random(*shape, seed=seed).to(place).to(dtype) for seed, shape in enumerate(
        [(4, 8, 16, 16), (16, 8, 3, 3), (4, 16, 16, 16)]
    ))  # fmt: skip
    x.requires_grad_()
    weight.requires_grad_()
    y = torch.nn.functional.conv2d(x, weight, padding=1)
    (y * up).sum().backward()  # backward(up) would make torch import its symbolic shapes, for half a second
    return {
        "result": (y.detach(), 8 * 9),
        "gradient of the input": (x.grad, 16 * 9),
        "gradient of the weight": (weight.grad, 4 * 256),
    }


def check_conv(got: "dict[str, Any]", want: "dict[str, Any]") -> "dict[str, Any]":
    """Compare all of them; the figures of the last are kept."""
    values = {}  # type: dict[str, Any]
    for name, (tensor, terms) in got.items():
        largest = float(want[name][0].abs().max())
        bound = CONV_MARGIN * UNITS["float32"] * largest * (4 + math.sqrt(terms))
        values = compare("the %s of a convolution" % name, tensor, want[name][0], bound)
    return values


def lstm(job: "Job") -> "dict[str, Any]":
    """A small recurrent network: outputs and the gradient of its input."""
    want = lstm_once(job, "cpu", job.torch.float64)
    with flags(job.torch):
        got = lstm_once(job, job.device.name, job.torch.float32)
    values = compare("the output of an LSTM", got[0], want[0], 2e-5)
    compare("the gradient of an LSTM", got[1], want[1], 2e-5 * max(1.0, float(want[1].abs().max())))
    return values


def lstm_once(job: "Job", place: str, dtype: "Any") -> "tuple[Any, Any]":
    """Output and gradient; the weights are ours, not those of torch's own random numbers."""
    torch = job.torch
    with torch.random.fork_rng(devices=[]):
        layer = torch.nn.LSTM(16, 32)
    with torch.no_grad():
        for seed, parameter in enumerate(layer.parameters()):
            parameter.copy_(job.random(*parameter.shape, seed=seed) * 0.2)
    layer = layer.to(place, dtype)
    x = job.random(12, 4, 16, seed=99).to(place).to(dtype).requires_grad_()
    y = layer(x)[0]
    y.pow(2).sum().backward()
    return y, x.grad


def ctc(job: "Job") -> "dict[str, Any]":
    """The loss of sequences whose symbols have no known places, and its gradient, as cuDNN takes it and as torch does."""
    torch, values = job.torch, {}  # type: Any, dict[str, Any]
    want = ctc_once(job, "cpu", torch.float64, torch.int64)
    for whole in (torch.int32, torch.int64):  # cuDNN takes 32-bit symbols alone
        got = ctc_once(job, job.device.name, torch.float32, whole)
        values = compare("a CTC loss", got[0], want[0], 1e-4 * float(want[0]))
        compare("the gradient of a CTC loss", got[1], want[1], 1e-3 * float(want[1].abs().max()))
    return values


def ctc_once(job: "Job", place: str, dtype: "Any", whole: "Any") -> "tuple[Any, Any]":
    """Loss and gradient; the symbols lie on the CPU."""
    torch, (steps, batch, symbols, length) = job.torch, (30, 4, 12, 8)
    draw = torch.Generator().manual_seed(22)
    wanted = torch.randint(1, symbols, (batch * length,), generator=draw).to(whole)
    x = job.random(steps, batch, symbols, seed=21).to(place).to(dtype).requires_grad_()
    loss = torch.nn.functional.ctc_loss(x.log_softmax(2), wanted, (steps,) * batch, (length,) * batch)
    loss.backward()
    return loss.detach(), x.grad


def autograd(job: "Job") -> "dict[str, Any]":
    """First and second derivatives of a small graph against their closed forms."""
    torch = job.torch
    x64, w64 = job.random(32, 8, seed=1).double(), job.random(8, 8, seed=2).double()
    x = x64.float().to(job.device.name).requires_grad_()
    w = w64.float().to(job.device.name)
    with flags(torch):
        y = (x.sin() * x).sum() + (x @ w).pow(2).sum()
        (slope,) = torch.autograd.grad(y, x, create_graph=True)
        (bend,) = torch.autograd.grad(slope.sum(), x)
    want = x64.sin() + x64 * x64.cos() + 2 * (x64 @ w64) @ w64.t()
    want_bend = 2 * x64.cos() - x64 * x64.sin() + 2 * (w64 @ w64.t()).sum(0)
    values = compare("a first derivative", slope, want, 1e-5 * max(1.0, float(want.abs().max())))
    compare("a second derivative", bend, want_bend, 1e-5 * max(1.0, float(want_bend.abs().max())))
    return values
