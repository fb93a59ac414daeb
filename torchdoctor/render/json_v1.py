"""``torchdoctor.report/1``: the frozen JSON form of a report. It has a type of its own so that internals may change."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from torchdoctor import __version__
from torchdoctor.facts import Facts, Packages, Unknown, Variables
from torchdoctor.findings import Finding, Remedy
from torchdoctor.prescribe.choose import Upgrade
from torchdoctor.prescribe.install import Install, Rejected
from torchdoctor.records import fields, is_record
from torchdoctor.render.line import harmless_json
from torchdoctor.render.text import verdict
from torchdoctor.report import Report

if TYPE_CHECKING:
    from torchdoctor.code_view import CodeRow

SCHEMA = "torchdoctor.report/1"

_OF_FACTS = {Facts.__module__, "torchdoctor.inside"}  # the modules of the records that facts are made of

# Statements about facts rather than facts of the host.
_NOT_FACTS = {"sources", "quoted", "request"}
_TOLD_APART = {"trial.probes", "trial.bench", "inside.code"}  # they are ``smoke``, ``bench`` and ``code`` of a report


def render(report: Report) -> str:
    """Return the report as one JSON object and a newline."""
    return harmless_json(json.dumps(report_object(report), indent=1, ensure_ascii=False)) + "\n"


def report_object(report: Report) -> dict[str, Any]:
    """Return the report as plain JSON values."""
    unknown: list[str] = []
    facts = facts_object(report.facts, unknown)
    return {
        "schema": SCHEMA,
        "torchdoctor": __version__,
        "tables": report.tables_date,
        "status": report.status,
        "verdict": verdict(report),
        "unknown_because": _text(report.unknown_because),
        "findings": [finding_object(finding) for finding in report.findings],
        "checks": [{"id": item.id, "outcome": item.outcome, "reason": item.reason} for item in report.outcomes],
        "install": install_object(report.install) if report.install else None,
        "no_install": {"reason": str(report.no_install), "change": _text(report.change)} if report.no_install else None,
        "facts": facts,
        "sources": dict(sorted(report.facts.sources.items())),
        "unknown": unknown,
        "smoke": _smoke(report.facts),
        "bench": _bench(report.facts),
        "code": None if report.code is None else list(map(_code, report.code)),
        **_targets(report),
        **_ignored(report),
    }


def _targets(report: Report) -> dict[str, Any]:
    if not report.targets:
        return {}
    from torchdoctor.render.targets_json import targets_array

    return {"targets": targets_array(report.targets)}


def _ignored(report: Report) -> dict[str, Any]:
    """What a policy sets aside, with why."""
    if not report.ignored:
        return {}
    items = (
        {**finding_object(item.finding), "reason": item.reason, "until": item.until or None} for item in report.ignored
    )
    return {"ignored": list(items)}


def _smoke(facts: Facts) -> list[dict[str, Any]] | None:
    probes = facts.trial.probes
    if probes is None or isinstance(probes, Unknown):
        return None
    return [{item.name: getattr(probe, item.name) for item in fields(probe)} for probe in probes]


def _bench(facts: Facts) -> dict[str, Any] | None:
    if not isinstance(facts.trial.bench, tuple):
        return None
    from torchdoctor.benchmark import as_json, summarise

    return as_json(summarise(facts.trial.bench))


def _code(row: CodeRow) -> dict[str, Any]:
    """One library: what its fat binaries hold, and how that serves each GPU, by the GPU's place in the facts."""
    code = row.code
    return {
        "library": code.library,
        "package": code.package or None,
        "version": code.version or None,
        "fatbins": code.fatbins,
        "sass": dict(code.sass),
        "ptx": dict(code.ptx),
        "ptx_isa": code.ptx_isa or None,
        "gfx": dict(code.gfx),
        "error": code.error or None,
        "gpus": {str(place): how or "none" for place, how in row.gpus},
    }


def _text(text: object) -> str | None:
    return None if text is None else str(text)


def finding_object(finding: Finding) -> dict[str, Any]:
    """Return one finding as a JSON object."""
    row = finding.row
    return {
        "id": finding.id,
        "severity": finding.severity,
        "confidence": finding.confidence,
        "summary": str(finding.summary),
        "values": dict(finding.summary.values),
        "evidence": [{"fact": item.fact, "value": item.value, "source": item.source} for item in finding.evidence],
        "why": str(finding.why),
        "fixable_by": finding.fixable_by,
        "beware": _text(finding.beware),
        "remedies": [_remedy(remedy) for remedy in finding.remedies],
        "row": {"table": row.table, "key": row.key, "source": row.source} if row else None,
        "explained_by": finding.explained_by,
        **({"place": {"file": finding.place.file, "line": finding.place.line}} if finding.place else {}),
    }


def _remedy(remedy: Remedy) -> dict[str, Any]:
    return {"text": str(remedy.text), "commands": list(remedy.commands), "risk": remedy.risk}


def install_object(install: Install) -> dict[str, Any]:
    """Return the ``install`` object."""
    return {
        "needed": install.needed,
        "torch": install.torch,
        "build": install.build,
        "index_url": install.index_url or None,
        "commands": list(install.commands),
        "tool": install.tool,
        "file": {"name": install.file, "lines": list(install.lines)} if install.file else None,
        "why": [str(reason) for reason in install.why],
        "rejected": [_rejected(item) for item in install.rejected],
        "if_you_update_the_driver": _upgrade(install.upgrade) if install.upgrade else None,
    }


def _rejected(item: Rejected) -> dict[str, Any]:
    return {"torch": item.torch, "build": item.build, "reason": str(item.reason)}


def _upgrade(upgrade: Upgrade) -> dict[str, Any]:
    return {"min_driver": upgrade.min_driver, "torch": str(upgrade.row.torch), "build": upgrade.row.build.name}


def facts_object(facts: Facts, unknown: list[str]) -> dict[str, Any]:
    """Return the facts as nested JSON values; the dotted paths of unknown ones are appended to ``unknown``."""
    named = ((item.name, getattr(facts, item.name)) for item in fields(facts) if item.name not in _NOT_FACTS)
    return dict(_members(named, "", unknown))


def _members(named: Iterator[tuple[str, Any]], prefix: str, unknown: list[str]) -> Iterator[tuple[str, Any]]:
    for name, value in named:
        path = f"{prefix}{name}"
        if path in _TOLD_APART:
            continue
        if isinstance(value, Unknown):
            if path not in unknown:
                unknown.append(path)
        else:
            yield name, _plain(value, path, unknown)


def _plain(value: Any, path: str, unknown: list[str]) -> Any:  # noqa: PLR0911 - one kind of value a line
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Packages):
        return {item.name: item.version for item in value.items}
    if isinstance(value, Variables):
        return dict(sorted(value.values.items()))
    if isinstance(value, (frozenset, set)):
        return sorted(map(str, value))
    if isinstance(value, (tuple, list)):
        return [_plain(item, f"{path}[]", unknown) for item in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(item, path, unknown) for key, item in value.items()}
    if is_record(value) and type(value).__module__ in _OF_FACTS:
        named = ((item.name, getattr(value, item.name)) for item in fields(value))
        return dict(_members(named, f"{path}.", unknown))
    return str(value)
