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


if __name__ == "__main__":
    sys.exit(main())
