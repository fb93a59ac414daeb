"""Reports of recorded hosts and pasted texts that every format has to show, and any number of invented findings."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from pathlib import Path

from conftest import DATA

from torchdoctor.facts import Facts, Request
from torchdoctor.findings import Evidence, Finding, Outcome, Place, Remedy, Severity, Text
from torchdoctor.pipeline import examine
from torchdoctor.prescribe.writing import Writing
from torchdoctor.readers.texts import load_text
from torchdoctor.recording import Recording
from torchdoctor.records import replace
from torchdoctor.report import Report
from torchdoctor.tables import Tables

NOW = 1_790_000_000.0
HOSTILE = """::error file=x::y
##[error]x ##vso[task.setvariable variable=a]b ##teamcity[buildProblem]
<script>alert(1)</script> & ]]> ```` @everyone |x| *bold* [a](b) # SKIP
CUDA_VISIBLE_DEVICES=::error::a|b"c\\d\u202e<b>`x` # TODO %0A
torch.__version__ = 2.6.0+cu124
LD_LIBRARY_PATH=/opt/##[group]`a`|<i>:/x"
GPU 0: NVIDIA GeForce RTX 5090 \x1b[31m ~~~
RuntimeError: CUDA error: no kernel image is available for execution on the device ##[endgroup] ]]> `````` | x
"""
# Checks that a snapshot shows though they found nothing; one that showed all would change with each new check.
_SHOWN = ("python-unsupported", "torch-missing", "driver-too-old", "fd-limit")


def recorded(path: str) -> Report:
    return _examined(Recording.from_json((DATA / path).read_text(encoding="utf-8")))


def pasted(text: str) -> Report:
    return _examined(Recording(texts=(load_text(io.BytesIO(text.encode("utf-8", "surrogatepass")), "log.txt"),)))


def _examined(recording: Recording) -> Report:
    report = examine(recording, Tables(), Request(), Writing())
    shown = tuple(item for item in report.outcomes if item.outcome == "found" or item.id in _SHOWN)
    return replace(report, outcomes=shown, tables_date="2026-11-30")


def crashed(report: Report) -> Report:
    reason = "ValueError: ::error::\x1b[31m ##[error] <a> ]]>\n::x"
    return replace(report, outcomes=(*report.outcomes, Outcome("shm-too-small", "crashed", reason)))


REPORTS: dict[str, Callable[[], Report]] = {
    "healthy-cpu": lambda: recorded("formats/healthy-cpu.recording.json"),
    "error-with-command": lambda: recorded("recordings/windows11-rtx4060.json"),
    "hostile-paste": lambda: pasted(HOSTILE),
    "unknown": lambda: pasted("the quick brown fox\n"),
    "crashed-check": lambda: crashed(recorded("formats/healthy-cpu.recording.json")),
}


def invented(
    findings: Iterable[tuple[Severity, str]], words: str = "seen", place: Place | None = None, *, live: bool = True
) -> Report:
    """A report with a finding for each pair of severity and id; every text of theirs holds the words."""
    made = tuple(_finding(severity, name, words, place) for severity, name in findings)
    names = dict.fromkeys(finding.id for finding in made)
    outcomes = tuple(Outcome(name, "found") for name in names)
    return Report(facts=Facts(), findings=made, outcomes=outcomes, tables_date="2026-11-30", live=live)


def _finding(severity: Severity, name: str, words: str, place: Place | None) -> Finding:
    return Finding(
        id=name,
        severity=severity,
        summary=Text("{words} is wrong", words=words),
        why=Text("because of {words}", words=words),
        evidence=(Evidence("driver.version", words, words),),
        remedies=(Remedy(Text("Change {words}", words=words), (f"change {words}",)),),
        place=place,
    )


def saved(folder: Path, text: str = HOSTILE) -> str:
    """The path of a pasted text."""
    path = folder / "log.txt"
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    return str(path)
