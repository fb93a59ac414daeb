"""One rank's work, in a process of its own that may hang or die: each stage is told before it begins and after it ends.

What is told goes to two places: a pipe to the process that watches, and the store, in which rank 0 reads what all
others tell. Nothing of it needs a collective, so that one that hangs still leaves a report.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import timedelta
from importlib import import_module
from typing import Any, NamedTuple

from torchdoctor.net import collectives
from torchdoctor.net.host import backend_for, device_of, facts_of
from torchdoctor.net.place import Place
from torchdoctor.net.speed import busbw, is_slow

IMPORT, RENDEZVOUS, GROUP, BARRIER, SUMS, BANDWIDTH, PAIRS, END = STAGES = (
    "import", "rendezvous", "group", "barrier", "all-reduce", "bandwidth", "pairs", "end",
)  # fmt: skip
STORE = "store"
_TICK = 0.2  # seconds between two looks at what the others tell
_PAIR_BYTES, _PAIR_ROUNDS = 1_048_576, 3
_MOST_TURNS = 32
Tell = Callable[[Mapping[str, Any]], None]


class Plan(NamedTuple):
    """What is asked: seconds for each stage, the backend, whether pairs are searched in any case."""

    seconds: float = 30.0
    backend: str = "auto"
    pairwise: bool = False
    sizes: tuple[int, ...] = ()
    meeting: float = 60.0  # seconds for all ranks to come: some start later, and import torch from a slower disk


class Missing(Exception):  # noqa: N818 - who is missing, not what went wrong
    """Ranks that told nothing in time."""


class _Teller:
    """Tells an event to the pipe and, once there is one, to the store."""

    def __init__(self, place: Place, tell: Tell) -> None:
        self.place, self.tell = place, tell
        self.store: Any = None
        self.told: list[Mapping[str, Any]] = []

    def __call__(self, stage: str, state: str, **fields: Any) -> None:
        event = {"stage": stage, "state": state, "at": round(time.time(), 3), **fields}
        self.told.append(event)
        self.tell({"rank": self.place.rank, "event": event})
        if self.store is not None:
            try:
                self.store.set(f"told/{self.place.rank}", json.dumps(self.told))
            except Exception:  # noqa: BLE001 - it is gone with rank 0, whatever torch raises then: the pipe has the rest
                self.store = None
                self(STORE, "failed")

    @contextmanager
    def stage(self, name: str) -> Iterator[dict[str, Any]]:
        """A stage: what is put into the dictionary is told with its end; an error is told and goes on."""
        self(name, "begun")
        begun, told = time.perf_counter(), dict[str, Any]()
        try:
            yield told
        except Exception as error:
            said = f"{type(error).__name__}: {error}".strip()
            self(name, "failed", error=said[:2000], took=round(time.perf_counter() - begun, 3), **told)
            raise
        self(name, "done", took=round(time.perf_counter() - begun, 3), **told)


def work(place: Place, plan: Plan, tell: Tell) -> None:
    """Go through all stages; after one that fails the pairs are searched, where all ranks are there."""
    teller = _Teller(place, tell)
    torch, backend = _imported(teller, place, plan)
    facts = facts_of(torch, place, backend)
    teller("facts", "done", facts=facts)
    try:
        _together(torch, place, plan, backend, teller)
    except Exception as error:  # noqa: BLE001 - whatever a backend raises is told; here what no stage told
        if not any(event["state"] == "failed" for event in teller.told):
            teller("work", "failed", error=f"{type(error).__name__}: {error}"[:2000])
    teller(END, "done")
    _wait_for_readers(place, teller)


def _imported(teller: _Teller, place: Place, plan: Plan) -> tuple[Any, str]:
    with teller.stage(IMPORT):
        torch = import_module("torch")
        import_module("torch.distributed")
        backend = backend_for(torch, plan.backend)
        if device_of(place, backend).startswith("cuda"):
            torch.cuda.set_device(place.local_rank)
    return torch, backend


def _together(torch: Any, place: Place, plan: Plan, backend: str, teller: _Teller) -> None:
    store = _meet(torch, place, plan, teller)
    device = device_of(place, backend)
    try:
        with teller.stage(GROUP):
            _join(torch, backend, store, (place.rank, place.world), plan.seconds)
            torch.distributed.barrier(**({"device_ids": [place.local_rank]} if backend == "nccl" else {}))
        _measure(torch, place, plan, device, teller)
    except Exception:
        _search(torch, place, plan, backend, store, teller)
        raise
    if plan.pairwise or _is_slow(place, plan, store, teller):
        _search(torch, place, plan, backend, store, teller)


def _is_slow(place: Place, plan: Plan, store: Any, teller: _Teller) -> bool:
    """Rank 0 decides for all whether what was measured is far below what the links can carry."""
    if place.rank == 0:
        facts = [_facts(store, rank) for rank in range(place.world)]
        slow = is_slow(busbw(teller.told), facts)
        store.set("slow", "yes" if slow else "no")
        return slow
    store.wait(["slow"], timedelta(seconds=plan.seconds))
    return bool(store.get("slow") == b"yes")


def _measure(torch: Any, place: Place, plan: Plan, device: str, teller: _Teller) -> None:
    with teller.stage(BARRIER) as told:
        told.update(collectives.barrier(torch, device))
    with teller.stage(SUMS) as told:
        told.update(collectives.sums(torch, device, place.rank, place.world))
    with teller.stage(BANDWIDTH) as told:
        sizes = plan.sizes or collectives.SIZES["cpu" if device == "cpu" else "gpu"]
        told["sizes"] = rows = list[dict[str, Any]]()
        rows.extend(collectives.bandwidth(torch, device, place.world, sizes, plan.seconds / 2))


def _meet(torch: Any, place: Place, plan: Plan, teller: _Teller) -> Any:
    """Connect to the store, tell the facts there, and wait until all have told theirs."""
    with teller.stage(RENDEZVOUS) as told:
        is_keeper = place.rank == 0 and not place.has_store
        store = _connected(torch, place, plan.meeting, is_keeper=is_keeper)
        teller.store = store
        teller(RENDEZVOUS, "connected")
        if place.rank == 0:
            reader = _connected(torch, place, plan.meeting, is_keeper=False)
            threading.Thread(target=_listen, args=(reader, place, teller), daemon=True).start()
        told["missing"] = missing = _absent(store, place, plan.meeting)
        if missing:
            raise Missing(f"ranks {', '.join(map(str, missing))} of {place.world} told nothing in {plan.meeting:g} s")
    return store


def _connected(torch: Any, place: Place, seconds: float, *, is_keeper: bool) -> Any:
    store = torch.distributed.TCPStore(
        place.address, place.port, place.world, is_keeper, timedelta(seconds=seconds), wait_for_workers=False
    )
    return torch.distributed.PrefixStore("torchdoctor.net", store)


def _absent(store: Any, place: Place, seconds: float) -> list[int]:
    """The ranks that have not told anything when the time is over."""
    until = time.monotonic() + seconds
    waiting = list(range(place.world))
    while waiting:
        waiting = [rank for rank in waiting if not store.check([f"told/{rank}"])]
        if time.monotonic() > until:
            break
        if waiting:
            time.sleep(_TICK)
    return waiting


def _listen(store: Any, place: Place, teller: _Teller) -> None:
    """Rank 0 passes on what the others tell, as soon as it changes."""
    told: dict[int, bytes] = {}
    with suppress(Exception):
        while True:
            for rank in range(1, place.world):
                key = f"told/{rank}"
                if store.check([key]) and (value := store.get(key)) != told.get(rank):
                    told[rank] = value
                    teller.tell({"rank": rank, "events": json.loads(value)})
            time.sleep(_TICK)


def _join(torch: Any, backend: str, store: Any, place: tuple[int, int], seconds: float, name: str = "all") -> None:
    rank, world = place
    torch.distributed.init_process_group(
        backend,
        store=torch.distributed.PrefixStore(name, store),
        rank=rank,
        world_size=world,
        timeout=timedelta(seconds=seconds),
    )


def _search(torch: Any, place: Place, plan: Plan, backend: str, store: Any, teller: _Teller) -> None:
    """Every node's first rank meets that of every other, two at a time, to find the pair that does not work."""
    seen = {rank: _facts(store, rank) for rank in range(place.world)}
    firsts = _one_of_each_node(seen)
    if place.rank not in firsts or len(firsts) < 2:  # noqa: PLR2004 - a pair
        return
    with suppress(Exception), teller.stage(PAIRS) as told:
        told["pairs"] = pairs = list[dict[str, Any]]()
        for turn in range(min(len(firsts) - 1, _MOST_TURNS)):
            mine = next((pair for pair in collectives.pairs_of(firsts, turn) if place.rank in pair), None)
            if mine is not None:
                pairs.append(_pair(torch, place, plan, backend, store, mine))


def _pair(torch: Any, place: Place, plan: Plan, backend: str, store: Any, mine: tuple[int, int]) -> dict[str, Any]:
    seconds, device = max(2.0, plan.seconds / 3), device_of(place, backend)
    result: dict[str, Any] = {"ranks": list(mine)}
    with suppress(Exception):
        torch.distributed.destroy_process_group()
    try:
        _join(torch, backend, store, (mine.index(place.rank), 2), seconds, f"pair/{mine[0]}/{mine[1]}")
        *_, row = collectives.bandwidth(torch, device, 2, (_PAIR_BYTES,), seconds / _PAIR_ROUNDS)
        result["busbw"] = row["busbw"]
    except Exception as error:  # noqa: BLE001 - whatever a backend raises is the answer
        result["error"] = f"{type(error).__name__}: {error}"[:500]
    return result


def _facts(store: Any, rank: int) -> Mapping[str, Any]:
    with suppress(Exception):
        for event in json.loads(store.get(f"told/{rank}")):
            if event["stage"] == "facts":
                return dict(event["facts"])
    return {}


def _one_of_each_node(seen: Mapping[int, Mapping[str, Any]]) -> list[int]:
    """The first rank of each node; of a single node all ranks."""
    firsts: dict[Any, int] = {}
    for rank, facts in sorted(seen.items()):
        firsts.setdefault((facts.get("host"), facts.get("boot")), rank)
    return list(firsts.values()) if len(firsts) > 1 else sorted(seen)


def _wait_for_readers(place: Place, teller: _Teller) -> None:
    """Rank 0 hears the others' ends before it takes the store away; the others wait until it has heard."""
    if teller.store is None:
        return
    with suppress(Exception):
        if place.rank == 0:
            _heard_all(teller.store, place)
            time.sleep(2 * _TICK)  # what was told last is passed on
            teller.store.set("over", "1")
            time.sleep(_TICK)
        else:
            teller.store.wait(["over"], timedelta(seconds=10))


def _heard_all(store: Any, place: Place, seconds: float = 5.0) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        ended = [rank for rank in range(place.world) if store.check([f"told/{rank}"]) and _has_ended(store, rank)]
        if len(ended) == place.world:
            return
        time.sleep(_TICK)


def _has_ended(store: Any, rank: int) -> bool:
    return any(event["stage"] == END for event in json.loads(store.get(f"told/{rank}")))


def main() -> None:
    """What the watched process does: read what is asked, work, and leave without anybody's last words."""
    import sys

    asked = json.loads(sys.argv[1])
    out = os.dup(1)
    os.dup2(2, 1)  # whatever else is printed is no event
    lock = threading.Lock()

    def tell(event: Mapping[str, Any]) -> None:
        with lock:
            os.write(out, (json.dumps(event) + "\n").encode("ascii"))

    work(Place(**asked["place"]), Plan(**asked["plan"]), tell)
    os._exit(0)


if __name__ == "__main__":
    main()
