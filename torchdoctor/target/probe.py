"""Answers wants where the examined Python runs: files, commands, names. What they mean is the readers' business."""

import os
import sys

from torchdoctor.target import paths, want_distributions, want_files, want_python
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

    from torchdoctor.target.want_commands import Job

    Wanted = Sequence[tuple[str, str, tuple[str, ...], float, tuple[str, ...], str]]

QUICK = {
    "file": want_files.want_file,
    "files": want_files.want_files,
    "glob": want_files.want_glob,
    "links": want_files.want_links,
    "stat": want_files.want_stat,
    "stats": want_files.want_stats,
    "space": want_files.want_space,
    "env": want_files.want_env,
    "python": want_python.want_python,
    "distributions": want_distributions.want_distributions,
    "requirers": want_distributions.want_requirers,
}

FLUSHED = ("python", "distributions")  # the first answer, without which the others are worth nothing, and a long one


class Late(Exception):
    """A want took longer than its deadline."""


def late(number: int, frame: "FrameType | None") -> None:
    """What the system's timer calls."""
    raise Late


def main(nonce: str, path: "list[str]", wanted: "Wanted") -> None:
    """Start the commands, answer the rest meanwhile, wait for the commands, and leave without anybody's last words."""
    speaker = Speaker(nonce)
    paths.PATH[:] = path
    wanted = [want for want in wanted if sys.platform.startswith(want[5])]
    if hasattr(signal, "SIGALRM"):
        signal.signal(signal.SIGALRM, late)
    jobs = start(wanted) if os.name == "posix" else {}
    try:
        ask(speaker, wanted, jobs)
    except KeyboardInterrupt:
        for job in jobs.values():
            if job.answer is None:
                job.stop()
    speaker.flush()
    os._exit(0)


def ask(speaker: Speaker, wanted: "Wanted", jobs: "dict[str, Job]") -> None:
    """Answer everything else, then wait for the commands that were started."""
    for key, kind, args, seconds, keep, _ in sorted(wanted, key=lambda want: want[1] == "library"):
        if key not in jobs:
            speaker.say(key, answer(kind, args, seconds, keep))
            if kind in FLUSHED:
                speaker.flush()
    if jobs:
        speaker.flush()
        from torchdoctor.target.want_commands import collect

        collect(jobs, speaker.say)
    speaker.say("end", {"value": True})


def start(wanted: "Wanted") -> "dict[str, Job]":
    """Start all commands that are there, on systems where they can be ended together with what they start."""
    commands = [want for want in wanted if want[1] == "command" and paths.which(want[2][0])]
    if not commands:
        return {}
    from torchdoctor.target.want_commands import Job

    return {key: Job(args, seconds, keep) for key, _, args, seconds, keep, _ in commands}


def answer(kind: str, args: "tuple[str, ...]", seconds: float, keep: "tuple[str, ...]") -> "dict[str, object]":
    """One answer; whatever becomes of it, the other wants are answered."""
    try:
        if kind == "library":
            return library(args, seconds)
        if kind == "command":
            return command(args, seconds, keep)
        timer(seconds)
        return {"value": QUICK[kind](args, keep)}
    except paths.Absent:
        return {"absent": True}
    except Late:
        return {"error": "no answer in %g s" % seconds}
    except Exception as error:
        return {"error": "%s: %s" % (type(error).__name__, str(error)[:300])}
    finally:
        timer(0)


def library(args: "tuple[str, ...]", seconds: float) -> "dict[str, object]":
    """A shared library is loaded only when a file of its name is there."""
    found = paths.library_files(args[0], args[2:])
    if not found:
        raise paths.Absent
    from torchdoctor.target.want_library import want_library

    return {"value": dict(want_library(args[0], args[1], seconds), found=found)}


def command(args: "tuple[str, ...]", seconds: float, keep: "tuple[str, ...]") -> "dict[str, object]":
    """A command that was not started beside the others: it is not there, or this is Windows."""
    if not paths.which(args[0]):
        raise paths.Absent
    from torchdoctor.target.want_commands import run_one

    return {"value": run_one(args, seconds, keep)}


def timer(seconds: float) -> None:
    """Set the system's timer for one want; 0 takes it back."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)
