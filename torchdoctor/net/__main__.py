"""``torchrun ... -m torchdoctor.net``, also under srun and mpirun: whether the ranks of a job work together."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from pathlib import Path

from torchdoctor.commands.common import note
from torchdoctor.errors import UsageError
from torchdoctor.facts import Facts
from torchdoctor.findings import Finding
from torchdoctor.net.place import Place, place_of
from torchdoctor.net.verdict import Heard, findings_of
from torchdoctor.net.worker import Plan
from torchdoctor.prescribe.remedy_commands import with_written_commands
from torchdoctor.prescribe.writing import Writing

_GIGA = 1e9
_PROG = "torchdoctor.net"
_EPILOG = """exit status: 0 all work together; 1 an error was found; 2 usage; 130 Ctrl-C. torchrun makes 1 of any of
them. Rank 0 prints the verdict; another rank speaks only where it knows what rank 0 may not."""


def parser() -> argparse.ArgumentParser:
    """The options."""
    made = argparse.ArgumentParser(prog=_PROG, description=__doc__, epilog=_EPILOG, allow_abbrev=False)
    made.add_argument("--timeout", type=_seconds, default=30.0, metavar="SECONDS", help="for each stage (default: 30)")
    made.add_argument(
        "--rendezvous-timeout",
        type=_seconds,
        default=60.0,
        metavar="SECONDS",
        help="for all ranks to come (default: 60)",
    )
    made.add_argument(
        "--backend", default="auto", metavar="NAME", help="gloo, nccl, xccl (default: that of the device)"
    )
    made.add_argument("--pairwise", action="store_true", help="try every pair of nodes, also where nothing failed")
    made.add_argument("--sizes", type=_sizes, default=(), metavar="BYTES,...", help="sizes of all-reduce to measure")
    made.add_argument("--min-busbw", type=float, default=0.0, metavar="GB/S", help="less on the bus is an error")
    made.add_argument("--output", metavar="DIR", help="every rank writes DIR/net-rank-N.json (torchdoctor.net/1)")
    made.add_argument("--format", choices=("text", "json"), default="text", help="what rank 0 prints")
    return made


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 1 <= value <= 3600:  # noqa: PLR2004 - from a second to an hour
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds from 1 to 3600")
    return value


def _sizes(text: str) -> tuple[int, ...]:
    parts = text.split(",")
    if not all(part.isdecimal() and 4 <= int(part) <= 2**34 for part in parts):  # noqa: PLR2004 - a float to 16 GiB
        raise argparse.ArgumentTypeError(f"{text!r} are no sizes in bytes, as 65536,16777216")
    return tuple(map(int, parts))


def main(argv: list[str] | None = None) -> int:
    """Work, watch, tell."""
    options = parser().parse_args(argv)
    try:
        place = place_of(os.environ)
    except UsageError as error:
        note(str(error))
        return 2
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _leave)
    return _told(place, options)


def _leave(number: int, _frame: object) -> None:
    raise SystemExit(128 + number)


def _plan(options: argparse.Namespace) -> Plan:
    return Plan(options.timeout, options.backend, options.pairwise, options.sizes, options.rendezvous_timeout)


def _told(place: Place, options: argparse.Namespace) -> int:
    from torchdoctor.net.watch import watch

    watched = watch(place, _plan(options))
    heard = Heard(
        rank=place.rank, world=place.world, told=watched.told, ended=watched.ended, least=options.min_busbw * _GIGA
    )
    findings = tuple(with_written_commands(findings_of(heard), Facts(), Writing(shell="posix")))  # noqa: S604 - a word of ours, no process
    _write(heard, findings, options)
    return int(any(finding.severity == "error" for finding in findings))


def _write(heard: Heard, findings: tuple[Finding, ...], options: argparse.Namespace) -> None:
    from torchdoctor.net.show import json_of, text_of
    from torchdoctor.render.output import save, show, write

    if options.output:
        folder = Path(options.output)
        folder.mkdir(parents=True, exist_ok=True)
        save(json_of(heard, findings), str(folder / f"net-rank-{heard.rank}.json"))
    if heard.rank == 0 and options.format == "json":
        write(json_of(heard, findings), is_json=True)
    elif heard.rank == 0:
        show(text_of(heard, findings))
    elif findings:
        note(f"{_PROG}: rank {heard.rank}: {findings[0].summary}")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
