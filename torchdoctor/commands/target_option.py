"""The option ``--for``: nothing of a prediction is loaded before somebody asks for one."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchdoctor.predict.targets import Target
    from torchdoctor.tables import Tables


def add_target_option(parser: argparse.ArgumentParser) -> None:
    """The option that names other hosts."""
    parser.add_argument(
        "--for",
        dest="targets",
        action="append",
        metavar="SPEC|FILE",
        help="predict whether this environment or image runs on another host: KEY=VALUE ... with the keys driver gpu "
        "count memory (GB of each GPU) cpu (avx2, x86-64-v3) shm (GB) os machine os-version libc wsl jetpack, as "
        '"driver=535.183 gpu=T4", or the same as a JSON object; or a file of hosts: one a line (NAME: KEY=VALUE ...), '
        "JSON or JSON lines, .toml ([[target]] tables) or .csv (the keys as its first line); repeatable",
    )


def targets_asked(options: argparse.Namespace, tables: Tables) -> tuple[Target, ...]:
    """The hosts asked about; none where the option was not given."""
    if not options.targets:
        return ()
    from torchdoctor.commands.predict import targets_of

    return targets_of(options.targets, tables)
