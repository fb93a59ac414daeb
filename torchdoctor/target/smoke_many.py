"""Several devices or processes together: copies between GPUs, sums over all."""

import os
from datetime import timedelta

from torchdoctor.target.bench_devices import memory_of
from torchdoctor.target.smoke_numerics import same
from torchdoctor.target.smoke_run import Skip, Wrong, error_text

MYPY = False
if MYPY:
    from typing import Any

    from torchdoctor.target.smoke_devices import Device
    from torchdoctor.target.smoke_run import Job

LOOPBACK = "127.0.0.1"
WAIT = timedelta(seconds=20)
OVER_2_GIB = (2 << 30) + (1 << 20)  # bytes, more than a signed 32-bit number counts
MOST = 8  # members whose powers of two add up in a byte


def peer(job: "Job") -> "dict[str, Any]":
    """To every other GPU, bit for bit what a copy through the host gives; some hosts lose data without an error."""
    job.device.need("peer")
    torch, device = job.torch, job.device
    others = [other for other in job.devices if other.kind == device.kind and other is not device]
    if not others:
        raise Skip("there is one GPU")
    generator = torch.Generator().manual_seed(11)
    numbers = torch.randint(-(2**31), 2**31 - 1, (4 * 1024 * 1024,), dtype=torch.int32, generator=generator)
    there = numbers.to(device.name)
    device.synchronize()
    values = {}  # type: dict[str, Any]
    for other in others:
        landed = torch.zeros_like(numbers, device=other.name)
        landed.copy_(there)
        other.synchronize()
        device.synchronize()
        values[other.name] = bool(torch.cuda.can_device_access_peer(device.index, other.index))
        same("a copy from %s to %s (peer access %s)" % (device.name, other.name, values[other.name]), landed, numbers)
    return {"peers": values}


def all_reduce_gloo(job: "Job") -> "dict[str, Any]":
    """Two members in two threads of this process, who meet on the loopback device and nowhere else."""
    import threading

    dist = distributed(job, "is_gloo_available", "ProcessGroupGloo")
    store, found = dist.HashStore(), {}  # type: Any, dict[int, Any]

    def member(rank: int) -> None:
        try:
            found[rank] = gloo_sum(job.torch, dist, store, rank)
        except Exception as error:
            found[rank] = error_text(error)

    threads = [threading.Thread(target=member, args=(rank,), daemon=True) for rank in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(2 * WAIT.total_seconds())
    if found != {0: 3.0, 1: 3.0}:
        raise Wrong("the sum over two members is %s, not 3" % (found or "never finished"))
    return {"members": 2}


def gloo_sum(torch: "Any", dist: "Any", store: "Any", rank: int) -> float:
    """One member's share of the sum."""
    options = dist.ProcessGroupGloo._Options()
    options._timeout = WAIT
    options._devices = [dist.ProcessGroupGloo.create_device(hostname=LOOPBACK)]
    group = dist.ProcessGroupGloo(store, rank, 2, options)
    numbers = torch.full((1000,), rank + 1.0)
    group.allreduce([numbers]).wait()
    smallest, largest = float(numbers.min()), float(numbers.max())
    return largest if smallest == largest else float("nan")


def distributed(job: "Job", test: str, group: str) -> "Any":
    """torch.distributed with a backend, or the reason to skip."""
    dist = job.torch.distributed
    if not dist.is_available() or not getattr(dist, test, lambda: hasattr(dist, group))() or not hasattr(dist, group):
        raise Skip("this torch was built without it")
    return dist


def all_reduce_nccl(job: "Job") -> "dict[str, Any]":
    """A group of one, then, where there are several GPUs, a sum over all of them in this process."""
    if job.device.kind == "cpu":
        raise Skip("collectives of GPUs need one")
    job.device.need("all-reduce")
    name = "xccl" if job.device.kind == "xpu" else "nccl"
    dist = distributed(job, "is_%s_available" % name, "ProcessGroup" + name.upper())
    before = os.environ.get("NCCL_SOCKET_IFNAME")
    os.environ.setdefault("NCCL_SOCKET_IFNAME", "lo")
    try:
        values = group_of_one(job, dist, name)
        return dict(values, members=sum_over_all(job) if name == "nccl" else 1)
    finally:
        if before is None:
            os.environ.pop("NCCL_SOCKET_IFNAME", None)


def group_of_one(job: "Job", dist: "Any", name: str) -> "dict[str, Any]":
    """What a training script does first, with a store in memory in the place of a network address."""
    dist.init_process_group(name, store=dist.HashStore(), rank=0, world_size=1, timeout=WAIT)
    try:
        numbers = job.torch.arange(1000, dtype=job.torch.float32)
        there = numbers.to(job.device.name)
        dist.all_reduce(there)
        job.device.synchronize()
        same("the sum over a group of one", there, numbers)
        if not has_room(job, job.device):
            return {}
        large = job.torch.full((OVER_2_GIB,), 7, dtype=job.torch.uint8, device=job.device.name)
        dist.all_reduce(large)
        job.device.synchronize()
        all_are("the sum over a group of one above 2 GiB", large, 7)
        return {"bytes": OVER_2_GIB}
    finally:
        dist.destroy_process_group()


def sum_over_all(job: "Job") -> int:
    """The sum over one tensor on each GPU; how many there were."""
    torch = job.torch
    members = [device for device in job.devices if device.kind == "cuda"]
    if len(members) < 2:
        return 1
    tensors = [torch.full((1024 * 1024,), float(2**rank), device=device.name) for rank, device in enumerate(members)]
    torch.cuda.nccl.all_reduce(tensors)
    for device, tensor in zip(members, tensors):
        device.synchronize()
        same("the sum over all GPUs on " + device.name, tensor, torch.full((1024 * 1024,), 2.0 ** len(members) - 1))
    some = members[:MOST]
    if all(has_room(job, device) for device in some):
        sum_above_2_gib(job, some)
    return len(members)


def sum_above_2_gib(job: "Job", members: "list[Device]") -> None:
    """The sum over one large tensor of bytes on each GPU."""
    byte = job.torch.uint8
    large = [job.torch.full((OVER_2_GIB,), 2**rank, dtype=byte, device=one.name) for rank, one in enumerate(members)]
    job.torch.cuda.nccl.all_reduce(large)
    for device, tensor in zip(members, large):
        device.synchronize()
        all_are("the sum over all GPUs above 2 GiB on " + device.name, tensor, 2 ** len(members) - 1)


def has_room(job: "Job", device: "Device") -> bool:
    """Whether a sum above 2 GiB is tried: at the long level, where it takes a quarter of the free memory at most."""
    return job.long and (memory_of(device)[0] or 0) >= 4 * OVER_2_GIB


def all_are(what: str, tensor: "Any", want: int) -> None:
    """Raises Wrong unless every number is the one; the tensor stays where it is."""
    least, most = int(tensor.min()), int(tensor.max())
    if (least, most) != (want, want):
        raise Wrong("%s is %d to %d, not %d" % (what, least, most, want))
