"""``torchdoctor diagnose``: pasted reports in any mixture, or a saved recording."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from torchdoctor.commands.common import (
    add_output_options,
    add_writing_options,
    deliver,
    note,
    open_tables,
    parse_formats,
)
from torchdoctor.commands.here import writing_of
from torchdoctor.errors import UsageError
from torchdoctor.facts import Request
from torchdoctor.pipeline import examine
from torchdoctor.readers.texts import BadInputError, is_newer_recording, is_report_json, load_text
from torchdoctor.recording import SCHEMA, PastedText, Recording


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="a pasted report, a log, or a recording saved by check --record; - for stdin",
    )
    parser.add_argument("--require-gpu", action="store_true", help="a host whose torch cannot use a GPU is an error")
    add_writing_options(parser)
    add_output_options(parser)


def run(options: argparse.Namespace) -> int:
    """Load, examine, deliver."""
    parse_formats(options.format)
    tables = open_tables(options.tables)
    recording = load(options.files)
    for text in recording.texts:
        if text.omitted:
            note(f"note: {text.name} is long: {text.omitted} bytes in its middle were not read")
    report = examine(recording, tables, Request(require_gpu=options.require_gpu), writing_of(options))
    return deliver(report, options)


def load(names: list[str]) -> Recording:
    """Load every file: a saved recording joins its answers, all else is pasted text."""
    recording = Recording()
    for name in names:
        text = _load_one(name)
        _refuse_ours(name, text.text)
        if _is_recording(text):
            saved = _saved(name, text)
            recording = Recording({**recording.answers, **saved.answers}, (*recording.texts, *saved.texts))
        else:
            recording = Recording(recording.answers, (*recording.texts, text))
    return recording


def _refuse_ours(name: str, text: str) -> None:
    if is_report_json(text):
        raise UsageError(f"{name}: a report holds conclusions, not what was seen: save that by check --record FILE")
    if is_newer_recording(text):
        raise UsageError(f"{name}: recorded by a newer torchdoctor; this one reads {SCHEMA}: upgrade torchdoctor")


def _load_one(name: str) -> PastedText:
    try:
        if name == "-":
            return load_text(sys.stdin.buffer, "stdin")
        with Path(name).open("rb") as stream:
            return load_text(stream, Path(name).name)
    except BadInputError as error:
        raise UsageError(str(error)) from error
    except OSError as error:
        raise UsageError(f"cannot read {name}: {error.strerror or error}") from error


def _is_recording(text: PastedText) -> bool:
    return text.text.lstrip().startswith("{") and SCHEMA in text.text[:500]


def _saved(name: str, text: PastedText) -> Recording:
    try:
        return Recording.from_json(text.text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{name}: not a recording that can be read: {error}") from error
