"""What the start of the devices and the smoke tests prove: numbers that CUDA answered, and libraries that failed.

A number or a failed test counts for the check of its finding when that check's own facts say nothing: see run_checks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchdoctor.checks.arch_remedies import arch_remedies
from torchdoctor.checks.ours import again
from torchdoctor.checks.registry import seen
from torchdoctor.facts import FROM_OUTSIDE, Facts, Probe, Unknown, need, value_or
from torchdoctor.findings import Evidence, Finding, Fixer, Remedy, Row, Severity, Text, sentence
from torchdoctor.tables import Tables
from torchdoctor.tables.cuda_errors import CudaError

UNEXPLAINED = "smoke-test-failed"
_START = "gpu-init-failed"
_ILLEGAL = "cpu-instructions-missing"
_MEMORY = "host-memory-exhausted"
_ARCH, _DISK = "torch-arch-missing", "disk-full"
_EXCEPTION = re.compile(r"(?m)^(?:\w+\.)*\w*(?:Error|Exception): ")  # as Python ends a traceback
_BENCH, _LOADS, _LOADER = "bench", ("bench-data", "bench-sweep"), "dataloader"
_GPU_MEMORY, _FULL = "out-of-memory", ("OutOfMemoryError: ", "MPS backend out of memory")  # as torch says it
OUT_OF_MEMORY = Text(
    "torch and its libraries take some gigabytes of the system's memory before the first computation. "
    "This is neither the GPU's memory nor a fault of torch, which has no say in it."
)
MORE_MEMORY = Remedy(Text("Give the container, job or virtual machine more memory, or end what else uses it"))
# Stages in which a child may end and that are no tests: what they are called and what runs them again.
_NO_TESTS = {
    "describe": ("asking torch what it can do", "check --no-smoke -v"),
    "repro": ("the judgement of reproducibility", "check --repro -v"),
}
_FULL_DISK = Text(
    "A file system has no room for what was written there: space, inodes or a quota. Torch itself is fine."
)
_ROOM = Remedy(
    Text("See which file system is full, by space and by inodes, and make room on it"),
    commands=('df -h . "${TMPDIR:-/tmp}" ~/.cache', "df -i ."),
)
_ROOM_FOR = {_MEMORY: (MORE_MEMORY,), _DISK: (_ROOM,)}
NOT_EXECUTABLE = Text(
    "The loader maps a library as executable code, and the system refuses that where the file lies: its file system is "
    "mounted with noexec, or a policy forbids it. The library itself is in order."
)
ELSEWHERE = Remedy(
    Text("Put the file on a file system without noexec (for what is compiled: TMPDIR and TRITON_CACHE_DIR)"),
    commands=("mount | grep noexec",),
)
_FORBIDDEN = tuple(
    f"failed to map segment from shared object: {why}" for why in ("operation not permitted", "permission denied")
)
_MOST, _HEAD = 300, 150  # characters of an error in evidence, and of its first line in a long one
_NO_ANSWER, _UNPRINTABLE = "no answer in ", ", which cannot be printed"  # as readers and target word them
_NO_COMPILER = ("InvalidCxxCompiler", "No working C++ compiler", "Failed to find C compiler")


def answered(facts: Facts, tables: Tables, id: str) -> Iterator[Finding]:  # noqa: A002 - an id is an id
    """The finding of this id that CUDA's own answer or a failed smoke test proves."""
    if id == _ILLEGAL:
        yield from _illegal_instruction(facts)
        return
    if id == _DISK and tables.smoke_findings.of("import", "", value_or(facts.trial.error, "")) == _DISK:
        yield _full_in_the_import(facts)
        return
    row = refusal(facts, tables)
    if row is not None and row.finding == id and _matters(facts, id):
        yield _refused(facts, row)
        return
    start = _broken_start(facts) if id == _START else None
    if start:
        yield _never_started(facts, start)
        return
    failed = [probe for probe in failed_probes(facts) if finding_of(probe, tables) == id]
    if failed:
        yield _failed(facts, failed, tables, id)


def proved(facts: Facts, tables: Tables, id: str) -> Iterator[Finding]:  # noqa: A002 - an id is an id
    """The same for a check that asks nothing but the smoke tests; it is skipped where none were run."""
    need(facts.trial.probes)
    yield from answered(facts, tables, id)


def refusal(facts: Facts, tables: Tables) -> CudaError | None:
    """The row of the number that CUDA answered when its devices were started, when they did not start."""
    code, outcome = value_or(facts.trial.init_code, 0), value_or(facts.trial.init, "")
    row = tables.cuda_errors.find(code) if code else None
    if row is None or outcome == "failed":
        return row
    return row if outcome == "no-device" and row.finding == "gpu-hidden" else None


def failed_probes(facts: Facts) -> tuple[Probe, ...]:
    """The smoke tests that failed, other than the import and the start of the devices."""
    probes = facts.trial.probes
    if probes is None or isinstance(probes, Unknown):
        return ()
    return tuple(
        probe for probe in probes if probe.outcome == "failed" and probe.id != "import" and not _is_start(probe)
    )


def finding_of(probe: Probe, tables: Tables) -> str:
    """The finding a failed smoke test proves: by CUDA's words, by the library it proves, else none of its own."""
    if probe.values.get("signal") == "SIGILL":
        return _ILLEGAL
    if probe.values.get("out_of_memory"):
        return _MEMORY
    row = tables.cuda_errors.in_text(probe.error or "")
    if row is not None and row.finding:
        return row.finding
    if any(words in (probe.error or "") for words in _FULL):
        return _GPU_MEMORY
    name = _LOADER if probe.id.startswith(_LOADS) else probe.id
    return tables.smoke_findings.of(name, probe.library, probe.error or "") or UNEXPLAINED


def is_of_benchmark(probe: Probe) -> bool:
    """Whether it is a part of the benchmark, which counts as a test only where it failed."""
    return probe.id.partition("-")[0] == _BENCH


def named(probe: Probe) -> str:
    """What failed, in words."""
    if is_of_benchmark(probe):
        part = probe.id.partition("-")[2]
        return f"the part {part} of the benchmark" if part else "the benchmark"
    if probe.id in _NO_TESTS:
        return _NO_TESTS[probe.id][0]
    return f"the smoke test {probe.id}"


def _matters(facts: Facts, id: str) -> bool:  # noqa: A002 - an id is an id
    """A driver that no GPU needs may be as old as it likes; a GPU is hidden only where there is one."""
    if id == "gpu-hidden":
        return bool(value_or(facts.gpus, ())) or facts.request.require_gpu
    return id != "driver-too-old" or not _has_no_gpu(facts)


def _full_in_the_import(facts: Facts) -> Finding:
    return Finding(
        summary=Text("no space was left on a file system while torch was imported"),
        why=_FULL_DISK,
        evidence=(seen(facts, "trial.error", shortened(value_or(facts.trial.error, ""))),),
        remedies=(_ROOM,),
        confidence="likely",
    )


def _broken_start(facts: Facts) -> Probe | None:
    """The start of the devices, or the first question to them, when the child crashed or hung in it."""
    ends = [probe for probe in value_or(facts.trial.probes, ()) if _is_start(probe) and probe.values.get("ended")]
    return next(
        (end for end in ends if end.values.get("signal") != "SIGILL" and not end.values.get("out_of_memory")), None
    )


def _is_start(probe: Probe) -> bool:
    return probe.id == "init" or (probe.id == "describe" and probe.device != "cpu")


def _never_started(facts: Facts, start: Probe) -> Finding:
    return Finding(
        summary=Text("torch cannot start the GPU: {how}", how=start.error or "cut short"),
        why=_why_never_started(start),
        evidence=(seen(facts, "trial.stage", start.id), seen(facts, "trial.probes", start.error, "smoke tests")),
        remedies=(
            Remedy(Text("See what the driver says of it"), commands=("nvidia-smi", "dmesg | grep -iE 'nvrm|xid'")),
        ),
        fixable_by="admin",
        confidence="likely",
    )


def _why_never_started(start: Probe) -> Text:
    if start.values.get("signal") in FROM_OUTSIDE:
        return Text("torch is imported; somebody or a limit ended the process while its devices were asked for.")
    return Text(
        "torch is imported; {library} crashes or never answers when its devices are asked for.",
        library=start.library or "the driver's library",
    )


def _illegal_instruction(facts: Facts) -> Iterator[Finding]:
    """A SIGILL: in the import or the start of the devices, or in a smoke test, whichever child it ended."""
    illegal = [probe for probe in failed_probes(facts) if probe.values.get("signal") == "SIGILL"]
    stages = [f"{probe.id} on {probe.device}" for probe in illegal]
    if not stages and value_or(facts.trial.signal, "") != "SIGILL":
        return
    stage = "" if stages else value_or(facts.trial.stage, "import")
    where = {"": f"{named(illegal[0])} on {illegal[0].device}" if stages else "", "import": "the import of torch"}
    yield Finding(
        summary=Text("{stage} is ended by an illegal instruction", stage=where.get(stage, f"the stage {stage}")),
        why=Text("A library of this build uses an instruction that the processor does not have."),
        evidence=(
            seen(facts, "trial.signal", "SIGILL"),
            seen(facts, "trial.stage", stages[0] if stages else stage),
            *((seen(facts, "trial.library", facts.trial.library),) if value_or(facts.trial.library, "") else ()),
            seen(facts, "cpu.model", value_or(facts.cpu.model, "unknown")),
        ),
        remedies=(Remedy(Text("Use a machine with AVX2, or a build made for this processor")),),
        fixable_by="provider",
    )


def _has_no_gpu(facts: Facts) -> bool:
    return facts.gpus == () and not facts.request.require_gpu


def _refused(facts: Facts, row: CudaError) -> Finding:
    severity: Severity | None = "warning" if _has_no_gpu(facts) else None
    return Finding(
        summary=Text("CUDA does not start: error {code}, {text}", code=row.code, text=row.text),
        why=Text("{cause}", cause=sentence(row.cause)),
        evidence=(seen(facts, "trial.init_code", row.code), *_words(facts)),
        remedies=(Remedy(Text("{fix}", fix=sentence(row.fix))),) if row.fix else (),
        fixable_by=_fixer(facts),
        severity=severity,
        confidence="likely",
        row=Row("cuda_errors", row.key, row.source),
    )


def _words(facts: Facts) -> tuple[Evidence, ...]:
    error = value_or(facts.trial.init_error, "")
    return (seen(facts, "trial.init_error", error.splitlines()[-1][:300]),) if error else ()


def _fixer(facts: Facts) -> Fixer:
    return "admin" if value_or(facts.place.container, "") else "user"


def _what(probe: Probe) -> Text:
    """What it means: the process is gone, a tool is not there, a wrong result, or an error."""
    library = probe.library or "the part it proves"
    if probe.values.get("ended"):
        return _how_it_went(probe, library)
    if is_forbidden(probe.error or ""):
        return NOT_EXECUTABLE
    if _lacks_compiler(probe):
        return Text("torch.compile generates C++ code and found no compiler for it; nothing was computed.")
    if _raised(probe):
        return Text("{library} does the work there, and an error was raised instead of a result.", library=library)
    return Text("{library} does the work there, and its result is not the true one.", library=library)


def _how_it_went(probe: Probe, library: str) -> Text:
    """What became of a process that did not come back: we ended it, somebody else did, or it crashed."""
    if (probe.error or "").startswith(_NO_ANSWER):
        return Text(
            "It did not end before its deadline and was ended by us; {library} does the work there.", library=library
        )
    if probe.values.get("signal") in FROM_OUTSIDE:
        return Text("Somebody or a limit ended the process; that is no crash of {library}.", library=library)
    return Text("The process did not survive it; {library} does the work there.", library=library)


def _raised(probe: Probe) -> bool:
    """Whether an exception ended it, told as "Type: words"; a wrong result is told in words of the test."""
    name = (probe.error or "").partition(": ")[0].removesuffix(_UNPRINTABLE)
    return name.isidentifier() and name[:1].isupper()


def _lacks_compiler(probe: Probe) -> bool:
    return any(words in (probe.error or "") for words in _NO_COMPILER)


def is_forbidden(error: str) -> bool:
    """Whether the loader says that a library may not be executed where it lies."""
    return any(words in error.lower() for words in _FORBIDDEN)


def shortened(error: str) -> str:
    """An error for evidence: of a long one the first line, which names the exception, and the end."""
    if len(error) <= _MOST:
        return error
    head = error.strip().partition("\n")[0][:_HEAD]
    return f"{head} ... {error[len(head) - _MOST :]}"


def exception_of(error: str) -> str:
    """An error in one line: of tracebacks and chains, the last exception and what it says."""
    last = max((match.start() for match in _EXCEPTION.finditer(error)), default=0)
    return " ".join(error[last:].split())


def _remedies(facts: Facts, first: Probe, tables: Tables, id: str) -> tuple[Remedy, ...]:  # noqa: A002 - an id is an id
    if _lacks_compiler(first):
        return (Remedy(Text("Install a C++ compiler (g++ or clang++), or name one in the variable CXX")),)
    if id in _ROOM_FOR:
        return _ROOM_FOR[id]
    if is_forbidden(first.error or ""):
        return (ELSEWHERE,)
    if id == _ARCH:
        return arch_remedies(facts, tables, [gpu for gpu in value_or(facts.gpus, ()) if gpu.vendor == "nvidia"])
    return (_again(facts, first),)


def _again(facts: Facts, first: Probe) -> Remedy:
    if is_of_benchmark(first):
        return Remedy(
            Text("Measure that device again, by itself"), commands=(again(facts, f"bench --device {first.device}"),)
        )
    alone = _NO_TESTS[first.id][1] if first.id in _NO_TESTS else f"smoke --only {first.id} -v"
    return Remedy(Text("Run it again alone, for the whole error"), commands=(again(facts, alone),))


def _failed(facts: Facts, failed: list[Probe], tables: Tables, id: str) -> Finding:  # noqa: A002 - an id is an id
    first = failed[0]
    row = tables.cuda_errors.in_text(first.error or "")
    return Finding(
        summary=Text("{what} failed on {device}", what=named(first), device=first.device or "this host"),
        why={_MEMORY: OUT_OF_MEMORY, _DISK: _FULL_DISK}.get(id) or _what(first),
        evidence=tuple(
            seen(
                facts,
                "trial.probes",
                f"{probe.id} on {probe.device}: {exception_of(probe.error or '')[:300]}",
                "smoke tests",
            )
            for probe in failed[:3]
        ),
        remedies=_remedies(facts, first, tables, id),
        confidence="certain" if row else "likely",
        row=Row("cuda_errors", row.key, row.source) if row else None,
    )
