"""``torchdoctor check``: examine this host, or where ``--python`` starts a Python, and prove it by running."""

from __future__ import annotations

import argparse

from torchdoctor.asked import CHECK_BENCH, LEVELS, NOTHING, Asked
from torchdoctor.commands.common import (
    add_live_options,
    add_output_options,
    add_writing_options,
    deliver,
    open_tables,
    save_recording,
    try_outputs,
)
from torchdoctor.commands.here import record_here, writing_of
from torchdoctor.errors import UsageError
from torchdoctor.facts import Request


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--static", action="store_true", help="only what can be told without importing torch")
    parser.add_argument("--no-smoke", action="store_true", help="import torch and run nothing")
    parser.add_argument("--no-bench", action="store_true", help="leave out the mini training benchmark")
    parser.add_argument("--level", choices=LEVELS, default="quick", help="how many smoke tests (default: quick)")
    parser.add_argument("--repro", action="store_true", help="also judge what reproducible runs need")
    parser.add_argument("--require-gpu", action="store_true", help="a host whose torch cannot use a GPU is an error")
    parser.add_argument(
        "--record", metavar="FILE", help="save the (redacted) recording; diagnose FILE gives the same report elsewhere"
    )
    add_live_options(parser)
    add_writing_options(parser)
    add_output_options(parser)


def run(options: argparse.Namespace) -> int:
    """Record, examine, deliver."""
    if options.static and options.repro:
        raise UsageError("check: --repro needs torch to run, and --static does not run it: leave one of them out")
    try_outputs(options, options.record)
    tables = open_tables(options.tables)
    recording = record_here(options, _asked(options))
    if options.record:
        save_recording(recording, options.record)
    from torchdoctor.pipeline import examine

    report = examine(recording, tables, Request(require_gpu=options.require_gpu), writing_of(options))
    return deliver(report, options)


def _asked(options: argparse.Namespace) -> Asked | None:
    if options.static:
        return None
    if options.no_smoke:
        return Asked(only=NOTHING, repro=options.repro)
    return Asked(level=options.level, bench=None if options.no_bench else CHECK_BENCH, repro=options.repro)
