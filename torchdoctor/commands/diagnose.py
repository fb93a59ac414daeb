"""``torchdoctor diagnose``: pasted reports in any mixture, or a saved recording."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path

from torchdoctor.commands.common import (
    add_live_options,
    add_output_options,
    add_writing_options,
    deliver,
    note,
    open_tables,
    report_formats,
)
from torchdoctor.commands.here import record_here, writing_of
from torchdoctor.commands.policy import add_policy_options, request_of
from torchdoctor.commands.target_option import add_target_option, targets_asked
from torchdoctor.errors import UsageError
from torchdoctor.facts import Request
from torchdoctor.pipeline import examine
from torchdoctor.readers.same_host import contradiction
from torchdoctor.readers.texts import BadInputError, load_text, schema_of
from torchdoctor.reading import facts_of
from torchdoctor.recording import SCHEMA, VERSION, PastedText, Recording
from torchdoctor.tables import Tables

_MOST_JOBS = 1024


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="a pasted report, a log, or a recording saved by check --record; - for stdin",
    )
    parser.add_argument("--require-gpu", action="store_true", help="a host whose torch cannot use a GPU is an error")
    parser.add_argument("--here", action="store_true", help="the texts are of this host: ask it as well (no import)")
    _add_each(parser)
    add_target_option(parser)
    add_policy_options(parser, shows=False)
    add_live_options(parser)
    add_writing_options(parser)
    add_output_options(parser)


def _add_each(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("many reports")
    group.add_argument(
        "--each",
        action="store_true",
        help="a report of its own: every file and folder of a folder, every line of FILE.jsonl or - "
        '({"id", "text"} or {"id", "files": {name: text}}); a JSON line each on stdout, as they are ready; exit '
        "status 0; --timeout is for one of them (default: 60)",
    )
    group.add_argument("--jobs", type=_count, metavar="N", help="so many processes (default: one for each processor)")
    group.add_argument(
        "--resume", metavar="OUT.jsonl", help="add to this file what is not answered in it yet, in place of stdout"
    )


def _count(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) <= _MOST_JOBS:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of processes (1 to {_MOST_JOBS})")
    return int(text)


def run(options: argparse.Namespace) -> int:
    """Load, join this host where asked, examine, deliver."""
    if options.each:
        from torchdoctor.commands.each import run_each

        return run_each(options)
    if options.jobs or options.resume:
        raise UsageError("diagnose: --jobs and --resume are of --each, which answers many reports: add it")
    request = request_of(options, measures=True, of_text=not options.here)
    report_formats(options)
    tables = open_tables(options.tables)
    targets = targets_asked(options, tables)
    recording = load(options.files)
    for text in recording.texts:
        if text.omitted:
            note(f"note: {text.name} is long: {text.omitted} bytes in its middle were not read")
    if options.here:
        recording = _joined(recording, record_here(options), tables, request)
    if targets:
        from torchdoctor.predict.foretell import foretell

        writing = writing_of(options, here=options.here)
        return deliver(foretell(recording, targets, tables, request, writing), options)
    report = examine(recording, tables, request, writing_of(options, here=options.here))
    return deliver(report, options)


def _joined(recording: Recording, here: Recording, tables: Tables, request: Request) -> Recording:
    """The texts with what this host answered, unless they contradict it: then it is left out, and that is said."""
    why_not = contradiction(facts_of(recording, tables, request), facts_of(here, tables, request))
    if why_not:
        note(f"note: the text cannot be of this host ({why_not}); --here is left out")
        return recording
    return Recording({**here.answers, **recording.answers}, recording.texts)


def load(names: list[str]) -> Recording:
    """Load every file: a saved recording joins its answers, all else is pasted text."""
    return joined(recording_of(name, load_one(name)) for name in names)


def joined(recordings: Iterable[Recording]) -> Recording:
    """One recording of many: the answers of all, the texts of all."""
    recording = Recording()
    for other in recordings:
        recording = Recording({**recording.answers, **other.answers}, (*recording.texts, *other.texts))
    return recording


def recording_of(name: str, text: PastedText) -> Recording:
    """The recording that a file holds, or one of its text."""
    schema, version = schema_of(text.text)
    if schema == "report":
        raise UsageError(f"{name}: a report holds conclusions, not what was seen: save that by check --record FILE")
    if version > VERSION:
        raise UsageError(f"{name}: recorded by a newer torchdoctor; this one reads {SCHEMA}: upgrade torchdoctor")
    return _saved(name, text) if schema else Recording(texts=(text,))


def load_one(name: str) -> PastedText:
    """The text of a file, or of stdin where it is named ``-``."""
    try:
        if name == "-":
            return load_text(sys.stdin.buffer, "stdin")
        with Path(name).open("rb") as stream:
            return load_text(stream, Path(name).name)
    except BadInputError as error:
        raise UsageError(str(error)) from error
    except OSError as error:
        raise UsageError(f"cannot read {name}: {error.strerror or error}") from error


def _saved(name: str, text: PastedText) -> Recording:
    try:
        return Recording.from_json(text.text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{name}: not a recording that can be read: {error}") from error
