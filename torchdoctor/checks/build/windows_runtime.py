"""The Visual C++ runtime of Windows against what the wheel was linked for."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.checks.answers import shortened
from torchdoctor.checks.installed import torch_release, torch_was_imported
from torchdoctor.checks.registry import check, seen
from torchdoctor.facts import Facts, known, need, value_or
from torchdoctor.findings import Finding, Remedy, Row, Text
from torchdoctor.tables import Tables

_NOT_STARTED = "WinError 1114"  # the number stays where the sentence is translated
_UPDATE = "winget install Microsoft.VCRedist.2015+.x64"


@check("msvc-runtime-too-old", severity="error", parent="torch-import-fails")
def msvc_runtime_too_old(facts: Facts, tables: Tables) -> Iterator[Finding]:
    """The Visual C++ runtime of this Windows is older than the wheel needs."""
    if need(facts.os.name) != "windows" or known(facts.torch.installed) is False or torch_was_imported(facts):
        return
    runtime = need(facts.os.vc_runtime)
    row = tables.windows_wheels.of(torch_release(facts))
    floor = row.vc_runtime_min if row else None
    if row is None or floor is None or runtime.reaches(floor):
        return
    error = value_or(facts.trial.error, "")
    if _brings_its_own(facts) and _NOT_STARTED not in error:
        return
    yield Finding(
        summary=Text(
            "Visual C++ runtime {runtime} is older than {floor}, which torch {torch} needs",
            runtime=runtime,
            floor=floor,
            torch=row.torch,
        ),
        why=Text(
            "c10.dll and torch_python.dll cannot start with an older msvcp140.dll: the import ends with WinError "
            "1114. Neither CUDA nor the download is at fault, and installing torch again changes nothing."
        ),
        evidence=(
            seen(facts, "os.vc_runtime", runtime),
            seen(facts, "torch.version", facts.torch.version),
            *([seen(facts, "trial.error", shortened(error))] if error else []),
        ),
        remedies=(
            Remedy(Text("Install the current runtime for x64, then open a new terminal"), (_UPDATE,), "changes-system"),
        ),
        fixable_by="admin",
        confidence="certain" if _NOT_STARTED in error else "likely",
        row=Row("windows_wheels", row.key, row.source),
    )


def _brings_its_own(facts: Facts) -> bool:
    """Whether the environment holds a runtime of its own, as those of conda do."""
    return value_or(facts.python.environment, "").startswith("conda")
