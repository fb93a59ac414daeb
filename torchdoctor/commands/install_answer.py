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
from torchdoctor.prescribe.choose import Choice, already_right, choose
from torchdoctor.prescribe.conditions import Wish
from torchdoctor.prescribe.described import DescriptionError, describe, with_backend
from torchdoctor.prescribe.host import COMPANIONS, Host, host_of, with_named, with_oldest
from torchdoctor.prescribe.install import Install, install_of
from torchdoctor.prescribe.left import in_the_way
from torchdoctor.prescribe.refuse import NO_GPU_SERVED
from torchdoctor.prescribe.unjudged import gap_beside, unjudged
from torchdoctor.prescribe.writers import OF_PROJECTS, choose_for
from torchdoctor.prescribe.writing import Writing, writing_for
from torchdoctor.readers.installer_settings import settings_of
from torchdoctor.readers.live_conda import taken_names
from torchdoctor.readers.live_packages import gone_companions, requirers_of_torch
from torchdoctor.readers.project_files import kept, named
from torchdoctor.reading import facts_of
from torchdoctor.recording import Recording
from torchdoctor.records import replace
from torchdoctor.tables import Tables
from torchdoctor.which_python import choose_python


def answer(options: argparse.Namespace, tables: Tables, recording: Recording | None) -> int:
    """Answer for the recorded host, for a described one, or for a batch; print it, and return the exit status."""
    refuse_contradictions(options)
    formats = parse_formats(options.format)
    wish = wish_of(options, tables)
    if options.batch:
        return _batch(options, wish, tables)
    host, writing = _host(options, tables, recording)
    choice, writing, known = choose_for(writing, tables, lambda known: _choose(host, wish, known))
    stays = unjudged(host, writing, known, wish) if choice.jetson is None or wish == Wish() else None
    if gap := gap_beside(host, wish) if stays else choice.runs and in_the_way(host, writing):
        return _refuse(Choice(host=host, backend=choice.backend, refusal=gap[0], change=gap[1]), wish, None, formats)
    wish = with_backend(host, wish, known)
    if (not choice.runs and stays is None) or (options.require_gpu and choice.backend == "cpu"):
        return _refuse(choice, wish, None if options.require_gpu else known, formats)
    explain = options.explain or any(name == "json" for name, _ in formats)
    install = stays or install_of(choice, wish, writing, known, explain=explain)
    if options.online and not stays and not _is_there(install, host, options.timeout):
        return 1
    for name, path in formats:
        put(_written(install, name, if_needed=options.if_needed), path)
    _notes(install, options, names_all=host.named is not None)
    return 0


def _choose(host: Host, wish: Wish, tables: Tables) -> Choice:
    """What is installed stays where it is right and nothing else was wished for."""
    return already_right(host, tables, wish) or choose(host, with_backend(host, wish, tables), tables)


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
            writing = writing_for(facts, writing._replace(python=choose_python(options.python).argv))
            if not writing.python:  # what a report leaves to this command
                raise UsageError(writing.what_is_lost)
            writing = writing._replace(taken=taken_names(recording), settings=settings_of(recording))
        host = with_named(host_of(facts, tables), named(recording, writing.tool, COMPANIONS))
        host = replace(host, requirers=requirers_of_torch(recording), gone=gone_companions(recording))
        host, writing = _in_project(host, writing._replace(if_needed=options.if_needed), recording)
        return describe(given, tables, host), writing
    except DescriptionError as error:
        raise UsageError(f"install-cmd: {error}") from error


def _in_project(host: Host, writing: Writing, recording: Recording) -> tuple[Host, Writing]:
    """With what the project's file says of torch and of Pythons; a member's own file is that of the current folder."""
    told = kept(recording, writing.tool)
    if told is None:
        return host, writing
    folder = "" if told.is_member else writing.project
    return with_oldest(host, told.oldest), writing._replace(kept=told, project=folder)


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


def _refuse(choice: Choice, wish: Wish, tables: Tables | None, formats: list[tuple[str, str | None]]) -> int:
    reason = choice.refusal or NO_GPU_SERVED
    cpu = (
        tables is not None and wish.backend != "cpu" and choose(choice.host, wish._replace(backend="cpu"), tables).runs
    )
    for name, path in formats:
        if name == "json":
            put(json.dumps(None) + "\n", path)
    from torchdoctor.render.text import refusal_lines

    for line in refusal_lines(reason, choice.change, cpu):
        note(line)
    return UNKNOWN if choice.asks else 1


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
