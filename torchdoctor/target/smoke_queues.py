"""Work that the device takes in an order of its own: streams, events and graphs."""

from torchdoctor.target.smoke_numerics import same
from torchdoctor.target.smoke_run import Skip, Wrong

MYPY = False
if MYPY:
    from typing import Any

    from torchdoctor.target.smoke_run import Job

COUNT = 1024 * 1024


def streams(job: "Job") -> "dict[str, Any]":
    """Two streams, the second waiting for an event of the first: nothing may overtake."""
    job.device.need("streams")
    torch, module = job.torch, job.device.module
    numbers = torch.arange(COUNT, dtype=torch.float32)
    host = numbers.pin_memory()
    first, second = module.Stream(), module.Stream()
    done = module.Event()
    for _ in range(5):
        with module.stream(first):
            there = host.to(job.device.name, non_blocking=True)
            for _ in range(20):
                there = there * 1.0
            doubled = there * 2
            done.record(first)
        with module.stream(second):
            second.wait_event(done)
            doubled.record_stream(second)
            result = doubled + 1
        second.synchronize()
        same("the result of two streams", result, numbers * 2 + 1)
    return {"event_ms": elapsed(job, numbers.to(job.device.name))}


def elapsed(job: "Job", there: "Any") -> float:
    """The time between two events around some work, which cannot be negative."""
    module = job.device.module
    begin, end = module.Event(enable_timing=True), module.Event(enable_timing=True)
    begin.record()
    there.mul(2)
    end.record()
    end.synchronize()
    milliseconds = float(begin.elapsed_time(end))
    if milliseconds < 0:
        raise Wrong("an event lies %.3f ms before one recorded earlier" % -milliseconds)
    return milliseconds


def cuda_graph(job: "Job") -> "dict[str, Any]":
    """Work recorded once and replayed on other numbers."""
    job.device.need("graph")
    torch = job.torch
    if not hasattr(torch.cuda, "CUDAGraph"):
        raise Skip("this torch has no graphs")
    x = torch.zeros(1024, device=job.device.name)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            y = x * 3 + 1
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = x * 3 + 1
    for start in (0, 5):
        numbers = torch.arange(start, start + 1024, dtype=torch.float32)
        x.copy_(numbers)
        graph.replay()
        same("a replayed graph", y, numbers * 3 + 1)
    return {"replays": 2}
