"""Libraries that a wheel links and does not bring."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.checks.registry import check, told_by_a_text
from torchdoctor.facts import Facts
from torchdoctor.findings import Finding
from torchdoctor.tables import Tables


@check("undeclared-system-library", severity="error", parent="torch-import-fails")
def undeclared_system_library(facts: Facts, _tables: Tables) -> Iterator[Finding]:
    """The wheel links a library that it does not declare and the system does not have."""
    yield from told_by_a_text(facts)
