"""How data reaches the training: the share of time spent waiting for it, and how many workers load it fastest."""

import os
import sys
import time

from torchdoctor.target.bench_devices import Device
from torchdoctor.target.bench_net import Training, images
from torchdoctor.target.bench_timing import median
from torchdoctor.target.paths import SMALL, cgroups, read

MYPY = False
if MYPY:
    from collections.abc import Iterator
    from typing import Any

PAIRS = 5  # blocks with loaded and with resident batches, in turn
PATIENCE = 60.0  # seconds for one batch: workers may have to import torch first
SHM = "/dev/shm"
SAMPLES, SAMPLE_SIDE, SAMPLE_BATCH = 16, 296, 8  # samples of 1 MiB
SAMPLE_BYTES = 4 * 3 * SAMPLE_SIDE * SAMPLE_SIDE
PREFETCH = 2  # batches a worker holds ready: torch's default
MOST_WORKERS = 8


def waiting(device: Device, batch: int, workers: int, pin: bool, seconds: float) -> "dict[str, Any]":
    """How much longer a step takes when a DataLoader feeds it than when the batches lie there already.

    Times of both are taken in turn. Only what the device cannot hide behind its own work counts as waiting.
    """
    training = Training(device)
    resident = training.resident(batch)
    feed = batches(device, batch, workers, pin)
    limit = time.monotonic() + seconds
    fed, free = [], []  # type: tuple[list[float], list[float]]
    steps = 1
    for pair in range(PAIRS + 1):
        loaded = timed(device, lambda: fed_steps(training, feed, steps))
        if pair:  # the first block loads what has to be loaded
            fed.append(loaded / steps)
            free.append(timed(device, lambda: resident(steps)) / steps)
        steps = max(1, min(1000, int(steps * seconds / (2.5 * PAIRS) / max(loaded, 1e-9))))
        if pair > 1 and time.monotonic() > limit:
            break
    share = max(0.0, 1.0 - median(free) / median(fed))
    return {"waiting_share": share, "workers": workers, "pin": pin, "batch": batch, "steps": steps * len(fed)}


def timed(device: Device, work: "Any") -> float:
    """Seconds that some work takes, the device's part of it included."""
    device.synchronize()
    start = time.perf_counter()
    work()
    device.synchronize()
    return time.perf_counter() - start


def fed_steps(training: Training, feed: "Iterator[Any]", count: int) -> None:
    """Steps of training on batches as they come."""
    name = training.device.name
    for _ in range(count):
        pixels, labels = next(feed)
        training.step(pixels.to(name, non_blocking=True), labels.to(name, non_blocking=True))


def batches(device: Device, batch: int, workers: int, pin: bool) -> "Iterator[Any]":
    """Batches without end from a DataLoader over small images, as a first example of torch has it."""
    data = device.torch.utils.data
    dataset = data.TensorDataset(*images(device.torch, 4 * batch))
    while True:
        for item in loader(device.torch, dataset, batch, workers, pin, shuffle=True):
            yield item


def loader(torch: "Any", dataset: "Any", batch: int, workers: int, pin: bool, **options: "Any") -> "Any":
    """A DataLoader that gives up on a stuck worker."""
    if workers:
        options.update(timeout=PATIENCE, persistent_workers=True)
        importable_main()
    return torch.utils.data.DataLoader(dataset, batch, num_workers=workers, pin_memory=pin, **options)


def importable_main() -> None:
    """Where workers are started anew, they import the main program by its path; ours came by a pipe and has none."""
    main = sys.modules.get("__main__")
    if not os.path.exists(getattr(main, "__file__", None) or "."):
        del main.__file__  # type: ignore[union-attr]


def sweep(device: Device, seconds: float, stage: "Any") -> "dict[str, Any]":
    """Batches per second for some numbers of workers, with and without pinned memory where a device can use it."""
    usable, room = usable_cpus(), shm_free()
    counts = sorted({0, 1, 2, 4, min(MOST_WORKERS, usable)})
    pins = (False, True) if device.kind in ("cuda", "xpu") else (False,)
    settings = [(workers, pin) for workers in counts if workers <= max(usable, 1) for pin in pins]
    rows = []
    for workers, pin in settings:
        stage("bench-sweep-%d%s" % (workers, "-pin" if pin else ""))
        row = {"workers": workers, "pin": pin, "batches_per_s": None}  # type: dict[str, Any]
        if room is not None and shm_needed(workers) > room:
            row["reason"] = "%s has room for %d MiB, and this needs %d" % (SHM, room >> 20, shm_needed(workers) >> 20)
        else:
            row["batches_per_s"] = rate(device.torch, workers, pin, seconds / len(settings))
        rows.append(row)
    return {"rows": rows, "usable_cpus": usable, "shm_free": room, "batch_bytes": SAMPLE_BATCH * SAMPLE_BYTES}


def rate(torch: "Any", workers: int, pin: bool, seconds: float) -> float:
    """Batches per second, after the first ones.

    The samples lie there as pictures are decoded, channels last, so that putting a batch together is real work; their
    class is torch's own, so that workers can take them over whichever way they are started.
    """
    pixels = torch.rand(SAMPLES, SAMPLE_SIDE, SAMPLE_SIDE, 3).permute(0, 3, 1, 2)
    dataset = torch.utils.data.TensorDataset(pixels)
    endless = torch.utils.data.RandomSampler(dataset, replacement=True, num_samples=1 << 30)
    feed = iter(loader(torch, dataset, SAMPLE_BATCH, workers, pin, sampler=endless))
    for _ in range(PREFETCH * workers + 1):
        next(feed)
    start, count = time.perf_counter(), 0
    while count < 2 or time.perf_counter() - start < seconds:
        next(feed)
        count += 1
    took = time.perf_counter() - start
    if workers:
        feed._shutdown_workers()
    return count / took


def shm_needed(workers: int) -> int:
    """Shared memory that the batches in flight take, twice for safety."""
    return workers * PREFETCH * SAMPLE_BATCH * SAMPLE_BYTES * 2


def shm_free() -> "int | None":
    """Free bytes for batches on their way from workers; None where they travel otherwise."""
    if not os.path.isdir(SHM):
        return None
    info = os.statvfs(SHM)
    return info.f_frsize * info.f_bavail


def usable_cpus() -> int:
    """Processors this process may use: its affinity, and the quota of its control groups."""
    own = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min([own] + [int(quota) for quota in quotas()]))


def quotas() -> "Iterator[float]":
    """Processors' worth of time that each control group above this process grants."""
    folders = list(cgroups()) + ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"]
    for folder in folders:
        for names in (("cpu.max",), ("cpu.cfs_quota_us", "cpu.cfs_period_us")):
            try:
                words = " ".join(read(folder + "/" + name, SMALL) for name in names).split()
                if float(words[0]) > 0 and float(words[1]) > 0:
                    yield float(words[0]) / float(words[1])
            except (OSError, ValueError, IndexError):
                continue
