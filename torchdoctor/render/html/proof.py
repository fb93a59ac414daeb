"""What ran and what was looked at: the smoke tests, the device code of the libraries, the checks, the facts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from torchdoctor.render.html.markup import folded, table, text
from torchdoctor.render.html.told import Told, flat, items, member, source, words
from torchdoctor.render.xray_text import WORDS

_MARKS = {"passed": "\u2713", "failed": "\u2717", "skipped": "\u2013"}
_BENCH = "bench"
_LONG = 400  # letters of an error in a table


def smoke(report: Told) -> Iterator[str]:
    """Tests by devices, and what the failed and skipped ones said."""
    tests = [test for test in items(report.get("smoke")) if not str(test.get("id")).startswith(_BENCH)]
    if not tests:
        return
    devices = list(dict.fromkeys(str(test.get("device")) for test in tests))
    cells = {(str(test.get("id")), str(test.get("device"))): test for test in tests}
    names = dict.fromkeys(name for name, _ in cells)
    yield f"<p>{text(_counts(tests))}</p>"
    rows = [(text(name), *(_cell(cells.get((name, device))) for device in devices)) for name in names]
    yield table("Outcomes by device", ("test", *devices), rows)
    said = [test for test in tests if test.get("outcome") != "passed"]
    yield table("What did not pass", ("test", "device", "outcome", "why"), map(_said, said))


def _counts(tests: Sequence[Told]) -> str:
    counts = Counter(str(test.get("outcome")) for test in tests)
    return ", ".join(f"{counts[outcome]} {outcome}" for outcome in _MARKS if counts[outcome])


def _cell(test: Told | None) -> str:
    if test is None:
        return ""
    outcome = str(test.get("outcome"))
    kind = outcome if outcome in _MARKS else "skipped"
    seconds = test.get("seconds")
    took = f" {seconds:.2f} s" if isinstance(seconds, float) and outcome == "passed" else ""
    return f'<span class="{kind}">{_MARKS.get(outcome, "")} {text(outcome)}</span>{took}'


def _said(test: Told) -> tuple[str, ...]:
    why = str(test.get("error") or test.get("reason") or "").strip()
    last = why.splitlines()[-1] if why and test.get("error") else why
    return tuple(text(value) for value in (test.get("id"), test.get("device"), test.get("outcome"), last[:_LONG]))


def code(report: Told) -> Iterator[str]:
    """Libraries by GPUs: how the device code of each serves each."""
    rows = items(report.get("code"))
    gpus = items(member(report, "facts", "gpus"))
    heads = [f"{index}: {gpu.get('name') or 'GPU'}" for index, gpu in enumerate(gpus)]
    told = ((*map(text, _library(row)), *(_served(row, place) for place in range(len(gpus)))) for row in rows)
    yield table("Device code of the installed libraries", ("library", "of", "code", *heads), told)


def _library(row: Told) -> tuple[str, str, str]:
    held = [name for kind in ("sass", "ptx", "gfx") if isinstance(row.get(kind), dict) for name in row[kind]]
    error = f"; {row['error']}" if row.get("error") else ""
    owner = " ".join(str(row[name]) for name in ("package", "version") if row.get(name))
    return str(row.get("library")), owner, f"{' '.join(held)}{error}"


def _served(row: Told, place: int) -> str:
    how = member(row, "gpus", str(place))
    if not isinstance(how, str):
        return ""
    kind = "passed" if how in {"native", "ptx"} else "failed" if how in {"none", "ptx-driver-too-old"} else "skipped"
    said = WORDS.get("" if how == "none" else how, how)
    return f'<span class="{kind}">{_MARKS[kind]} {text(said)}</span>'


def checks(report: Told) -> Iterator[str]:
    """How many there were; those that were skipped or crashed with the reason, the rest folded."""
    told = items(report.get("checks"))
    if not told:
        return
    counts = Counter(str(item.get("outcome")) for item in told)
    yield f"<p>{text(', '.join(f'{count} {outcome}' for outcome, count in sorted(counts.items())))}</p>"
    for outcome, title in (("crashed", "Crashed: an error of torchdoctor's own"), ("skipped", "Skipped, and why")):
        rows = [
            (text(item.get("id")), text(item.get("reason") or "")) for item in told if item.get("outcome") == outcome
        ]
        inner = [table(title, ("check", "why"), rows)]
        yield "".join(inner) if outcome == "crashed" else folded(f"{title} ({len(rows)})", inner)
    ran = [(text(item.get("id")), text(item.get("outcome"))) for item in told if str(item.get("outcome")) in _RAN]
    yield folded(f"Passed, or found something ({len(ran)})", [table("Checks that ran", ("check", "outcome"), ran)])


_RAN = ("passed", "found")


def facts(report: Told) -> Iterator[str]:
    """Every fact with where it was read, a folded table for each group; and which are not known."""
    groups: dict[str, list[tuple[str, str, str]]] = {}
    sources = report.get("sources")
    for path, value in flat(report.get("facts") or {}):
        top = path.partition(".")[0].partition("[")[0]
        groups.setdefault(top, []).append((text(path), text(value), text(source(sources, path))))
    for name, rows in groups.items():
        yield folded(f"{name} ({len(rows)})", [table(f"Facts: {name}", ("fact", "value", "read in"), rows)])
    unknown = report.get("unknown")
    if isinstance(unknown, list) and unknown:
        yield folded(f"Not known ({len(unknown)})", [f"<p>{text(words(unknown))}</p>"])
