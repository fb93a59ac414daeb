"""The report for an issue, and the table of a step summary: whatever a value holds, it stays text.

Lines of the report stand in a fence longer than any run of backticks in them; a cell of the table holds nothing but
letters, digits, blanks and character references, which Markdown takes for no mark of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from torchdoctor.findings import Finding
from torchdoctor.patterns import lazily
from torchdoctor.redact import Identity, Redactor
from torchdoctor.render.formats import View
from torchdoctor.render.labels import place_of
from torchdoctor.render.line import Line, on_one_line
from torchdoctor.render.text import detail_lines, verdict
from torchdoctor.render.text import render as render_text
from torchdoctor.report import Report

_MARK = lazily(r"[!-/:-@\[-`{-~]")
_BACKTICKS = lazily(r"`{3,}")
_NOTE_ROOM = 100  # bytes for the line that says what was left out


def render(report: Report, view: View) -> str:
    """The report and, folded away, what it rests on; once more without what names a person or a machine."""
    lines = [
        f"### torchdoctor: {report.status}",
        "",
        *fenced(render_text(report, min(view.verbosity, 0), view.fail_on)),
    ]
    if view.verbosity >= 0:
        lines += ["", *_folded("Checks and facts", fenced(detail_lines(report)))]
    redactor = Redactor(Identity())
    return "".join(f"{redactor.text(line)}\n" for line in lines)


def summary(report: Report, view: View, room: int) -> str:
    """The page of a step: the verdict, a row a finding, the whole report folded; at most ``room`` bytes of UTF-8."""
    head = [f"### torchdoctor: {report.status}", "", _as_text(verdict(report, view.fail_on)), ""]
    if _size(head) + _NOTE_ROOM > room:
        return ""
    if report.findings:
        head += ["| severity | finding | what | what to do |", "|---|---|---|---|"]
    table, left = _within(map(_row, report.findings), room - _size(head), "| | | {count} more findings | |")
    whole = ["", *_folded("The whole report", fenced(render_text(report, 0, view.fail_on)))]
    return "".join(f"{line}\n" for line in (*head, *table, *(whole if _size(whole) <= left else ())))


def _row(finding: Finding) -> str:
    file, line = place_of(finding)
    where = f"{file}:{line}: " if line else f"{file}: " if file else ""
    todo = "; ".join(str(remedy.text) for remedy in finding.remedies)
    commands = " ".join(f"<code>{_as_text(str(line))}</code>" for each in finding.remedies for line in each.commands)
    cells = (str(finding.severity), _as_text(finding.id), _as_text(f"{where}{finding.summary}"))
    return f"| {' | '.join(cells)} | {_as_text(todo)} {commands} |"


def _within(rows: Iterable[str], room: int, note: str) -> tuple[list[str], int]:
    """The rows that fit and, where some do not, how many; and the bytes that are left."""
    taken: list[str] = []
    left, cut = room - _NOTE_ROOM, 0
    for row in rows:
        size = _size([row])
        if cut or size > left:
            cut += 1
        else:
            taken.append(row)
            left -= size
    return (taken, left) if not cut else ([*taken, note.format(count=cut)], 0)


def _size(lines: Iterable[str]) -> int:
    return sum(len(line.encode()) + 1 for line in lines)


def _folded(title: str, lines: Iterable[str]) -> Iterator[str]:
    yield from ("<details>", f"<summary>{title}</summary>", "")
    yield from lines
    yield from ("", "</details>")


def fenced(lines: Sequence[Line]) -> list[str]:
    """The lines in a fence that nothing in them can close."""
    told = [on_one_line(line.text) for line in lines]
    longest = max((len(run) for text in told for run in _BACKTICKS.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return [f"{fence}text", *told, fence]


def _as_text(text: str) -> str:
    return _MARK.sub(lambda match: f"&#{ord(match[0])};", on_one_line(text))
