"""Errors of the program itself: the installation is fine."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.checks.registry import check, told_by_a_text
from torchdoctor.facts import Facts
from torchdoctor.findings import Finding
from torchdoctor.tables import Tables


@check("cuda-after-fork", severity="info", parent="user-code")
def cuda_after_fork(facts: Facts, _tables: Tables) -> Iterator[Finding]:
    """The program starts CUDA and then forks."""
    yield from told_by_a_text(facts)


@check("corrupt-file", severity="warning")
def corrupt_file(facts: Facts, _tables: Tables) -> Iterator[Finding]:
    """A checkpoint or data file is truncated, or is a pointer to the real one."""
    yield from told_by_a_text(facts)


@check("port-in-use", severity="warning")
def port_in_use(facts: Facts, _tables: Tables) -> Iterator[Finding]:
    """The port of the rendezvous is taken."""
    yield from told_by_a_text(facts)


@check("user-code", severity="info", parent="healthy")
def user_code(facts: Facts, _tables: Tables) -> Iterator[Finding]:
    """The installation is fine; the program has this bug."""
    yield from told_by_a_text(facts)


@check("healthy", severity="info")
def healthy(facts: Facts, _tables: Tables) -> Iterator[Finding]:
    """A known notice: nothing is wrong with the environment."""
    yield from told_by_a_text(facts)


@check("cause-not-shown", severity="info")
def cause_not_shown(facts: Facts, _tables: Tables) -> Iterator[Finding]:
    """The text shows that something failed and not what: its cause stands above."""
    yield from told_by_a_text(facts)
