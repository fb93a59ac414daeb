"""Whether official torch wheels fit the operating system, its C library and the processor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torchdoctor.checks.drivers import severity
from torchdoctor.checks.host.python import is_translated, wheel_machine
from torchdoctor.checks.installed import official_rows, torch_was_imported
from torchdoctor.checks.registry import check, seen
from torchdoctor.facts import Facts, known, need, value_or
from torchdoctor.findings import Evidence, Finding, Remedy, Row, Text
from torchdoctor.tables import Tables
from torchdoctor.tables.torch_builds import TorchBuild
from torchdoctor.values import Libc, Version

OLD_WSL = 1


@check("os-unsupported", severity="error", after=("python-wrong-arch",))
def os_unsupported(facts: Facts, tables: Tables) -> Iterator[Finding]:
    """No current torch wheel exists for this operating system and machine."""
    if value_or(facts.place.wsl, None) == OLD_WSL:
        yield _first_wsl(facts)
    os_name, machine = need(facts.os.name), wheel_machine(facts)
    if known(facts.torch.installed) or is_translated(facts) or value_or(facts.python.bits, 64) != 64:  # noqa: PLR2004 - bits
        return
    rows = tables.torch_builds.for_host(os_name, machine)
    here = Text("{os} on {machine}", os=os_name, machine=machine)
    if not rows:
        yield _never_served(facts, here)
    elif rows[0].torch < tables.torch_builds.newest():
        yield _ended(facts, here, rows[0], tables)
    elif not any(row.on_pypi for row in rows):
        yield _not_on_pypi(facts, here, rows, tables)
    else:
        yield from _old_macos(facts, rows)


@check("glibc-too-old", decides=True, severity="error")
def glibc_too_old(facts: Facts, tables: Tables) -> Iterator[Finding]:
    """The C library is older than torch wheels need, or is not glibc."""
    os_name = need(facts.os.name)
    libc = need(facts.os.libc)
    rows = tables.torch_builds.for_host(os_name, wheel_machine(facts))
    if known(facts.torch.installed):
        yield from _installed_needs_more(facts, libc, tables)
    else:
        yield from _nothing_current_fits(facts, libc, rows)


@check("cpu-instructions-missing", severity="error")
def cpu_instructions_missing(facts: Facts, _tables: Tables) -> Iterator[Finding]:
    """The processor lacks the AVX instructions that parts of the wheels use without asking."""
    flags = need(facts.cpu.flags)
    if not wheel_machine(facts).startswith("x86") or "avx" in flags or torch_was_imported(facts):
        return
    virtual = value_or(facts.place.virtual_machine, None) or ("hypervisor" if "hypervisor" in flags else None)
    yield Finding(
        summary=Text("the processor shows no AVX instructions"),
        why=Text(
            "Official wheels hold libraries compiled for AVX and AVX2; where these are missing, torch or a package "
            "beside it can end with 'Illegal instruction'. No other wheel, driver or CUDA version changes that. "
            "Virtual machines often hide instructions that the physical processor has."
        ),
        evidence=(seen(facts, "cpu.flags", "no avx, no avx2"),),
        remedies=_more_instructions(virtual is not None),
        fixable_by="admin" if virtual else "user",
        confidence="likely",
    )


def _more_instructions(virtual: bool) -> tuple[Remedy, ...]:
    other = Remedy(Text("Use a machine whose processor has AVX2, or build torch from source on this one"), ("lscpu",))
    if not virtual:
        return (other,)
    host = Remedy(Text("Give the virtual machine the host's processor type (type 'host')"), risk="changes-system")
    return (host, other)


def _first_wsl(facts: Facts) -> Finding:
    return Finding(
        summary=Text("WSL version {wsl} has no GPU", wsl=OLD_WSL),
        why=Text(
            "Only the second version of WSL passes a GPU through. Nothing installed inside this one can change that."
        ),
        evidence=(seen(facts, "place.wsl", facts.place.wsl),),
        remedies=(
            Remedy(
                Text("Convert the distribution to WSL 2, from Windows"),
                ("wsl.exe --list --verbose", "wsl.exe --set-version DISTRIBUTION 2"),
                risk="changes-system",
            ),
        ),
        severity=severity(facts),
    )


def _never_served(facts: Facts, here: Text) -> Finding:
    return Finding(
        summary=Text("no torch wheel exists for {here}", here=here),
        why=Text(
            "Official wheels cover few systems and machines; for others pip finds no version, whatever the Python or "
            "the index."
        ),
        evidence=_system(facts),
        remedies=(
            Remedy(
                Text("Use the distribution's or conda-forge's package where it has one, or build torch from source")
            ),
        ),
    )


def _ended(facts: Facts, here: Text, last: TorchBuild, tables: Tables) -> Finding:
    limits = (row for row in tables.torch_requirements.rows if row.other == "numpy" and last.torch <= row.subject_max)
    numpy = next((f" 'numpy<{row.other_min}'" for row in limits), "")
    return Finding(
        summary=Text("torch wheels for {here} ended with {last}", here=here, last=last.torch),
        why=Text(
            "The newest torch is {newest}; pip offers nothing after {last} here. pip and Python are not at fault, and "
            "no index holds newer wheels.",
            newest=tables.torch_builds.newest(),
            last=last.torch,
        ),
        evidence=_system(facts),
        remedies=(
            Remedy(
                Text("Install the last release, beside a numpy of its time"),
                (f"python -m pip install torch=={last.torch}{numpy}",),
            ),
            _newer(facts, last, tables),
        ),
        row=Row("torch_builds", last.key, last.source),
    )


def _newer(facts: Facts, last: TorchBuild, tables: Tables) -> Remedy:
    """Where a newer torch is: with conda-forge, if it went on building for this system."""
    rows = tables.of_conda().torch_builds.for_host(need(facts.os.name), wheel_machine(facts))
    if not rows or rows[0].torch <= last.torch:
        return Remedy(Text("For a newer torch use another machine"))
    text = Text("Or take conda-forge's package, which goes up to torch {torch}", torch=rows[0].torch)
    return Remedy(text, ("torchdoctor install-cmd --tool conda",))


def _not_on_pypi(facts: Facts, here: Text, rows: Sequence[TorchBuild], tables: Tables) -> Finding:
    row = next((row for row in rows if row.pythons), rows[0])
    address = tables.indexes.url(row.indexes[0], variant=row.build)
    return Finding(
        summary=Text("PyPI holds no torch wheel for {here}", here=here),
        why=Text(
            "Wheels for this system are only on the PyTorch index, as {build} builds and not for every Python. "
            "Python's version or word size is not the reason that pip finds none.",
            build=row.build,
        ),
        evidence=_system(facts),
        remedies=(
            Remedy(
                Text("Install the {build} build from the PyTorch index", build=row.build),
                (f"python -m pip install torch --index-url {address}",),
            ),
            Remedy(Text("Or use an x86-64 Python, which the system runs by emulation")),
        ),
        row=Row("torch_builds", row.key, row.source),
    )


def _old_macos(facts: Facts, rows: Sequence[TorchBuild]) -> Iterator[Finding]:
    """The newest torch asks for a newer macOS than this one."""
    newest = [row for row in rows if row.torch == rows[0].torch and row.os_min]
    if not newest:
        return
    version, needed = _version(need(facts.os.version)), min(row.os_min for row in newest if row.os_min)
    if version is None or version.reaches(needed):
        return
    last = next((row for row in rows if row.os_min is None or version.reaches(row.os_min)), None)
    yield Finding(
        summary=Text(
            "macOS {version} is older than {needed}, the floor of torch {torch}",
            version=version,
            needed=needed,
            torch=rows[0].torch,
        ),
        why=Text(
            "Each wheel names the oldest macOS it runs on; the newest one that fits here is torch {last}.",
            last=last.torch if last else "none",
        ),
        evidence=(seen(facts, "os.version", facts.os.version),),
        remedies=(
            Remedy(Text("Update macOS to {needed} or newer", needed=needed), risk="changes-system"),
            Remedy(Text("Or install the newest torch that fits this macOS"), installs=True),
        ),
        row=Row("torch_builds", newest[0].key, newest[0].source),
    )


def _installed_needs_more(facts: Facts, libc: Libc, tables: Tables) -> Iterator[Finding]:
    """The installed wheel asks for a newer glibc, unless it was imported or is not one of the official wheels."""
    is_packaged = libc.kind != "glibc" and not value_or(facts.torch.owner, "")  # musl distributions build their own
    if torch_was_imported(facts) or is_packaged:
        return
    row = next((row for row in official_rows(facts, tables) if row.glibc_min), None)
    if row and row.glibc_min and not _fits(libc, row.glibc_min):
        yield _too_old(facts, libc, row, Text("torch {torch}+{build}", torch=row.torch, build=row.build))


def _nothing_current_fits(facts: Facts, libc: Libc, rows: Sequence[TorchBuild]) -> Iterator[Finding]:
    """Every wheel of the newest torch asks for a newer glibc."""
    current = [row for row in rows if row.torch == rows[0].torch]
    if current and not any(row.glibc_min is None or _fits(libc, row.glibc_min) for row in current):
        yield _too_old(facts, libc, current[0], Text("torch {torch}", torch=current[0].torch))


def _fits(libc: Libc, floor: Version) -> bool:
    return libc.kind == "glibc" and (libc.version is None or libc.version >= floor)


def _too_old(facts: Facts, libc: Libc, row: TorchBuild, what: Text) -> Finding:
    evidence = (seen(facts, "os.libc", libc),)
    source = Row("torch_builds", row.key, row.source)
    if libc.kind != "glibc":
        return Finding(
            summary=Text(
                "{libc} is not glibc, and {what} needs glibc {floor}", libc=libc, what=what, floor=row.glibc_min
            ),
            why=Text(
                "Linux wheels of torch are linked against glibc; there are none for {kind}. Compatibility layers let "
                "pip install one and the import fails later.",
                kind=libc.kind,
            ),
            evidence=evidence,
            remedies=(
                Remedy(Text("Use a glibc image or system, such as Debian slim instead of Alpine"), ("ldd --version",)),
            ),
            row=source,
        )
    return Finding(
        summary=Text(
            "glibc {version} is older than {floor}, the floor of {what}",
            version=libc.version,
            floor=row.glibc_min,
            what=what,
        ),
        why=Text(
            "The wheel's tag promises a C library at least this new. glibc belongs to the system and cannot be "
            "updated inside a Python environment; only a newer release of the distribution, a container or an older "
            "torch helps."
        ),
        evidence=evidence,
        remedies=(
            Remedy(
                Text("Run in a container or on a release whose glibc is {floor} or newer", floor=row.glibc_min),
                ("ldd --version",),
            ),
            Remedy(Text("Or install the newest torch that fits this glibc"), installs=True),
        ),
        row=source,
    )


def _system(facts: Facts) -> tuple[Evidence, ...]:
    return (seen(facts, "os.name", facts.os.name), seen(facts, "os.machine", wheel_machine(facts)))


def _version(text: str) -> Version | None:
    try:
        return Version.parse(text)
    except ValueError:
        return None
