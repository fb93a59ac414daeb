"""From what the ranks told to findings: who is missing, lost, skewed, on a wrong interface, or slow. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from torchdoctor.findings import Evidence, Finding, Remedy, Text, of_many_hosts, unsetting
from torchdoctor.net.speed import busbw, carries, is_slow, named_interfaces, used
from torchdoctor.net.worker import END, PAIRS, RENDEZVOUS, STORE, SUMS
from torchdoctor.records import record, replace

MISSING, SKEW, INTERFACE, LOST, WRONG, PAIR, FAILED, SLOW = IDS = (
    "net-rank-missing", "net-version-skew", "net-wrong-interface", "net-rank-lost", "net-sum-wrong", "net-pair-bad",
    "net-collective-failed", "net-link-slow",
)  # fmt: skip
_VERSIONS = ("torch", "cuda", "hip", "nccl", "backend")
_MOST_RANKS = 8
_GIGA = 1e9

Events = Sequence[Mapping[str, Any]]


@record(frozen=True, slots=True, kw_only=True)
class Heard:
    """What one process knows in the end: of rank 0 what all told, of any other what it told itself."""

    rank: int
    world: int
    told: Mapping[int, Events]
    ended: str = ""  # how its own work ended, where it was ended or died
    least: float = 0.0  # bytes per second on the bus that are asked for

    @property
    def facts(self) -> dict[int, Mapping[str, Any]]:
        """What the ranks tell of themselves."""
        found = {}
        for rank, events in sorted(self.told.items()):
            for event in events:
                if event.get("stage") == "facts" and isinstance(event.get("facts"), dict):
                    found[rank] = event["facts"]
        return found

    @property
    def nodes(self) -> dict[int, int]:
        """The number of each rank's node, counted in the order of the ranks; nothing where not all have told theirs."""
        if self.rank:
            return {}
        numbers: dict[Any, int] = {}
        return {
            rank: numbers.setdefault((item.get("host"), item.get("boot")), len(numbers))
            for rank, item in self.facts.items()
        }

    def failures(self) -> list[tuple[int, str, str]]:
        """Rank, stage and error of every stage that failed."""
        return [
            (rank, str(event["stage"]), str(event.get("error", "")))
            for rank, events in sorted(self.told.items())
            for event in events
            if event.get("state") == "failed" and event.get("stage") not in (PAIRS, STORE)
        ]


def findings_of(heard: Heard) -> tuple[Finding, ...]:
    """The causes first; what follows from one of them is its echo."""
    roots = [*_missing(heard), *_interfaces(heard)]
    lost, failed = list(_lost(heard)), list(_failed(heard))
    skewed = list(_skewed(heard, is_sure=not (roots or lost) and bool(failed)))
    others = [*_wrong(heard), *_pairs(heard)]
    order = [*roots, *lost, *others, *skewed] if roots or lost else [*skewed, *others]
    if order:
        failed = [replace(item, explained_by=order[0].id) for item in failed]
    if roots:
        order = [replace(item, explained_by=roots[0].id) if item in lost else item for item in order]
    return (*order, *failed, *_slow(heard))


def named(heard: Heard, ranks: Sequence[int]) -> str:
    """Ranks in words, with their nodes where they are known."""
    nodes = heard.nodes
    words = [f"{rank} (node {nodes[rank]})" if rank in nodes else str(rank) for rank in ranks[:_MOST_RANKS]]
    more = f" and {len(ranks) - _MOST_RANKS} more" if len(ranks) > _MOST_RANKS else ""
    return f"rank{'s' if len(ranks) > 1 else ''} {', '.join(words)}{more}"


def _missing(heard: Heard) -> Iterator[Finding]:
    """By rank 0's list; another rank that cannot reach the store misses rank 0."""
    own = heard.told.get(heard.rank, ())
    met = [event for event in own if event.get("stage") == RENDEZVOUS]
    ranks = sorted({rank for event in met for rank in event.get("missing") or ()})
    if heard.rank and any(event.get("state") == "failed" for event in met) and not ranks:
        ranks = [0]
    if not ranks:
        return
    yield of_many_hosts(
        MISSING,
        "error",
        Text("{ranks} of {world} never came", ranks=named(heard, ranks), world=heard.world),
        Text("The others waited at the rendezvous until their deadline; without all ranks no collective can begin."),
        [Evidence("net.missing", ", ".join(map(str, ranks)), f"rank {heard.rank}"), *_errors(heard, RENDEZVOUS)],
        Remedy(
            Text("See whether their hosts are up, their processes started, and the port of MASTER_ADDR can be reached")
        ),
    )


def _skewed(heard: Heard, *, is_sure: bool) -> Iterator[Finding]:
    """Different versions; an error where something failed and nothing else explains it."""
    facts = heard.facts
    for name in _VERSIONS:
        values = {rank: str(item.get(name)) for rank, item in facts.items()}
        if len(set(values.values())) < 2:  # noqa: PLR2004 - two versions
            continue
        usual = Counter(values.values()).most_common(1)[0][0]
        odd = [rank for rank, value in values.items() if value != usual]
        yield of_many_hosts(
            SKEW,
            "error" if is_sure else "warning",
            Text(
                "{name} is {odd} on {ranks}, elsewhere {usual}",
                name=name,
                odd=values[odd[0]],
                ranks=named(heard, odd),
                usual=usual,
            ),
            Text("Ranks of different versions may disagree on what is sent, which shows as a hang or a wrong sum."),
            [Evidence(f"net.{name}", value, f"rank {rank}") for rank, value in list(values.items())[:_MOST_RANKS]],
            Remedy(Text("Install the same environment on every node"), commands=("torchdoctor install-cmd",)),
        )  # fmt: skip
        return


def _interfaces(heard: Heard) -> Iterator[Finding]:
    """A named interface that is none, or the loopback where there are several nodes."""
    if len(set(heard.nodes.values())) < 2 or not heard.failures():  # noqa: PLR2004 - two nodes
        return
    for rank, facts in heard.facts.items():
        variable, value = named_interfaces(facts)
        if not variable or value.startswith("^"):
            continue
        found = used(facts)
        bad = "names no interface of it" if not found else "is the loopback, which ends on its own host"
        if found and not all(item.get("loopback") for item in found):
            continue
        who = named(heard, [rank])
        known = ", ".join(str(item["name"]) for item in facts.get("interfaces") or () if not item.get("loopback"))
        yield of_many_hosts(
            INTERFACE,
            "error",
            Text("{variable}={value} of {rank} {bad}", variable=variable, value=value, rank=who, bad=bad),
            Text("The other nodes cannot reach the address that this rank offers them."),
            [Evidence(f"env.{variable}", value, who), Evidence("net.interfaces", known or "none", who)],
            Remedy(Text("Name an interface of the network between the nodes, or leave it unset"),
                   commands=(unsetting(variable),)),
        )  # fmt: skip
        return


def _lost(heard: Heard) -> Iterator[Finding]:
    """Ranks that began a stage and told no end of it, while others went on or failed; and a store that is gone."""
    lost = {}
    for rank, events in heard.told.items():
        last = events[-1] if events else {}
        has_ended = any(event.get("stage") == END for event in events)
        if not has_ended and (rank != heard.rank or heard.ended):
            lost[rank] = str(last.get("stage", ""))
    if heard.rank and any(event.get("stage") == STORE for event in heard.told.get(heard.rank, ())):
        lost.setdefault(0, "unknown")
    if not lost:
        return
    ranks = sorted(lost)
    stage = lost[ranks[0]]
    yield of_many_hosts(
        LOST,
        "error",
        Text("{ranks} stopped answering in {stage}", ranks=named(heard, ranks), stage=stage),
        Text(
            "Its process was killed, stopped, or hangs where no time-out reaches it: in the driver, or on a dead node."
        ),
        [
            *([Evidence("net.ended", heard.ended, f"rank {heard.rank}")] if heard.ended else []),
            *_errors(heard, stage),
        ],
        Remedy(
            Text("On its host: look for an Xid, a process in state D or T, and the out-of-memory killer"),
            commands=("dmesg | tail", "ps -eo pid,stat,wchan:20,cmd | grep torchdoctor"),
        ),
    )


def _wrong(heard: Heard) -> Iterator[Finding]:
    for rank, events in sorted(heard.told.items()):
        for event in events:
            for item in (event.get("wrong") or ()) if event.get("stage") == SUMS else ():
                yield of_many_hosts(
                    WRONG,
                    "error",
                    Text("a sum of {dtype} is wrong on {rank}", dtype=item["dtype"], rank=named(heard, [rank])),
                    Text("Data was damaged on its way: training would go on with wrong gradients, and say nothing."),
                    [Evidence("net.sum", f"{item['got']:g} where {item['expected']:g} is right, {item['count']} of "
                              f"{item['elements']} elements", f"rank {rank}")],
                    Remedy(Text("Search the pair that damages it, then its cables, switch or peer-to-peer path"),
                           commands=("torchrun --nproc-per-node gpu -m torchdoctor.net --pairwise",)),
                )  # fmt: skip
                return


def pairs(heard: Heard) -> dict[tuple[int, int], Mapping[str, Any]]:
    """What became of each pair: an error where either side tells one."""
    met: dict[tuple[int, int], Mapping[str, Any]] = {}
    for events in heard.told.values():
        for event in events:
            for item in (event.get("pairs") or ()) if event.get("stage") == PAIRS else ():
                key = (int(item["ranks"][0]), int(item["ranks"][1]))
                if key not in met or "error" in item:
                    met[key] = item
    return met


def _pairs(heard: Heard) -> Iterator[Finding]:
    """A rank that fails with all others is bad itself; else the pair is. Of two nodes, the pair says nothing new."""
    met = pairs(heard)
    bad = [key for key, item in met.items() if "error" in item]
    if not bad or len(met) < 2:  # noqa: PLR2004 - two pairs
        return
    count = Counter(rank for key in met for rank in key)
    failed = Counter(rank for key in bad for rank in key)
    culprits = [rank for rank in sorted(failed) if failed[rank] == count[rank] and count[rank] > 1]
    if len(culprits) == 1:
        who, what = named(heard, culprits), "works with no other rank"
    else:
        who, what = named(heard, list(bad[0])), "do not work together, though others do"
    yield of_many_hosts(
        PAIR,
        "error",
        Text("{who} {what}", who=who, what=what),
        Text("Every pair was tried alone: {bad} of {all} failed.", bad=len(bad), all=len(met)),
        [Evidence("net.pair", str(met[key]["error"]), f"ranks {key[0]} and {key[1]}") for key in bad[:_MOST_RANKS]],
        Remedy(Text("Take the node out of the partition, then look at its cable, port and network configuration")),
    )


def _failed(heard: Heard) -> Iterator[Finding]:
    failures = [item for item in heard.failures() if item[1] != RENDEZVOUS]
    if failures:
        rank, stage, _ = failures[0]
        yield of_many_hosts(
            FAILED,
            "error",
            Text("{stage} failed on {rank}", stage=stage, rank=named(heard, [rank])),
            Text("What the backend says of it is the evidence; the ranks that say nothing are told apart."),
            list(_errors(heard, stage)),
            Remedy(Text("Read the first error; for NCCL, run again with its log"),
                   commands=("NCCL_DEBUG=INFO torchrun --nproc-per-node gpu -m torchdoctor.net",)),
        )  # fmt: skip


def _errors(heard: Heard, stage: str) -> Iterator[Evidence]:
    told = [item for item in heard.failures() if item[1] == stage]
    for rank, _, error in told[:3]:
        yield Evidence(f"net.{stage}", error[:300], f"rank {rank}")


def _slow(heard: Heard) -> Iterator[Finding]:
    measured = busbw(heard.told.get(heard.rank, ()))
    facts = list(heard.facts.values())
    if measured is None or (not is_slow(measured, facts) and measured >= heard.least):
        return
    carried = carries(facts)
    is_asked = measured < heard.least
    slowest = min(
        (item for item in pairs(heard).items() if "busbw" in item[1]), key=lambda item: item[1]["busbw"], default=None
    )
    evidence = [Evidence("net.busbw", f"{measured / _GIGA:.3g} GB/s", f"rank {heard.rank}")]
    if carried:
        evidence.append(Evidence("net.interface", f"{carried / _GIGA:.3g} GB/s", "the slowest that is used"))
    if slowest:
        (one, other), row = slowest
        evidence.append(
            Evidence("net.pair", f"{row['busbw'] / _GIGA:.3g} GB/s", f"ranks {one} and {other}, the slowest pair")
        )
    limit = (
        f"{heard.least / _GIGA:.3g} GB/s asked for" if is_asked else f"{(carried or 0) / _GIGA:.3g} GB/s of the link"
    )
    yield of_many_hosts(
        SLOW,
        "error" if is_asked else "warning",
        Text("all-reduce reaches {measured} GB/s of {limit}", measured=f"{measured / _GIGA:.3g}", limit=limit),
        Text("Large sums are as fast as the slowest link between the nodes."),
        evidence,
        Remedy(Text("Compare with iperf3 between the two, and look for a limit, a wrong interface or a bad cable")),
    )  # fmt: skip
