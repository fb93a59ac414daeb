"""Runs one script as a trial: its events are told as they happen, and a stage that takes too long prints its stack."""

import faulthandler
import os
import sys

from torchdoctor.target.speaker import Speaker, flush_printed

MYPY = False
if MYPY:
    from typing import Any


def main(nonce: str, path: "list[str]", request: "dict[str, Any]") -> None:
    """Run the module named in the request; ``limits`` are the seconds of the stage "import" and of any other."""
    speaker = Speaker(nonce)
    faulthandler.enable(2)  # not sys.stderr, which an import may close or take away
    limits = request["limits"]

    def tell(kind: str, fields: "dict[str, Any]") -> None:
        if kind == "stage":
            family = fields["id"].split("-")[0]
            faulthandler.dump_traceback_later(limits.get(fields["id"], limits.get(family, limits["other"])), file=2)
        speaker.say(kind, fields)
        speaker.flush()

    before = set(sys.modules)
    end_with(request.get("parent"))
    module = __import__("torchdoctor.target." + request["module"], fromlist=["main"])
    sys.path[:] = path
    forget(set(sys.modules) - before)
    module.main(tell, request)
    faulthandler.cancel_dump_traceback_later()
    tell("end", {})
    flush_printed()
    os._exit(0)  # all is told and tidied; an interpreter that holds torch takes a third of its import to leave


def end_with(parent: "int | None") -> None:
    """Let Linux end this process with the one that started it, whatever ends that; with no other process between."""
    if not sys.platform.startswith("linux") or os.getppid() != parent:
        return
    try:
        import ctypes

        ctypes.CDLL(None).prctl(1, 9, 0, 0, 0)  # PR_SET_PDEATHSIG, SIGKILL
    except Exception:
        pass


def forget(names: "set[str]") -> None:
    """What our own parts loaded, and a file of the user's would hide: torch is to meet that file, as it would anyway."""
    library = os.path.dirname(os.__file__)
    for entry in sys.path:
        if entry == library:
            return
        for name in names:
            place = os.path.join(entry, name)
            if os.path.isfile(place + ".py") or os.path.isfile(os.path.join(place, "__init__.py")):
                sys.modules.pop(name, None)
