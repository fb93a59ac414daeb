"""Many inputs on all cores: processes that each answer one item at a time, with a deadline that ends a stuck one.

What it costs in memory does not grow with the number of inputs: each process holds one, and no answer is kept.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Any

Item = Mapping[str, Any]
Answer = dict[str, Any]
Work = Callable[[Item], Answer]

_TICK = 0.5  # seconds from one look at the deadlines to the next
_LAST_WORDS = 2.0  # seconds that a process gets to end


class _Worker:
    """One process; ``item`` is what it is busy with, ``until`` when that has to be done."""

    def __init__(self, work: Work) -> None:
        self.item: Item | None = None
        self.until = 0.0
        self.ours, theirs = multiprocessing.Pipe()
        self.process = multiprocessing.Process(target=_serve, args=(work, theirs, self.ours), daemon=True)
        self.process.start()
        theirs.close()

    def give(self, item: Item, seconds: float) -> None:
        self.item, self.until = item, time.monotonic() + seconds
        with suppress(OSError):  # it ended beforehand: that is seen when its answer is taken
            self.ours.send(item)

    def take(self) -> Answer:
        """The answer; one that tells how the process ended where it gave none."""
        item, self.item = self.item, None
        try:
            return dict(self.ours.recv())
        except (EOFError, OSError):
            self.process.join(_LAST_WORDS)
            return _error(item, f"the process that read it ended with status {self.process.exitcode}")

    def end(self) -> None:
        self.process.kill()
        self.process.join(_LAST_WORDS)
        self.ours.close()

    @property
    def has_ended(self) -> bool:
        return self.process.exitcode is not None


def answers(items: Iterable[Item], work: Work, *, jobs: int, seconds: float) -> Generator[Answer]:
    """Yield an answer for each item, in the order in which they are ready; an item that takes longer gets an error.

    ``work`` must be importable (a function of a module) and must not raise. ``seconds`` is for one item.
    """
    workers = [_Worker(work) for _ in range(jobs)]
    try:
        waiting = iter(items)
        while True:
            for worker in workers:
                if worker.item is None and (item := next(waiting, None)) is not None:
                    worker.give(item, seconds)
            busy = [worker for worker in workers if worker.item is not None]
            if not busy:
                return
            yield from _ready(workers, busy, work, seconds)
    finally:
        for worker in workers:
            worker.end()


def _ready(workers: list[_Worker], busy: list[_Worker], work: Work, seconds: float) -> Iterator[Answer]:
    """What is answered by now, and what is late."""
    spoken = wait([worker.ours for worker in busy], timeout=_TICK)
    for worker in busy:
        if worker.ours in spoken:
            yield worker.take()
        elif time.monotonic() > worker.until:
            yield _error(worker.item, f"no answer in {seconds:g} s")
        else:
            continue
        if worker.has_ended or worker.item is not None:
            worker.end()
            workers[workers.index(worker)] = _Worker(work)


def _serve(work: Work, theirs: Connection, ours: Connection) -> None:
    """What a process does: answer until nobody asks any more. Ctrl-C is for the one that started it."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    ours.close()
    with suppress(EOFError, OSError):
        while True:
            theirs.send(work(theirs.recv()))


def cores() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _error(item: Item | None, message: str) -> Answer:
    return {"id": (item or {}).get("id"), "error": message}
