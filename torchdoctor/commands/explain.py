"""``torchdoctor explain``: the page of a finding, or what a table says of a number or of a known text."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from torchdoctor.errors import UsageError
from torchdoctor.render.output import write

PAGES = Path(__file__).resolve().parent.parent / "pages" / "en"
SCHEMA = "torchdoctor.explain/1"
_USAGE = """torchdoctor explain ID                    the page of a finding; without ID, the list of all
       torchdoctor explain cuda 804              a number or a name that CUDA answers; also hip, nccl, nvml
       torchdoctor explain xid 79                an Xid of the kernel log
       torchdoctor explain winerror 126          a number of Windows
       torchdoctor explain exit 137              how a process ended; also signal 9
       torchdoctor explain error ENTRY           one entry of the catalogue of error texts"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.usage = _USAGE
    parser.add_argument(
        "asked", nargs="*", metavar="ID | KIND NUMBER", help="a finding's id, or a kind of error and its number or name"
    )
    parser.add_argument("--format", choices=("text", "json"), default="text", help="how the answer is written")
    parser.add_argument("--tables", metavar="DIR", help="use the compatibility tables in this folder")


def run(options: argparse.Namespace) -> int:
    """Print the page, the answer of a table, or the list of pages."""
    if not options.asked:
        _write(_list(), {"kind": "findings", "findings": meanings()}, options.format)
        return 0
    if len(options.asked) == 1 and (page := _page(options.asked[0])):
        _write(page, {"kind": "finding", "id": options.asked[0], "page": page}, options.format)
        return 0
    from torchdoctor.commands.common import open_tables
    from torchdoctor.commands.explain_numbers import KINDS, explained

    tables = open_tables(options.tables)
    kind, *rest = options.asked
    if not rest and kind.removeprefix("error.") in tables.known_errors.ids:  # as evidence names it
        kind, rest = "error", [kind.removeprefix("error.")]
    if kind.casefold() not in KINDS:
        raise UsageError(_unknown(" ".join(options.asked), KINDS))
    text, answers = explained(kind.casefold(), " ".join(rest), tables)
    _write(text, {"kind": kind.casefold(), "answers": answers}, options.format)
    return 0


def _write(text: str, answer: dict[str, Any], form: str) -> None:
    if form == "json":
        import json

        text = json.dumps({"schema": SCHEMA, **answer}, indent=2, ensure_ascii=False) + "\n"
    write(text, is_json=form == "json")


def _page(wanted: str) -> str:
    """The page of an id, or nothing."""
    path = PAGES / f"{wanted}.md"
    if not wanted.replace("-", "").isalnum() or not path.is_file():
        return ""
    return path.read_text(encoding="utf-8")


def meanings() -> dict[str, str]:
    """What each page says first, by its id."""
    return {path.stem: _meaning(path) for path in sorted(PAGES.glob("*.md"))}


def _list() -> str:
    return "".join(f"{name:36}{meaning}\n" for name, meaning in meanings().items())


def _meaning(path: Path) -> str:
    lines = path.read_text(encoding="utf-8").splitlines()
    return next((line for line in lines[1:] if line.strip()), "")


def _unknown(wanted: str, kinds: Iterable[str]) -> str:
    from difflib import get_close_matches

    if " " in wanted.strip() or "\n" in wanted:
        known = ", ".join(kinds)
        return f"explain takes an id, or a kind ({known}) and a number; for the text of an error: torchdoctor diagnose"
    if wanted.lstrip("-").isdecimal():
        return f"{wanted} is a number: of what? explain cuda {wanted}, explain xid {wanted}, explain exit {wanted} ..."
    near = get_close_matches(wanted.replace("_", "-"), [path.stem for path in PAGES.glob("*.md")], n=3)
    hint = f"; did you mean: {', '.join(near)}?" if near else " (see: torchdoctor explain)"
    return f"no finding is named {wanted[:60]!r}{hint}"
