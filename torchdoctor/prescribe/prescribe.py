"""From findings to a prescription: whether a build is in question, which one, and where its command belongs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from torchdoctor.facts import Facts
from torchdoctor.findings import Finding, Remedy, Text
from torchdoctor.prescribe.choose import Choice, installed_row
from torchdoctor.prescribe.conditions import Wish
from torchdoctor.prescribe.host import Host, host_of
from torchdoctor.prescribe.install import Install, install_of
from torchdoctor.prescribe.uncertain import choose_surely
from torchdoctor.prescribe.writing import Writing, writing_for
from torchdoctor.records import replace
from torchdoctor.tables import Tables


class Prescription(NamedTuple):
    """An install object, or why there is none and the smallest change that would allow one."""

    install: Install | None = None
    refusal: Text | None = None
    change: Text | None = None


def prescribe(facts: Facts, findings: Sequence[Finding], writing: Writing, tables: Tables) -> Prescription:
    """Choose a build only when a finding puts the build in question; confirm the installed one where all is well."""
    host, writing = host_of(facts, tables), writing_for(facts, writing)
    if not any(remedy.installs for finding in findings for remedy in finding.remedies):
        is_blamed = any(finding.severity == "error" for finding in findings)
        return Prescription(install=None if is_blamed else _confirm(host, writing, tables))
    choice = choose_surely(host, facts, tables)
    if not choice.runs or (facts.request.require_gpu and choice.backend == "cpu"):
        return Prescription(
            refusal=choice.refusal or Text("a GPU is required and no GPU of this host can be served"),
            change=choice.change,
        )
    return Prescription(install=install_of(choice, Wish(), writing, tables))


def _confirm(host: Host, writing: Writing, tables: Tables) -> Install | None:
    """The installed build as an install that is not needed, when it is an official one that runs here."""
    row = installed_row(host, tables)
    if row is None:
        return None
    choice = Choice(host=host, backend=row.build.backend, row=row)
    return install_of(choice, Wish(), writing, tables, explain=False)._replace(needed=False)


def with_commands(findings: Sequence[Finding], prescription: Prescription) -> tuple[Finding, ...]:
    """Put the install command into the remedies that asked for it; where there is none, the words stay."""
    install = prescription.install
    commands = install.commands if install else ()
    return tuple(replace(finding, remedies=tuple(_filled(finding.remedies, commands))) for finding in findings)


def _filled(remedies: Sequence[Remedy], commands: tuple[str, ...]) -> list[Remedy]:
    return [replace(remedy, commands=commands) if remedy.installs else remedy for remedy in remedies]
