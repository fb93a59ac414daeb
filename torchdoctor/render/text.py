"""The report for people: the verdict first, root causes with evidence and commands, echoes folded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torchdoctor.facts import Unknown, is_known, value_or
from torchdoctor.findings import Finding, Text
from torchdoctor.render.line import Line, on_one_line
from torchdoctor.render.look import FILE, Look
from torchdoctor.render.proof_text import all_passed, counts, proof_lines
from torchdoctor.report import Report, fails
from torchdoctor.values import PythonTag

_FIXERS = {"user": "", "admin": "the host's administrator: ", "provider": "the provider of this machine: "}
_FINE = ("user-code", "cuda-after-fork", "healthy")
IN_TABLE = frozenset({"target-cannot-run", "target-impaired"})
_FEW_FILES = 3
_VERDICTS = {"ok": "ok", "warn": "warning", "fail": "fail", "unknown": "unknown"}


def render(report: Report, verbosity: int = 0, fail_on: str = "error", look: Look = FILE) -> list[Line]:
    """Return the lines of the report; ``verbosity`` 1 adds checks and facts, -1 leaves only the verdict.

    A host where all is well has one line.
    """
    return [line._replace(text=on_one_line(line.text)) for line in _lines(report, verbosity, fail_on, look)]


def verdict(report: Report, fail_on: str = "error") -> str:
    """The first line of the report."""
    return on_one_line(_verdict(report, fail_on).text)


def _lines(report: Report, verbosity: int, fail_on: str, look: Look) -> list[Line]:
    lines = [_verdict(report, fail_on)]
    if verbosity < 0:
        return lines
    if verbosity == 0 and _is_all_well(report):
        told = (lines[0].text, counts(report.facts), *(line.text for line in _examined(report)))
        return [lines[0]._replace(text="; ".join(filter(None, told)))]
    lines += _examined(report)
    lines += _targets(report, look)
    roots = [item for item in report.findings if item.explained_by is None and not _is_in_table(item)]
    echoes = {
        finding.id: [other for other in report.findings if other.explained_by == finding.id and not _is_in_table(other)]
        for finding in roots
    }
    for finding in roots:
        lines += finding_lines(finding, echoes.pop(finding.id, []))
    lines += _ignored(report)
    lines += _install(report)
    lines += _not_known(report)
    lines += _seen(report, verbosity, look)
    if report.status == "warn" and fail_on == "error":
        lines += [Line(""), Line("only warnings: exit status 0; --fail-on warning would fail", "dim")]
    return lines + (detail_lines(report) if verbosity > 0 else [])


def _is_all_well(report: Report) -> bool:
    """Whether there is nothing to say but that."""
    said = report.findings or report.ignored or report.targets or report.no_install
    is_done = not (report.install and report.install.needed) and report.facts.trial.interrupted is not True
    return report.status == "ok" and not said and is_done and all_passed(report.facts) and not _other(report)


def _seen(report: Report, verbosity: int, look: Look) -> list[Line]:
    """The machine and what ran on it, behind what is to be done."""
    lines = list(proof_lines(report, verbosity, look))
    lines = [Line(""), *lines] if lines else []
    if verbosity > 0 or any(finding.severity != "info" for finding in report.findings):
        from torchdoctor.render.gpus_text import gpu_lines

        lines = [*gpu_lines(report.facts, look), *lines]
    return lines + _code(report, verbosity, look)


def _code(report: Report, verbosity: int, look: Look) -> list[Line]:
    if not report.code:
        return []
    from torchdoctor.render.code_text import code_lines

    return list(code_lines(report, verbosity, look))


def _targets(report: Report, look: Look) -> list[Line]:
    if not report.targets:
        return []
    from torchdoctor.render.targets_text import target_lines

    return list(target_lines(report.targets, look))


def _is_in_table(finding: Finding) -> bool:
    """Whether the table of the hosts that were asked about says it already."""
    return finding.id in IN_TABLE


def _ignored(report: Report) -> Iterator[Line]:
    """What a policy sets aside, on one line."""
    if report.ignored:
        said = (f"{item.finding.id}{_until(item.until)} ({item.reason})" for item in report.ignored)
        yield Line("")
        yield Line(f"set aside: {', '.join(dict.fromkeys(said))}", "dim")


def _until(day: str) -> str:
    return f" until {day}" if day else ""


def _verdict(report: Report, fail_on: str) -> Line:
    word = _VERDICTS[report.status]
    if report.status == "ok" and (counts := [finding for finding in report.findings if fails(finding, fail_on)]):
        return Line(f"info: {counts[0].summary} ({counts[0].id}; fail-on is info)", "info")
    if report.targets:
        from torchdoctor.render.targets_text import summary

        return Line(f"{word}: {summary(report.targets)}", word)
    loud = [finding for finding in report.findings if finding.severity != "info"]
    is_interrupted = report.facts.trial.interrupted is True
    if loud and (report.status == "fail" or not is_interrupted):
        return Line(f"{word}: {loud[0].summary}{' (interrupted)' if is_interrupted else ''}", word)
    if report.unknown_because and report.status == "unknown":
        return Line(f"{word}: {report.unknown_because}", word)
    aside = f" ({len(report.ignored)} set aside by the policy)" if report.ignored else ""
    return Line(f"{word}: {_healthy(report)}{aside}", word)


def _healthy(report: Report) -> str:
    facts = report.facts
    if report.linted:
        return f"nothing wrong was found in {_files(report.linted)}"
    if report.hosts:
        if any(item.id == "fleet-no-majority" for item in report.findings):
            return f"nothing wrong was found in {report.hosts} hosts, which are not alike"
        return f"{report.hosts} hosts are alike" if report.hosts > 1 else "one host was told of, and is ok"
    told = next((item for item in report.findings if item.id in _FINE and item.confidence != "possible"), None)
    if told:
        return f"the installation is fine: {told.summary}"
    version = value_or(facts.torch.full, "") or value_or(facts.torch.version, "")
    if report.install is None or not version:
        about = f" with torch {version}" if version else " in it; torch is not in it" if not report.live else ""
        return f"nothing wrong was found{about}"
    host = "this host" if report.live else "the host"
    gpus = value_or(facts.gpus, ())
    names = ", ".join(dict.fromkeys(value_or(gpu.name, "its GPU") for gpu in gpus))
    return f"torch {version} fits {host} and {names}" if names else f"torch {version} fits {host}{_no_gpu(report)}"


def _files(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= _FEW_FILES else f"{len(names)} files"


def _no_gpu(report: Report) -> str:
    return " (no GPU)" if is_known(report.facts.gpus) else ""


def _examined(report: Report) -> list[Line]:
    python = report.facts.python
    executable, why = value_or(python.executable, ""), value_or(python.chosen_because, "")
    if not executable or not why:
        return []
    version = value_or(python.version, None) or value_or(python.tag, PythonTag(0, 0))
    lines = [Line(f"examined: {executable} (Python {version}), {why}", "dim")]
    other = _other(report)
    return [*lines, Line(f"another interpreter holds a torch: --python {other}", "dim")] if other else lines


def _other(report: Report) -> str:
    return value_or(report.facts.python.other, "")


def finding_lines(finding: Finding, echoes: Sequence[Finding] = ()) -> Iterator[Line]:
    """One finding: what was seen, why, and what to do."""
    sure = "" if finding.confidence == "certain" else f" ({finding.confidence})"
    yield Line("")
    yield Line(f"{finding.severity} {finding.id}{sure}: {finding.summary}", str(finding.severity))
    for item in finding.evidence:
        where = f"  ({item.source})" if item.source else ""
        yield Line(f"  seen: {item.fact} = {item.value}{where}")
    if finding.place:
        yield Line(f"  at:   {finding.place}")
    yield Line(f"  why:  {finding.why}")
    for remedy in finding.remedies:
        risk = " (changes the system)" if remedy.risk == "changes-system" else ""
        yield Line(f"  do:   {_FIXERS[finding.fixable_by] if risk else ''}{remedy.text}{risk}")
        for command in remedy.commands:
            yield Line(f"    {command}", "command")
    if finding.beware:
        yield Line(f"  not:  {finding.beware}")
    for echo in echoes:
        yield Line(f"  echo: {echo.id}: {echo.summary}", "dim")
    yield Line(f"  more: torchdoctor explain {finding.id}", "dim")


def _not_known(report: Report) -> Iterator[Line]:
    """What a text did not tell and an answer may turn on; a host that was asked has told what it can."""
    facts = report.facts
    of_host = () if facts.request.targets else (facts.gpus, facts.driver.version)  # each target tells its own
    telling = (facts.os.name, facts.python.tag, facts.torch.full, *of_host)
    missing = [fact.what for fact in telling if isinstance(fact, Unknown)]
    in_question = any(remedy.installs for finding in report.findings for remedy in finding.remedies)
    if missing and not report.live and in_question:
        yield Line("")
        yield Line(f"not told here, and an answer may turn on it: {', '.join(missing)}", "dim")


def _install(report: Report) -> Iterator[Line]:
    install = report.install
    if install and install.needed:
        shown = any(remedy.commands == install.typed for finding in report.findings for remedy in finding.remedies)
        reasons = "; ".join(str(reason) for reason in install.why)
        yield Line("")
        yield Line(
            f"install: torch {install.torch or ''} {install.build or ''}".rstrip()
            + (f", because {reasons}" if reasons else "")
        )
        for command in () if shown else install.typed:
            yield Line(f"    {command}", "command")
        if install.upgrade:
            up = install.upgrade
            yield Line(f"  with driver {up.min_driver} or newer: torch {up.row.torch} {up.row.build}", "dim")
    elif report.no_install:
        yield Line("")
        yield Line(f"install: none ({report.no_install})")
        if report.change:
            yield Line(f"  smallest change: {report.change}")


def detail_lines(report: Report) -> list[Line]:
    """Every check, every error of a text, and every fact with where it was read."""
    from torchdoctor.render.json_v1 import facts_object

    unknown: list[str] = []
    lines = [Line(""), Line("checks")]
    lines += [Line(f"  {item.outcome:8}{item.id}{_reason(item.reason)}") for item in report.outcomes]
    if errors := report.facts.quoted.errors:
        lines += [Line(""), Line("errors in the text, consequences and notices among them")]
        lines += [Line(f"  {error.id}: {error.text}  ({error.source})") for error in errors]
    lines += [Line(""), Line("facts")]
    for path, value in _flat(facts_object(report.facts, unknown), ""):
        source = report.facts.source(path)
        lines.append(Line(f"  {path} = {value}" + (f"  ({source})" if source else "")))
    return [*lines, Line(f"  unknown: {', '.join(unknown)}", "dim")] if unknown else lines


def _reason(reason: str) -> str:
    return f": {reason}" if reason else ""


def _flat(value: object, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for name, member in value.items():
            yield from _flat(member, f"{path}.{name}" if path else name)
    elif isinstance(value, list) and any(isinstance(member, dict) for member in value):
        for index, member in enumerate(value):
            yield from _flat(member, f"{path}[{index}]")
    else:
        yield path, "none" if value is None else ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def refusal_lines(reason: Text, change: Text | None, cpu_possible: bool) -> list[str]:
    """The words of a refusal on stderr: the condition, the smallest change, and the CPU build by name."""
    lines = [f"nothing to install: {reason}"]
    if change:
        lines.append(f"smallest change: {change}")
    if cpu_possible:
        lines.append("a build without GPU support: --backend cpu")
    return lines
