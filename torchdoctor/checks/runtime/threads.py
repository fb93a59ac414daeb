"""Threads beyond the processors that a control group gives."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.checks.registry import check, seen
from torchdoctor.facts import Facts, known, need, value_or
from torchdoctor.findings import Finding, Remedy, Text, setting
from torchdoctor.tables import Tables

_LIMITS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")
_TWICE = 2


@check("cpu-quota-ignored", severity="info")
def cpu_quota_ignored(facts: Facts, _tables: Tables) -> Iterator[Finding]:
    """More processors are seen than the control group allows, and torch starts a thread for each."""
    quota = known(facts.cpu.quota)
    visible = need(facts.cpu.visible)
    if quota is None or visible < _TWICE * quota or not need(facts.torch.installed):
        return
    if any(value_or(facts.env.get(name), "") for name in _LIMITS):
        return
    yield Finding(
        summary=Text("torch sees {visible} processors where {quota} may be used", visible=visible, quota=quota),
        why=Text(
            "OpenMP and MKL count what the kernel shows and know nothing of the quota: their threads are stopped "
            "in turn, and computing on the processor becomes slower than with fewer of them."
        ),
        evidence=(seen(facts, "cpu.quota", quota), seen(facts, "cpu.visible", visible)),
        remedies=(
            Remedy(Text("Set the number of threads before the program starts"), (setting(OMP_NUM_THREADS=str(quota)),)),
        ),
        confidence="likely",
    )
