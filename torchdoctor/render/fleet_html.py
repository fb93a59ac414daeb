"""Many hosts as one page: the matrix of who differs in what. No script, no network, every value escaped."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from torchdoctor.fleet.findings import listed, pair
from torchdoctor.fleet.merge import Fleet, Group, Slow
from torchdoctor.render.line import on_one_line
from torchdoctor.render.text import verdict
from torchdoctor.report import Report

_MOST_COLUMNS = 24
_STYLE = """
:root { color-scheme: light dark; --line: #8886; --odd: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --odd: #ff9a90; } }
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 90rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; } caption { text-align: left; }
th, td { border: 1px solid var(--line); padding: .3rem .6rem; text-align: left; vertical-align: top; }
td.odd { color: var(--odd); font-weight: 600; }
@media print { .scroll { overflow: visible; } }
"""


def render(fleet: Fleet, report: Report, fail_on: str) -> str:
    """The page."""
    said = _text(verdict(report, fail_on))
    parts = [
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        f"<title>torchdoctor fleet: {said}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>",
        f"<h1>{said}</h1>",
        f"<p>{fleet.hosts} hosts, {fleet.alike} of them {_like(fleet)}, {fleet.hosts - fleet.alike} not.</p>",
        *_matrix(fleet),
        *_lists(fleet),
        *_findings(report),
        "</main>\n</body>\n</html>\n",
    ]
    return "\n".join(parts)


def _like(fleet: Fleet) -> str:
    return f"as {_text(fleet.golden)}" if fleet.golden else "alike"


def _matrix(fleet: Fleet) -> Iterator[str]:
    """Rows are groups of hosts, columns the facts in which any of them differs."""
    columns = list(dict.fromkeys(item.fact for group in fleet.groups for item in group.odd))
    if not columns:
        return
    shown = columns[:_MOST_COLUMNS]
    yield '<h2>Who differs</h2>\n<div class="scroll" tabindex="0" role="region" aria-label="Who differs">\n<table>'
    yield f'<thead><tr><th scope="col">hosts</th>{"".join(f"<th scope=col>{_text(name)}</th>" for name in shown)}</tr>'
    yield f'\n<tbody>\n<tr><th scope="row">elsewhere</th>{_cells(_elsewhere(fleet), shown)}</tr>'
    for group in fleet.groups:
        names = _text(listed(group.names, 6, group.count))
        yield f'<tr><th scope="row">{names}</th>{_cells(_values(group), shown)}</tr>'
    yield "</tbody>\n</table>\n</div>"
    if len(columns) > len(shown):
        yield f"<p>{len(columns) - len(shown)} more facts are in the JSON.</p>"


def _elsewhere(fleet: Fleet) -> dict[str, tuple[str, bool]]:
    return {item.fact: (pair(item)[1], False) for group in fleet.groups for item in group.odd}


def _values(group: Group) -> dict[str, tuple[str, bool]]:
    return {item.fact: (pair(item)[0], True) for item in group.odd}


def _cells(values: dict[str, tuple[str, bool]], columns: list[str]) -> str:
    return "".join(_cell(*values.get(name, ("", False))) for name in columns)


def _cell(value: str, is_odd: bool) -> str:
    return f'<td class="odd">{_text(value)}</td>' if is_odd else f"<td>{_text(value)}</td>"


def _lists(fleet: Fleet) -> Iterator[str]:
    told = (
        ("Missing", fleet.missing),
        ("Not expected", fleet.unexpected),
        ("No reports", tuple(f"{name}: {why}" for name, why in fleet.unreadable)),
        ("Their own report is not ok", tuple(f"{item.host}: {item.status} {item.finding}" for item in fleet.sick)),
        ("Slow devices", tuple(map(_slow, fleet.slow))),
    )
    for title, items in told:
        if items:
            rows = "".join(f"<li>{_text(item)}</li>" for item in items)
            yield f"<h2>{title}</h2>\n<ul>{rows}</ul>"


def _slow(item: Slow) -> str:
    return f"{item.host} {item.device}: {item.value / item.middle:.0%} of the median, {item.kind}"


def _findings(report: Report) -> Iterator[str]:
    if report.findings:
        rows = "".join(f"<li>{item.severity}: {_text(str(item.summary))}</li>" for item in report.findings)
        yield f"<h2>Findings</h2>\n<ul>{rows}</ul>"


def _text(value: str) -> str:
    return escape(on_one_line(value))
