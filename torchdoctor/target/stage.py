"""Runs one script as a trial: its events are told as they happen, and a stage that takes too long prints its stack."""

import faulthandler
import sys

from torchdoctor.target.speaker import Speaker

MYPY = False
if MYPY:
    from typing import Any


def main(nonce: str, path: "list[str]", request: "dict[str, Any]") -> None:
    """Run the module named in the request; ``limits`` are the seconds of the stage "import" and of any other."""
    sys.path[:] = path
    speaker = Speaker(nonce)
    faulthandler.enable()
    limits = request["limits"]

    def tell(kind: str, fields: "dict[str, Any]") -> None:
        if kind == "stage":
            family = fields["id"].split("-")[0]
            faulthandler.dump_traceback_later(limits.get(fields["id"], limits.get(family, limits["other"])))
        speaker.say(kind, fields)
        speaker.flush()

    module = __import__("torchdoctor.target." + request["module"], fromlist=["main"])
    module.main(tell, request)
    faulthandler.cancel_dump_traceback_later()
    tell("end", {})
