"""What a report is about, in a few short values, and the places in files that its findings name."""

from __future__ import annotations

import os
from collections.abc import Mapping

from torchdoctor import __version__
from torchdoctor.facts import Unknown, value_or
from torchdoctor.findings import Finding
from torchdoctor.render.line import on_one_line
from torchdoctor.report import Report


def labels(report: Report) -> Mapping[str, str]:
    """Versions by name; what is not known is empty."""
    facts = report.facts
    gpus = value_or(facts.gpus, ())
    values: Mapping[str, object] = {
        "torchdoctor": __version__,
        "tables": report.tables_date,
        "os": value_or(facts.os.distribution, None) or facts.os.name,
        "python": facts.python.version,
        "torch": value_or(facts.torch.full, None) or facts.torch.version,
        "build": facts.torch.build,
        "driver": facts.driver.version,
        "gpu": ", ".join(dict.fromkeys(value_or(gpu.name, "unnamed") for gpu in gpus)),
    }
    return {name: on_one_line(_word(value)) for name, value in values.items()}


def _word(value: object) -> str:
    return "" if value is None or isinstance(value, Unknown) else str(value)


def place_of(finding: Finding) -> tuple[str, int]:
    """The file that a finding names, as a repository's services want it, and the line; empty and 0 without one."""
    if finding.place is None:
        return "", 0
    return on_one_line(_in_repository(finding.place.file)), finding.place.line


def _in_repository(file: str) -> str:
    """The path from the top of what a job checked out, else from the current folder; one outside stays as it is."""
    root = os.environ.get("GITHUB_WORKSPACE") or os.environ.get("CI_PROJECT_DIR") or os.curdir
    top, whole = os.path.join(os.path.abspath(root), ""), os.path.abspath(file)  # noqa: PTH100, PTH118 - follows no link
    return (whole.removeprefix(top) if whole.startswith(top) else file).replace(os.sep, "/")
