"""Times work in blocks: warm-up until it settles, then as many blocks as the figure needs or the time allows."""

import time

from torchdoctor.target.bench_devices import conditions

MYPY = False
if MYPY:
    from collections.abc import Callable
    from typing import Any

    from torchdoctor.target.smoke_devices import Device

    Steps = Callable[[int], object]  # does that many steps, without waiting for the device

SHORTEST = 0.010  # seconds in a block, so that clocks and events cost nothing beside it
MOST = 400  # blocks in a series
GROUP = 5  # blocks whose median tells whether the warm-up is over
SETTLED = 0.02  # two such medians this near
WARM_SHARE = 0.3  # of the time, at most
ENOUGH = 20  # blocks before a series may end early
NARROW = 0.02  # half the confidence interval of the median, as a share of it
EVEN = 0.1  # interquartile range as a share of the median: will do once half of the time is used
LOOK = 0.2  # seconds between two looks at clock and power


class Stopwatch:
    """Times blocks of steps on one device, and looks at its clock while they run."""

    def __init__(self, device: "Device", steps: "Steps") -> None:
        self.device = device
        self.steps = steps
        self.seen = []  # type: list[dict[str, float]]
        self.next_look = 0.0

    def block(self, count: int) -> float:
        """Seconds per step in a block of that many."""
        if self.device.kind == "cuda":
            return self.by_events(count) / count
        self.device.synchronize()
        start = time.perf_counter()
        self.steps(count)
        self.device.synchronize()
        return (time.perf_counter() - start) / count

    def by_events(self, count: int) -> float:
        """Seconds by the device's own clock; everything is queued before we look and wait."""
        event = self.device.torch.cuda.Event
        start, end = event(enable_timing=True), event(enable_timing=True)
        start.record()
        self.steps(count)
        end.record()
        if time.monotonic() >= self.next_look:
            self.look()
        end.synchronize()
        return float(start.elapsed_time(end)) / 1000.0

    def look(self) -> None:
        """Read clock, power and temperature; never again where they cannot be read."""
        read = conditions(self.device)
        self.next_look = time.monotonic() + LOOK if read else float("inf")
        if read:
            self.seen.append(read)


def measure(device: "Device", steps: "Steps", seconds: float) -> "dict[str, Any]":
    """A series of times per step, and how it came about. The very first step loads libraries and is told apart.

    On a GPU that first step takes nothing from the time allowed; on a CPU it does. It is never a sample: when it used
    all the time, one warm block is measured beyond it.
    """
    watch = Stopwatch(device, steps)
    begun = time.monotonic()
    first = watch.block(1)
    limit = (begun if device.kind == "cpu" else time.monotonic()) + seconds
    count, warmed, settled = warm_up(watch, seconds, limit)
    watch.seen, watch.next_look = [], 0.0
    started = time.time()
    samples = sampled(watch, count, limit)
    return {
        "samples": samples,
        "block_steps": count,
        "warmup_steps": warmed,
        "settled": settled,
        "first": first,
        "started": started,
        "ended": time.time(),
        "conditions": middle_of(watch.seen),
    }


def warm_up(watch: Stopwatch, seconds: float, limit: float) -> "tuple[int, int, bool]":
    """Steps in a block, steps done, and whether two groups of blocks agreed before the time for it was over."""
    over = min(limit, time.monotonic() + WARM_SHARE * seconds)
    shortest = max(SHORTEST, (1 - WARM_SHARE) * seconds / MOST)
    count, done = 1, 1
    while time.monotonic() < over:
        took = watch.block(count) * count
        done += count
        if took >= shortest:
            break
        count = min(16 * count, int(count * shortest / max(took, 1e-9)) + 1)
    before = None
    while time.monotonic() < over:
        times = blocks_until(watch, count, GROUP, over)
        done += count * len(times)
        now = median(times)
        if before is not None and len(times) == GROUP and abs(now - before) < SETTLED * before:
            return count, done, True
        before = now
    return count, done, False


def blocks_until(watch: Stopwatch, count: int, most: int, limit: float) -> "list[float]":
    """Times of some blocks; fewer when the time is over, but one."""
    times = [watch.block(count)]
    while len(times) < most and time.monotonic() < limit:
        times.append(watch.block(count))
    return times


def sampled(watch: Stopwatch, count: int, limit: float) -> "list[float]":
    """Times of blocks until they tell enough, or the time is over."""
    half = (time.monotonic() + limit) / 2
    times = []  # type: list[float]
    while len(times) < MOST:
        times.append(watch.block(count))
        now = time.monotonic()
        if now >= limit or (len(times) >= ENOUGH and not len(times) % GROUP and tells_enough(times, now > half)):
            break
    return times


def tells_enough(times: "list[float]", late: bool) -> bool:
    """Whether the median is known well enough; when half of the time is used, less will do."""
    ordered, count = sorted(times), len(times)
    reach = int(0.98 * count**0.5) + 1  # ranks on each side of the middle: half of 1.96 standard deviations of a coin
    low, high = ordered[max(0, count // 2 - reach)], ordered[min(count - 1, count // 2 + reach)]
    if (high - low) / 2 < NARROW * median(times):
        return True
    return late and ordered[3 * count // 4] - ordered[count // 4] < EVEN * median(times)


def median(values: "list[float]") -> float:
    """The middle of some numbers."""
    ordered, half = sorted(values), len(values) // 2
    return ordered[half] if len(values) % 2 else (ordered[half - 1] + ordered[half]) / 2


def middle_of(seen: "list[dict[str, float]]") -> "dict[str, float] | None":
    """The median of each figure that was read while the series ran; None where nothing was."""
    names = {name for read in seen for name in read}
    return {name: median([read[name] for read in seen if name in read]) for name in names} or None
