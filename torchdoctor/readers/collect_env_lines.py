"""The lines of a collect_env report: labelled fields, what may follow them, and what the platform lines show."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from torchdoctor.patterns import lazily
from torchdoctor.readers.statement import Said
from torchdoctor.records import record

_NOTHING = {"", "n/a", "none", "no cuda", "could not collect", "no relevant packages"}
_CONTINUATION = lazily(
    r"\s*(?:GPU \d{1,3}\s*[:\uff1a]|MIG \S+\s+Device|\* \S|/\S+libcudnn|={10,}"
    r"|Name\s*[=:]|Architecture\s*[=:]\s*\d|Manufacturer\s*[=:])"
)
_TITLE = lazily(
    r"\s*(?:(?:System|PyTorch|Python|CUDA / GPU|CPU|vLLM) (?:Info|Environment)$"
    r"|(?:CurrentClockSpeed|MaxClockSpeed|DeviceID|Family|L2Cache\w+|ProcessorType|Revision)\s*[=:])"
)


@record(frozen=True, slots=True)
class Field:
    """The value after a label, where it stands, and the lines up to the next label."""

    value: str
    source: str
    more: list[str]

    @property
    def is_nothing(self) -> bool:
        """Whether this is one of the report's words for nothing."""
        return self.value.lower() in _NOTHING


Fields = Mapping[str, Field]
Reader = Callable[[Field, Fields], Iterator[Said]]


def is_continuation(text: str) -> bool:
    """Whether a line without a label belongs to the report."""
    return bool(_CONTINUATION.match(text) or _TITLE.match(text))


def has_key(text: str) -> bool:
    """Whether a line is a ``key: value`` or ``key=value`` line."""
    return bool(re.match(r"\s*[\w() ]{1,40}[:=]", text))


def has_xpu(fields: Fields) -> bool:
    """Whether torch is the build for Intel GPUs."""
    available = fields.get("is xpu available")
    if "pytorch version" in fields and fields["pytorch version"].value.endswith("+xpu"):
        return True
    return "xpu used to build pytorch" in fields or bool(
        available and available.value.lower().startswith(("true", "yes"))
    )


def is_macos(fields: Fields) -> bool:
    """Whether the host runs macOS."""
    return any(
        fields[label].value.lower().startswith(("mac", "darwin"))
        for label in ("os", "python platform")
        if label in fields
    )


def is_apple(fields: Fields) -> bool:
    """Whether the interpreter is a native one on Apple silicon."""
    texts = [fields[label].value.lower() for label in ("os", "python platform") if label in fields]
    return any(text.startswith(("mac", "darwin")) for text in texts) and any("arm64" in text for text in texts)
