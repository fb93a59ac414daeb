"""``torchdoctor lint``: judge what a project's own files ask for, before anything is installed."""

from __future__ import annotations

import argparse
from pathlib import Path

from torchdoctor.commands.common import add_output_options, deliver, note, open_tables, try_outputs
from torchdoctor.commands.policy import add_policy_options, counted, request_of
from torchdoctor.errors import UsageError

_UNREADABLE = 2


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="requirements*.txt, pyproject.toml, environment.yml, pixi.toml, pylock.toml, uv.lock, poetry.lock, "
        "Dockerfile, or a folder that holds such files (default: the current one)",
    )
    add_policy_options(parser, shows=False, requires=False)
    add_output_options(parser)


def run(options: argparse.Namespace) -> int:
    """Read, judge, deliver; a file that cannot be read is told on stderr and makes the exit status 2."""
    try_outputs(options)
    request = request_of(options)
    files = _files(options.files or ["."])
    from torchdoctor.lint.run import lint

    linted = lint(files, open_tables(options.tables))
    for line in linted.unreadable:
        note(line)
    if linted.unreadable and not linted.report.linted and not linted.report.findings:
        raise UsageError("nothing was linted: none of the files can be read")
    status = deliver(counted(linted.report, request), options)
    return _UNREADABLE if linted.unreadable else status


def _files(asked: list[str]) -> list[str]:
    """Files as they are named; of a folder, the files in it whose names are known. One that has none stops no other."""
    from torchdoctor.lint.kinds import known_files

    found = {name: [str(path) for path in known_files(Path(name))] if Path(name).is_dir() else [name] for name in asked}
    empty = [
        f"no file to lint in {name}: name one, as torchdoctor lint requirements.txt"
        for name in asked
        if not found[name]
    ]
    if not any(found.values()):
        raise UsageError(empty[0])
    for line in empty:
        note(line)
    return [name for names in found.values() for name in names]
