"""``torchdoctor explain ID``: the page of a finding."""

from __future__ import annotations

import argparse
from pathlib import Path

from torchdoctor.errors import UsageError
from torchdoctor.render.output import write

PAGES = Path(__file__).resolve().parent.parent / "pages" / "en"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("id", nargs="?", metavar="ID", help="a finding's id; without one, the list of all")


def run(options: argparse.Namespace) -> int:
    """Print the page, or the list of pages."""
    if options.id is None:
        for path in sorted(PAGES.glob("*.md")):
            write(f"{path.stem:36}{_meaning(path)}\n")
        return 0
    path = PAGES / f"{options.id}.md"
    if not options.id.replace("-", "").isalnum() or not path.is_file():
        raise UsageError(_unknown(options.id))
    write(path.read_text(encoding="utf-8"))
    return 0


def _meaning(path: Path) -> str:
    lines = path.read_text(encoding="utf-8").splitlines()
    return next((line for line in lines[1:] if line.strip()), "")


def _unknown(wanted: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(wanted, [path.stem for path in PAGES.glob("*.md")], n=3)
    hint = f"; did you mean: {', '.join(near)}?" if near else " (see: torchdoctor explain)"
    return f"no finding is named {wanted[:60]!r}{hint}"
