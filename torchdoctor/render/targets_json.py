"""The ``targets`` member of a report: one object for every host that was asked about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torchdoctor.findings import Finding, Prediction


def targets_array(targets: Sequence[Prediction]) -> list[dict[str, Any]]:
    """Return the predictions as plain JSON values."""
    return [
        {
            "name": item.name,
            "target": dict(item.target),
            "verdict": item.verdict,
            "why": str(item.why),
            "findings": [_finding(finding) for finding in item.findings],
            "change": None if item.change is None else str(item.change),
            "commands": list(item.commands),
            "other_changes": [str(text) for text in item.other_changes],
            "missing": item.missing or None,
        }
        for item in targets
    ]


def _finding(finding: Finding) -> dict[str, Any]:
    return {"id": finding.id, "severity": finding.severity, "summary": str(finding.summary)}
