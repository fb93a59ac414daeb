"""Data in and out: loader workers and shared memory, torchvision's compiled operations, checkpoints."""

import contextlib
import importlib.util
import os
import sys

from torchdoctor.target.smoke_numerics import same
from torchdoctor.target.smoke_run import Skip, Wrong

MYPY = False
if MYPY:
    from collections.abc import Iterator
    from typing import Any

    from torchdoctor.target.smoke_run import Job

SAMPLES, MIB_FLOATS, BATCH = 96, 256 * 1024, 48
TIMEOUT = 60


def dataloader(job: "Job") -> "dict[str, Any]":
    """Two workers hand over batches of 48 MiB through shared memory, more than a container has by default."""
    torch = job.torch
    sizes = torch.arange(float(SAMPLES)).unsqueeze(1).expand(SAMPLES, MIB_FLOATS)
    pin = job.device.kind in ("cuda", "xpu")
    loader = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(sizes), batch_size=BATCH, num_workers=2, timeout=TIMEOUT, pin_memory=pin
    )
    with main_without_file():
        got = batches(loader)
    want = [(0.0, 47.0, 1128.0), (48.0, 95.0, 3432.0)]
    if got != want:
        raise Wrong("two workers gave batches %s, not %s" % (got, want))
    return {"workers": 2, "batch_mib": BATCH, "pin_memory": pin, "start_method": start_method()}


def batches(loader: "Any") -> "list[tuple[float, ...]]":
    """The least, the largest and the sum of each batch; how a worker ended is told with its loss."""
    try:
        return [tuple(map(float, (batch.min(), batch.max(), batch[:, 0].sum()))) for (batch,) in loader]
    except RuntimeError as error:
        if error.__cause__ is None:
            raise
        raise RuntimeError("%s: %s" % (error, error.__cause__))


def start_method() -> "str | None":
    """How worker processes start here by default."""
    import multiprocessing

    return multiprocessing.get_start_method(allow_none=True)


@contextlib.contextmanager
def main_without_file() -> "Iterator[None]":
    """Worker processes that do not fork run the main program's file again; ours came on standard input and has none."""
    module = sys.modules["__main__"]
    before = getattr(module, "__file__", None)
    if before is not None and not os.path.exists(before):
        del module.__file__
    try:
        yield
    finally:
        if before is not None:
            module.__file__ = before


def torchvision_nms(job: "Job") -> "dict[str, Any]":
    """Overlapping boxes, of which the better are kept; torchvision's own compiled code."""
    if importlib.util.find_spec("torchvision") is None:
        raise Skip("torchvision is not installed")
    import torchvision  # type: ignore[import-not-found, unused-ignore]

    torch, name = job.torch, job.device.name
    boxes = torch.tensor([[0.0, 0, 10, 10], [1, 1, 10, 10], [20, 20, 30, 30], [0, 0, 9, 10]])
    scores = torch.tensor([0.5, 0.9, 0.3, 0.8])
    kept = torchvision.ops.nms(boxes.to(name), scores.to(name), 0.5)
    same("the boxes kept", kept, torch.tensor([1, 2]))
    return {"torchvision": str(torchvision.__version__)}


def checkpoint(job: "Job") -> "dict[str, Any]":
    """Saved from the device, loaded on the CPU and again on the device, by the loader that runs no code."""
    torch, name = job.torch, job.device.name
    state = {"weight": job.random(64, 64), "half": job.random(16).half(), "step": torch.tensor(7)}
    there = {key: tensor.to(name) for key, tensor in state.items()}
    target, where = place(job)
    torch.save({"model": there, "epoch": 3}, target)
    for location in ("cpu", name):
        if where == "memory":
            target.seek(0)
        loaded = torch.load(target, map_location=location, weights_only=True)
        if loaded["epoch"] != 3:
            raise Wrong("the number 3 came back from a checkpoint as %r" % (loaded["epoch"],))
        for key, tensor in state.items():
            same("%s from a checkpoint on %s" % (key, location), loaded["model"][key], tensor)
    return {"where": where}


def place(job: "Job") -> "tuple[Any, str]":
    """A file in the folder; memory where no file can be written."""
    if job.folder is not None:
        return os.path.join(job.folder, "checkpoint.pt"), "file"
    import io

    return io.BytesIO(), "memory"
