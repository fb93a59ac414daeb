"""A sum over several processes, each with a device of its own: what training on several GPUs begins with."""

import os
import sys
import time

from torchdoctor.target.smoke_many import distributed
from torchdoctor.target.smoke_run import Skip, Wrong

MYPY = False
if MYPY:
    from typing import Any

    from torchdoctor.target.smoke_run import Job

PATIENCE = 90.0  # seconds for processes that import torch first
LOOPBACK = {"NCCL_SOCKET_IFNAME": "lo", "GLOO_SOCKET_IFNAME": "lo"}
MEMBER = """
import datetime, sys
import torch, torch.distributed as dist
backend, rank, size, path, device = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], sys.argv[5]
if ":" in device:
    getattr(torch, device.split(":")[0]).set_device(int(device.split(":")[1]))
wait = datetime.timedelta(seconds=60)
dist.init_process_group(backend, store=dist.FileStore(path, size), rank=rank, world_size=size, timeout=wait)
numbers = torch.full((1000000,), float(2 ** rank), device=device)
dist.all_reduce(numbers)
print("sum %r %r" % (float(numbers.min()), float(numbers.max())))
dist.destroy_process_group()
"""


def all_reduce_processes(job: "Job") -> "dict[str, Any]":
    """The sum over processes, one for each GPU, or two on the CPU: what a training script on several GPUs does."""
    kind, path = job.device.kind, os.path.join(job.need_folder(), "members")
    job.device.need("all-reduce")
    name = {"cpu": "gloo", "xpu": "xccl"}.get(kind, "nccl")
    distributed(job, "is_%s_available" % name, "ProcessGroup" + {"gloo": "Gloo"}.get(name, name.upper()))
    places = [device.name for device in job.devices if device.kind == kind] if kind != "cpu" else ["cpu", "cpu"]
    if len(places) < 2:
        raise Skip("there is one GPU")
    env = dict(LOOPBACK if sys.platform == "linux" else {}, **os.environ)
    want = "sum %r %r" % (2.0 ** len(places) - 1, 2.0 ** len(places) - 1)
    for rank, (status, said) in enumerate(members_of(name, places, path, env)):
        if status != 0:
            raise RuntimeError("member %d of %d ended with status %s: %s" % (rank, len(places), status, said[-600:]))
        if want not in said.splitlines():
            raise Wrong("the sum of member %d over %d processes is not %s: %s" % (rank, len(places), want, said[-200:]))
    return {"members": len(places), "backend": name}


def members_of(name: str, places: "list[str]", path: str, env: "dict[str, str]") -> "list[tuple[int | str, str]]":
    """Exit status and last words of each process; none is left when this returns."""
    import subprocess

    limit, ends = time.monotonic() + PATIENCE, []  # type: float, list[tuple[int | str, str]]
    words = [[name, str(rank), str(len(places)), path, place] for rank, place in enumerate(places)]
    children = [
        subprocess.Popen(
            [sys.executable, "-c", MEMBER] + word,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=env,
        )
        for word in words
    ]  # fmt: skip
    try:
        for child in children:
            try:
                said = child.communicate(timeout=max(0.1, limit - time.monotonic()))[0]
                ends.append((child.returncode, said.decode("utf-8", "replace").strip()))
            except subprocess.TimeoutExpired:
                ends.append(("unknown", "no answer in %d s" % PATIENCE))
        return ends
    finally:
        for child in children:
            child.kill()
            child.communicate()
