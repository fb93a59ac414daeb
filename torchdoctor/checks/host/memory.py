"""The memory of the host (or of its cgroup) that ran out while torch was imported or used."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.checks.answers import MORE_MEMORY, OUT_OF_MEMORY, shortened
from torchdoctor.checks.registry import check, seen
from torchdoctor.facts import Facts, need, value_or
from torchdoctor.findings import Confidence, Evidence, Finding, Remedy, Text
from torchdoctor.tables import Tables

_PAGING_FILE = "WinError 1455"
_ID = "host-memory-exhausted"
_NOT_MAPPED = "failed to map segment from shared object"  # new loaders of glibc give no reason
_NOEXEC = Remedy(
    Text("Where memory is free, see whether the library lies on a file system that is mounted with noexec"),
    commands=("mount | grep noexec",),
)


@check(_ID, severity="error")
def host_memory_exhausted(facts: Facts, tables: Tables) -> Iterator[Finding]:
    """The system's memory ran out: the kernel killed the process, or the paging file is too small."""
    if _PAGING_FILE in value_or(facts.trial.error, ""):
        yield _finding(
            Text("the paging file is too small to import torch"),
            (seen(facts, "trial.error", shortened(value_or(facts.trial.error, ""))),),
            Remedy(Text("Let Windows manage the size of the paging file, or enlarge it")),
        )
    elif tables.smoke_findings.of("import", "", value_or(facts.trial.error, "")) == _ID:
        yield _finding(
            Text("the memory of this host was refused while torch was imported"),
            (
                seen(facts, "trial.error", shortened(value_or(facts.trial.error, ""))),
                seen(facts, "memory.available", value_or(facts.memory.available, "unknown")),
            ),
            MORE_MEMORY,
            *((_NOEXEC,) if _NOT_MAPPED in value_or(facts.trial.error, "") else ()),
            confidence="likely",
        )
    elif need(facts.trial.oom_killed):
        yield _finding(
            Text("the kernel killed the process for want of memory in {stage}", stage=_stage(facts)),
            (
                seen(facts, "trial.oom_killed", True),
                seen(facts, "trial.stage", _stage(facts)),
                seen(facts, "memory.available", value_or(facts.memory.available, "unknown")),
            ),
            MORE_MEMORY,
        )


def _finding(
    summary: Text, evidence: tuple[Evidence, ...], *remedies: Remedy, confidence: Confidence = "certain"
) -> Finding:
    return Finding(
        summary=summary,
        why=OUT_OF_MEMORY,
        evidence=evidence,
        remedies=remedies,
        confidence=confidence,
    )


def _stage(facts: Facts) -> str:
    """The smoke test that was killed, else the stage in which the first child ended."""
    probes = value_or(facts.trial.probes, ())
    killed = next((probe for probe in probes if probe.values.get("out_of_memory")), None)
    return f"{killed.id} on {killed.device}" if killed else value_or(facts.trial.stage, "import")
