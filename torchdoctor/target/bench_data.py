"""How data reaches the training: the share of time spent waiting for it, and how many workers load it fastest."""

import os
import sys
import time

from torchdoctor.target.bench_net import Training, images
from torchdoctor.target.bench_timing import median
from torchdoctor.target.paths import SMALL, cgroups, read

MYPY = False
if MYPY:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from torchdoctor.target.smoke_devices import Device

PAIRS, MOST_STEPS = 5, 1000  # blocks with loaded and with resident batches, in turn
PATIENCE = 60.0  # seconds for one batch: workers may have to import torch first
SHM = "/dev/shm"
SAMPLES, SAMPLE_SIDE, SAMPLE_BATCH = 16, 296, 8  # samples of 1 MiB
SAMPLE_BYTES = 4 * 3 * SAMPLE_SIDE * SAMPLE_SIDE
PREFETCH = 2  # batches a worker holds ready: torch's default
MOST_WORKERS = 8


def waiting(device: "Device", batch: int, workers: int, pin: bool, seconds: float) -> "dict[str, Any]":
    """How much longer a step takes when a DataLoader feeds it than when the batches lie there already.

    Times of both are taken in turn. Only what the device cannot hide behind its own work counts as waiting.
    """
    training = Training(device)
    resident = training.resident(batch)
    feed = endless(device.torch, images(device.torch, 4 * batch), batch, workers, pin)
    took = [timed(device, lambda: fed_steps(training, feed, 1)) for _ in range(3)][-1]  # the first starts the workers
    steps = max(1, min(MOST_STEPS, int(seconds / (2 * PAIRS) / max(took, 1e-9))))
    limit = time.monotonic() + seconds
    fed, free = [], []  # type: tuple[list[float], list[float]]
    while len(fed) < PAIRS and (not fed or time.monotonic() < limit):
        fed.append(timed(device, lambda: fed_steps(training, feed, steps)) / steps)
        free.append(timed(device, lambda: resident(steps)) / steps)
    ended(feed)
    share = max(0.0, 1.0 - median(free) / median(fed))
    return {"waiting_share": share, "workers": workers, "pin": pin, "batch": batch, "steps": steps * len(fed)}


def timed(device: "Device", work: "Any") -> float:
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


def endless(torch: "Any", tensors: "Sequence[Any]", batch: int, workers: int, pin: bool) -> "Any":
    """Batches without end from a DataLoader, in random order; it gives up on a stuck worker.

    The data set is of torch's own class, so that workers can take it over whichever way they are started.
    """
    data = torch.utils.data
    dataset = data.TensorDataset(*tensors)
    sampler = data.RandomSampler(dataset, replacement=True, num_samples=1 << 30)
    patience = PATIENCE if workers else 0
    importable_main()
    options = {"num_workers": workers, "pin_memory": pin, "timeout": patience}
    return iter(data.DataLoader(dataset, batch, sampler=sampler, **options))


def ended(feed: "Any") -> None:
    """End the workers of such batches now, not when somebody collects them."""
    if hasattr(feed, "_shutdown_workers"):
        feed._shutdown_workers()


def importable_main() -> None:
    """Where workers are started anew, they import the main program by its path; ours came by a pipe and has none."""
    main = sys.modules.get("__main__")
    if not os.path.exists(getattr(main, "__file__", None) or "."):
        del main.__file__  # type: ignore[union-attr]


def sweep(device: "Device", seconds: float, stage: "Callable[[str], None]") -> "Iterator[dict[str, Any]]":
    """Batches per second for some numbers of workers, with and without pinned memory where a device can use it.

    Yields what is known after each setting, so that a crash in one of them leaves the others.
    """
    usable, room = usable_cpus(), shm_free()
    counts = sorted({0, 1, 2, 4, min(MOST_WORKERS, usable)})
    pins = (False, True) if device.kind in ("cuda", "xpu") else (False,)
    settings = [(workers, pin) for workers in counts if workers <= usable for pin in pins]
    limit = time.monotonic() + 2 * seconds  # starting workers takes its own time, which is none of the rate
    rows = []  # type: list[dict[str, Any]]
    for workers, pin in settings:
        stage("bench-sweep-%d%s" % (workers, "-pin" if pin else ""))
        row = {"workers": workers, "pin": pin, "batches_per_s": None}  # type: dict[str, Any]
        if room is not None and shm_needed(workers) > room:
            row["reason"] = "%s has room for %d MiB, and this needs %d" % (SHM, room >> 20, shm_needed(workers) >> 20)
        elif time.monotonic() > limit:
            row["reason"] = "no time was left"
        else:
            row.update(attempted(device.torch, workers, pin, seconds / len(settings)))
        rows.append(row)
        yield {"rows": list(rows), "usable_cpus": usable, "shm_free": room, "batch_bytes": SAMPLE_BATCH * SAMPLE_BYTES}


def attempted(torch: "Any", workers: int, pin: bool, seconds: float) -> "dict[str, Any]":
    """The rate, or why there is none."""
    try:
        return {"batches_per_s": rate(torch, workers, pin, seconds)}
    except Exception as error:
        return {"reason": "%s: %s" % (type(error).__name__, str(error)[:300])}


def rate(torch: "Any", workers: int, pin: bool, seconds: float) -> float:
    """Batches per second, after the first ones.

    The samples lie there as pictures are decoded, channels last, so that putting a batch together is real work.
    """
    pixels = torch.rand(SAMPLES, SAMPLE_SIDE, SAMPLE_SIDE, 3).permute(0, 3, 1, 2)
    feed = endless(torch, [pixels], SAMPLE_BATCH, workers, pin)
    for _ in range(PREFETCH * workers + 1):
        next(feed)
    start, count, took = time.perf_counter(), 0, 0.0
    while count < 2 or took < seconds:
        next(feed)
        count += 1
        took = time.perf_counter() - start
    ended(feed)
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
