"""What the ranks do together: a barrier, sums that must be right, and how fast large ones are."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from statistics import median
from typing import Any

_DTYPES = ("float32", "float64", "float16", "bfloat16", "int32", "int64")
_COUNTS = (1, 1025, 262_147)  # elements: none a multiple of the ranks
_STEP, _CYCLE = 3, 4  # small enough for the sum of many ranks to be exact in half precision
_LOOSE = {"float16": 0.01, "bfloat16": 0.03}
_ROUNDS, _WARM = 5, 2
_UNSUPPORTED = ("invalid scalar type", "not supported", "unsupported", "unhandled")
SIZES = {"cpu": (65_536, 1_048_576, 16_777_216), "gpu": (65_536, 1_048_576, 33_554_432, 268_435_456)}  # bytes


def barrier(torch: Any, device: str) -> dict[str, Any]:
    """Seconds of the median barrier; the first one also makes the connections."""
    times = [_timed(torch, device, lambda: torch.distributed.barrier(**_ids(device))) for _ in range(_ROUNDS)]
    return {"first": times[0], "seconds": median(times[1:])}


def sums(torch: Any, device: str, rank: int, world: int) -> dict[str, Any]:
    """All-reduce of every dtype and size against the sum that is known; what the backend lacks is said."""
    wrong, skipped = [], []
    for dtype in _DTYPES:
        for count in _COUNTS:
            try:
                off = _sum_is_off(torch, device, dtype, count, (rank, world))
            except (RuntimeError, TypeError, ValueError) as error:
                if not any(word in str(error).lower() for word in _UNSUPPORTED):
                    raise
                skipped.append(dtype)
                break
            if off:
                wrong.append({"dtype": dtype, "elements": count, **off})
    return {"wrong": wrong, "skipped": skipped, "dtypes": [name for name in _DTYPES if name not in skipped]}


def _sum_is_off(torch: Any, device: str, dtype: str, count: int, place: tuple[int, int]) -> dict[str, Any] | None:
    rank, world = place
    kind = getattr(torch, dtype)
    index = torch.arange(count) % _STEP
    mine = (index + rank % _CYCLE).to(kind).to(device)
    torch.distributed.all_reduce(mine)
    whole = sum(rank % _CYCLE for rank in range(world))
    truth = (index * world + whole).to(torch.float64)
    told = mine.to("cpu").to(torch.float64)
    off = (told - truth).abs() > _LOOSE.get(dtype, 0.0) * truth.abs()
    if not bool(off.any()):
        return None
    at = int(off.nonzero()[0])
    return {"at": at, "expected": float(truth[at]), "got": float(told[at]), "count": int(off.sum())}


def bandwidth(torch: Any, device: str, world: int, sizes: Sequence[int], seconds: float) -> Iterator[dict[str, Any]]:
    """All-reduce of each size: the median time, and bytes per second by the algorithm and on the bus.

    On the bus each rank moves 2(n-1)/n of the data, so that the figure does not depend on the number of ranks.
    """
    left = seconds
    for size in sizes:
        data = torch.zeros(size // 4, dtype=torch.float32, device=device)
        work = partial(torch.distributed.all_reduce, data)
        begun = time.perf_counter()
        times = [_timed(torch, device, work) for _ in range(_WARM)]
        if not _any(torch, device, times[-1] * _ROUNDS >= left):
            times += [_timed(torch, device, work) for _ in range(_ROUNDS)]
        middle = median(times[1:])
        algorithm = size / middle
        yield {
            "bytes": size, "seconds": middle, "algbw": algorithm, "busbw": algorithm * 2 * (world - 1) / world,
            "rounds": len(times) - 1,
        }  # fmt: skip
        left -= time.perf_counter() - begun
        if _any(torch, device, left <= 0):
            return


def _any(torch: Any, device: str, said: bool) -> bool:
    """Whether it is so on any rank: all stop together, or the next sum would wait for those that did."""
    vote = torch.tensor([float(said)], device=device)
    torch.distributed.all_reduce(vote)
    return bool(vote.item() > 0)


def _timed(torch: Any, device: str, work: Callable[[], object]) -> float:
    _settle(torch, device)
    begun = time.perf_counter()
    work()
    _settle(torch, device)
    return time.perf_counter() - begun


def _settle(torch: Any, device: str) -> None:
    kind = device.partition(":")[0]
    if kind != "cpu":
        getattr(torch, kind).synchronize()


def _ids(device: str) -> dict[str, Any]:
    """A barrier of NCCL guesses the device unless it is told."""
    return {"device_ids": [int(device.partition(":")[2])]} if device.startswith("cuda:") else {}


def pairs_of(ranks: Sequence[int], turn: int) -> list[tuple[int, int]]:
    """Who meets whom in one of ``len(ranks) - 1`` turns, so that in all of them each meets each (the circle method)."""
    players: list[int | None] = [*ranks, None] if len(ranks) % 2 else [*ranks]
    fixed, others = players[0], players[1:]
    turned = [fixed, *others[turn % len(others) :], *others[: turn % len(others)]] if others else []
    half = len(turned) // 2
    met = zip(turned[:half], reversed(turned[half:]), strict=True)
    return [(min(one, other), max(one, other)) for one, other in met if one is not None and other is not None]
