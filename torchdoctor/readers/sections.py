"""Split a pasted text into the parts somebody can read; what is left are the lines of a log."""

from __future__ import annotations

import re

from torchdoctor.facts import Message
from torchdoctor.readers import collect_env, nvidia_smi_parts, package_lists
from torchdoctor.readers.document import Document, Part
from torchdoctor.readers.recogniser import Recogniser

MOST_MESSAGES = 20_000
_RULER = re.compile(r"[\s`~=*+|_-]*$")
_FINDERS = (nvidia_smi_parts.find, collect_env.find, package_lists.find)


def find_parts(document: Document) -> list[Part]:
    """Every part of a known form; a line belongs to one part at most."""
    return [part for find in _FINDERS for part in find(document) if part.lines]


def recognisers() -> list[Recogniser]:
    """The recognisers of single lines, the more particular ones first."""
    from torchdoctor.readers import (
        bus_lines,
        compile_lines,
        driver_lines,
        free_form,
        installer_lines,
        kernel_log_lines,
        sessions,
        system_lines,
        tool_lines,
        trace_lines,
        variables,
    )

    machine = (bus_lines, kernel_log_lines, driver_lines, system_lines)
    programs = (tool_lines, installer_lines, sessions, compile_lines, trace_lines, variables, free_form)
    items = [item for module in (*machine, *programs) for item in module.RECOGNISERS]
    return [*items, *system_lines.LAST]


def messages(document: Document) -> tuple[Message, ...]:
    """The lines nobody has taken, for readers of logs: of too many, the first and the last."""
    lines = [(index, text) for index, text in document.free() if not _RULER.match(text)]
    if len(lines) > MOST_MESSAGES:
        half = MOST_MESSAGES // 2
        lines = [*lines[:half], *lines[-half:]]
    return tuple(Message(text, document.at(index)) for index, text in lines)
