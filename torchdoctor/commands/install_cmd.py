"""``torchdoctor install-cmd``: the command that installs the right build, for this host or a described one."""

from __future__ import annotations

import argparse

from torchdoctor.commands.common import (
    ANSWER_FORMATS,
    add_live_options,
    add_output_options,
    add_writing_options,
    open_tables,
    parse_formats,
)
from torchdoctor.commands.here import record_here
from torchdoctor.commands.host_options import add_host_options, described_keys
from torchdoctor.commands.policy import add_config_options
from torchdoctor.prescribe.choices import BACKENDS, BATCH_KEYS
from torchdoctor.recording import Want
from torchdoctor.settings import INDEX_BASE
from torchdoctor.tables import Tables


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    wanted = parser.add_argument_group("what is wanted")
    wanted.add_argument("--torch", metavar="SPEC", help='the torch wanted: 2.9.1, ">=2.6,<2.10"')
    wanted.add_argument(
        "--with",
        dest="companions",
        action="append",
        default=[],
        metavar="PACKAGE",
        help="torchvision, torchaudio: repeat or separate by commas",
    )
    wanted.add_argument(
        "--backend",
        default="auto",
        metavar="BACKEND",
        help=f"{', '.join(BACKENDS)} or one variant such as cu126 (default: auto)",
    )
    wanted.add_argument("--max-cuda", metavar="VERSION", help="no build for a newer CUDA than this, as 12.8")
    wanted.add_argument(
        "--prefer",
        choices=("newest", "native"),
        default="newest",
        help="newest torch, or a CUDA that the driver knows by itself before a newer torch (default: newest)",
    )
    wanted.add_argument("--nightly", action="store_true", help="the nightly of the build that fits")
    wanted.add_argument(
        "--allow-inferred", action="store_true", help="also builds whose architectures were inferred, and hidden ones"
    )
    wanted.add_argument(
        "--require-gpu", action="store_true", help="print nothing rather than a build without GPU support"
    )
    parser.add_argument(
        "--index-base",
        metavar="URL",
        help=f"a mirror of the PyTorch index, without the variant (default: ${INDEX_BASE}, or the project's own)",
    )
    add_config_options(parser)
    parser.add_argument(
        "--online", action="store_true", help="ask the index for the wheels first; print nothing if it lacks one"
    )
    parser.add_argument("--if-needed", action="store_true", help="print nothing where the right build is installed")
    parser.add_argument(
        "--explain", action="store_true", help="the reasons on stderr: why this build, and why no other"
    )
    parser.add_argument(
        "--batch",
        metavar="FILE.jsonl",
        help=f"one described host a line, one answer a line; - for stdin; keys: {', '.join(BATCH_KEYS)}",
    )
    add_host_options(parser)
    add_live_options(parser)
    add_writing_options(parser)
    add_output_options(parser, ANSWER_FORMATS)


def run(options: argparse.Namespace) -> int:
    """Answer for one host or for a batch; what the answer needs is loaded while this host is asked."""
    parse_formats(options.format)
    tables = open_tables(options.tables)
    recording = None
    if not options.batch and not {"os", "machine"} & described_keys(options).keys():
        recording = record_here(options, more=_more_wants, meanwhile=lambda: _get_ready(tables))
    from torchdoctor.commands.install_answer import answer

    return answer(options, tables, recording)


def _more_wants() -> tuple[Want, ...]:
    from torchdoctor.readers.live_conda import WANTS
    from torchdoctor.readers.live_packages import REQUIRERS
    from torchdoctor.readers.project_files import WANTS as OF_PROJECTS

    return REQUIRERS, *WANTS, *OF_PROJECTS


def _get_ready(tables: Tables) -> None:
    import torchdoctor.commands.install_answer  # noqa: F401 - loaded early, as said

    _ = (tables.torch_builds, tables.companions, tables.coverage, tables.cuda_drivers, tables.driver_branches)
