"""The parser's frame: which commands there are, and what every command shares. Only the named one is imported."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

from torchdoctor import __version__
from torchdoctor.addresses import without_password
from torchdoctor.errors import TableError, UsageError
from torchdoctor.render.line import on_one_line

COMMANDS = {
    "check": "examine this host, import torch, run it, and judge whether it can",
    "install-cmd": "print the command that installs the right torch build, for this host or a described one",
    "diagnose": "read pasted reports (collect_env, nvidia-smi, pip list ...) or a saved recording, and name the causes",
    "smoke": "run small real computations on every device and compare them with the truth",
    "bench": "measure a mini training run and judge the speed of every device",
    "xray": "read which GPUs the installed libraries have code for, from their files alone",
    "lint": "judge requirements, pyproject.toml, environment.yml, lock files and Dockerfiles before they are installed",
    "report": "make a page to look at, a text for a bug report, or a bundle to send, of this host or a saved report",
    "diff": "compare two reports or recordings: works there, not here",
    "fleet": "merge the reports of many hosts: the odd ones out, the slow, the sick and the missing",
    "fleet-cmd": "print the script or manifest that checks every node of a Slurm, MPI, Kubernetes or SkyPilot site",
    "init": "write a policy that holds this host and its like to what it is now",
    "explain": "print the page of a finding, or what the tables know of a number: cuda 804, xid 79, exit 137",
    "tables": "list what is known and how old it is, verify it, or refresh it from a wheel index",
    "completion": "print what a shell needs to complete commands, options and ids: bash, zsh, fish, powershell",
}

_PURPOSE = "What is on this host, can the installed torch run on it, and which exact command would."
_EPILOG = """exit status: 0 nothing at or above --fail-on (default error); 1 findings at or above it, or nothing can
be installed; 2 usage; 3 unknown: nothing could be recognised, a check crashed, a needed fact is unknown; 130 Ctrl-C;
128 + n told to end by signal n; with --nagios 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN"""

_INTERRUPTED = 130
_BROKEN_PIPE = 141  # 128 + SIGPIPE: what a shell sees of any program that ends so
_USAGE = 2


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line: what was seen, and what to type."""

    def error(self, message: str) -> NoReturn:
        """Print the one line and leave with the usage status."""
        raise UsageError(f"{self.prog}: {message} (see: {self.prog} --help)")


def build_parser(argv: Sequence[str]) -> Parser:
    """Build the parser; only the commands named in ``argv`` get their arguments, and are the only ones if they lead."""
    parser = Parser(prog="torchdoctor", description=_PURPOSE, epilog=_EPILOG, allow_abbrev=False)
    parser.add_argument("--version", "-V", action="version", version=f"torchdoctor {__version__}")
    parser.set_defaults(build_parser=build_parser)  # for the command that tells of all the others
    subparsers = parser.add_subparsers(title="commands", dest="command", metavar="COMMAND", parser_class=Parser)
    for name in _offered(argv):
        summary = COMMANDS[name]
        sub = subparsers.add_parser(
            name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.", epilog=_EPILOG, allow_abbrev=False
        )
        if name in argv:
            import_module(_module(name)).arguments(sub)
    return parser


def _offered(argv: Sequence[str]) -> Sequence[str]:
    """Every command, for a help text or an error; where the line begins with one, those it names: a parser is slow."""
    return [name for name in COMMANDS if name in argv] if set(argv[:1]) & COMMANDS.keys() else list(COMMANDS)


def _module(command: str) -> str:
    return f"torchdoctor.commands.{command.replace('-', '_')}"


def run(argv: Sequence[str]) -> int:
    """Parse and run; every expected trouble is one line on stderr and a documented exit status."""
    try:
        parser = build_parser(argv)
        options = parser.parse_args(argv)
        if options.command is None:
            parser.print_help()
            return 0
        return _run(options)
    except (UsageError, TableError) as error:
        return _usage(argv, on_one_line(without_password(str(error))))
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return _INTERRUPTED
    except BrokenPipeError:
        return _without_stdout(_BROKEN_PIPE)
    except OSError as error:
        print(f"torchdoctor: cannot write: {error.strerror or error}", file=sys.stderr)
        return _without_stdout(_USAGE)


def _usage(argv: Sequence[str], message: str) -> int:
    """Say what is wrong with the call; a monitor that asked as Nagios does must not read it as a sick host."""
    print(message, file=sys.stderr)
    if not {"--nagios", "--format=nagios"}.intersection(argv) and "--format nagios" not in " ".join(argv):
        return _USAGE
    from torchdoctor.render.nagios import UNKNOWN, usage_line
    from torchdoctor.render.output import write

    write(usage_line(message))
    return UNKNOWN


def _run(options: argparse.Namespace) -> int:
    from torchdoctor.signals import heeded_once

    with heeded_once():
        status = int(import_module(_module(options.command)).run(options))
    sys.stdout.flush()  # here, where a full disk still gets its one line
    return status


def _without_stdout(status: int) -> int:
    """The reader of our output is gone or full: what is buffered goes nowhere, and the interpreter ends in silence."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return status
