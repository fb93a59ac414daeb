"""Whether torch can be imported at all."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.checks.answers import ELSEWHERE, NOT_EXECUTABLE, is_forbidden, shortened
from torchdoctor.checks.installed import torch_was_imported
from torchdoctor.checks.linked import VARIABLE, evidence, foretold, refused
from torchdoctor.checks.ours import again
from torchdoctor.checks.registry import check, seen
from torchdoctor.facts import FROM_OUTSIDE, Facts, is_known, known, need, value_or
from torchdoctor.findings import Evidence, Finding, Remedy, Text, unsetting
from torchdoctor.tables import Tables

_EARLIER = (
    "rocm-packages-inconsistent",
    "python-wrong-arch",
    "glibc-too-old",
    "cpu-instructions-missing",
    "duplicate-torch",
    "jetson-wheel",
    "known-bad-release",
    "msvc-runtime-too-old",
    "torn-package",
    "nvidia-packages-inconsistent",
    "undeclared-system-library",
    "library-path-shadowing",
    "mixed-package-sources",
    "torch-missing",
    "host-memory-exhausted",
    "disk-full",
)


@check("torch-import-fails", severity="error", after=_EARLIER)
def torch_import_fails(facts: Facts, tables: Tables) -> Iterator[Finding]:
    """The import of torch fails: an error, a signal, or no end."""
    if not is_known(facts.trial.imported) and refused(facts):
        yield from _foretold(facts)
        return
    if need(facts.trial.imported) or known(facts.torch.installed) is False:
        return
    if value_or(facts.trial.hidden_by, ""):
        yield _hidden(facts, value_or(facts.trial.hidden_by, ""))
        return
    if is_forbidden(value_or(facts.trial.error, "")):
        yield _forbidden(facts)
        return
    signal, timed_out = value_or(facts.trial.signal, ""), value_or(facts.trial.timed_out, False)
    yield Finding(
        summary=_summary(facts, signal, timed_out=timed_out),
        why=_why(facts, signal, timed_out=timed_out),
        evidence=(*_evidence(facts), *_by_files(facts)),
        remedies=tuple(_remedies(facts, signal, timed_out=timed_out, installs=not _is_full(facts, tables))),
        confidence="certain",
    )


def _foretold(facts: Facts) -> Iterator[Finding]:
    """The import was not tried, and a library that it needs is missing, damaged, or of another version."""
    if torch_was_imported(facts):
        return
    first = refused(facts)[0]
    yield Finding(
        summary=foretold(first),
        why=Text("The files were read as the loader reads them, and the import was not tried."),
        evidence=tuple(_by_files(facts)),
        remedies=(
            Remedy(Text("Start the program without {name}", name=VARIABLE), commands=(unsetting(VARIABLE),))
            if first.how == VARIABLE
            else Remedy(Text("Install torch anew, with what it needs, in one command"), installs=True),
        ),
        confidence="possible" if facts.os.name == "windows" else "likely",
    )


def _by_files(facts: Facts) -> Iterator[Evidence]:
    """What the files themselves say of libraries that stop the import."""
    for item in refused(facts)[:3]:
        yield from evidence(facts, item)


def _hidden(facts: Facts, path: str) -> Finding:
    """A user's file that bears the name of a standard module; no installation changes that."""
    place = path.replace("\\", "/").removesuffix("/__init__.py")
    name = place.rpartition("/")[2]
    module = name.removesuffix(".py")
    return Finding(
        summary=Text("a file named {name} hides the standard module {module}", name=name, module=module),
        why=Text(
            "Python looks in the current folder and on PYTHONPATH before its own library, so torch, or a package that "
            "it imports, was given {path} in place of the module that it needs. torch itself is not at fault.",
            path=path,
        ),
        evidence=(seen(facts, "trial.hidden_by", path), *_evidence(facts)),
        remedies=(Remedy(Text("Rename {path}, or start Python from another folder", path=path)),),
        confidence="certain",
    )


def _forbidden(facts: Facts) -> Finding:
    """A library that may not be executed where it lies; the same files anew change nothing."""
    library = value_or(facts.trial.library, "") or "a library of torch"
    return Finding(
        summary=Text("{library} may not be executed where it lies", library=library),
        why=NOT_EXECUTABLE,
        evidence=tuple(_evidence(facts)),
        remedies=(ELSEWHERE,),
        confidence="certain",
    )


def _summary(facts: Facts, signal: str, *, timed_out: bool) -> Text:
    library = value_or(facts.trial.library, "")
    if timed_out:
        return _hangs(value_or(facts.trial.waited, 0.0))
    if signal:
        who = ": somebody or a limit ended it" if signal in FROM_OUTSIDE else ""
        return Text("the import of torch is ended by {signal}{who}", signal=signal, who=who)
    if library:
        return Text("the import of torch fails at {library}", library=library)
    if value_or(facts.trial.stage, ""):
        how = value_or(facts.trial.error, "").partition(": ")[0]
        return Text("the import of torch does not come back: {how}", how=how)
    return Text("the import of torch fails")


def _is_full(facts: Facts, tables: Tables) -> bool:
    """Whether the error is about memory or a disk, which no installation changes."""
    return bool(tables.smoke_findings.of("import", "", value_or(facts.trial.error, "")))


def _hangs(waited: float) -> Text:
    if not waited:
        return Text("the import of torch does not end")
    return Text("the import of torch does not end in {seconds} s", seconds=f"{waited:.3g}")


def _why(facts: Facts, signal: str, *, timed_out: bool) -> Text:
    if timed_out:
        return Text(
            "The import was given its deadline and ended by us; the stack it printed names the place, "
            "and the library is the last one that was loaded before it."
        )
    if signal:
        return _why_ended(signal)
    if value_or(facts.trial.library, ""):
        return Text(
            "The library is missing, of another version, or needs one that is; torch's other files are in order."
        )
    if value_or(facts.trial.stage, ""):
        return Text(
            "No exception was raised: something that the import runs ended the process or cut it off from us, "
            "as os._exit does, or a library that gives up."
        )
    return Text("The exception is raised by torch's own files or by a package that they import.")


def _why_ended(signal: str) -> Text:
    if signal == "SIGKILL":
        return Text(
            "The process was killed from outside, usually because its memory (or that of its cgroup) ran out, "
            "else by a scheduler or a user. That is no crash of a library."
        )
    if signal in FROM_OUTSIDE:
        return Text(
            "This signal comes from outside: a user, a scheduler or a container that stops, or a limit of time or of "
            "file size. That is no crash of a library, and torch is not shown to be at fault."
        )
    return Text("A library crashed while it was loaded: files of two versions lie together, or the CPU lacks a set.")


def _evidence(facts: Facts) -> Iterator[Evidence]:
    trial = facts.trial
    yield seen(facts, "trial.stage", value_or(trial.stage, None) or "import")
    from_outside = value_or(trial.signal, "") in FROM_OUTSIDE  # of no library
    facts_told = (
        ("signal", trial.signal),
        ("error", trial.error),
        ("library", None if from_outside else trial.library),
    )
    for path, fact in facts_told:
        if is_known(fact) and fact:
            yield seen(facts, f"trial.{path}", shortened(str(fact)))
    if not is_known(trial.library) and not from_outside:
        yield seen(facts, "trial.library", "unknown")


def _remedies(facts: Facts, signal: str, *, timed_out: bool, installs: bool) -> Iterator[Remedy]:
    if timed_out:
        longer = again(facts, "check --timeout 600")
        yield Remedy(Text("Give it longer where the disk is slow"), commands=(longer,))
    if signal in FROM_OUTSIDE:
        yield Remedy(
            Text("Look for who ended it: limits of this shell or job, the scheduler's log, the kernel's log"),
            commands=("ulimit -a",),
        )
    elif installs:
        yield Remedy(Text("Install torch anew, with what it needs, in one command"), installs=True)
