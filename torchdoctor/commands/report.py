"""``torchdoctor report``: a page to look at, a text for a bug report, a bundle to send; of this host or a saved one."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from torchdoctor.commands.check import add_proof_options, asked_of, looks_inside, refuse_idle
from torchdoctor.commands.common import (
    UNKNOWN,
    add_live_options,
    add_writing_options,
    open_tables,
    put,
    saying,
)
from torchdoctor.commands.here import record_here, writing_of
from torchdoctor.commands.policy import add_policy_options, request_of
from torchdoctor.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from torchdoctor.recording import Recording
    from torchdoctor.redact import Identity, Redactor
    from torchdoctor.tables import Tables

_NAME_IT = "name what to make: --html FILE.html, --markdown, or --bundle FILE.zip"
_STDOUT = "-"
_OF_THIS_HOST = ("static", "no_smoke", "no_bench", "level", "repro", "xray", "python", "timeout")
_OF_JUDGING = ("require", "ignore", "select", "require_gpu", "shell")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    group = parser.add_argument_group("what to make")
    group.add_argument(
        "--html", nargs="?", const=_STDOUT, metavar="FILE", help="one page that asks no network; without FILE to stdout"
    )
    group.add_argument(
        "--markdown", nargs="?", const=_STDOUT, metavar="FILE", help="a short text for an issue; without FILE to stdout"
    )
    group.add_argument(
        "--bundle", metavar="FILE.zip", help="page, text, JSON and recording in one file; what it holds is listed first"
    )
    group.add_argument("--dry-run", action="store_true", help="with --bundle: list what it would hold, write nothing")
    parser.add_argument(
        "--from",
        dest="source",
        action="append",
        metavar="FILE",
        help="of a report (check --format json=FILE), a recording (check --record FILE) or pasted texts, in place of "
        "this host; - for stdin; repeatable for texts",
    )
    add_proof_options(parser)
    add_policy_options(parser, shows=False)
    add_live_options(parser)
    add_writing_options(parser)
    parser.add_argument(
        "--fail-on",
        choices=("error", "warning", "info", "never"),
        help="severity from which the exit status is 1 (default: error)",
    )
    parser.add_argument("--tables", metavar="DIR", help="use the compatibility tables in this folder")
    parser.set_defaults(targets=None, all_envs=None)


def run(options: argparse.Namespace) -> int:
    """Make the report's object once, and each form of it."""
    _refuse(options)
    for path in (options.html, options.markdown, None if options.dry_run else options.bundle):
        if path not in (None, _STDOUT):
            _try(path)
    tables = open_tables(options.tables)
    report, recording = _made(options, tables)
    forms: dict[str, Callable[[], str]] = {
        "report.html": lambda: _page(report, tables),
        "report.md": lambda: _markdown(report),
        "report.json": lambda: _json(report),
    }
    for path, name in ((options.html, "report.html"), (options.markdown, "report.md")):
        if path is not None:
            put(forms[name](), None if path == _STDOUT else path)
    if options.bundle:
        files = {name: make() for name, make in forms.items()}
        _bundle(files if recording is None else {**files, "recording.json": f"{recording.to_json()}\n"}, options)
    return exit_status(report, options.fail_on)


def _refuse(options: argparse.Namespace) -> None:
    """What is asked for makes sense together."""
    if not (options.html or options.markdown or options.bundle):
        raise UsageError(f"report: {_NAME_IT}")
    if options.dry_run and not options.bundle:
        raise UsageError("report: --dry-run lists what a bundle would hold: add --bundle FILE.zip")
    named = [path for path in (options.html, options.markdown, options.bundle) if path]
    if options.bundle == _STDOUT:
        raise UsageError("report: --bundle needs the name of a file: --bundle FILE.zip")
    if named.count(_STDOUT) > 1 or (options.bundle and _STDOUT in named):
        raise UsageError("report: stdout can hold one of these: name a file for the other, as --html FILE.html")
    if len(named) > len(set(named)):
        raise UsageError("report: two forms for one file: give each a file of its own")
    refuse_idle(options)
    if options.source and (idle := _given(options, _OF_THIS_HOST)):
        raise UsageError(f"report: {idle} is of this host, and --from of a file: leave one out")


def _given(options: argparse.Namespace, names: tuple[str, ...]) -> str:
    """The first of the options that was given."""
    found = next((name for name in names if getattr(options, name) not in (None, False, [])), "")
    return f"--{found.replace('_', '-')}" if found else ""


def _try(path: str) -> None:
    from torchdoctor.render.output import try_out

    with saying("cannot write", path):
        try_out(path)


def _made(options: argparse.Namespace, tables: Tables) -> tuple[Mapping[str, Any], Recording | None]:
    """The report's JSON object without what names a person or a machine, and the recording it was made from."""
    from torchdoctor.bundle import redacted, redactor_for

    report, recording = _loaded(options.source) if options.source else (None, _recorded(options))
    redactor = redactor_for(recording, report, _own())
    if recording is not None:
        recording = redacted(recording, redactor)
        report = _judged(recording, options, tables)
    elif idle := _given(options, _OF_JUDGING):
        raise UsageError(f"report: {idle} is of judging, and a report is judged already: give --from its recording")
    else:
        request_of(options, of_text=True)  # which settles the threshold
    return _clean(report, redactor), recording


def _clean(report: Any, redactor: Redactor) -> Mapping[str, Any]:
    """Once more: a report of elsewhere may have been written by anybody."""
    return dict(redactor.value(json.loads(json.dumps(report))))


def _recorded(options: argparse.Namespace) -> Recording:
    return record_here(options, asked_of(options), inside=looks_inside(options))


def _judged(recording: Recording, options: argparse.Namespace, tables: Tables) -> Mapping[str, Any]:
    from torchdoctor.pipeline import examine
    from torchdoctor.render.json_v1 import report_object

    is_here = options.source is None
    request = request_of(options, measures=is_here, of_text=not is_here)
    return report_object(examine(recording, tables, request, writing_of(options, here=is_here)))


def _loaded(names: list[str]) -> tuple[Mapping[str, Any] | None, Recording | None]:
    """A report alone, or the recording of all the files."""
    from torchdoctor.commands.diagnose import joined, load_one, recording_of
    from torchdoctor.readers.texts import schema_of

    if names.count(_STDOUT) > 1:
        raise UsageError("report: stdin can be read once: --from - stands there twice")
    texts = {name: load_one(name) for name in names}
    reports = [name for name, text in texts.items() if schema_of(text.text)[0] == "report"]
    if not reports:
        return None, joined(recording_of(name, text) for name, text in texts.items())
    if len(texts) > 1:
        raise UsageError(f"report: {reports[0]} is a report already: give --from only that file")
    return _report(reports[0], texts[reports[0]].text), None


def _report(name: str, text: str) -> Mapping[str, Any]:
    from torchdoctor.readers.texts import schema_of

    if schema_of(text)[1] != 1:
        raise UsageError(f"{name}: a report of a newer torchdoctor; this one reads report/1: upgrade torchdoctor")
    try:
        report = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{name}: not a report that can be read: {error}") from error
    return dict(report)


def _own() -> Identity:
    """Who runs this: a pasted text or a command that starts a Python elsewhere may name them."""
    import os
    import platform

    from torchdoctor.redact import Identity

    user = next((os.environ[name] for name in ("USER", "LOGNAME", "USERNAME") if os.environ.get(name)), "")
    return Identity((os.path.expanduser("~"),), user, platform.node())  # noqa: PTH111 - Path raises without a home


def _page(report: Mapping[str, Any], tables: Tables) -> str:
    from torchdoctor.render.html.page import page

    return page(report, tables)


def _markdown(report: Mapping[str, Any]) -> str:
    from torchdoctor.render.report_markdown import render

    return render(report)


def _json(report: Mapping[str, Any]) -> str:
    from torchdoctor.render.line import harmless_json

    return harmless_json(json.dumps(report, indent=1, ensure_ascii=False)) + "\n"


def _bundle(files: Mapping[str, str], options: argparse.Namespace) -> None:
    """Say what it holds, then write it."""
    from torchdoctor.bundle import listing, zipped
    from torchdoctor.render.output import save, write

    write("".join(f"{line}\n" for line in _told(listing(files), options)))
    sys.stdout.flush()  # nothing is written that was not listed first
    if not options.dry_run:
        with saying("cannot write", options.bundle):
            save(zipped(files), options.bundle)


def _told(lines: Iterator[str], options: argparse.Namespace) -> Iterator[str]:
    yield f"{options.bundle} {'would hold' if options.dry_run else 'holds'}:"
    yield from lines


def exit_status(report: Mapping[str, Any], fail_on: str) -> int:
    """As of the check that the report is of: 1 for a finding at the threshold, 3 where it does not know."""
    severities = ("error", "warning", "info")
    counts = severities[: severities.index(fail_on) + 1] if fail_on in severities else ()
    findings = report.get("findings")
    told = [item for item in findings if isinstance(item, dict)] if isinstance(findings, list) else []
    if any(finding.get("severity") in counts for finding in told):
        return 1
    return UNKNOWN if report.get("status") == "unknown" or report.get("unknown_because") else 0
