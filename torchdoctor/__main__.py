"""Start here: ``torchdoctor`` and ``python -m torchdoctor``."""

from __future__ import annotations

import sys


def main(argv: list[str] | None = None) -> int:
    """Run the command line and return its exit status; ``--version`` answers before anything heavy is imported."""
    arguments = sys.argv[1:] if argv is None else argv
    if sys.stdout is None or sys.stderr is None or sys.stdin is None:
        from torchdoctor.streams import open_missing

        open_missing()
    if arguments in (["--version"], ["-V"]):
        from torchdoctor import __version__

        sys.stdout.write(f"torchdoctor {__version__}\n")
        return 0
    from torchdoctor.cli import run

    return run(arguments)


def _leave_the_current_folder() -> None:
    """``python -m`` puts the current folder first: a file there named random.py must not be taken for the library's."""
    import os

    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 - pathlib costs time
    if sys.path and sys.path[0] != package and os.path.exists(sys.path[0]) and os.path.samefile(sys.path[0], "."):  # noqa: PTH110, PTH121 - as above
        del sys.path[0]


if __name__ == "__main__":
    _leave_the_current_folder()
    sys.exit(main())
