"""Training: a small network whose loss must fall and agree with the same run in float64, and mixed precision."""

import math

from torchdoctor.target.smoke_numerics import exact, flags
from torchdoctor.target.smoke_run import Skip, Wrong

MYPY = False
if MYPY:
    from typing import Any

    from torchdoctor.target.smoke_run import Job

STEPS = 12
RATE = 0.1
AGREE = 1e-3  # relative difference of two losses after all steps
SCALE = 1024.0


def train(job: "Job") -> "dict[str, Any]":
    """Plain gradient descent on the device and, in float64, on the CPU."""
    with flags(job.torch):
        got = losses(job, job.device.name, job.torch.float32)
    want = losses(job, "cpu", job.torch.float64)
    values = {"first": got[0], "last": got[-1], "cpu_last": want[-1], "steps": STEPS}
    if not all(map(math.isfinite, got)):
        raise Wrong("a loss is not a finite number", values)
    if not got[-1] < 0.7 * got[0]:
        raise Wrong("the loss does not fall: %.4f, then %.4f" % (got[0], got[-1]), values)
    if not abs(got[-1] - want[-1]) <= AGREE * abs(want[-1]):
        raise Wrong("the loss is %.6f where the CPU in float64 has %.6f" % (got[-1], want[-1]), values)
    return values


def losses(job: "Job", place: str, dtype: "Any") -> "list[float]":
    """The loss of every step of a small convolutional network on made-up pictures of ten classes."""
    pictures, labels = data(job)
    x, labels = pictures.to(place).to(dtype), labels.to(place)
    shapes = [(8, 1, 3, 3), (8,), (10, 128), (10,)]
    values = [job.random(*shape, seed=seed) * 0.1 for seed, shape in enumerate(shapes)]
    weights = [value.to(place).to(dtype).requires_grad_() for value in values]
    found = [descend(job.torch, x, labels, weights) for _ in range(STEPS)]
    return [float(loss) for loss in found]


def data(job: "Job") -> "tuple[Any, Any]":
    """160 pictures: one of ten prototypes with noise on it."""
    torch = job.torch
    labels = torch.arange(160) % 10
    return job.random(10, 1, 8, 8, seed=7)[labels] + 0.5 * job.random(160, 1, 8, 8, seed=8), labels


def descend(torch: "Any", x: "Any", labels: "Any", weights: "list[Any]") -> "Any":
    """One step; the loss before it."""
    ops = torch.nn.functional
    y = ops.max_pool2d(ops.relu(ops.conv2d(x, weights[0], weights[1], padding=1)), 2)
    loss = ops.cross_entropy(ops.linear(y.flatten(1), weights[2], weights[3]), labels)
    slopes = torch.autograd.grad(loss, weights)
    with torch.no_grad():
        for weight, slope in zip(weights, slopes):
            weight -= RATE * slope
    return loss.detach()


def amp(job: "Job") -> "dict[str, Any]":
    """Mixed precision: half-precision results, a step taken, and a step left out when a gradient is infinite."""
    job.need_folder()  # torch's optimizers import its compiler, which wants one
    torch, device = job.torch, job.device
    dtype = torch.bfloat16 if device.kind == "cpu" else torch.float16
    with torch.random.fork_rng(devices=[]):
        net = torch.nn.Linear(16, 4).to(device.name)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    scaler = grad_scaler(torch, device.kind)
    if not scaler.is_enabled():
        raise Skip("this torch does not scale gradients on this kind of device")
    x = job.random(8, 16).to(device.name)
    if not moves(job, net, optimizer, scaler, x, dtype, False):
        raise Wrong("a step with finite gradients was not taken")
    scale = scaler.get_scale()
    if moves(job, net, optimizer, scaler, x, dtype, True):
        raise Wrong("a step with an infinite gradient was taken")
    values = {"dtype": str(dtype), "scale": scale, "scale_after_inf": scaler.get_scale()}
    if not values["scale_after_inf"] < scale:
        raise Wrong("the scale did not fall after an infinite gradient", values)
    return values


def grad_scaler(torch: "Any", kind: str) -> "Any":
    """Torch's gradient scaler for a kind of device, under its newer or older name."""
    if hasattr(torch.amp, "GradScaler"):
        return torch.amp.GradScaler(kind, init_scale=SCALE)
    if kind != "cuda":
        raise Skip("this torch scales gradients on CUDA and ROCm only")
    return torch.cuda.amp.GradScaler(init_scale=SCALE)


def moves(job: "Job", net: "Any", optimizer: "Any", scaler: "Any", x: "Any", dtype: "Any", inf: bool) -> bool:
    """Take a step, with an infinite gradient if told so; whether the weights moved."""
    torch = job.torch
    before = exact(net.weight).clone()
    optimizer.zero_grad()
    with torch.autocast(device_type=job.device.kind, dtype=dtype):
        y = net(x)
    if y.dtype != dtype:
        raise Wrong("autocast computed in %s, not in %s" % (y.dtype, dtype))
    scaler.scale(y.float().pow(2).mean()).backward()
    if inf:
        net.weight.grad[0, 0] = math.inf
    scaler.step(optimizer)
    scaler.update()
    return not bool((exact(net.weight) == before).all())
