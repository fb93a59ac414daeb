"""Whether the paths inside the wheels fit below this environment on a Windows without long paths."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torchdoctor.checks.registry import check, seen
from torchdoctor.facts import Facts, known, need
from torchdoctor.findings import Finding, Remedy, Row, Severity, Text
from torchdoctor.tables import Tables
from torchdoctor.tables.windows_wheels import LONGEST, WindowsWheel

_ALLOW = r"reg add HKLM\SYSTEM\CurrentControlSet\Control\FileSystem /v LongPathsEnabled /t REG_DWORD /d 1 /f"


@check("windows-long-path", severity="error")
def windows_long_path(facts: Facts, tables: Tables) -> Iterator[Finding]:
    """A path is longer than this Windows allows."""
    if need(facts.os.name) != "windows" or need(facts.os.long_paths) or known(facts.torch.installed) is not False:
        return
    length = need(facts.python.prefix_length)
    rows = tables.windows_wheels.too_deep(length)
    if rows:
        yield _too_deep(facts, rows, length, tables.windows_wheels.measured())


def _too_deep(facts: Facts, rows: Sequence[WindowsWheel], length: int, known_: Sequence[WindowsWheel]) -> Finding:
    """It keeps torch out where no release fits, and what pip takes by itself where the newest does not."""
    row, fits_none = rows[-1], len(rows) == len(known_)
    severity: Severity = "error" if fits_none else "warning" if row == known_[-1] else "info"
    return Finding(
        summary=Text("files of torch {torch} are too deep for this folder of packages", torch=row.torch),
        why=Text(
            "Without long paths a path ends after {limit} characters. The folder of packages takes {length}, and the "
            "longest path in the wheel {longest}: pip stops with WinError 206 or 'No such file or directory'.",
            limit=LONGEST,
            length=length,
            longest=row.longest_path,
        ),
        evidence=(seen(facts, "os.long_paths", value=False), seen(facts, "python.prefix_length", length)),
        remedies=(
            Remedy(Text("Make the environment in a short folder"), (r"python -m venv C:\venv",)),
            *([] if fits_none else [Remedy(Text("Or take a release other than {these}", these=_names(rows)))]),
            Remedy(Text("Or allow long paths, as an administrator, and restart"), (_ALLOW,), "changes-system"),
        ),
        severity=severity,
        row=Row("windows_wheels", row.key, row.source),
    )


def _names(rows: Sequence[WindowsWheel]) -> str:
    return ", ".join(str(row.torch) for row in rows)
