"""The answer of ``torchdoctor install-cmd``: from the host, asked or described, to the lines and the notes."""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import IO

from torchdoctor.addresses import address
from torchdoctor.commands.common import UNKNOWN, note, parse_formats, put
from torchdoctor.commands.here import writing_of
from torchdoctor.commands.host_options import described_keys
from torchdoctor.commands.install_wish import refuse_contradictions, wish_of
from torchdoctor.errors import UsageError
from torchdoctor.facts import Request
from torchdoctor.findings import Text
from torchdoctor.prescribe.choose import choose
from torchdoctor.prescribe.conditions import Wish
from torchdoctor.prescribe.decide import Decision, decide
from torchdoctor.prescribe.described import DescriptionError, describe
from torchdoctor.prescribe.host import Host
from torchdoctor.prescribe.install import Install
from torchdoctor.prescribe.this_host import host_here, written_here
from torchdoctor.prescribe.writers import OF_PROJECTS
from torchdoctor.prescribe.writing import Writing
from torchdoctor.reading import facts_of
from torchdoctor.recording import Recording
from torchdoctor.tables import Tables
from torchdoctor.which_python import choose_python

Format = tuple[str, str | None]  # its name, and the file (None: stdout)


def answer(options: argparse.Namespace, tables: Tables, recording: Recording | None) -> int:
    """Answer for the recorded host, for a described one, or for a batch; print it, and return the exit status."""
    refuse_contradictions(options)
    formats = parse_formats(options.format)
    wish = wish_of(options, tables)
    if options.batch:
        return _batch(options, wish, tables)
    host, writing = _host(options, tables, recording)
    decision = decide(host, wish, writing, tables)
    if refusal := decision.refusal(require_gpu=options.require_gpu):
        return _refuse(decision, refusal, options, formats)
    explain = options.explain or any(name == "json" for name, _ in formats)
    install = decision.install(explain=explain)
    if options.online and not decision.stays and not _is_there(install, host, options.timeout):
        return 1
    for name, path in formats:
        put(_written(install, name, if_needed=options.if_needed), path)
    _notes(install, options, names_all=host.named is not None)
    return 0


def _is_there(install: Install, host: Host, timeout: float | None) -> bool:
    from torchdoctor.commands.install_online import is_there

    return is_there(install, host, timeout)


def _written(install: Install, name: str, *, if_needed: bool) -> str:
    if name == "json":
        from torchdoctor.render.json_v1 import install_object

        return json.dumps(install_object(install), indent=1) + "\n"
    if if_needed and not install.needed:
        return ""
    return "".join(f"{line}\n" for line in install.lines or install.commands)


def _host(options: argparse.Namespace, tables: Tables, recording: Recording | None) -> tuple[Host, Writing]:
    """The described host alone, or this host with what was described put over it."""
    given, writing = described_keys(options), _writing(options)
    try:
        if recording is None:
            return describe(given, tables), writing
        facts = facts_of(recording, tables, Request())
        if "python" not in given:  # what is printed here is typed here: the path as it is, not as reports show it
            python = choose_python(options.python).argv
            writing = written_here(facts, writing._replace(python=python), recording)
            if not writing.python:  # what a report leaves to this command
                raise UsageError(writing.what_is_lost)
        host, writing = host_here(facts, writing._replace(if_needed=options.if_needed), recording, tables)
        return describe(given, tables, host), writing
    except DescriptionError as error:
        raise UsageError(f"install-cmd: {error}") from error


def _writing(options: argparse.Namespace) -> Writing:
    if options.index_base is None:
        return writing_of(options)
    return writing_of(options, here=False)._replace(index_base=address(options.index_base))


def _batch(options: argparse.Namespace, wish: Wish, tables: Tables) -> int:
    from torchdoctor.commands.batch import Terms, answer_lines

    writing, terms = _writing(options), Terms(options.require_gpu, options.if_needed)
    with _batch_lines(options.batch) as lines:
        for answer in answer_lines(lines, wish, writing, tables, terms):
            print(answer)
    return 0


def _batch_lines(name: str) -> AbstractContextManager[IO[str]]:
    if name == "-":
        return nullcontext(sys.stdin)
    try:
        return Path(name).open(encoding="utf-8-sig", errors="replace")
    except OSError as error:
        raise UsageError(f"cannot read {name}: {error.strerror or error}") from error


def _refuse(
    decision: Decision, refusal: tuple[Text, Text | None], options: argparse.Namespace, formats: list[Format]
) -> int:
    cpu = False if options.require_gpu or decision.gap else _runs_on_cpu(decision)
    for name, path in formats:
        if name == "json":
            put(json.dumps(None) + "\n", path)
    from torchdoctor.render.text import refusal_lines

    for line in refusal_lines(*refusal, cpu):
        note(line)
    return UNKNOWN if decision.choice.asks and not decision.gap else 1


def _runs_on_cpu(decision: Decision) -> bool:
    choice, wish, known = decision.choice, decision.wish, decision.tables
    return wish.backend != "cpu" and choose(choice.host, wish._replace(backend="cpu"), known).runs


def _notes(install: Install, options: argparse.Namespace, *, names_all: bool) -> None:
    if not install.needed:
        note(f"already installed: torch {install.torch} {install.build or ''}".rstrip())
    if install.file and (install.needed or not options.if_needed):
        then = f", then: {'; '.join(install.commands)}" if install.commands else ""
        these = "these are" if options.format else "stdout holds"
        note(f"{these} lines of a file and no commands: they belong into {install.file}{then}")
        note(f"what {install.file} says for another build of torch gives way to them: nothing may stand there twice")
    is_asked = options.companions or names_all
    if install.tool in OF_PROJECTS and not is_asked and (install.needed or not options.if_needed):
        note("where the project names torchvision or torchaudio, they move with torch: ask again --with them")
    if not options.explain:
        for warning in install.warnings:
            note(f"note: {warning}")
        return
    for reason in install.why:
        note(f"why: {reason}")
    if install.upgrade:
        up = install.upgrade
        note(f"with driver {up.min_driver} or newer: torch {up.row.torch} {up.row.build}")
    for item in install.rejected:
        note(f"not torch {item.torch} {item.build}: {item.reason}")
