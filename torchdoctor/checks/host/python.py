"""Whether any official torch wheel fits the interpreter itself: its ABI and its word size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torchdoctor.checks.installed import official_rows
from torchdoctor.checks.registry import check, seen
from torchdoctor.facts import Facts, NotKnownError, is_known, known, need, value_or
from torchdoctor.findings import Evidence, Finding, Remedy, Row, Text
from torchdoctor.tables import Tables
from torchdoctor.tables.torch_builds import TorchBuild
from torchdoctor.values import PythonTag, Version

NARROW_BITS = 32


@check("python-wrong-arch", severity="error", parent="python-unsupported")
def python_wrong_arch(facts: Facts, _tables: Tables) -> Iterator[Finding]:
    """The interpreter is 32-bit, or an x86-64 one translated by Rosetta on Apple silicon."""
    if value_or(facts.python.bits, 0) == NARROW_BITS and facts.torch.installed is not True:
        yield _narrow(facts)
        return
    if is_translated(facts):
        yield _translated(facts)
        return
    known(facts.python.bits)


@check("python-unsupported", decides=True, severity="error", after=("python-wrong-arch", "os-unsupported"))
def python_unsupported(facts: Facts, tables: Tables) -> Iterator[Finding]:
    """No torch wheel exists for this Python version or ABI on this system."""
    tag = need(facts.python.tag)
    if known(facts.torch.installed):
        yield from _wrong_abi(facts, tag, tables)
        if is_known(facts.torch.offered):  # another version was asked for beside the installed one
            raise NotKnownError("list of Pythons for the wanted torch")
        return
    rows = tables.torch_builds.for_host(need(facts.os.name), wheel_machine(facts))
    if value_or(facts.python.implementation, "cpython") != "cpython":
        yield _unserved(facts, rows, seen(facts, "python.implementation", facts.python.implementation))
    elif rows and all(row.pythons for row in rows) and not any(tag in row.pythons for row in rows if row.emit):
        yield _unserved(facts, rows, seen(facts, "python.tag", tag))


def is_translated(facts: Facts) -> bool:
    """Whether an x86-64 interpreter runs on Apple silicon: Rosetta says so, or the processor's own name does."""
    if value_or(facts.place.rosetta, False):
        return True
    on_intel_mac = value_or(facts.os.name, "") == "macos" and _is_x86(facts)
    return on_intel_mac and value_or(facts.cpu.model, "").startswith("Apple")


def wheel_machine(facts: Facts) -> str:
    """Return the machine that wheels must be built for: the interpreter's own where it is known."""
    return value_or(facts.python.machine, "") or need(facts.os.machine)


def _is_x86(facts: Facts) -> bool:
    machine = value_or(facts.python.machine, "") or value_or(facts.os.machine, "")
    return machine.startswith("x86")


def _narrow(facts: Facts) -> Finding:
    return Finding(
        summary=Text("Python is a {bits}-bit build; torch wheels are 64-bit only", bits=facts.python.bits),
        why=Text(
            "torch has never had 32-bit wheels, so pip finds none of its versions or only a placeholder of the name. "
            "The Python version is not the reason, and another index does not help."
        ),
        evidence=(seen(facts, "python.bits", facts.python.bits),),
        remedies=(
            Remedy(
                Text("Install a 64-bit Python (on a 32-bit system: a 64-bit system) and make the environment anew"),
                ("python -c \"import struct; print(struct.calcsize('P') * 8)\"",),
            ),
        ),
    )


def _translated(facts: Facts) -> Finding:
    evidence = [seen(facts, "place.rosetta", True)] if value_or(facts.place.rosetta, False) else []
    model = value_or(facts.cpu.model, "")
    return Finding(
        summary=Text("x86-64 Python runs translated on Apple silicon"),
        why=Text(
            "Wheels for Intel Macs ended long ago, and under Rosetta macOS shows an old compatibility version, so "
            "newer features refuse to work. The Mac itself is fine: a native arm64 Python gets current wheels with "
            "Apple GPU support."
        ),
        evidence=(*evidence, *([seen(facts, "cpu.model", model)] if model else [])),
        remedies=(
            Remedy(
                Text(
                    "Make the environment with an arm64 Python and install torch there; this prints arm64 in a native "
                    "one"
                ),
                ('python -c "import platform; print(platform.machine())"',),
            ),
        ),
        severity="error" if facts.torch.installed is False else "warning",
    )


def _wrong_abi(facts: Facts, tag: PythonTag, tables: Tables) -> Iterator[Finding]:
    """An installed torch that was built for the ordinary ABI cannot be loaded by a free-threaded interpreter."""
    rows = [row for row in official_rows(facts, tables) if row.pythons] if tag.free_threaded else []
    if not rows or any(tag in row.pythons for row in rows):
        return
    row = rows[0]
    yield Finding(
        summary=Text("torch {torch} has no build for free-threaded Python {python}", torch=row.torch, python=tag),
        why=Text(
            "A free-threaded interpreter shares its package folder with the ordinary one, but loads only extension "
            "modules built for its own ABI. torch is not damaged and this is not the source tree that the message "
            "speaks of."
        ),
        evidence=(seen(facts, "python.tag", tag), seen(facts, "torch.version", facts.torch.version)),
        remedies=(
            Remedy(
                Text("Run the ordinary build of Python {python}", python=_ordinary(tag)),
                (f"uv venv --python {_ordinary(tag)}",),
            ),
            Remedy(Text("Install a torch that has wheels for {python}", python=tag), installs=True),
        ),
        confidence="likely",
        row=Row("torch_builds", row.key, row.source),
    )


def _unserved(facts: Facts, rows: Sequence[TorchBuild], because: Evidence) -> Finding:
    nearest = _nearest(facts, rows)
    return Finding(
        summary=Text("no torch wheel exists for {kind} {python}", kind=_kind(facts), python=facts.python.tag),
        why=Text(
            "Wheels are built for particular Python versions and ABIs, and none of any torch release has this one on "
            "{os} {machine}. Upgrading pip or changing the index does not help.",
            os=facts.os.name,
            machine=wheel_machine(facts),
        ),
        evidence=(because,),
        remedies=(
            Remedy(Text("Make the environment with Python {python}", python=nearest), (f"uv venv --python {nearest}",)),
        ),
        row=Row("torch_builds", rows[0].key, rows[0].source) if rows else None,
    )


def _kind(facts: Facts) -> str:
    return (
        "Python" if value_or(facts.python.implementation, "cpython") == "cpython" else str(facts.python.implementation)
    )


def _ordinary(tag: PythonTag) -> PythonTag:
    return PythonTag(tag.major, tag.minor)


def _nearest(facts: Facts, rows: Sequence[TorchBuild]) -> PythonTag:
    """Return the ordinary Python nearest to the host's that the newest torch with known Pythons has wheels for."""
    tag = need(facts.python.tag)
    newest: Version | None = next((row.torch for row in rows if row.pythons), None)
    offered = sorted(
        {python for row in rows if row.torch == newest for python in row.pythons if not python.free_threaded}
    )
    if _ordinary(tag) in offered or not offered:
        return _ordinary(tag)
    return offered[0] if tag < offered[0] else offered[-1]
