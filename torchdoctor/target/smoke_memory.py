"""Memory of a device: allocating it, copying to and from it, and holding a pattern."""

from torchdoctor.target.smoke_numerics import same
from torchdoctor.target.smoke_run import Skip, Wrong

MYPY = False
if MYPY:
    from typing import Any

    from torchdoctor.target.smoke_run import Job

MIB = 1024 * 1024
CHUNK = 256 * MIB
SHARE = 0.8  # of the memory that is free
PATTERNS = (0x55555555, 0x2AAAAAAA)


def allocate(job: "Job") -> "dict[str, Any]":
    """A mebibyte, written and read."""
    torch, name = job.torch, job.device.name
    block = torch.empty(MIB, dtype=torch.uint8, device=name)
    block.fill_(7)
    total = int(block.to(torch.int32).sum())
    if total != 7 * MIB:
        raise Wrong("a mebibyte of sevens sums to %d" % total, {"sum": total})
    free, known = job.device.memory()
    return {"free": free, "memory": known}


def pinned(job: "Job") -> "dict[str, Any]":
    """Page-locked memory is given, copies right, and how fast it copies next to ordinary memory."""
    job.device.need("pinned")
    torch, size = job.torch, (1024 if job.long else 64) * MIB
    pageable = (torch.arange(size // 4, dtype=torch.int32)).view(torch.uint8)
    locked = torch.empty(size, dtype=torch.uint8, pin_memory=True)
    if not locked.is_pinned():
        raise Wrong("memory asked for as pinned is not")
    locked.copy_(pageable)
    there = torch.empty(size, dtype=torch.uint8, device=job.device.name)
    there.copy_(locked, non_blocking=True)
    job.device.synchronize()
    same("a copy from pinned memory", there[:MIB], pageable[:MIB])
    same("the end of a copy from pinned memory", there[-MIB:], pageable[-MIB:])
    rates = {}
    for name, host in (("pinned", locked), ("pageable", pageable)):
        rates["to_device_%s_gb_per_s" % name] = rate(job, there, host)
        rates["to_host_%s_gb_per_s" % name] = rate(job, host, there)
    return rates


def rate(job: "Job", to: "Any", source: "Any") -> float:
    """Gigabytes a second of a copy."""
    seconds = job.device.seconds(lambda: to.copy_(source, non_blocking=True), 5)
    return round(float(source.numel()) / max(seconds, 1e-9) / 1e9, 3)


def memory(job: "Job") -> "dict[str, Any]":
    """Most of the free memory is filled with a pattern and its inverse, each read back."""
    job.need_idle()
    free = job.device.memory()[0]
    limit = int(free * SHARE) if free else CHUNK
    if limit < CHUNK:
        raise Skip("less than %d MiB of memory are free" % (CHUNK // MIB))
    blocks = []  # type: list[Any]
    try:
        fill(job, blocks, limit // CHUNK)
        wrong = [mismatches(job, blocks, pattern) for pattern in PATTERNS]
    finally:
        del blocks[:]
        if hasattr(job.device.module, "empty_cache"):
            job.device.module.empty_cache()
    values = {"gib": round(limit // CHUNK * CHUNK / 1024 / MIB, 2), "wrong": sum(wrong)}
    if sum(wrong):
        raise Wrong("%d words of memory did not hold a pattern" % sum(wrong), values)
    return values


def fill(job: "Job", blocks: "list[Any]", count: int) -> None:
    """Take memory in chunks; somebody else may take some meanwhile, so fewer are fine."""
    for _ in range(count):
        try:
            blocks.append(job.torch.empty(CHUNK // 4, dtype=job.torch.int32, device=job.device.name))
        except RuntimeError:
            if not blocks:
                raise
            return


def mismatches(job: "Job", blocks: "list[Any]", pattern: int) -> int:
    """How many words differ from the pattern after all blocks were written."""
    for block in blocks:
        block.fill_(pattern)
    job.device.synchronize()
    return sum(int((block != pattern).sum()) for block in blocks)
