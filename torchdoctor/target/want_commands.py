"""Commands, all at once, each with its deadline; one that will not end is left behind, not waited for."""

import os
import time

from torchdoctor.target.paths import as_text, kept, which

MYPY = False
if MYPY:
    from collections.abc import Callable

OUTPUT = 1024 * 1024
GRACE = 0.2  # seconds for output that comes after the end: a child of the command may hold the pipe for ever


class Job:
    """A command under way. ``||`` among its words parts it from one to try when it fails."""

    def __init__(self, args: "tuple[str, ...]", seconds: float, keep: "tuple[str, ...]") -> None:
        at = args.index("||") if "||" in args else len(args)
        self.args, self.rest, self.keep = args[:at], args[at + 1 :], keep
        self.limit = time.monotonic() + seconds
        self.answer = None  # type: dict[str, object] | None
        self.pipes = {}  # type: dict[int, str]
        self.texts = {}  # type: dict[str, bytes]
        self.code = None  # type: int | None
        self.pid, self.ended = 0, 0.0
        self.path = which(self.args[0])
        if self.path:
            self.spawn()

    def spawn(self) -> None:
        """Start it with nothing to read and two pipes to write to."""
        self.texts, self.code, self.ended = {"out": b"", "err": b""}, None, 0.0
        (out, out_end), (err, err_end), null = os.pipe(), os.pipe(), os.open(os.devnull, os.O_RDONLY)
        self.pipes = {out: "out", err: "err"}
        try:
            self.pid = launch(self.path, [self.path] + list(self.args[1:]), (null, out_end, err_end))
        except OSError as error:
            self.texts["err"] = str(error).encode()
            self.finish(None, False)
        for handle in (null, out_end, err_end):
            os.close(handle)

    def step(self, ready: "list[int]") -> None:
        """Read what is ready; notice the end and the deadline."""
        for handle in [handle for handle in self.pipes if handle in ready]:
            data = os.read(handle, 65536)
            name = self.pipes[handle]
            self.texts[name] = (self.texts[name] + data)[:OUTPUT]
            if not data:
                os.close(handle)
                del self.pipes[handle]
        if not self.ended and reap(self):
            self.ended = time.monotonic()
        if self.ended and (not self.pipes or time.monotonic() > self.ended + GRACE):
            self.finish(self.code, False)
        elif time.monotonic() > self.limit:
            self.stop()

    def stop(self) -> None:
        """End it with everything it started."""
        try:
            os.killpg(self.pid, 9)
        except OSError:
            pass
        for _ in range(20):
            if self.ended or reap(self):
                break
            time.sleep(0.01)
        self.finish(None, True)

    def finish(self, code: "int | None", timed_out: bool) -> None:
        """Keep the answer, or start what is to be tried instead."""
        for handle in self.pipes:
            os.close(handle)
        self.pipes = {}
        if code and self.rest:
            self.args, self.rest = self.rest, ()
            self.path = which(self.args[0]) or self.path
            self.spawn()
            return
        texts = {name: kept(as_text(data), self.keep) for name, data in self.texts.items()}
        self.answer = dict(texts, rc=code, timed_out=timed_out, path=self.path)


def reap(job: Job) -> bool:
    """Whether the command has ended; keeps its exit status, negative for a signal."""
    try:
        pid, status = os.waitpid(job.pid, os.WNOHANG)
    except OSError:  # somebody else collects the children of this process
        return True
    if pid:
        job.code = -(status & 127) or status >> 8
    return bool(pid)


def launch(path: str, argv: "list[str]", streams: "tuple[int, int, int]") -> int:
    """Start a command as the leader of a process group of its own."""
    env = dict(os.environ, LC_ALL="C")
    if hasattr(os, "posix_spawn"):
        actions = [(os.POSIX_SPAWN_DUP2, handle, number) for number, handle in enumerate(streams)]
        return os.posix_spawn(path, argv, env, file_actions=actions, setpgroup=0)
    pid = os.fork()
    if pid:
        return pid
    try:
        os.setpgid(0, 0)
        for number, handle in enumerate(streams):
            os.dup2(handle, number)
        os.execve(path, argv, env)
    finally:
        os._exit(127)


def collect(jobs: "dict[str, Job]", say: "Callable[[str, dict[str, object]], None]") -> None:
    """Wait for all commands together; each is told as soon as it is done."""
    import select

    waiting = dict(jobs)
    while waiting:
        handles = [handle for job in waiting.values() for handle in job.pipes]
        ready = select.select(handles, [], [], 0.01)[0]
        for key, job in list(waiting.items()):
            if job.answer is None:
                job.step(ready)
            if job.answer is not None:
                say(key, {"value": job.answer})
                del waiting[key]


def run_one(args: "tuple[str, ...]", seconds: float, keep: "tuple[str, ...]") -> "dict[str, object]":
    """A command on a system without process groups (Windows), waited for at once."""
    import subprocess

    words = args[1 : args.index("||")] if "||" in args else args[1:]
    path = which(args[0])
    null, pipe = subprocess.DEVNULL, subprocess.PIPE
    with subprocess.Popen([path] + list(words), stdin=null, stdout=pipe, stderr=pipe) as child:
        try:
            out, err = child.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            child.kill()
            return {"rc": None, "out": "", "err": "", "timed_out": True, "path": path}
    texts = [kept(as_text(data[:OUTPUT]), keep) for data in (out, err)]
    return {"rc": child.returncode, "out": texts[0], "err": texts[1], "timed_out": False, "path": path}
