"""Linting, top to bottom: files -> groups -> worlds -> rules -> a report whose findings have places."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from torchdoctor.facts import Facts
from torchdoctor.findings import SEVERITIES, Finding, Ignored, Outcome, Place, Remedy, Text
from torchdoctor.lint.kinds import LOCKS, kind_of, kind_of_text
from torchdoctor.lint.model import Group
from torchdoctor.lint.readers import dockerfile, environment, locks, pixi, pyproject, requirements
from torchdoctor.lint.readers.requirements import Load
from torchdoctor.lint.readers.toml_text import BrokenFileError
from torchdoctor.lint.rules import all_rules
from torchdoctor.lint.rules.registry import Judged, Rule
from torchdoctor.lint.source import Source, UnreadableError, read_source
from torchdoctor.lint.worlds import worlds
from torchdoctor.records import replace
from torchdoctor.report import Report
from torchdoctor.tables import Tables

BROKEN = "manifest-unreadable"
_MOST_GROUPS, _MOST_PINS, _MOST_INDEXES, _MOST_OF_ONE = 300, 20_000, 50, 40  # of one file; of one group; of one name
# What a finding on the same line says already.
_CAUSES = {
    "mixed-build-labels": ("torch-companion-mismatch", "torch-source-incomplete", "index-lacks-version"),
    "label-without-index": ("index-lacks-version",),
}
_READERS: dict[str, Callable[[Source, Load], list[Group]]] = {
    "requirements": lambda source, load: requirements.read(source.name, source.text, load),
    "pyproject": lambda source, _: pyproject.read(source),
    "conda": environment.read,
    "dockerfile": dockerfile.read,
    "pixi": lambda source, _: pixi.read(source),
    "lock": lambda source, _: locks.read(source),
    "pylock": lambda source, _: locks.read(source),
}


class Linted(NamedTuple):
    """The report of the files that could be read, and a line for each that could not."""

    report: Report
    unreadable: tuple[str, ...]


def lint(files: Sequence[str], tables: Tables) -> Linted:
    """Judge every file; one that cannot be read stops no other."""
    groups: list[Group] = []
    findings: list[Finding] = []
    unreadable: list[str] = []
    read: dict[str, Source] = {}
    for name in dict.fromkeys(files):
        try:
            source, kind = _source(name)
            read[source.name] = source
            groups += _READERS[kind](source, _loader(source, read))[:_MOST_GROUPS]
        except UnreadableError as error:  # noqa: PERF203 - a file is slower to read than to try
            unreadable.append(str(error))
        except BrokenFileError as error:
            findings.append(_broken(name, error))
    reading = Outcome(BROKEN, "found" if findings else "passed")
    found, outcomes = _judge(groups, tables)
    kept, left_out = _without_ignored([*findings, *found], read)
    report = Report(
        facts=Facts(),
        findings=tuple(_ordered(kept)),
        outcomes=(reading, *outcomes),
        tables_date=tables.edition,
        linted=tuple(read),
        ignored=tuple(Ignored(finding, f"a comment at {finding.place}") for finding in left_out),
    )
    return Linted(report, tuple(unreadable))


def _source(name: str) -> tuple[Source, str]:
    path = Path(name)
    kind = kind_of(path)
    source = read_source(path, posixpath.normpath(name.replace("\\", "/")), is_lock=kind in LOCKS)
    kind = kind or kind_of_text(source.text)
    if not kind:
        raise UnreadableError(
            f"{source.name}: neither its name nor its text says what it is (requirements, Dockerfile ...)"
        )
    return source, kind


def _loader(source: Source, read: dict[str, Source]) -> Load:
    """What reads the files that a file includes: those below its own folder, and its neighbours."""
    root = source.path.parent

    def load(name: str) -> str | None:
        if name.startswith(("http://", "https://", "$")) or len(name) > 500:  # noqa: PLR2004 - no path of a project
            return None
        try:
            if Path(name).is_file() and _is_beside(Path(name), root):
                included = read_source(Path(name), name)
                return read.setdefault(included.name, included).text
        except (UnreadableError, OSError, ValueError):
            return None
        return None

    return load


def _is_beside(path: Path, root: Path) -> bool:
    """Whether a file lies near the one that names it: in its folder, below it, or one or two above."""
    top = root.resolve()
    for _ in range(2):
        top = top.parent
    return top in path.resolve().parents


def _judge(groups: Sequence[Group], tables: Tables) -> tuple[list[Finding], list[Outcome]]:
    rules = all_rules()
    judged = [Judged(group, worlds(group, tables), tables) for group in map(_bounded, groups)]
    found: dict[tuple[str, str, str], Finding] = {}
    outcomes: dict[str, Outcome] = {}
    for rule in rules:
        outcome = Outcome(rule.id, "passed")
        try:
            for finding in _of_rule(rule, judged):
                key = (finding.id, str(finding.place), str(finding.summary))
                found.setdefault(key, finding)
                outcome = Outcome(rule.id, "found")
        except Exception as error:  # noqa: BLE001 - a crash of ours is an outcome, never silent, and stops no other rule
            outcome = Outcome(rule.id, "crashed", f"{type(error).__name__}: {error}")
        before = outcomes.get(rule.id)
        outcomes[rule.id] = before if before and before.outcome != "passed" and outcome.outcome == "passed" else outcome
    return list(_once_a_line(found.values())), list(outcomes.values())


def _bounded(group: Group) -> Group:
    """A group of no more parts than any real one: what is written to take long is cut."""
    seen: dict[str, int] = {}
    pins = []
    for pin in group.pins[:_MOST_PINS]:
        seen[pin.name] = seen.get(pin.name, 0) + 1
        if seen[pin.name] <= _MOST_OF_ONE:
            pins.append(pin)
    return group._replace(pins=tuple(pins), indexes=group.indexes[:_MOST_INDEXES])


def _of_rule(rule: Rule, judged: Iterable[Judged]) -> Iterator[Finding]:
    for one in judged:
        for finding in rule.judge(one):
            yield replace(finding, id=rule.id, severity=finding.severity or rule.severity)


def _once_a_line(findings: Iterable[Finding]) -> Iterator[Finding]:
    """The worst finding of an id on a line: hosts and extras that differ in words tell the same."""
    best: dict[tuple[str, str], Finding] = {}
    for finding in findings:
        key = (finding.id, str(finding.place))
        before = best.get(key)
        if before is None or _rank(finding) < _rank(before):
            best[key] = finding
    seen = set(best)
    for finding in best.values():
        if not any((cause, str(finding.place)) in seen for cause in _CAUSES.get(finding.id, ())):
            yield finding


def _rank(finding: Finding) -> int:
    return SEVERITIES.index(finding.severity or "info")


def _broken(name: str, error: BrokenFileError) -> Finding:
    place = Place(posixpath.normpath(name.replace("\\", "/")), error.line)
    return Finding(
        id=BROKEN,
        summary=Text("{file} cannot be parsed", file=place.file),
        why=Text("{message}", message=str(error)),
        remedies=(Remedy(Text("Mend the syntax there: the file's own tool refuses it as well")),),
        severity="error",
        place=place,
    )


def _without_ignored(findings: list[Finding], read: dict[str, Source]) -> tuple[list[Finding], list[Finding]]:
    comments = {name: source.ignored() for name, source in read.items()}
    kept: list[Finding] = []
    left_out: list[Finding] = []
    for finding in findings:
        place = finding.place
        ids = comments.get(place.file, {}).get(place.line, frozenset()) if place else frozenset()
        (left_out if finding.id in ids else kept).append(finding)
    return kept, left_out


def _ordered(findings: list[Finding]) -> list[Finding]:
    """Worse before milder, then by file and line."""
    return sorted(findings, key=lambda item: (_rank(item), item.place.file if item.place else "", _line(item)))


def _line(finding: Finding) -> int:
    return finding.place.line if finding.place else 0
