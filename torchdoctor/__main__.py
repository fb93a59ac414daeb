"""Start here: ``torchdoctor`` and ``python -m torchdoctor``."""

from __future__ import annotations

import sys

_INTERRUPTED = 130
_ALLOCATIONS = 50_000  # between two looks for cycles: imports and tables make none; looking took a tenth of the time


def main(argv: list[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    try:
        status = _main(argv)
    except KeyboardInterrupt:  # while our own modules are imported; later cli.py says it
        sys.stderr.write("interrupted\n")
        status = _INTERRUPTED
    if status == _INTERRUPTED and argv is None:
        import signal

        signal.signal(signal.SIGINT, signal.SIG_IGN)  # once more, while the interpreter leaves, would be a traceback
    return status


def _main(argv: list[str] | None) -> int:
    """``--version`` answers before anything heavy is imported."""
    arguments = sys.argv[1:] if argv is None else argv
    if sys.stdout is None or sys.stderr is None or sys.stdin is None:
        from torchdoctor.streams import open_missing

        open_missing()
    if arguments in (["--version"], ["-V"]):
        from torchdoctor import __version__

        sys.stdout.write(f"torchdoctor {__version__}\n")
        return 0
    import gc

    gc.set_threshold(_ALLOCATIONS)
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
