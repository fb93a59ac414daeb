"""Reads what is inside the installed binaries, where the examined Python runs; a second program beside the probe."""

import os
import sys

from torchdoctor.target import paths
from torchdoctor.target.speaker import Speaker

MYPY = False
if MYPY:
    import signal
else:
    try:
        import _signal as signal  # the module named signal costs an import of enum
    except ImportError:
        import signal

if MYPY:
    from collections.abc import Sequence
    from types import FrameType

    Wanted = Sequence[tuple[str, str, tuple[str, ...], float, tuple[str, ...], str]]

MARGIN = 2.0  # beyond the deadline of a want, which ends by itself where it can


class Late(Exception):
    """A want took longer than its deadline."""


def late(number: int, frame: "FrameType | None") -> None:
    """What the system's timer calls."""
    raise Late


def main(nonce: str, path: "list[str]", wanted: "Wanted") -> None:
    """Answer one want after the other, each at once, and leave without anybody's last words."""
    speaker = Speaker(nonce)
    paths.PATH[:] = path
    if hasattr(signal, "SIGALRM"):
        signal.signal(signal.SIGALRM, late)
    try:
        for key, kind, args, seconds, _, only in wanted:
            if sys.platform.startswith(only):
                speaker.say(key, answer(kind, args, seconds))
                speaker.flush()
    except KeyboardInterrupt:
        pass
    speaker.say("end", {"value": True})
    speaker.flush()
    os._exit(0)


def answer(kind: str, args: "tuple[str, ...]", seconds: float) -> "dict[str, object]":
    """One answer; whatever becomes of it, the other wants are answered."""
    try:
        timer(seconds + MARGIN)
        return {"value": asked(kind, args, seconds)}
    except paths.Absent:
        return {"absent": True}
    except Late:
        return {"error": "no answer in %g s" % seconds}
    except Exception as error:
        return {"error": "%s: %s" % (type(error).__name__, str(error)[:300])}
    finally:
        timer(0)


def asked(kind: str, args: "tuple[str, ...]", seconds: float) -> object:
    """The answer of the module that knows it; each is loaded only when it is asked."""
    if kind == "code":
        from torchdoctor.target.want_code import want_code

        return want_code(args, seconds)
    if kind == "loading":
        from torchdoctor.target.want_loading import want_loading

        return want_loading(args, ())
    if kind == "records":
        from torchdoctor.target.want_records import want_records

        return want_records(args, ())
    if kind == "assignments":
        from torchdoctor.target.want_source import want_assignments

        return want_assignments(args, ())
    if kind == "python":
        from torchdoctor.target.want_python import want_python

        return want_python(args, ())
    raise ValueError("no such kind of want: %s" % kind)


def timer(seconds: float) -> None:
    """Set the system's timer for one want; 0 takes it back."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)
