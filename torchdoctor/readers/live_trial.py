"""What a trial told: the import of torch, the start of its devices, each smoke test, the benchmark, and its end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from torchdoctor.facts import Probe
from torchdoctor.patterns import lazily
from torchdoctor.readers.statement import Said
from torchdoctor.readers.torch_words import torch_said
from torchdoctor.recording import Recording
from torchdoctor.values import CudaVersion

KEY = "trial"
_IMPORT, _SMOKE = "import torch", "smoke tests"
_LIBRARY = lazily(r"\b((?:lib[\w.+-]+\.(?:so|dylib)|[\w.+-]+\.dll)[.\d]*)")
_BENCH, _TELEMETRY = "bench-", "telemetry"
_TRACEBACK = "Traceback (most recent call last):"
_STAYS = "; it waits in the kernel and could not be ended"
_PAIR = 2  # kind and fields


class _Run:
    """One child: its events by kind, and how it ended."""

    def __init__(self, run: Mapping[str, Any]) -> None:
        events = run.get("events")
        listed = events if isinstance(events, list) else []
        pairs = [item for item in listed if isinstance(item, list) and len(item) == _PAIR]
        self.events = [(str(kind), fields) for kind, fields in pairs if isinstance(fields, dict)]
        ended = run.get("ended")
        self.ended: Mapping[str, Any] = ended if isinstance(ended, dict) else {}

    def of(self, kind: str) -> list[Mapping[str, Any]]:
        """The events of one kind."""
        return [fields for name, fields in self.events if name == kind]

    def last(self, kind: str) -> Mapping[str, Any]:
        """The last event of one kind; empty when there was none."""
        return next(iter(self.of(kind)[::-1]), {})


def read(recording: Recording) -> Iterator[Said]:
    """The first child imported torch and ran everything; the ones after it ran again what it could not reach."""
    answer = recording.answers.get(KEY)
    value = answer.value if answer else None
    listed = value.get("runs") if isinstance(value, dict) else None
    runs = [_Run(run) for run in listed if isinstance(run, dict)] if isinstance(listed, list) else []
    if not runs:
        return
    first = runs[0]
    yield from _how_it_ended(first)
    yield Said("trial.interrupted", any(run.ended.get("reason") == "interrupted" for run in runs), _SMOKE)
    yield Said("trial.oom_killed", any(map(_is_oom, runs)), _SMOKE)
    yield from _import(first)
    yield from _torch(first.last("imported"))
    yield from _start(first.last("init"))
    yield Said("trial.probes", _all_probes(runs), _SMOKE)
    repro = next((run.last("repro") for run in runs if run.last("repro")), {})
    if repro:
        yield Said("trial.repro", dict(repro), _SMOKE)
    bench = tuple({**fields, "kind": kind} for run in runs for kind, fields in run.events if kind.startswith(_BENCH))
    yield Said("trial.bench", (*bench, *_telemetry(value)) if bench else None, "benchmark")


def _telemetry(value: Any) -> Iterator[dict[str, Any]]:
    """What NVML read of the GPUs while the benchmark ran, as one more event of it."""
    listed = value.get(_TELEMETRY) if isinstance(value, dict) else None
    samples = [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
    timed = [item for item in samples if _number(item.get("time")) is not None]
    if timed:
        yield {"kind": f"{_BENCH}{_TELEMETRY}", "samples": timed}


def _how_it_ended(run: _Run) -> Iterator[Said]:
    ended = run.ended
    yield Said("trial.stage", str(ended["stage"]) if ended.get("stage") else None, _SMOKE)
    yield Said("trial.signal", str(ended["signal"]) if ended.get("signal") else None, _SMOKE)
    yield Said("trial.timed_out", ended.get("reason") == "timed out", _SMOKE)


def _is_oom(run: _Run) -> bool:
    """A SIGKILL while the kernel counted a kill for want of memory."""
    return run.ended.get("signal") == "SIGKILL" and (_number(run.ended.get("oom_kills")) or 0) > 0


def _passed_import(told: Mapping[str, Any]) -> bool:
    return told.get("id") == "import" and told.get("outcome") == "passed"


def _import(run: _Run) -> Iterator[Said]:
    probe = next((fields for fields in run.of("probe") if fields.get("id") == "import"), {})
    stage, reason = run.ended.get("stage"), run.ended.get("reason")
    if _passed_import(probe):
        yield Said("trial.imported", True, _IMPORT)
        yield Said("trial.import_seconds", _number(probe.get("seconds")), _IMPORT)
        return
    if reason == "interrupted" or (not probe and stage not in {"import", "start"}):
        return
    output = str(run.ended.get("output", ""))
    error = str(probe.get("error") or "") or _without_an_error(run)
    error += _STAYS if run.ended.get("unkillable") else ""
    library = _LIBRARY.search(error) or (_LIBRARY.search(output) if not probe else None)
    yield Said("trial.imported", False, _IMPORT)
    if reason == "timed out":
        yield Said("trial.waited", _number(run.ended.get("stage_seconds")), _IMPORT)
    yield Said("trial.error", error[:1000] or None, _IMPORT)
    last = str(run.ended.get("library") or "").rpartition("/")[2] or (library[1] if library else "")
    if last or probe:  # a crash or a hang was at some library, told or not; an error may be about none
        yield Said("trial.library", last or None, _IMPORT)
    values = probe.get("values")
    hides = values.get("hides") if isinstance(values, dict) else None
    yield Said("trial.hidden_by", str(hides) if hides else None, _IMPORT)


def _without_an_error(run: _Run) -> str:
    """What is known of an import that raised nothing: its last words, and the exit status that it left with."""
    place = _last_line(str(run.ended.get("output", "")))
    if run.ended.get("signal") or run.ended.get("reason") == "timed out":
        return place
    return ": ".join(filter(None, (_exit(run.ended), place)))


def _exit(ended: Mapping[str, Any]) -> str:
    return str(ended.get("reason") or f"exit status {ended.get('status')}")


def _last_line(output: str) -> str:
    """The place in the stack that faulthandler printed, else the exception that Python printed, else the last line."""
    lines = [line.strip() for line in output.splitlines() if _is_text(line)]
    begin = next((at for at, line in enumerate(lines) if line.endswith("(most recent call first):")), len(lines))
    places = [line for line in lines[begin:] if line.startswith("File ") and "<frozen" not in line]
    own = [line for line in places if "torch" in line.rpartition(",")[0]]
    return next(iter(own or places), "") or _exception(output) or next(reversed(lines), "")


def _is_text(line: str) -> bool:
    """Not the noise of a program that writes something else."""
    words = line.split()
    return bool(words) and all(word.isprintable() and "\ufffd" not in word for word in words)


def _exception(output: str) -> str:
    """The first line of the last exception for which Python printed a traceback."""
    _, trace, told = output.rpartition(_TRACEBACK)
    return next((line.strip() for line in told.splitlines() if trace and _is_text(line) and line[0] != " "), "")


def _torch(imported: Mapping[str, Any]) -> Iterator[Said]:
    """What torch says of itself outranks what its files say."""
    if not imported:
        return
    yield from torch_said(str(imported.get("version", "")), _IMPORT)
    with suppress(ValueError):
        yield Said("torch.cuda", CudaVersion.parse(str(imported.get("cuda"))), _IMPORT)
    archs = imported.get("arch_list")
    if isinstance(archs, list) and archs:
        yield Said("torch.arch_list", tuple(map(str, archs)), _IMPORT)
    if isinstance(imported.get("available"), bool) and imported.get("backend") != "cpu":
        yield Said("torch.cuda_available", imported["available"], _IMPORT)


def _start(init: Mapping[str, Any]) -> Iterator[Said]:
    if not init:
        return
    code = init.get("code")
    yield Said("trial.init", str(init.get("outcome")), _SMOKE)
    yield Said("trial.init_code", code if isinstance(code, int) and code > 0 else None, _SMOKE)
    yield Said("trial.init_error", str(init["error"])[:1000] if init.get("error") else None, _SMOKE)


def _all_probes(runs: list[_Run]) -> tuple[Probe, ...]:
    """The smoke tests in their order; one that was skipped before gives way to what was told later, and a failure wins.

    A child may end after a test that it passed, in what still belongs to it.
    """
    told: dict[tuple[str, str], Probe] = {}
    for probe in (probe for run in runs for probe in _probes(run)):
        key = (probe.id, probe.device)
        if key not in told or told[key].outcome == "skipped" or probe.outcome == "failed":
            told[key] = probe
    return tuple(told.values())


def _probes(run: _Run) -> Iterator[Probe]:
    """The smoke tests of one child; the one in which the child ended is a failed one."""
    for fields in run.of("probe"):
        yield _probe(fields)
    for fields in run.of(f"{_BENCH}failed"):
        if not fields.get("ended"):  # else it is told below, of the child that ended there
            yield _probe({**fields, "id": fields.get("stage", "bench"), "outcome": "failed"})
    stage, ended = str(run.ended.get("stage") or ""), run.ended
    if stage == "import" and any(map(_passed_import, run.of("probe"))):
        stage = "describe"  # what torch tells of itself comes next
    if stage in {"", "start", "import"} or ended.get("reason") == "interrupted":
        return
    yield Probe(
        id=stage,
        device=str(ended.get("device", "")),
        library=str(run.last("stage").get("library") or ""),
        outcome="failed",
        error=_how(run),
        values={"ended": True, "signal": str(ended.get("signal") or ""), "out_of_memory": _is_oom(run)},
    )


def _how(run: _Run) -> str:
    """How the child ended in a test, where its stack was, and whether it is still there."""
    ended, place = run.ended, _last_line(str(run.ended.get("output", "")))
    signal = str(ended.get("signal") or "")
    how = f"ended by {signal}" if signal else _exit(ended)
    if signal == "SIGKILL":
        how = "killed (SIGKILL): " + ("memory ran out" if _is_oom(run) else "the OOM killer or another process")
    if ended.get("reason") == "timed out":
        how = f"no answer in {ended.get('stage_seconds') or ended.get('seconds')} s"
    if place.startswith("File "):
        how += f", in {place}"
    elif place and how == _exit(ended):
        how += f": {place}"
    return how + (_STAYS if ended.get("unkillable") else "")


def _probe(fields: Mapping[str, Any]) -> Probe:
    values = fields.get("values")
    return Probe(
        id=str(fields.get("id", "")),
        device=str(fields.get("device", "")),
        library=str(fields.get("library") or ""),
        outcome=str(fields.get("outcome", "skipped")),
        seconds=_number(fields.get("seconds")) or 0.0,
        error=str(fields["error"])[:1000] if fields.get("error") else None,
        reason=str(fields["reason"])[:300] if fields.get("reason") else None,
        values=values if isinstance(values, dict) else {},
    )


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
