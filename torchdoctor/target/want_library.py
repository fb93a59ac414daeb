"""A shared library, loaded as a program would load it and asked for one number, in a child that may crash or hang."""

import os
import time

from torchdoctor.target.paths import FILE, read
from torchdoctor.target.speaker import dumps

MYPY = False
if MYPY:
    from typing import Any


def want_library(soname: str, function: str, seconds: float) -> "dict[str, Any]":
    """Which file the loader takes, and what the function says."""
    return ask_in_child(soname, function, seconds) if hasattr(os, "fork") else ask(soname, function)


def ask_in_child(soname: str, function: str, seconds: float) -> "dict[str, Any]":
    """Load and ask in a forked child, and listen to it until the deadline."""
    inner, outer = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            os.write(outer, dumps(ask(soname, function)).encode("ascii"))
        finally:
            os._exit(0)
    os.close(outer)
    text = listen(inner, seconds)
    ended = bool(text)
    for _ in range(10):
        ended = bool(os.waitpid(pid, os.WNOHANG)[0])
        if ended:
            break
        time.sleep(0.005)
    if not ended:
        os.kill(pid, 9)
    if not text:
        return {"path": "", "number": None, "error": "the loader crashed" if ended else "no answer in %g s" % seconds}
    import json

    return dict(json.loads(text))


def listen(handle: int, seconds: float) -> str:
    """Everything written to a pipe until it closes or the deadline comes."""
    import select

    data, limit = b"", time.monotonic() + seconds
    while select.select([handle], [], [], max(0.0, limit - time.monotonic()))[0]:
        more = os.read(handle, 65536)
        if not more:
            break
        data += more
    os.close(handle)
    return data.decode("ascii")


def ask(soname: str, function: str) -> "dict[str, Any]":
    """Call ``int function(int *)``."""
    import ctypes

    number = ctypes.c_int(0)
    try:
        code = getattr(ctypes.CDLL(soname), function)(ctypes.byref(number))
    except (OSError, AttributeError) as problem:
        return {"path": "", "number": None, "error": str(problem)[:300]}
    error = "%s returned %d" % (function, code) if code else ""
    return {"path": mapped(soname), "number": None if code else number.value, "error": error}


def mapped(soname: str) -> str:
    """The file behind a loaded library, links resolved; its bare name where the system does not tell."""
    try:
        lines = read("/proc/self/maps", 16 * FILE).splitlines()
    except OSError:
        return soname
    stem = soname.partition(".so")[0] + "."
    paths = (line[line.index("/") :] for line in lines if "/" in line)
    return next((path for path in paths if os.path.basename(path).startswith(stem)), soname)
