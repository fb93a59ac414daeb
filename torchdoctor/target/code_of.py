"""The device code of one file: an ELF or PE library, a Metal library, or a bare fat binary."""

from torchdoctor.target import elf, fatbin, hip_bundle, metal, pe
from torchdoctor.target.binary import Damaged, mapped

MYPY = False
if MYPY:
    from typing import Any

    from torchdoctor.target.binary import Bytes


MACH_O = (
    b"\xcf\xfa\xed\xfe",
    b"\xce\xfa\xed\xfe",
    b"\xca\xfe\xba\xbe",
    b"\xca\xfe\xba\xbf",
)  # macOS: Metal code is compiled there
SCRIPT = b"/* GNU ld script"  # what a development package has in place of a library
BARE = (190, 224)  # the machines of CUDA and AMD GPUs


def code_of(path: str) -> "dict[str, Any] | None":
    """What device code a file holds; None: none. ``Damaged`` and ``OSError`` where it cannot be read at all."""
    with mapped(path) as data:
        found = listed(data)
        return dict(found, size=len(data)) if found else None


def listed(data: "Bytes") -> "dict[str, Any] | None":
    """The same of bytes at hand, by what their first bytes say they are."""
    if data[:4] == fatbin.MAGIC:
        return library("fatbin", data, {fatbin.EXECUTABLE[0]: (0, len(data))})
    if metal.is_library(bytes(data[:4])):
        return {"format": "metallib", "error": ""}
    if data[:2] == pe.MAGIC:
        return library("pe", data, pe.sections(data))
    if data[:4] == elf.MAGIC:
        return of_elf(data)
    if data[:4] in MACH_O or data[: len(SCRIPT)] == SCRIPT:
        return None
    raise Damaged("neither an ELF nor a PE file: it starts with %s" % shown(bytes(data[:12])))


def of_elf(data: "Bytes") -> "dict[str, Any] | None":
    """The device code of an ELF library; of bare code for a GPU the variant stands nowhere, so it is not guessed."""
    if elf.Elf(data).machine in BARE:
        raise Damaged("bare code for a GPU: only libraries and fat binaries are read")
    return library("elf", data, elf.sections(data))


def shown(head: bytes) -> str:
    """The first bytes for people: as text where they are one."""
    word = head.partition(b"\n")[0].decode("ascii", "replace")
    return repr(word) if word.isprintable() and "\ufffd" not in word else head.hex()


def library(form: str, data: "Bytes", sections: "dict[str, tuple[int, int]]") -> "dict[str, Any] | None":
    """The fat binaries and bundles in the sections of a library; a section that holds none is as good as none."""
    found = fatbin.listed_in(data, sections)
    if found:
        return dict(found, format=form)
    if sections.get(hip_bundle.SECTION, (0, 0))[1]:
        bundles = hip_bundle.listed(data, *sections[hip_bundle.SECTION])
        return dict(bundles.answer(), format=form, error=bundles.error)
    return None
