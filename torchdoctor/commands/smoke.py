"""``torchdoctor smoke``: the smoke tests alone, by level or by name."""

from __future__ import annotations

import argparse

from torchdoctor.commands.common import (
    add_live_options,
    add_output_options,
    add_writing_options,
    deliver,
    open_tables,
    parse_formats,
)
from torchdoctor.commands.here import record_here, writing_of
from torchdoctor.facts import Request
from torchdoctor.pipeline import examine
from torchdoctor.proof import LEVELS, Asked


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--level", choices=LEVELS, default="standard", help="how many tests (default: standard)")
    parser.add_argument("--only", action="append", default=[], metavar="TEST", help="these tests, at any level")
    parser.add_argument("--device", action="append", default=[], metavar="NAME", help="these devices, as cuda:0 or cpu")
    parser.add_argument("--require-gpu", action="store_true", help="a host whose torch cannot use a GPU is an error")
    add_live_options(parser)
    add_writing_options(parser)
    add_output_options(parser)


def run(options: argparse.Namespace) -> int:
    """Run, judge, deliver."""
    parse_formats(options.format)
    tables = open_tables(options.tables)
    asked = Asked(level=options.level, only=_words(options.only), devices=_words(options.device))
    recording = record_here(options, asked)
    report = examine(recording, tables, Request(require_gpu=options.require_gpu), writing_of(options))
    return deliver(report, options)


def _words(values: list[str]) -> tuple[str, ...]:
    return tuple(word.strip() for value in values for word in value.split(",") if word.strip())
