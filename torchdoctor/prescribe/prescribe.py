"""From findings to a prescription: whether a build is in question, which one, and where its command belongs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from torchdoctor.addresses import without_password
from torchdoctor.errors import UsageError
from torchdoctor.facts import Facts
from torchdoctor.findings import Finding, Remedy, Text
from torchdoctor.prescribe.choose import Choice, installed_row
from torchdoctor.prescribe.conditions import Wish
from torchdoctor.prescribe.host import Host
from torchdoctor.prescribe.install import Install, install_of
from torchdoctor.prescribe.left import gone_of, in_the_way
from torchdoctor.prescribe.refuse import NO_GPU_SERVED
from torchdoctor.prescribe.this_host import host_here, written_here
from torchdoctor.prescribe.uncertain import choose_surely
from torchdoctor.prescribe.unjudged import unjudged
from torchdoctor.prescribe.writers import choose_for
from torchdoctor.prescribe.writing import ASK_AGAIN, Writing
from torchdoctor.recording import Recording
from torchdoctor.records import replace
from torchdoctor.tables import Tables


class Prescription(NamedTuple):
    """An install object, or why there is none and the smallest change that would allow one."""

    install: Install | None = None
    refusal: Text | None = None
    change: Text | None = None


_PASTED = Recording()
_COMPANIONS = "torch-companion-mismatch"
# What is mended beside a torch that stays: its companions, and the libraries that it requires.
# What asks for the same build again: the packages of torch itself that were torn as well.
_BESIDE_TORCH = frozenset({
    _COMPANIONS, "nvidia-packages-inconsistent", "rocm-packages-inconsistent", "torn-package", "torch-package",
})  # fmt: skip
_FOLLOWS = "torch-import-fails"  # of one of them


def prescribe(
    facts: Facts, findings: Sequence[Finding], writing: Writing, tables: Tables, recording: Recording = _PASTED
) -> Prescription:
    """Choose a build only when a finding puts the build in question; confirm the installed one where all is well.

    ``recording`` is that of the host on which the commands are typed, if it is one.
    """
    host, writing = host_here(facts, written_here(facts, writing, recording), recording, tables)
    if not any(remedy.installs for finding in findings for remedy in finding.remedies):
        is_blamed = any(finding.severity == "error" for finding in findings)
        return Prescription(install=None if is_blamed else _confirm(host, writing, tables))
    if kept := _kept(host, findings, writing, tables):
        return Prescription(install=kept)
    of_owner = tables.of_conda() if host.owners.conda else tables
    if unjudged(host, writing, of_owner) and not any(map(_proves_it_broken, findings)):
        return Prescription()
    choice, writing, tables = choose_for(writing, tables, lambda known: choose_surely(host, facts, known))
    if not choice.runs or (facts.request.require_gpu and choice.backend == "cpu"):
        return Prescription(
            refusal=choice.refusal or NO_GPU_SERVED,
            change=choice.change,
        )
    if gap := in_the_way(host, writing, gone_of(choice, Wish(), writing, tables)):
        return Prescription(refusal=gap[0], change=gap[1])
    return Prescription(install=_install(choice, writing, tables))


def _install(choice: Choice, writing: Writing, tables: Tables, *, explain: bool = True) -> Install:
    """The install object; where the tool cannot do it, the command that says why stands in the place of the lines."""
    try:
        install = install_of(choice, Wish(), writing, tables, explain=explain)
    except UsageError:
        install = install_of(choice, Wish(), writing._replace(python=()), tables, explain=explain)
    return without_passwords(install)


def keeping(facts: Facts, findings: Sequence[Finding], writing: Writing, tables: Tables) -> Prescription | None:
    """What mends the environment of a host that is not known, where torch stays; None where it may not."""
    host, writing = host_here(facts, written_here(facts, writing, _PASTED), _PASTED, tables)
    kept = _kept(host, findings, writing, tables)
    return Prescription(install=kept) if kept else None


def _kept(host: Host, findings: Sequence[Finding], writing: Writing, tables: Tables) -> Install | None:
    """The installed torch again, as install-cmd says it, where only what lies beside it is wrong; else None.

    No GPU is asked for: which build torch is does not change, and it was chosen by whoever installed it.
    """
    asking = {finding.id for finding in findings if any(remedy.installs for remedy in finding.remedies)}
    if asking & _BESIDE_TORCH:
        asking.discard(_FOLLOWS)
    if not asking or not asking <= _BESIDE_TORCH:
        return None
    choice, writing, tables = choose_for(writing, tables, lambda known: _installed(host, known))
    if choice.row is None or in_the_way(host, writing, gone_of(choice, Wish(), writing, tables)):
        return None
    install = _install(choice, writing, tables)
    if not install.needed and asking == {_COMPANIONS}:
        return None  # no release of a companion goes with this torch
    return install._replace(needed=True)


def _proves_it_broken(finding: Finding) -> bool:
    return finding.severity == "error" and any(remedy.installs for remedy in finding.remedies)


def without_passwords(install: Install) -> Install:
    """A report goes to others: a command with a password in it stays out, for the one that prints it."""
    index_url = without_password(install.index_url)
    if any(line != without_password(line) for line in (*install.commands, *install.lines)):
        install = install._replace(commands=(ASK_AGAIN,), file="", lines=())
    return install._replace(index_url=index_url)


def _confirm(host: Host, writing: Writing, tables: Tables) -> Install | None:
    """The installed build as an install that is not needed, when it is an official one that runs here."""
    choice, writing, tables = choose_for(writing, tables, lambda known: _installed(host, known))
    if choice.row is None:
        return None
    return _install(choice, writing, tables, explain=False)._replace(needed=False)


def _installed(host: Host, tables: Tables) -> Choice:
    row = installed_row(host, tables)
    return Choice(host=host, backend=row.build.backend if row else "", row=row)


def with_commands(findings: Sequence[Finding], prescription: Prescription) -> tuple[Finding, ...]:
    """Put the install command into the remedies that asked for it; where there is none, the words stay."""
    install = prescription.install
    commands = install.typed if install else ()
    return tuple(replace(finding, remedies=tuple(_filled(finding.remedies, commands))) for finding in findings)


def _filled(remedies: Sequence[Remedy], commands: tuple[str, ...]) -> list[Remedy]:
    return [replace(remedy, commands=commands) if remedy.installs else remedy for remedy in remedies]
