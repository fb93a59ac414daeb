"""``torchdoctor completion SHELL``: what a shell needs to complete our commands, options and the ids of findings."""

from __future__ import annotations

import argparse
from importlib import import_module
from typing import TYPE_CHECKING

from torchdoctor.render.output import write

if TYPE_CHECKING:
    from torchdoctor.manual.model import Build, Manual

SHELLS = ("bash", "zsh", "fish", "powershell")
_USAGE = """torchdoctor completion SHELL
       bash:        torchdoctor completion bash > ~/.local/share/bash-completion/completions/torchdoctor
       zsh:         torchdoctor completion zsh > ~/.zfunc/_torchdoctor    (a folder of $fpath)
       fish:        torchdoctor completion fish > ~/.config/fish/completions/torchdoctor.fish
       powershell:  torchdoctor completion powershell >> $PROFILE"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.usage = _USAGE
    parser.add_argument("shell", choices=(*SHELLS, "man"), help="whose completion to print; man: the manual page")


def run(options: argparse.Namespace) -> int:
    """Print it, made of the parser as it is now."""
    write(text_of(options.shell, options.build_parser))
    return 0


def text_of(shell: str, build: Build) -> str:
    """The script of a shell, or the manual page."""
    manual = manual_here(build)
    if shell == "man":
        from torchdoctor import __version__
        from torchdoctor.commands.common import open_tables
        from torchdoctor.manual.man import page

        return page(manual, __version__, open_tables(None).edition.partition("+")[0])
    return str(import_module(f"torchdoctor.manual.{shell}").completion(manual))


def manual_here(build: Build) -> Manual:
    """The command line as data, with the words that no parser holds."""
    from torchdoctor.commands.explain import PAGES
    from torchdoctor.commands.explain_numbers import KINDS
    from torchdoctor.manual.model import Words, manual_of
    from torchdoctor.render.formats import FORMATS

    ids = tuple(sorted(path.stem for path in PAGES.glob("*.md")))
    return manual_of(build, Words(ids, tuple(KINDS), tuple(FORMATS)))
