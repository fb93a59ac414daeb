"""The values everything else speaks in: each one parses, orders and prints itself.

Nothing here knows a particular version; knowledge lives in compat_tables.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING

from torchdoctor.patterns import lazily
from torchdoctor.records import record

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from typing_extensions import Self


class Ordered:
    """Ordering by one key. Generated comparisons (``order=True``) would cost every start four compilations a class."""

    __slots__ = ()

    @property
    def order(self) -> tuple[int, ...]:
        """What values of this kind are ordered by."""
        raise NotImplementedError

    def __lt__(self, other: Self) -> bool:
        return self.order < other.order

    def __le__(self, other: Self) -> bool:
        return self.order <= other.order

    def __gt__(self, other: Self) -> bool:
        return self.order > other.order

    def __ge__(self, other: Self) -> bool:
        return self.order >= other.order


_NUMBERS = lazily(r"\d+(?:\.\d+)*")


@record(frozen=True, slots=True)
class Version(Ordered):
    """A dotted number such as ``2.14.1`` or ``580.65.06``; ``text`` keeps the leading zeros for printing."""

    parts: tuple[int, ...]

    @classmethod
    def parse(cls, text: str) -> Version:
        """Read a dotted number; raise ``ValueError`` when ``text`` is anything else."""
        if not _NUMBERS.fullmatch(text) or len(text) > 60:  # noqa: PLR2004 - no real version is longer
            raise ValueError(f"not a dotted version: {text[:60]!r}")
        return cls(tuple(int(part) for part in text.split(".")))

    @property
    def order(self) -> tuple[int, ...]:
        """The key of ordering."""
        return self.parts

    def reaches(self, floor: Version) -> bool:
        """Whether it is the floor or newer; parts that are left out are zeros: 14 reaches 14.0, and not 14.1."""
        missing = (0,) * (len(floor.parts) - len(self.parts))
        return (*self.parts, *missing) >= floor.parts

    def __str__(self) -> str:
        return ".".join(map(str, self.parts))


@record(frozen=True, slots=True, eq=False)
class DriverVersion(Ordered):
    """An NVIDIA driver version; Linux and Windows number the same branch differently, so compare within one OS.

    ``text`` is how it was written, and how it is printed: a Jetson's 540.4.0 keeps its single digits.
    """

    parts: tuple[int, ...]
    text: str = ""

    @classmethod
    def parse(cls, text: str) -> DriverVersion:
        """Read ``580.65.06`` or a bare branch ``580``; raise ``ValueError`` outside what NVIDIA has ever shipped."""
        if not re.fullmatch(r"\d{2,3}(\.\d{1,3}){0,2}", text):
            raise ValueError(f"not an NVIDIA driver version: {text[:60]!r}")
        return cls(tuple(int(part) for part in text.split(".")), text)

    @property
    def branch(self) -> int:
        """The leading number: 580 for 580.65.06."""
        return self.parts[0]

    def reaches(self, floor: DriverVersion) -> bool | None:
        """Whether it is the floor or newer; None where it is written so short that the floor may be above it."""
        is_begun = len(self.parts) < len(floor.parts) and self.parts == floor.parts[: len(self.parts)]
        return None if is_begun else self.parts >= floor.parts

    @property
    def order(self) -> tuple[int, ...]:
        """The key of ordering."""
        return self.parts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DriverVersion) and self.parts == other.parts

    def __hash__(self) -> int:
        return hash(self.parts)

    def __str__(self) -> str:
        return self.text or ".".join([str(self.parts[0]), *(f"{part:02d}" for part in self.parts[1:])])


@record(frozen=True, slots=True)
class CudaVersion(Ordered):
    """A CUDA version as ``major.minor``; patch levels never decide compatibility."""

    major: int
    minor: int

    @classmethod
    def parse(cls, text: str) -> CudaVersion:
        """Read ``12.8``, ``12.8.93`` or ``V12.8.93``; raise ``ValueError`` otherwise."""
        match = re.fullmatch(r"V?(\d{1,2})\.(\d{1,2})(?:\.\d+)*", text)
        if not match:
            raise ValueError(f"not a CUDA version: {text[:60]!r}")
        return cls(int(match[1]), int(match[2]))

    @classmethod
    def from_driver_number(cls, number: int) -> CudaVersion:
        """Decode cuDriverGetVersion's integer: 12080 is 12.8. Raise ``ValueError`` on an implausible one."""
        major, minor = number // 1000, number % 1000 // 10
        if not 1 <= major <= 99 or number % 10:  # noqa: PLR2004 - two digits, no patch: the documented coding
            raise ValueError(f"not a CUDA driver number: {number}")
        return cls(major, minor)

    @property
    def order(self) -> tuple[int, ...]:
        """The key of ordering."""
        return (self.major, self.minor)

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


@record(frozen=True, slots=True)
class GpuArch(Ordered):
    """An NVIDIA compute capability, of a GPU or of compiled code: 8.6, sm_86."""

    major: int
    minor: int

    @classmethod
    def parse_each(cls, names: Iterable[str]) -> Iterator[GpuArch]:
        """Those of the names that can be read: a pasted list may be mangled."""
        for name in names:
            with suppress(ValueError):
                yield cls.parse(name)

    @classmethod
    def parse(cls, text: str) -> GpuArch:
        """Read ``8.6``, ``sm_86``, ``compute_120``, ``12.0`` or ``sm_90a``; raise ``ValueError`` otherwise."""
        match = re.fullmatch(r"(?:sm_|compute_)(\d{1,2})(\d)[af]?|(\d{1,2})\.(\d)", text.strip())
        if not match:
            raise ValueError(f"not a compute capability: {text[:60]!r}")
        return cls(int(match[1] or match[3]), int(match[2] or match[4]))

    @property
    def sm(self) -> str:
        """The compiler's spelling: ``sm_86``."""
        return f"sm_{self.major}{self.minor}"

    @property
    def order(self) -> tuple[int, ...]:
        """The key of ordering."""
        return (self.major, self.minor)

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


@record(frozen=True, slots=True)
class GfxId:
    """An AMD GPU target such as ``gfx1100`` or ``gfx90a``; these match exactly, never by order."""

    name: str

    @classmethod
    def parse(cls, text: str) -> GfxId:
        """Read a gfx id; raise ``ValueError`` otherwise."""
        lowered = text.strip().lower()
        if not re.fullmatch(r"gfx[0-9a-f]{3,4}", lowered):
            raise ValueError(f"not a gfx id: {text[:60]!r}")
        return cls(lowered)

    def __str__(self) -> str:
        return self.name


@record(frozen=True, slots=True)
class Build:
    """A torch build variant as in compat_tables/torch_builds.csv: cu126, cpu, rocm7.2, xpu, mps."""

    name: str

    @classmethod
    def parse(cls, text: str) -> Build:
        """Read a variant or a local version label; raise ``ValueError`` when it is neither."""
        lowered = text.strip().lower().removeprefix("+").removesuffix(".with.pypi.cudnn").removesuffix(".cxx11.abi")
        if not re.fullmatch(r"cpu|mps|xpu|cu\d{2,3}|rocm\d+(\.\d+){0,3}", lowered):
            raise ValueError(f"not a torch build: {text[:60]!r}")
        return cls(lowered)

    @classmethod
    def of_cuda(cls, cuda: CudaVersion) -> Build:
        """The CUDA variant for a CUDA version: 12.6 gives cu126."""
        return cls(f"cu{cuda.major}{cuda.minor}")

    @property
    def backend(self) -> str:
        """The family: ``cuda``, ``rocm``, ``xpu``, ``mps`` or ``cpu``."""
        if self.name.startswith("cu"):
            return "cuda"
        return "rocm" if self.name.startswith("rocm") else self.name

    @property
    def cuda(self) -> CudaVersion | None:
        """The CUDA version of a ``cuXYZ`` variant, else None."""
        return CudaVersion(int(self.name[2:-1]), int(self.name[-1])) if self.backend == "cuda" else None

    def __str__(self) -> str:
        return self.name


@record(frozen=True, slots=True)
class PythonTag(Ordered):
    """A CPython ABI that wheels are built for: 3.12, or 3.13t for the free-threaded one."""

    major: int
    minor: int
    free_threaded: bool = False

    @classmethod
    def parse(cls, text: str) -> PythonTag:
        """Read ``3.12``, ``3.12.4``, ``3.13t`` or ``cp313t``; raise ``ValueError`` otherwise."""
        match = re.fullmatch(
            r"cp(\d)(\d{1,2})(t?)|(\d)\.(\d{1,2})(?:\.\d{1,3})?(?:(?:a|b|rc)\d+)?\+?(t?)", text.strip()
        )
        if not match:
            raise ValueError(f"not a Python version: {text[:60]!r}")
        return cls(int(match[1] or match[4]), int(match[2] or match[5]), bool(match[3] or match[6]))

    @property
    def order(self) -> tuple[int, ...]:
        """The key of ordering."""
        return (self.major, self.minor, int(self.free_threaded))

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}{'t' if self.free_threaded else ''}"


@record(frozen=True, slots=True)
class Libc:
    """The C library: ``glibc`` or ``musl``, and its version when known."""

    kind: str
    version: Version | None = None

    @classmethod
    def parse(cls, text: str) -> Libc:
        """Read ``glibc-2.35``, ``glibc2.35``, ``musl`` or ``musl-1.2``; raise ``ValueError`` otherwise."""
        match = re.fullmatch(r"(glibc|musl)[- ]?(\d+(?:\.\d+){1,2})?", text.strip().lower())
        if not match or (match[1] == "glibc" and not match[2]):
            raise ValueError(f"not a C library: {text[:60]!r}")
        return cls(match[1], Version.parse(match[2]) if match[2] else None)

    def __str__(self) -> str:
        return f"{self.kind}-{self.version}" if self.version else self.kind


_MACHINES = {"amd64": "x86_64", "x86_64": "x86_64", "x64": "x86_64", "win_amd64": "x86_64", "x86-64": "x86_64"}
_ARM = {"arm64", "aarch64", "win_arm64"}


def canonical_machine(text: str, os_name: str | None = None) -> str:
    """One spelling per machine: AMD64 is ``x86_64``; 64-bit Arm is ``aarch64`` on Linux, else ``arm64``."""
    lowered = text.strip().lower()
    if lowered in _ARM:
        return ("aarch64" if os_name == "linux" else "arm64") if os_name else lowered.removeprefix("win_")
    return _MACHINES.get(lowered, lowered)


def visible_count(mask: str, count: int) -> int:
    """Return how many of ``count`` GPUs a CUDA_VISIBLE_DEVICES value leaves.

    CUDA stops reading at the first entry that names no GPU, and lists none when one is named twice.
    """
    chosen: list[str] = []
    for entry in mask.split(","):
        text = entry.strip()
        if not (text.startswith(("GPU-", "MIG-")) or (text.isdecimal() and int(text) < count)):
            break
        if text in chosen:
            return 0
        chosen.append(text)
    return len(chosen)
