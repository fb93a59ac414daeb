"""What is wrong in a fleet, as findings: so that every format and the exit status know of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torchdoctor.facts import Facts
from torchdoctor.findings import SEVERITIES, Evidence, Finding, Outcome, Remedy, Text, of_many_hosts
from torchdoctor.fleet.merge import Fleet, Group, Odd
from torchdoctor.report import Report

DIFFERS, MISSING, SICK, SLOW_GPU, UNREADABLE, UNDECIDED = IDS = (
    "fleet-host-differs", "fleet-host-missing", "fleet-host-sick", "fleet-gpu-slow", "fleet-report-unreadable",
    "fleet-no-majority",
)  # fmt: skip
_MOST_FACTS, _MOST_NAMES, _MOST_WORDS = 12, 6, 60


def report_of(fleet: Fleet, tables_date: str) -> Report:
    """The findings of a fleet as a report, the worst first."""
    found = [*_missing(fleet), *_sick(fleet), *_differing(fleet), *_slow(fleet), *_unreadable(fleet), *_ties(fleet)]
    ids = {finding.id for finding in found}
    return Report(
        facts=Facts(),
        findings=tuple(sorted(found, key=lambda finding: SEVERITIES.index(finding.severity or "info"))),
        outcomes=tuple(Outcome(name, "found" if name in ids else "passed") for name in IDS),
        tables_date=tables_date,
        hosts=max(1, fleet.hosts),
    )


def _missing(fleet: Fleet) -> Iterator[Finding]:
    count = len(fleet.missing)
    if count:
        yield of_many_hosts(
            MISSING,
            "error",
            Text(
                "{count} expected hosts sent no report: {names}", count=len(fleet.missing), names=listed(fleet.missing)
            ),
            Text("A host that is down, drained or hangs before its report is written is seen by its silence alone."),
            [Evidence("fleet.missing", listed(fleet.missing, 50), "--expect")],
            Remedy(Text("Ask the scheduler for their state, then check one of them by hand")),
        )


def _sick(fleet: Fleet) -> Iterator[Finding]:
    """One for all hosts with the same first finding."""
    kinds: dict[tuple[str, str], list[str]] = {}
    for item in fleet.sick:
        kinds.setdefault((item.status, item.finding or "unknown"), []).append(item.host)
    for (status, found), names in kinds.items():
        told = next(item.summary for item in fleet.sick if (item.finding or "unknown") == found)
        evidence = [Evidence("fleet.sick", f"{listed(names, 50)}: {told}" if told else listed(names, 50), "reports")]
        yield of_many_hosts(
            SICK,
            "error" if status == "fail" else "warning",
            Text("{names} report {finding}", names=listed(names), finding=found),
            Text("Their own reports are not ok; what is said there stands before what is compared here."),
            evidence,
            Remedy(
                Text("Read what the finding says, and the report of one of them"),
                commands=(f"torchdoctor explain {found}",) if found != "unknown" else (),
            ),
        )


def _differing(fleet: Fleet) -> Iterator[Finding]:
    for group in fleet.groups:
        first = group.odd[0]
        value, usual = map(_short, pair(first))
        others = len(group.odd) - 1
        more = f" and {others} more fact{'s' if others > 1 else ''}" if others else ""
        yield of_many_hosts(
            DIFFERS,
            "error" if fleet.golden else "warning",
            Text(
                "{names}: {fact} is {value}, elsewhere {usual}{more}",
                names=_named(group), fact=first.fact, value=value, usual=usual, more=more,
            ),
            Text("Hosts of one job should be alike: a collective is as fast as the slowest, and as new as the oldest."),
            list(_evidence(group)),
            Remedy(Text("Bring them to what the others are, or take them out of the partition")),
        )  # fmt: skip


def _evidence(group: Group) -> Iterator[Evidence]:
    for item in group.odd[:_MOST_FACTS]:
        value, usual = map(_short, pair(item))
        yield Evidence(item.fact, f"{value}; elsewhere {usual} ({item.share})", "reports")
    if len(group.odd) > _MOST_FACTS:
        yield Evidence("fleet.differences", f"{len(group.odd) - _MOST_FACTS} more facts", "--format json")


def _slow(fleet: Fleet) -> Iterator[Finding]:
    for item in fleet.slow:
        share = round(100 * item.value / item.middle)
        yield of_many_hosts(
            SLOW_GPU,
            "warning",
            Text("{device} of {host} reaches {share}% of the median", device=item.device, host=item.host, share=share),
            Text("Synchronous training waits for the slowest GPU in every step ({kind}).", kind=item.kind),
            [Evidence("bench.rate", f"{item.value:.4g} a second; median {item.middle:.4g}", item.kind)],
            Remedy(
                Text("Look at clocks, power limit, temperature and PCIe link of that GPU"),
                commands=("nvidia-smi -q -d CLOCK,POWER,PERFORMANCE,TEMPERATURE",),
            ),
        )


def _unreadable(fleet: Fleet) -> Iterator[Finding]:
    for name, why in fleet.unreadable[:50]:
        yield of_many_hosts(
            UNREADABLE,
            "warning",
            Text("{name} is no report: {why}", name=name, why=_short(why)),
            Text("It is left out of every count; a host whose report was cut off may have died while it wrote it."),
            [Evidence("fleet.unreadable", name, "reports")],
            Remedy(Text("Write it again on that host"), commands=("torchdoctor check --format json=FILE",)),
        )


def _ties(fleet: Fleet) -> Iterator[Finding]:
    for tie in fleet.ties:
        values = "; ".join(f"{_short(value)} on {count}" for value, count in tie.values)
        yield of_many_hosts(
            UNDECIDED,
            "info",
            Text("no value of {fact} is that of most hosts", fact=tie.fact),
            Text("Of {told} that tell, no more than half agree: nobody can be called the odd one out.", told=tie.told),
            [Evidence(tie.fact, values, "reports")],
            Remedy(Text("Name the report that is right: --golden FILE")),
        )


def _named(group: Group) -> str:
    return listed(group.names, 3, group.count)


def listed(names: Sequence[str], most: int = _MOST_NAMES, count: int = 0) -> str:
    """The first of the names, and how many more there are."""
    more = (count or len(names)) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def _short(value: str) -> str:
    return value if len(value) <= _MOST_WORDS else f"{value[: _MOST_WORDS - 3]}..."


def pair(item: Odd) -> tuple[str, str]:
    """Both values of a fact that differs; of two lists only what the other has not."""
    if ", " not in item.value and ", " not in item.usual:
        return item.value, item.usual
    mine, theirs = item.value.split(", "), item.usual.split(", ")
    rest = [", ".join(word for word in one if word not in other) for one, other in ((mine, theirs), (theirs, mine))]
    return rest[0] or "nothing besides", rest[1] or "nothing besides"
