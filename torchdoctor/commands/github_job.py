"""What a job of GitHub Actions gets beside its log: a page in the step summary, and outputs for later steps."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from torchdoctor.commands.common import note
from torchdoctor.render.github import SUMMARY_BYTES, outputs
from torchdoctor.render.markdown import summary
from torchdoctor.render.output import append, size_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torchdoctor.render.formats import View
    from torchdoctor.report import Report

_SUMMARY, _OUTPUT = "GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT"


def tell_job(report: Report, view: View, status: int, formats: Sequence[tuple[str, str | None]]) -> None:
    """Add to the two files, where the job has them; one that cannot be written to is said and fails nothing."""
    if path := os.environ.get(_SUMMARY):
        with _noting(_SUMMARY):
            append(summary(report, view, SUMMARY_BYTES - size_of(path)), path)
    if path := os.environ.get(_OUTPUT):
        with _noting(_OUTPUT):
            append(outputs(_values(report, status, formats), f"torchdoctor_{os.urandom(16).hex()}"), path)


def _values(report: Report, status: int, formats: Sequence[tuple[str, str | None]]) -> dict[str, str]:
    """The verdict, and the report's path: that of the JSON, else of the first file; empty without one."""
    files = [(name != "json", path) for name, path in formats if path]
    report_path = os.path.abspath(min(files, key=lambda file: file[0])[1]) if files else ""  # noqa: PTH100 - follows no link
    return {"verdict": report.status, "exit-status": str(status), "report": report_path}


@contextmanager
def _noting(name: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        note(f"note: cannot write to the file of {name}: {error.strerror or error}")
