"""What a policy or an option wants of a host: requirements, and findings that are to be set aside."""

from __future__ import annotations

from torchdoctor.records import record


@record(frozen=True, slots=True)
class Requirement:
    """What one fact has to be: the key of a policy, what it says there, and where it stands."""

    key: str  # require.driver, require.packages.flash-attn, bench.bf16-tflops-min
    wanted: str  # a range, a number, a regular expression, or words separated by commas
    source: str = ""  # a file, an option or a variable


@record(frozen=True, slots=True)
class Ignore:
    """A finding to set aside, by its id or a pattern such as ``driver-*``; until a day of ISO form, or for good."""

    id: str
    source: str = ""
    until: str = ""
    reason: str = ""
