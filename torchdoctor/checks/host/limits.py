"""What the process may use of the host beyond memory."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.checks.registry import check, told_by_a_text
from torchdoctor.facts import Facts
from torchdoctor.findings import Finding
from torchdoctor.tables import Tables


@check("fd-limit", severity="warning")
def fd_limit(facts: Facts, _tables: Tables) -> Iterator[Finding]:
    """Too many files are open: DataLoader workers or the launcher reached the limit of the process."""
    yield from told_by_a_text(facts)
