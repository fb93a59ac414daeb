# noqa: INP001 - a script of the build, in no package
"""What is made while a wheel is built: the manual page and the completion of shells, from the parser itself."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PLACES = {
    "man": "share/man/man1/torchdoctor.1",
    "bash": "share/bash-completion/completions/torchdoctor",
    "zsh": "share/zsh/site-functions/_torchdoctor",
    "fish": "share/fish/vendor_completions.d/torchdoctor.fish",
}


class Manual(BuildHookInterface[Any]):
    """Runs ``torchdoctor completion`` of the tree that is built; no more is needed of it than the standard library."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the files into a folder that lasts until the wheel is made, and name their places in it."""
        if version == "editable":
            return
        self._folder = tempfile.TemporaryDirectory(prefix="torchdoctor-manual-")
        sys.path.insert(0, self.root)
        try:
            from torchdoctor.cli import build_parser
            from torchdoctor.commands.completion import text_of

            for name, place in PLACES.items():
                path = Path(self._folder.name) / name
                path.write_text(text_of(name, build_parser), encoding="utf-8", newline="\n")
                build_data["shared_data"][str(path)] = place
        finally:
            sys.path.remove(self.root)

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002 - the hook's own signature
        """Take the folder away."""
        if version != "editable":
            self._folder.cleanup()
