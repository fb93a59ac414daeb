"""GPUs that talk to each other."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.checks.answers import proved
from torchdoctor.checks.registry import check
from torchdoctor.facts import Facts
from torchdoctor.findings import Finding
from torchdoctor.tables import Tables


@check("p2p-broken", severity="error", after=("gpu-lost",), by_admin=True)
def p2p_broken(facts: Facts, tables: Tables) -> Iterator[Finding]:
    """Copies from GPU to GPU differ from copies through the host, or hang."""
    return proved(facts, tables, "p2p-broken")
