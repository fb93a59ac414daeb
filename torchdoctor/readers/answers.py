"""A live recording as the readers see it: typed answers; one that is missing or of another shape reads as nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torchdoctor.recording import Recording, Want

PYTHON = Want("python")
MEMINFO = Want("file", ("/proc/meminfo",), keep=("MemTotal", "MemAvailable"))
BUS = Want("stat", ("/sys/bus",))


class Answers:
    """Answers by want. ``looked`` tells "not there" from "nobody asked, or asking failed"."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording

    def looked(self, want: Want) -> bool:
        """Whether the host answered this want, absence included."""
        answer = self.recording.answer(want)
        return answer is not None and not answer.error

    def text(self, want: Want) -> str:
        """A text; empty when there is none."""
        value = self._value(want)
        return value if isinstance(value, str) else ""

    def number(self, want: Want) -> int | None:
        """A number, or None."""
        value = self._value(want)
        return value if isinstance(value, int) else None

    def table(self, want: Want) -> Mapping[str, Any]:
        """An object; empty when there is none."""
        value = self._value(want)
        return value if isinstance(value, dict) else {}

    def texts(self, want: Want) -> Mapping[str, str]:
        """An object of texts."""
        return {name: text for name, text in self.table(want).items() if isinstance(text, str)}

    def names(self, want: Want) -> Sequence[str]:
        """A list of texts."""
        value = self._value(want)
        return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []

    def rows(self, want: Want) -> Sequence[Mapping[str, Any]]:
        """A list of objects."""
        value = self._value(want)
        return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []

    def _value(self, want: Want) -> Any:
        answer = self.recording.answer(want)
        return None if answer is None else answer.value

    @property
    def python(self) -> Mapping[str, Any]:
        """What the examined interpreter said of itself."""
        return self.table(PYTHON)

    def said(self, name: str) -> str:
        """A text the interpreter said of itself."""
        value = self.python.get(name)
        return value if isinstance(value, str) else ""

    def uname(self, name: str) -> str:
        """A field of the kernel's own name."""
        fields = self.python.get("uname")
        value = fields.get(name) if isinstance(fields, dict) else None
        return value if isinstance(value, str) else ""

    @property
    def os_name(self) -> str:
        """``linux``, ``windows``, ``macos``, or what the interpreter calls its platform."""
        platform = self.said("platform")
        return {"win32": "windows", "cygwin": "windows", "darwin": "macos"}.get(
            platform, "linux" if platform.startswith("linux") else platform
        )

    @property
    def has_proc(self) -> bool:
        """Whether /proc is mounted there: without it a missing file of it says nothing."""
        return bool(self.text(MEMINFO))

    @property
    def has_sys(self) -> bool:
        """Whether /sys is mounted there."""
        return bool(self.table(BUS))

    @property
    def is_wsl(self) -> bool:
        """Whether this Linux runs inside Windows."""
        return "microsoft" in self.uname("release").lower()

    @property
    def is_tegra(self) -> bool:
        """Whether this Linux is Jetson's."""
        return self.uname("release").endswith("tegra")
