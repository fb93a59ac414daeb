"""The memory of the host (or of its cgroup) that ran out while torch was imported or used."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.checks.registry import check, seen
from torchdoctor.facts import Facts, need, value_or
from torchdoctor.findings import Evidence, Finding, Remedy, Text
from torchdoctor.tables import Tables

_PAGING_FILE = "WinError 1455"


@check("host-memory-exhausted", severity="error")
def host_memory_exhausted(facts: Facts, _tables: Tables) -> Iterator[Finding]:
    """The system's memory ran out: the kernel killed the process, or the paging file is too small."""
    if _PAGING_FILE in value_or(facts.trial.error, ""):
        yield _finding(
            Text("the paging file is too small to import torch"),
            (seen(facts, "trial.error", value_or(facts.trial.error, "")[-300:]),),
            Remedy(Text("Let Windows manage the size of the paging file, or enlarge it")),
        )
    elif need(facts.trial.oom_killed):
        yield _finding(
            Text("the kernel killed the process for want of memory in the stage {stage}", stage=_stage(facts)),
            (
                seen(facts, "trial.oom_killed", True),
                seen(facts, "trial.stage", _stage(facts)),
                seen(facts, "memory.available", value_or(facts.memory.available, "unknown")),
            ),
            Remedy(Text("Give the container, job or virtual machine more memory, or end what else uses it")),
        )


def _finding(summary: Text, evidence: tuple[Evidence, ...], more: Remedy) -> Finding:
    return Finding(
        summary=summary,
        why=Text(
            "torch and its libraries take some gigabytes of the system's memory before the first computation. "
            "This is neither the GPU's memory nor a fault of torch, which has no say in it."
        ),
        evidence=evidence,
        remedies=(more,),
        confidence="certain",
    )


def _stage(facts: Facts) -> str:
    """The smoke test that was killed, else the stage in which the first child ended."""
    probes = value_or(facts.trial.probes, ())
    killed = next((probe for probe in probes if probe.values.get("out_of_memory")), None)
    return f"{killed.id} on {killed.device}" if killed else value_or(facts.trial.stage, "import")
