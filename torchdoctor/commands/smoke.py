"""``torchdoctor smoke``: the smoke tests alone, by level or by name."""

from __future__ import annotations

import argparse

from torchdoctor.asked import LEVELS, Asked
from torchdoctor.commands.common import (
    add_live_options,
    add_output_options,
    add_writing_options,
    deliver,
    open_tables,
    try_outputs,
)
from torchdoctor.commands.here import record_here, writing_of
from torchdoctor.commands.policy import add_policy_options, request_of, show_config
from torchdoctor.errors import UsageError
from torchdoctor.pipeline import examine


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--level", choices=LEVELS, default="standard", help="how many tests (default: standard)")
    parser.add_argument("--only", action="append", default=[], metavar="TEST", help="these tests, at any level")
    parser.add_argument("--device", action="append", default=[], metavar="NAME", help="these devices, as cuda:0 or cpu")
    parser.add_argument("--force", action="store_true", help="heavy tests also on a GPU that another process is using")
    parser.add_argument("--require-gpu", action="store_true", help="a host whose torch cannot use a GPU is an error")
    add_policy_options(parser)
    add_live_options(parser)
    add_writing_options(parser)
    add_output_options(parser)


def run(options: argparse.Namespace) -> int:
    """Run, judge, deliver."""
    if options.show_config:
        return show_config(options)
    request = request_of(options)
    try_outputs(options)
    _need_known(_words(options.only))
    tables = open_tables(options.tables)
    asked = Asked(level=options.level, only=_words(options.only), devices=_words(options.device), force=options.force)
    recording = record_here(options, asked)
    report = examine(recording, tables, request, writing_of(options))
    return deliver(report, options)


def _need_known(only: tuple[str, ...]) -> None:
    """A test that does not exist would be left out in silence."""
    from torchdoctor.target.smoke_list import PROBES

    known = [probe.id for probe in PROBES]
    for name in only:
        if name not in known:
            raise UsageError(f"--only {name}: not a test (choose from: {', '.join(known)})")


def _words(values: list[str]) -> tuple[str, ...]:
    return tuple(word.strip() for value in values for word in value.split(",") if word.strip())
