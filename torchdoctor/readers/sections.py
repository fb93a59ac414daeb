"""Split a pasted text into the parts somebody can read; what is left are the lines of a log."""

from __future__ import annotations

from torchdoctor.readers import collect_env, nvidia_smi_parts, package_lists
from torchdoctor.readers.document import Document, Part
from torchdoctor.readers.recogniser import Recogniser

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
        gpu_answers,
        image_lines,
        installer_lines,
        installer_requests,
        job_lines,
        kernel_log_lines,
        memory_lines,
        printed_lines,
        program_lines,
        sessions,
        system_lines,
        tool_lines,
        trace_lines,
        typed_installs,
        variables,
        vendor_tools,
    )

    machine = (bus_lines, vendor_tools, kernel_log_lines, driver_lines, job_lines, system_lines)
    programs = (tool_lines, installer_lines, installer_requests, typed_installs, image_lines, sessions, compile_lines)
    words = (program_lines, gpu_answers, printed_lines, memory_lines, trace_lines, variables, free_form)
    items = [item for module in (*machine, *programs, *words) for item in module.RECOGNISERS]
    return [*items, *system_lines.LAST]
