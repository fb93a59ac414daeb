"""The first operations on a device: arithmetic, copies, random numbers."""

import math

from torchdoctor.target.smoke_numerics import UNITS, compare, exact, same
from torchdoctor.target.smoke_run import Wrong

MYPY = False
if MYPY:
    from typing import Any

    from torchdoctor.target.smoke_run import Job

COUNT = 10000


def elementwise(job: "Job") -> "dict[str, Any]":
    """Arithmetic whose results are exact in float32, so that they must be equal; then a transcendental function."""
    torch, name = job.torch, job.device.name
    numbers = torch.arange(COUNT, dtype=torch.float32)
    there = numbers.to(name)
    same("x * 2 + 1", there * 2 + 1, numbers * 2 + 1)
    same("a sum of integers", (there.to(torch.int32) * 3).sum(), (numbers.to(torch.int64) * 3).sum())
    x = there / COUNT
    return compare("exp(x)", torch.exp(x), torch.exp(exact(x)), 16 * UNITS["float32"] * math.e)


def copy(job: "Job") -> "dict[str, Any]":
    """Every byte value there and back, in pieces of several sizes, contiguous and not."""
    torch, name = job.torch, job.device.name
    for size in (1, 255, 65537, 4 * 1024 * 1024):
        numbers = (torch.arange(size) % 251).to(torch.uint8)
        there = numbers.to(name)
        same("a copy of %d bytes" % size, there, numbers)
        same("a copy on the device of %d bytes" % size, there.clone(), numbers)
    table = torch.arange(2048, dtype=torch.float32).reshape(32, 64)
    same("a copy of a transposed table", table.t().to(name), table.t())
    same("a strided copy", table.to(name)[::3, 1::2], table[::3, 1::2])
    return {"bytes": 4 * 1024 * 1024}


def rng(job: "Job") -> "dict[str, Any]":
    """Moments within six standard errors; the same numbers for the same seed, others for another."""
    torch, count = job.torch, 65536
    first, again, other = draw(job, 1), draw(job, 1), draw(job, 2)
    same("random numbers of one seed, drawn twice", again, first)
    if bool((exact(first) == exact(other)).all()):
        raise Wrong("random numbers of two seeds are the same")
    numbers = exact(first)
    error = 6 / count**0.5
    compare("the mean of normal numbers", numbers.mean(), torch.tensor(0.0), error)
    values = compare("their variance", numbers.var(), torch.tensor(1.0), error * 2**0.5)
    within = (numbers.abs() < 1).double().mean()
    compare("their share within one", within, torch.tensor(0.6827), error * 0.47)
    return values


def draw(job: "Job", seed: int) -> "Any":
    """Normal numbers of the device's own generator; a generator of our own leaves the state of torch's alone."""
    torch, name = job.torch, job.device.name
    generator = torch.Generator(device=name).manual_seed(seed)
    return torch.randn(65536, device=name, generator=generator)
