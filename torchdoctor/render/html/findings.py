"""The findings: root causes first, each with what was seen, why, and the commands to copy; echoes folded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torchdoctor.render.html.markup import command, folded, listed, nonempty, table, text
from torchdoctor.render.html.told import Told, causes, commands, items, member, words

_FIXERS = {"admin": "the host's administrator: ", "provider": "the provider of this machine: "}
SEVERITIES = ("error", "warning", "info")


def findings(report: Told) -> Iterator[str]:
    """A card for each root cause; what follows from it is folded into it."""
    for index, (finding, echoes) in enumerate(causes(report)):
        yield _card(finding, echoes, index)
    if not items(report.get("findings")):
        yield "<p>No check found anything.</p>"


def _card(finding: Told, echoes: Sequence[Told], index: int) -> str:
    severity = severity_of(finding)
    sure = finding.get("confidence")
    doubt = f" ({text(sure)})" if sure not in (None, "certain") else ""
    tag = f'<span class="tag {severity}">{severity}</span>'
    fixer = str(finding.get("fixable_by"))
    parts = (
        f'<h3 id="finding-{index}">{tag} {text(finding.get("summary"))}{doubt}</h3>',
        f"<p>{text(finding.get('why') or '')}</p>",
        _place(finding),
        *(_remedy(remedy, fixer) for remedy in items(finding.get("remedies"))),
        _beware(finding),
        _evidence(finding),
        folded(f"{len(echoes)} that follow from it", [listed(map(_echo, echoes))]) if echoes else "",
        f'<p class="more">More: <code>torchdoctor explain {text(finding.get("id"))}</code></p>',
    )
    return (
        f'<article class="{severity}" aria-labelledby="finding-{index}">\n{chr(10).join(nonempty(parts))}\n</article>'
    )


def severity_of(finding: Told) -> str:
    """The severity; of what is none, a remark."""
    told = finding.get("severity")
    return str(told) if isinstance(told, str) and told in SEVERITIES else "info"


def _place(finding: Told) -> str:
    file, line = member(finding, "place", "file"), member(finding, "place", "line")
    return f"<p>At <code>{text(file)}{text(f':{line}') if line else ''}</code></p>" if file else ""


def _remedy(remedy: Told, fixer: str) -> str:
    is_risky = remedy.get("risk") == "changes-system"
    who = _FIXERS.get(fixer, "") if is_risky else ""
    risk = ' <span class="risk">changes the system</span>' if is_risky else ""
    lines = "\n".join(map(command, commands(remedy)))
    said = f"{who}{text(remedy.get('text') or '')}{risk}"
    return f'<div class="remedy">\n<p><strong>Do:</strong> {said}</p>\n{lines}\n</div>'


def _beware(finding: Told) -> str:
    return f"<p><strong>Not:</strong> {text(finding['beware'])}</p>" if finding.get("beware") else ""


def _evidence(finding: Told) -> str:
    rows = [_seen(item) for item in items(finding.get("evidence"))]
    if row := finding.get("row"):
        rows.append((text(f"table {member(row, 'table')}"), text(member(row, "key")), text(member(row, "source"))))
    return table(f"What {finding.get('id')} rests on", ("fact", "value", "read in"), rows)


def _seen(item: Told) -> tuple[str, str, str]:
    return text(item.get("fact")), text(words(item.get("value"))), text(item.get("source") or "")


def _echo(finding: Told) -> str:
    return f"{text(finding.get('id'))}: {text(finding.get('summary'))}"


def install(report: Told) -> Iterator[str]:
    """The install command where one is needed, and why; else why there is none."""
    told = report.get("install")
    if isinstance(told, dict) and told.get("needed") is True:
        yield f"<p>torch {text(told.get('torch') or '')} {text(told.get('build') or '')}</p>"
        yield _lines_of_file(told.get("file"))
        yield from map(command, commands(told))
        why = told.get("why")
        yield listed(text(reason) for reason in (why if isinstance(why, list) else ()))
    elif isinstance(refusal := report.get("no_install"), dict):
        yield f"<p>Nothing can be installed: {text(refusal.get('reason'))}</p>"
        if refusal.get("change"):
            yield f"<p>Smallest change: {text(refusal['change'])}</p>"


def _lines_of_file(file: object) -> str:
    """What belongs into a file of the project before the commands are run."""
    lines = member(file, "lines")
    if not isinstance(lines, list) or not lines:
        return ""
    body = "\n".join(map(text, lines))
    name = text(member(file, "name"))
    return f'<p>First put these lines into <code>{name}</code>:</p>\n<pre tabindex="0"><code>{body}</code></pre>'


def targets(report: Told) -> str:
    """What is foretold for other hosts."""
    rows = [
        tuple(text(words(item.get(name)) if item.get(name) else "") for name in ("name", "verdict", "why", "change"))
        for item in items(report.get("targets"))
    ]
    return table("Other hosts that were asked about", ("host", "verdict", "why", "what would change it"), rows)


def ignored(report: Told) -> str:
    """What a policy sets aside."""
    rows = [
        tuple(text(words(item.get(name)) if item.get(name) else "") for name in ("id", "summary", "reason", "until"))
        for item in items(report.get("ignored"))
    ]
    return table("Set aside by the policy", ("finding", "what", "why it is set aside", "until"), rows)
