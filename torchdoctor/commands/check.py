"""``torchdoctor check``: examine this host, or where ``--python`` starts a Python, and prove it by running."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from torchdoctor.asked import CHECK_BENCH, LEVELS, NOTHING, Asked
from torchdoctor.commands.common import (
    add_live_options,
    add_output_options,
    add_writing_options,
    deliver,
    open_tables,
    save_recording,
    seconds,
    try_outputs,
)
from torchdoctor.commands.here import record_here, writing_of
from torchdoctor.commands.policy import add_policy_options, request_of, show_config
from torchdoctor.commands.target_option import add_target_option, targets_asked
from torchdoctor.errors import UsageError
from torchdoctor.facts import Request
from torchdoctor.tables import Tables

if TYPE_CHECKING:
    from torchdoctor.predict.targets import Target


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_proof_options(parser)
    parser.add_argument(
        "--record", metavar="FILE", help="save the (redacted) recording; diagnose FILE gives the same report elsewhere"
    )
    parser.add_argument(
        "--wait", type=seconds, metavar="SECONDS", help="first wait until a GPU driver is up, so long at the most"
    )
    parser.add_argument(
        "--all-envs",
        nargs="?",
        const="static",
        choices=("static", "run"),
        help="every environment found that holds a torch (venv, conda, pyenv, uv, Poetry ...), a line each, the worst "
        "decides; static (default), or run: torch is run in each; formats: text, json, github, quiet",
    )
    add_policy_options(parser)
    add_target_option(parser)
    add_live_options(parser)
    add_writing_options(parser)
    add_output_options(parser)


def add_proof_options(parser: argparse.ArgumentParser) -> None:
    """Options about what is looked into and what is run."""
    parser.add_argument("--static", action="store_true", help="only what can be told without importing torch")
    parser.add_argument(
        "--xray",
        action=argparse.BooleanOptionalAction,
        help="read what is inside the installed binaries (default: beside the import of torch, so not with --static)",
    )
    parser.add_argument("--no-smoke", action="store_true", help="import torch and run nothing")
    parser.add_argument("--no-bench", action="store_true", help="leave out the mini training benchmark")
    parser.add_argument("--level", choices=LEVELS, help="how many smoke tests (default: quick)")
    parser.add_argument("--repro", action="store_true", help="also judge what reproducible runs need")
    parser.add_argument("--require-gpu", action="store_true", help="a host whose torch cannot use a GPU is an error")


def run(options: argparse.Namespace) -> int:
    """Record, examine, deliver."""
    refuse_idle(options)
    if options.show_config:
        return show_config(options)
    request = request_of(options, measures=not (options.static or options.no_smoke or options.no_bench))
    try_outputs(options, options.record)
    tables = open_tables(options.tables)
    targets = targets_asked(options, tables)
    if options.wait:
        from torchdoctor.commands.waiting import wait_for_driver

        wait_for_driver(options.wait, options.python)
    if options.all_envs:
        return _check_all(options, tables, request, targets)
    recording = record_here(options, asked_of(options), inside=looks_inside(options))
    if options.record:
        save_recording(recording, options.record)
    if targets:
        from torchdoctor.predict.foretell import foretell

        return deliver(foretell(recording, targets, tables, request, writing_of(options)), options)
    from torchdoctor.pipeline import examine

    report = examine(recording, tables, request, writing_of(options))
    return deliver(report, options)


def refuse_idle(options: argparse.Namespace) -> None:
    """An option that would do nothing beside another is an error."""
    name = options.command
    is_static = "--static" if options.static else "--all-envs=static" if options.all_envs == "static" else ""
    if options.static and options.all_envs == "run":
        raise UsageError(f"{name}: --all-envs=run runs torch, and --static does not: leave one of them out")
    if options.repro and is_static:
        raise UsageError(f"{name}: --repro needs torch to run, and {is_static} does not run it: leave one of them out")
    still = is_static or ("--no-smoke" if options.no_smoke else "")
    if options.level and still:
        raise UsageError(f"{name}: --level is of smoke tests, and {still} runs none: leave one of them out")


def _check_all(options: argparse.Namespace, tables: Tables, request: Request, targets: tuple[Target, ...]) -> int:
    from torchdoctor.commands.all_envs import check_all
    from torchdoctor.pipeline import examine

    writing = writing_of(options)
    if targets:
        from torchdoctor.predict.foretell import foretell

        return check_all(
            options, asked_of(options), lambda recording: foretell(recording, targets, tables, request, writing)
        )
    return check_all(options, asked_of(options), lambda recording: examine(recording, tables, request, writing))


def looks_inside(options: argparse.Namespace) -> bool:
    """Whether the installed files are read as well."""
    return not options.static if options.xray is None else bool(options.xray)


def asked_of(options: argparse.Namespace) -> Asked | None:
    """What is to be run; None leaves torch alone."""
    if options.static:
        return None
    if options.no_smoke:
        return Asked(only=NOTHING, repro=options.repro)
    bench = None if options.no_bench or options.targets else CHECK_BENCH  # a speed of this host is none of another
    return Asked(level=options.level or LEVELS[0], bench=bench, repro=options.repro)
