"""``torchdoctor bench``: the mini training benchmark alone, saved, and compared with an earlier run."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torchdoctor.asked import NOTHING, Asked
from torchdoctor.commands.common import (
    UNKNOWN,
    add_live_options,
    add_output_options,
    add_writing_options,
    deliver,
    note,
    open_tables,
    put,
    try_outputs,
)
from torchdoctor.commands.here import record_here, writing_of
from torchdoctor.commands.policy import add_policy_options, request_of, show_config
from torchdoctor.errors import UsageError
from torchdoctor.pipeline import examine
from torchdoctor.records import replace

if TYPE_CHECKING:
    from torchdoctor.benchmark_figures import BenchResult

_LONGEST = 600


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--seconds", type=_seconds, default=60.0, help="how long to measure (default: 60)")
    parser.add_argument("--device", action="append", default=[], metavar="NAME", help="these devices, as cuda:0 or cpu")
    parser.add_argument("--no-sweep", action="store_true", help="leave out the sweep over DataLoader workers")
    parser.add_argument("--force", action="store_true", help="also on a GPU that another process is using")
    parser.add_argument("--save", metavar="FILE", help="save the figures, for --baseline later")
    parser.add_argument("--baseline", metavar="FILE", help="compare with the figures of an earlier run")
    add_policy_options(parser)
    add_live_options(parser)
    add_writing_options(parser)
    add_output_options(parser)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 1 <= seconds <= _LONGEST:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds from 1 to {_LONGEST}")
    return seconds


def run(options: argparse.Namespace) -> int:
    """Measure, judge, deliver."""
    if options.show_config:
        return show_config(options)
    wanted = request_of(options, measures=not options.baseline)
    if options.baseline:
        wanted = replace(wanted, baseline=baseline_of(options.baseline, "--baseline"))
    try_outputs(options, options.save)
    tables = open_tables(options.tables)
    devices = tuple(word.strip() for value in options.device for word in value.split(",") if word.strip())
    request = {
        "seconds": options.seconds,
        "sweep": not options.no_sweep,
        "devices": list(devices),
        "force": options.force,
        "profile": "bench",
    }
    recording = record_here(options, Asked(only=NOTHING, devices=devices, bench=request))
    report = examine(recording, tables, wanted, writing_of(options))
    status = deliver(report, options)
    measured = _measured(report.facts.trial.bench)
    if measured is None:
        note("nothing was measured" + (f", and --save {options.save} was not written" if options.save else ""))
        return status or UNKNOWN
    if options.save:
        put(json.dumps(measured, indent=1) + "\n", options.save)
    return status


def baseline_of(path: str, source: str) -> BenchResult:
    """The figures of an earlier run; ``source`` is what names the file."""
    from torchdoctor.benchmark import from_json

    try:
        return from_json(json.loads(Path(path).read_text(encoding="utf-8")))
    except OSError as error:
        raise UsageError(f"{source}: cannot read {path}: {error.strerror or error}") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UsageError(f"{source} {path}: not figures saved by torchdoctor bench --save") from error


def _measured(events: object) -> dict[str, Any] | None:
    """What ``--save`` keeps; None where there is not a single figure."""
    from torchdoctor.benchmark import as_json, summarise

    result = summarise(events) if isinstance(events, tuple) else None
    return as_json(result) if result and (result.figures or result.losses) else None
