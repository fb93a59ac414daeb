"""What one process knows in the end, for people and as ``torchdoctor.net/1``; host names are for people alone."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from typing import Any

from torchdoctor import __version__
from torchdoctor.findings import Finding
from torchdoctor.net.verdict import Heard, pairs
from torchdoctor.net.worker import BANDWIDTH, BARRIER, SUMS
from torchdoctor.redact import Identity, Redactor
from torchdoctor.render.json_v1 import finding_object
from torchdoctor.render.line import Line, harmless_json, on_one_line
from torchdoctor.render.text import finding_lines

SCHEMA = "torchdoctor.net/1"
_UNTOLD = ("host", "boot", "pid")  # of a rank's facts
_GIGA, _MEGA, _MILLI = 1e9, 1e6, 1e3
_MOST_NODES = 32


def status_of(findings: tuple[Finding, ...]) -> str:
    """``fail``, ``warn`` or ``ok``, as of a report."""
    severities = {finding.severity for finding in findings}
    return "fail" if "error" in severities else "warn" if "warning" in severities else "ok"


def text_of(heard: Heard, findings: tuple[Finding, ...]) -> list[Line]:
    """The verdict, what was measured, who the nodes are, and the findings."""
    lines = [_verdict(heard, findings), *_measured(heard), *(_nodes(heard) if findings else [])]
    roots = [item for item in findings if not item.explained_by]
    for finding in roots:
        echoes = [item for item in findings if item.explained_by == finding.id and item is not finding]
        lines += finding_lines(finding, echoes if finding is roots[0] else ())
    return [line._replace(text=on_one_line(line.text)) for line in lines]


def _verdict(heard: Heard, findings: tuple[Finding, ...]) -> Line:
    status = status_of(findings)
    word = {"warn": "warning"}.get(status, status)
    if findings:
        return Line(f"{word}: {findings[0].summary}", word)
    nodes = len(set(heard.nodes.values()))
    return Line(f"ok: {heard.world} ranks on {nodes} node{'s' if nodes > 1 else ''} work together", word)


def _own(heard: Heard, stage: str) -> dict[str, Any]:
    events = heard.told.get(heard.rank, ())
    return next((dict(event) for event in events if event.get("stage") == stage and event.get("state") == "done"), {})


def _measured(heard: Heard) -> Iterator[Line]:
    facts = heard.facts.get(heard.rank, {})
    if facts:
        devices = sorted({str(item.get("device")) for item in heard.facts.values()})
        yield Line(f"torch {facts.get('torch')}, {facts.get('backend')} on {', '.join(devices)}", "dim")
    if barrier := _own(heard, BARRIER):
        yield Line(f"  barrier: {barrier['seconds'] * _MILLI:.3g} ms (the first {barrier['first'] * _MILLI:.3g} ms)")
    if sums := _own(heard, SUMS):
        verdict = "wrong" if sums.get("wrong") else "right"
        yield Line(f"  all-reduce: sums are {verdict} in {', '.join(sums.get('dtypes', ()))}")
    for row in _own(heard, BANDWIDTH).get("sizes", ()):
        rates = f"{row['algbw'] / _GIGA:.3g} GB/s, {row['busbw'] / _GIGA:.3g} GB/s on the bus"
        yield Line(f"  all-reduce of {row['bytes'] / _MEGA:.3g} MB: {row['seconds'] * _MILLI:.3g} ms, {rates}")


def _nodes(heard: Heard) -> Iterator[Line]:
    """Which host each node number is."""
    hosts: dict[int, str] = {}
    for rank, node in heard.nodes.items():
        hosts.setdefault(node, str(heard.facts[rank].get("host")))
    for node, host in list(hosts.items())[:_MOST_NODES]:
        yield Line(f"  node {node}: {host}", "dim")


def json_of(heard: Heard, findings: tuple[Finding, ...]) -> str:
    """The object ``torchdoctor.net/1``; hosts are numbers, addresses are left out."""
    nodes = heard.nodes
    ranks = [
        {
            "rank": rank,
            "node": nodes.get(rank),
            "facts": {name: value for name, value in heard.facts.get(rank, {}).items() if name not in _UNTOLD},
            "stages": [dict(event) for event in events if event.get("stage") != "facts"],
        }
        for rank, events in sorted(heard.told.items())
    ]
    whole = {
        "schema": SCHEMA,
        "torchdoctor": __version__,
        "status": status_of(findings),
        "rank": heard.rank,
        "world": heard.world,
        "ended": heard.ended,
        "ranks": ranks,
        "pairs": [{**item, "ranks": list(key)} for key, item in sorted(pairs(heard).items())],
        "findings": [finding_object(finding) for finding in findings],
    }
    names = tuple(dict.fromkeys(str(item.get("host")) for item in heard.facts.values() if item.get("host")))
    redacted = whole
    for name in names or (socket.gethostname(),):
        redacted = Redactor(Identity((), "", name)).value(redacted)
    return harmless_json(json.dumps(redacted, indent=1, ensure_ascii=False)) + "\n"
