"""How a program in the examined interpreter answers: JSON between marks, kept apart from everybody else's words."""

import os
import sys

try:
    from _json import encode_basestring_ascii as quote
except ImportError:
    from json import dumps as quote


def dumps(value: object) -> str:
    """JSON in ASCII; importing the json module would cost more than a whole run of the probe."""
    if isinstance(value, dict):
        return "{%s}" % ",".join("%s:%s" % (quote(key), dumps(item)) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return "[%s]" % ",".join(map(dumps, value))
    if value is None or isinstance(value, bool):
        return "null" if value is None else "true" if value else "false"
    if isinstance(value, float):
        return repr(value) if value - value == 0 else "null"  # JSON knows no infinity
    return str(value) if isinstance(value, int) else quote(str(value))


def flush_printed() -> None:
    """Write out what was printed; whatever was imported may have closed or replaced the streams."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            continue


TOGETHER = 20  # answers in one write


class Speaker:
    """Keeps the real standard output for answers and sends all other output to standard error."""

    def __init__(self, nonce: str) -> None:
        self.nonce = nonce
        self.pending = []  # type: list[str]
        flush_printed()
        self.out = os.dup(1)
        os.dup2(2, 1)

    def say(self, key: str, answer: "dict[str, object]") -> None:
        """Add an answer; a few at a time are written, so that a run cut short still leaves most of what it had."""
        self.pending.append("\n%s<%s>%s\n" % (self.nonce, dumps([key, answer]), self.nonce))
        if len(self.pending) >= TOGETHER:
            self.flush()

    def flush(self) -> None:
        """Write what is pending."""
        data = "".join(self.pending).encode("ascii")
        self.pending = []
        while data:
            data = data[os.write(self.out, data) :]
