"""GitLab's code quality report: an array of issues, each of which must have a path and a fingerprint."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from torchdoctor.findings import Finding
from torchdoctor.render.formats import View
from torchdoctor.render.labels import place_of
from torchdoctor.render.line import harmless_json, on_one_line
from torchdoctor.report import Report

_SEVERITIES = {"error": "critical", "warning": "major", "info": "info"}
_NOWHERE = "torchdoctor"  # the path of what stands in no file; always this one, so that an issue is known again
_NAMES = ("target", "key", "id")  # values of a summary that say of what it is, and are never measured


def render(report: Report, _view: View) -> str:
    """Every finding, and that too little is known."""
    return harmless_json(json.dumps(list(_issues(report)), indent=1, ensure_ascii=False)) + "\n"


def _issues(report: Report) -> Iterator[dict[str, Any]]:
    met = Counter[str]()
    for finding in report.findings:
        file, line = place_of(finding)
        key = _key(finding, file)
        met[key] += 1
        about = f"{finding.summary}{_what_to_do(finding)}"
        severity = _SEVERITIES[str(finding.severity)]
        yield _issue(finding.id, severity, about, (file.lstrip("/") or _NOWHERE, line or 1), f"{key}\n{met[key]}")
    if report.unknown_because:
        yield _issue("unknown", "blocker", str(report.unknown_because), (_NOWHERE, 1), "unknown")


def _issue(name: str, severity: str, about: str, place: tuple[str, int], key: str) -> dict[str, Any]:
    from hashlib import sha256

    path, line = place
    return {
        "type": "issue",
        "check_name": name,
        "description": on_one_line(about),
        "severity": severity,
        "categories": ["Compatibility"],
        "fingerprint": sha256(key.encode("utf-8", "backslashreplace")).hexdigest(),
        "location": {"path": path, "lines": {"begin": line}},
    }


def _key(finding: Finding, file: str) -> str:
    """What makes an issue the same one in the next run: no line that moves, no figure that was measured."""
    values = finding.summary.values
    told = [str(finding.summary)] if file else [values[name] for name in _NAMES if name in values]
    return "\n".join((finding.id, file, *told))


def _what_to_do(finding: Finding) -> str:
    first = next((remedy for remedy in finding.remedies), None)
    return f": {first.text}" if first else ""
