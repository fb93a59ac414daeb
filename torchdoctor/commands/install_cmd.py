"""``torchdoctor install-cmd``: the command that installs the right build, for this host or a described one."""

from __future__ import annotations

import argparse
import json
import re
import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import IO, TYPE_CHECKING

from torchdoctor.commands.batch import BATCH_KEYS, answer_lines
from torchdoctor.commands.common import (
    UNKNOWN,
    add_live_options,
    add_output_options,
    add_writing_options,
    note,
    open_tables,
    parse_formats,
    put,
)
from torchdoctor.commands.here import record_here, writing_of
from torchdoctor.commands.host_options import add_host_options, described_keys
from torchdoctor.errors import UsageError
from torchdoctor.prescribe.choose import BACKENDS, Choice, already_right, choose
from torchdoctor.prescribe.conditions import Wish
from torchdoctor.prescribe.described import DescriptionError, describe, with_backend
from torchdoctor.prescribe.host import Host, host_of
from torchdoctor.prescribe.install import Install, install_of
from torchdoctor.prescribe.writing import Writing
from torchdoctor.render.json_v1 import install_object
from torchdoctor.render.text import refusal_lines
from torchdoctor.tables import Tables

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--torch", metavar="SPEC", help='the torch wanted: 2.9.1, ">=2.6,<2.10"')
    parser.add_argument(
        "--with",
        dest="companions",
        action="append",
        default=[],
        metavar="PACKAGE",
        help="torchvision, torchaudio: repeat or separate by commas",
    )
    parser.add_argument(
        "--backend",
        default="auto",
        metavar="BACKEND",
        help=f"{', '.join(BACKENDS)} or one variant such as cu126 (default: auto)",
    )
    parser.add_argument(
        "--allow-inferred", action="store_true", help="also builds whose architectures were inferred, and hidden ones"
    )
    parser.add_argument(
        "--require-gpu", action="store_true", help="print nothing rather than a build without GPU support"
    )
    parser.add_argument(
        "--index-base", default="", metavar="URL", help="a mirror of the PyTorch index, without the variant"
    )
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
    add_output_options(parser)


def run(options: argparse.Namespace) -> int:
    """Answer for one host or for a batch."""
    formats = parse_formats(options.format)
    tables = open_tables(options.tables)
    wish = _wish(options, tables)
    if options.batch:
        return _batch(options, wish, tables)
    host, writing = _host(options, tables)
    right = already_right(host, tables) if wish == Wish() else None
    wish = with_backend(host, wish, tables)
    choice = right or choose(host, wish, tables)
    if not choice.runs or (options.require_gpu and choice.backend == "cpu"):
        return _refuse(choice, wish, tables, formats)
    install = install_of(
        choice, wish, writing, tables, explain=options.explain or any(name == "json" for name, _ in formats)
    )
    for name, path in formats:
        put(
            json.dumps(install_object(install), indent=1) + "\n"
            if name == "json"
            else "".join(f"{line}\n" for line in install.commands),
            path,
        )
    _notes(install, options)
    return 0


def _wish(options: argparse.Namespace, tables: Tables) -> Wish:
    backend = options.backend.lower()
    variants = {row.build.name for row in tables.torch_builds.rows}
    if backend not in BACKENDS and backend not in variants:
        newest = max((row.torch, row.build.name) for row in tables.torch_builds.rows if row.cuda)[1]
        known = f"{', '.join(BACKENDS)}, or a variant such as {newest}"
        raise UsageError(f"--backend {options.backend}: not a backend (choose from: {known})")
    return Wish(
        backend=backend,
        torch=_spec(options.torch),
        companions=_companions(options, tables),
        allow_inferred=options.allow_inferred,
    )


def _spec(text: str | None) -> SpecifierSet | None:
    if text is None:
        return None
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        return SpecifierSet(f"=={text}" if re.match(r"\d", text) else text)
    except InvalidSpecifier as error:
        raise UsageError(f'--torch {text}: not a version or range (as 2.9.1 or ">=2.6,<2.10")') from error


def _companions(options: argparse.Namespace, tables: Tables) -> tuple[str, ...]:
    names = tuple(name.strip() for value in options.companions for name in value.split(",") if name.strip())
    known = tables.companions.names()
    for name in names:
        if name not in known:
            raise UsageError(f"--with {name}: not a companion of torch (choose from: {', '.join(known)})")
    return names


def _host(options: argparse.Namespace, tables: Tables) -> tuple[Host, Writing]:
    """The described host alone, or this host with what was described put over it."""
    given, writing = described_keys(options), _writing(options)
    try:
        if "os" in given or "machine" in given:
            return describe(given, tables), writing
        from torchdoctor.facts import Request
        from torchdoctor.pipeline import facts_of
        from torchdoctor.prescribe.writing import writing_for
        from torchdoctor.which_python import choose_python

        facts = facts_of(record_here(options), tables, Request())
        if "python" not in given:  # what is printed here is typed here: the path as it is, not as reports show it
            writing = writing_for(facts, writing._replace(python=choose_python(options.python).argv))
        return describe(given, tables, host_of(facts, tables)), writing
    except DescriptionError as error:
        raise UsageError(f"install-cmd: {error}") from error


def _writing(options: argparse.Namespace) -> Writing:
    base = options.index_base
    if base and not re.fullmatch(r"https?://[A-Za-z0-9._~:/@%-]+", base):
        raise UsageError(f"--index-base {base}: not an http(s) address without query or spaces")
    return writing_of(options)._replace(index_base=base)


def _batch(options: argparse.Namespace, wish: Wish, tables: Tables) -> int:
    if described_keys(options):
        raise UsageError("--batch describes its hosts line by line: leave the host options out")
    if options.format:
        raise UsageError("--batch answers in JSON lines on stdout: leave --format out")
    writing = _writing(options)
    with _batch_lines(options.batch) as lines:
        for answer in answer_lines(lines, wish, writing, tables):
            print(answer)
    return 0


def _batch_lines(name: str) -> AbstractContextManager[IO[str]]:
    if name == "-":
        return nullcontext(sys.stdin)
    try:
        return Path(name).open(encoding="utf-8-sig", errors="replace")
    except OSError as error:
        raise UsageError(f"cannot read {name}: {error.strerror or error}") from error


def _refuse(choice: Choice, wish: Wish, tables: Tables, formats: list[tuple[str, str | None]]) -> int:
    from torchdoctor.findings import Text

    reason = choice.refusal or Text("a GPU is required and no GPU of this host can be served")
    cpu = choose(choice.host, wish._replace(backend="cpu"), tables).runs and wish.backend != "cpu"
    for name, path in formats:
        if name == "json":
            put(json.dumps(None) + "\n", path)
    for line in refusal_lines(reason, choice.change, cpu):
        note(line)
    return UNKNOWN if choice.asks else 1


def _notes(install: Install, options: argparse.Namespace) -> None:
    if not install.needed:
        note(f"already installed: torch {install.torch} {install.build or ''}".rstrip())
    if not options.explain:
        for warning in install.warnings:
            note(f"note: {warning}")
        return
    for reason in install.why:
        note(f"why: {reason}")
    if install.upgrade:
        up = install.upgrade
        note(f"with driver {up.min_driver} or newer: torch {up.row.torch} {up.row.build}")
    for item in install.rejected:
        note(f"not torch {item.torch} {item.build}: {item.reason}")
