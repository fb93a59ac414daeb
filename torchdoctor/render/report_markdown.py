"""A report's JSON as a short text for an issue: what it is about, the causes, what was seen and what to do, fenced."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.render.html.told import Told, causes, commands, items, member, verdict, words
from torchdoctor.render.line import Line
from torchdoctor.render.markdown import fenced

_MOST_FINDINGS, _MOST_REMEDIES, _MOST_SEEN, _LONG = 8, 2, 6, 300
_STATUSES = ("ok", "warn", "fail", "unknown")
_ABOUT = (
    ("system", ("os", "distribution")), ("kernel", ("os", "kernel")), ("machine", ("os", "machine")),
    ("container", ("place", "container")), ("Python", ("python", "version")), ("torch", ("torch", "full")),
    ("driver", ("driver", "version")), ("libcuda speaks CUDA", ("driver", "cuda_shown")),
)  # fmt: skip


def render(report: Told) -> str:
    """The text, which any report keeps below a hundred lines."""
    status = report.get("status")
    word = status if isinstance(status, str) and status in _STATUSES else "unknown"
    lines = [Line(line) for line in _lines(report)]
    return "".join(f"{line}\n" for line in (f"### torchdoctor: {word}", "", *fenced(lines)))


def _cut(line: str) -> str:
    """A line that nobody types, no longer than is read."""
    return line if len(line) <= _LONG else f"{line[:_LONG]} ..."


def _lines(report: Told) -> Iterator[str]:
    yield _cut(": ".join(verdict(report)))
    yield ""
    yield from _about(report)
    roots = list(causes(report))
    for finding, echoes in roots[:_MOST_FINDINGS]:
        yield from _finding(finding, [str(echo.get("id")) for echo in echoes])
    if len(roots) > _MOST_FINDINGS:
        yield f"{len(roots) - _MOST_FINDINGS} more findings are in the report itself"
    yield from _smoke(report)
    yield ""
    yield f"torchdoctor {report.get('torchdoctor')}, tables of {report.get('tables')}"


def _about(report: Told) -> Iterator[str]:
    for name, path in _ABOUT:
        if (value := member(report.get("facts"), *path)) is not None:
            yield _cut(f"{name}: {words(value)}")
    for gpu in items(member(report.get("facts"), "gpus"))[:_MOST_SEEN]:
        target = gpu.get("compute_capability") or gpu.get("gfx")
        yield f"GPU: {gpu.get('name') or gpu.get('vendor') or 'unnamed'}{f' ({target})' if target else ''}"


def _finding(finding: Told, echoes: list[str]) -> Iterator[str]:
    yield ""
    yield _cut(f"{finding.get('severity')} {finding.get('id')}: {finding.get('summary')}")
    for item in items(finding.get("evidence"))[:_MOST_SEEN]:
        where = f"  ({item['source']})" if item.get("source") else ""
        yield _cut(f"  seen: {item.get('fact')} = {words(item.get('value'))}") + where
    for remedy in items(finding.get("remedies"))[:_MOST_REMEDIES]:
        yield _cut(f"  do:   {remedy.get('text')}")
        yield from (f"    {line}" for line in commands(remedy))
    if echoes:
        yield _cut(f"  follows from it: {', '.join(echoes)}")


def _smoke(report: Told) -> Iterator[str]:
    tests = items(report.get("smoke"))
    failed = [test for test in tests if test.get("outcome") == "failed"]
    if tests:
        yield ""
        yield f"smoke tests: {len(tests)} run or skipped, {len(failed)} failed"
    for test in failed[:_MOST_SEEN]:
        said = str(test.get("error") or "").strip().splitlines()
        yield _cut(f"  {test.get('id')} on {test.get('device')}: {said[-1] if said else 'no reason given'}")
