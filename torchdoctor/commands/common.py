"""Options and steps that every command shares."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from torchdoctor.addresses import without_password
from torchdoctor.errors import UsageError
from torchdoctor.prescribe.choices import TOOLS
from torchdoctor.prescribe.shells import SHELLS
from torchdoctor.recording import Recording
from torchdoctor.render.formats import FORMATS
from torchdoctor.render.line import on_one_line
from torchdoctor.render.output import look_of_stdout, save, show, try_out, write

if TYPE_CHECKING:
    from torchdoctor.render.formats import View
    from torchdoctor.report import Report
    from torchdoctor.tables import Tables

UNKNOWN, INTERRUPTED = 3, 130
ANSWER_FORMATS = ("text", "json")  # of a command whose answer is no report


def add_output_options(parser: argparse.ArgumentParser, formats: Collection[str] = FORMATS) -> None:
    """Options about what is printed and what makes the exit status 1."""
    group = parser.add_argument_group("output")
    group.add_argument(
        "--format",
        action="append",
        metavar="FORMAT[=FILE]",
        help=f"{', '.join(formats)}; to stdout or a file; repeatable",
    )
    if "nagios" in formats:
        group.add_argument(
            "--nagios", dest="format", action="append_const", const="nagios", help="the same as --format nagios"
        )
    group.add_argument(
        "--fail-on",
        choices=("error", "warning", "info", "never"),
        help="severity from which the exit status is 1 (default: error)",
    )
    group.add_argument(
        "-v", "--verbose", action="store_true", help="also every check and every fact with where it was read"
    )
    group.add_argument("-q", "--quiet", action="store_true", help="the verdict alone")
    group.add_argument(
        "--color",
        choices=("auto", "always", "never"),
        default="auto",
        help="auto: on a terminal, unless NO_COLOR is set",
    )
    group.add_argument(
        "--plain", action="store_true", help="no colour, tables or bars: one fact a line, for a screen reader"
    )
    group.add_argument("--tables", metavar="DIR", help="use the compatibility tables in this folder")


def add_live_options(parser: argparse.ArgumentParser) -> None:
    """Options about the host that is asked."""
    group = parser.add_argument_group("this host")
    group.add_argument(
        "--python",
        metavar="PATH|COMMAND",
        help='the Python to examine, or a command that starts one ("docker exec web python")',
    )
    group.add_argument(
        "--timeout",
        type=seconds,
        metavar="SECONDS",
        help="deadline of one probe (default: 120 for the import, 30 for another, 10 for nvidia-smi)",
    )


def add_writing_options(parser: argparse.ArgumentParser) -> None:
    """Options about how the install command is written."""
    group = parser.add_argument_group("install command")
    group.add_argument(
        "--tool",
        choices=("auto", *TOOLS),
        default="auto",
        metavar="TOOL",
        help=f"who installs: {', '.join(TOOLS)} (default: auto: what the project uses, pip, uv where there is no pip)",
    )
    group.add_argument("--shell", choices=SHELLS, help="whose quoting (default: posix, powershell on Windows)")


def seconds(text_: str) -> float:
    """A number of seconds of the command line."""
    try:
        number = float(text_)
    except ValueError:
        number = 0.0
    if not 0 < number <= 86400:  # noqa: PLR2004 - a day
        raise argparse.ArgumentTypeError(f"{text_!r} is not a number of seconds above 0")
    return number


def open_tables(folder: str | None) -> Tables:
    """Open the compatibility tables: the product's own, the user's rows over them, or those of a folder."""
    from torchdoctor.tables.overlay import tables_of

    return tables_of(folder)


def parse_formats(values: list[str] | None, known: Collection[str] = ANSWER_FORMATS) -> list[tuple[str, str | None]]:
    """Return (format, file or None for stdout) pairs; text to stdout when none was asked for."""
    pairs: list[tuple[str, str | None]] = []
    for value in values or ["text"]:
        name, sign, path = value.partition("=")
        if name not in known:
            raise UsageError(f"--format {name}: not a format (choose from: {', '.join(known)})")
        if sign and not path:
            raise UsageError(f"--format {value}: no file stands behind the sign; for stdout: --format {name}")
        if path and any(path == other for _, other in pairs):
            raise UsageError(f"two formats for {path}: give each a file of its own")
        pairs.append((name, path or None))
    if sum(path is None for _, path in pairs) > 1:
        raise UsageError("two formats for stdout: give one of them a file, as --format json=FILE")
    return pairs


def report_formats(options: argparse.Namespace) -> list[tuple[str, str | None]]:
    """The formats of a report; where none was asked for, a job of GitHub Actions gets annotations behind the text."""
    pairs = parse_formats(options.format, FORMATS)
    if not options.format and in_github_job():
        pairs.append(("github", None))
    return pairs


def in_github_job() -> bool:
    """Whether a job of GitHub Actions runs this."""
    return os.environ.get("GITHUB_ACTIONS") == "true"


def try_outputs(options: argparse.Namespace, *further: str | None) -> None:
    """Before anything is measured: the formats are known, and the files asked for can be written."""
    for path in (*further, *(path for _, path in report_formats(options))):
        if path is not None:
            with saying("cannot write", path):
                try_out(path)


@contextmanager
def saying(what: str, path: str) -> Iterator[None]:
    """An error of the system is one of usage: a path that was asked for."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise UsageError(f"{what} {path}: {getattr(error, 'strerror', '') or error}") from error


def deliver(report: Report, options: argparse.Namespace) -> int:
    """Write the report in every format asked for and return the exit status."""
    from time import time

    from torchdoctor.render.formats import View

    view = View(options.fail_on or "error", -1 if options.quiet else int(options.verbose), time())
    formats = report_formats(options)
    for name, path in formats:
        _give(report, name, path, view, options)
    status = _status(report, formats, view)
    if ("quiet", None) not in formats:
        _remark(report, formats, view.fail_on)
    if any(name == "github" for name, _ in formats):
        from torchdoctor.commands.github_job import tell_job

        tell_job(report, view, status, formats)
    return status


def _give(report: Report, name: str, path: str | None, view: View, options: argparse.Namespace) -> None:
    if name == "text" and path is None:
        from torchdoctor.render.text import render

        look = look_of_stdout(plain=options.plain)
        show(render(report, view.verbosity, view.fail_on, look), plain=options.plain, colour=options.color)
        return
    from torchdoctor.render.formats import rendered

    put(rendered(name, report, view), path, is_json=FORMATS[name].is_json)


def _status(report: Report, formats: list[tuple[str, str | None]], view: View) -> int:
    if report.facts.trial.interrupted is True:
        return INTERRUPTED
    if ("nagios", None) in formats:
        from torchdoctor.render.nagios import status_of

        return status_of(report, view.fail_on)
    from torchdoctor.report import exit_status

    return exit_status(report, view.fail_on)


def _remark(report: Report, formats: list[tuple[str, str | None]], fail_on: str) -> None:
    """What stands beside the answer; the verdict too where all of it went to files."""
    if all(path is not None for _, path in formats):
        from torchdoctor.render.text import verdict

        note(verdict(report, fail_on))
    for probe in report.absent:
        note(f"--device {probe.device}: {probe.reason}")
    if report.facts.trial.interrupted is True:
        note("interrupted: the report holds what was known until then")


def put(content: str, path: str | None, *, is_json: bool = False) -> None:
    """Write to stdout, or to a file in one step."""
    if path is None:
        write(content, is_json=is_json)
        return
    with saying("cannot write", path):
        save(content, path)


def save_recording(recording: Recording, path: str) -> None:
    """Save a recording, as ``check --record`` does."""
    put(recording.to_json() + "\n", path)


def note(line: str) -> None:
    """Say something beside the answer: on stderr."""
    print(on_one_line(without_password(line)), file=sys.stderr)
