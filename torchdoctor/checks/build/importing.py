"""Whether torch can be imported at all."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.checks.registry import check, seen
from torchdoctor.facts import Facts, is_known, known, need, value_or
from torchdoctor.findings import Evidence, Finding, Remedy, Text
from torchdoctor.tables import Tables

_EARLIER = (
    "python-wrong-arch",
    "glibc-too-old",
    "cpu-instructions-missing",
    "duplicate-torch",
    "jetson-wheel",
    "known-bad-release",
    "nvidia-packages-inconsistent",
    "library-path-shadowing",
    "mixed-package-sources",
    "torch-missing",
    "host-memory-exhausted",
)


@check("torch-import-fails", severity="error", after=_EARLIER)
def torch_import_fails(facts: Facts, _tables: Tables) -> Iterator[Finding]:
    """The import of torch fails: an error, a signal, or no end."""
    if need(facts.trial.imported) or known(facts.torch.installed) is False:
        return
    if value_or(facts.trial.hidden_by, ""):
        yield _hidden(facts, value_or(facts.trial.hidden_by, ""))
        return
    signal, timed_out = value_or(facts.trial.signal, ""), value_or(facts.trial.timed_out, False)
    yield Finding(
        summary=_summary(facts, signal, timed_out=timed_out),
        why=_why(facts, signal, timed_out=timed_out),
        evidence=tuple(_evidence(facts)),
        remedies=tuple(_remedies(signal, timed_out=timed_out)),
        confidence="certain",
    )


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


def _summary(facts: Facts, signal: str, *, timed_out: bool) -> Text:
    library = value_or(facts.trial.library, "")
    if timed_out:
        return Text("the import of torch does not end")
    if signal:
        return Text("the import of torch is ended by {signal}", signal=signal)
    if library:
        return Text("the import of torch fails at {library}", library=library)
    if value_or(facts.trial.stage, ""):
        how = value_or(facts.trial.error, "").partition(": ")[0]
        return Text("the import of torch does not come back: {how}", how=how)
    return Text("the import of torch fails")


def _why(facts: Facts, signal: str, *, timed_out: bool) -> Text:
    if timed_out:
        return Text(
            "The import was given its deadline and ended by us; the stack it printed names the place, "
            "and the library is the last one that was loaded before it."
        )
    if signal == "SIGKILL":
        return Text("The system killed the process, usually because its memory (or that of its cgroup) ran out.")
    if signal:
        return Text(
            "A library crashed while it was loaded: files of two versions lie together, or the CPU lacks a set."
        )
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


def _evidence(facts: Facts) -> Iterator[Evidence]:
    trial = facts.trial
    yield seen(facts, "trial.stage", value_or(trial.stage, None) or "import")
    for path, fact in (("signal", trial.signal), ("error", trial.error), ("library", trial.library)):
        if is_known(fact) and fact:
            yield seen(facts, f"trial.{path}", str(fact)[-300:])
    if not is_known(trial.library):
        yield seen(facts, "trial.library", "unknown")


def _remedies(signal: str, *, timed_out: bool) -> Iterator[Remedy]:
    if timed_out:
        yield Remedy(Text("Give it longer where the disk is slow"), commands=("torchdoctor check --timeout 600",))
    if signal != "SIGKILL":
        yield Remedy(Text("Install torch anew, with what it needs, in one command"), installs=True)
