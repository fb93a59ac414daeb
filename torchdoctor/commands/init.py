"""``torchdoctor init``: write a policy from this host, or from the report of another one, where it is good."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from torchdoctor.commands.common import add_live_options, note, open_tables, put
from torchdoctor.errors import UsageError
from torchdoctor.facts import Facts, Request
from torchdoctor.recording import Recording
from torchdoctor.tables import Tables

_FILE, _PROJECT = "torchdoctor.toml", "pyproject.toml"
_MARGIN = 0.8  # of what was measured: another run of the same host is no failure
_FINE = ("ok", "warn")


class Good(NamedTuple):
    """What is written from: the facts, the verdict on them, the figures of a benchmark, and how a policy is tried."""

    facts: Facts
    status: str
    why: str
    bench: object = None
    fails: Callable[[Request], bool] = lambda _request: False


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--from",
        dest="source",
        metavar="FILE",
        help="a report in JSON, a recording, or a text that diagnose reads, of a good host",
    )
    parser.add_argument(
        "--pyproject", action="store_true", help=f"add the table to {_PROJECT}; print it where there is no such file"
    )
    parser.add_argument("--print", dest="prints", action="store_true", help="print the policy and write nothing")
    parser.add_argument("--force", action="store_true", help="overwrite a policy; also from a host that is not good")
    add_live_options(parser)
    parser.add_argument("--tables", metavar="DIR", help="use the compatibility tables in this folder")


def run(options: argparse.Namespace) -> int:
    """Look, judge, write."""
    target = Path(_PROJECT if options.pyproject else _FILE)
    before = _before(target, options)
    tables = open_tables(options.tables)
    good = _of_file(options.source, tables) if options.source else _of_host(options, tables)
    if good.status not in _FINE and not options.force:
        note(f"init: this host is no example: {good.why} (mend it first; --force writes all the same)")
        return 1
    lines = _lines(good, tables, as_project=options.pyproject)
    if len(lines) == 1:
        note(f"init: {options.source or 'this host'} tells no version of Python or torch to write a policy from")
        return 1
    table = "\n".join(lines) + "\n"
    if options.prints or (options.pyproject and before is None):
        put(table, None)
        return 0
    put(_joined(before, table, str(target)) if options.pyproject else table, str(target))
    note(f"wrote {target}: torchdoctor check holds this host to it, and its like")
    return 0


def _before(target: Path, options: argparse.Namespace) -> str | None:
    """What stands in the file; one that has a policy is overwritten only by force."""
    try:
        text = target.read_text(encoding="utf-8") if target.is_file() else None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {target}: {getattr(error, 'strerror', None) or 'not UTF-8'}") from error
    from torchdoctor.policy.project_file import has_policy

    if text is not None and not options.prints and not options.force and (not options.pyproject or has_policy(text)):
        raise UsageError(f"init: {target} has a policy already: --print shows the new one, --force overwrites it")
    return text


def _joined(before: str | None, table: str, name: str) -> str:
    from torchdoctor.policy.project_file import with_policy

    try:
        return with_policy(before or "", table)
    except ValueError as error:
        raise UsageError(f"init: {name} is left as it is: {error}; put in the table that --print prints") from error


def _lines(good: Good, tables: Tables, *, as_project: bool) -> list[str]:
    """The policy; the GPUs are left out where requiring one would fail here, as in the build of an image."""
    from time import strftime

    from torchdoctor import __version__
    from torchdoctor.policy import write
    from torchdoctor.policy.project_file import MARK

    floors = _floors(good.bench) if good.bench else {}
    table = write.TABLE if as_project else ""
    made = [
        list(write.lines(good.facts, tables.companions.names(), floors, table=table, gpus=gpus))
        for gpus in (True, False)
    ]
    is_fit = good.status not in _FINE or not good.fails(Request(require_gpu=True))
    return [f"{MARK}{__version__} init on {strftime('%Y-%m-%d')}; loosen what may differ.", *made[not is_fit]]


def _floors(bench: object) -> dict[str, float]:
    """Floors under what the GPUs did."""
    from torchdoctor.benchmark import from_json
    from torchdoctor.checks.floors import FLOORS, in_unit, measured

    try:
        result = from_json(bench)
    except ValueError:
        return {}
    figures = {name: [item for item in measured(result, name) if item.device != "cpu"] for name in FLOORS}
    return {
        f"{name}-min": float(f"{_MARGIN * min(in_unit(item, name) for item in items):.3g}")
        for name, items in figures.items()
        if items
    }


def _of_host(options: argparse.Namespace, tables: Tables) -> Good:
    from torchdoctor.commands.here import record_here

    return _of_recording(record_here(options), tables)


def _of_file(path: str, tables: Tables) -> Good:
    """From a report in JSON; anything else is read as diagnose reads it."""
    report = _json(path)
    if report is None:
        from torchdoctor.commands.diagnose import load

        return _of_recording(load([path]), tables)
    from torchdoctor.policy.from_report import facts_of_report

    try:
        facts = facts_of_report(report)
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from error
    why = next((str(item.get("summary")) for item in report.get("findings") or () if isinstance(item, dict)), "")
    return Good(
        facts,
        str(report.get("status")),
        why or str(report.get("unknown_because") or "it has no verdict"),
        report.get("bench"),
    )


def _json(path: str) -> Mapping[str, Any] | None:
    """The report that a file holds, or None where it is none."""
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from error
    except (ValueError, RecursionError):
        return None
    is_report = isinstance(found, dict) and str(found.get("schema", "")).startswith("torchdoctor.report/")
    return found if is_report else None


def _of_recording(recording: Recording, tables: Tables) -> Good:
    from torchdoctor.benchmark import as_json, summarise
    from torchdoctor.pipeline import examine
    from torchdoctor.prescribe.writing import Writing
    from torchdoctor.report import exit_status

    report = examine(recording, tables, Request(), Writing())
    first = report.findings[0].summary if report.findings else report.unknown_because
    events = report.facts.trial.bench
    bench = as_json(summarise(events)) if isinstance(events, tuple) else None

    def fails(request: Request) -> bool:
        return exit_status(examine(recording, tables, request, Writing()), "error") != 0

    return Good(report.facts, report.status, str(first), bench, fails)
