"""The page: the verdict first, then what to do, then what it rests on."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from importlib.resources import files

from torchdoctor.render.html.chain import chain_of
from torchdoctor.render.html.findings import findings, ignored, install, targets
from torchdoctor.render.html.host import facts_of
from torchdoctor.render.html.markup import nonempty, section, terms, text
from torchdoctor.render.html.picture import picture
from torchdoctor.render.html.plots import benchmark
from torchdoctor.render.html.proof import checks, code, facts, smoke
from torchdoctor.render.html.told import Told, commands, errors_of, items, member, verdict, words
from torchdoctor.tables import Tables

_STATUSES = ("ok", "warn", "fail", "unknown")


def page(report: Told, tables: Tables) -> str:
    """The whole page of a report's JSON object; the same object and tables give the same bytes."""
    word, said = verdict(report)
    body = "\n".join(nonempty(_sections(report, tables)))
    return f"""{_head(f"torchdoctor: {word}: {said}")}
<body>
<a class="skip" href="#main">Skip to the findings</a>
<header class="{_status(report)}">
<p class="name">torchdoctor</p>
<h1><span class="tag">{text(word)}</span> {text(said)}</h1>
{terms(_host(report))}
</header>
<main id="main">
{body}
</main>
<footer><p>{text(_made(report))}</p></footer>
<script>{_asset("page.js")}</script>
</body>
</html>
"""


def _head(title: str) -> str:
    style, script = _asset("page.css"), _asset("page.js")
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; base-uri 'none'; "
        "form-action 'none'"
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>{text(title)}</title>
<style>{style}</style>
</head>"""


@cache
def _asset(name: str) -> str:
    return files("torchdoctor.render.html").joinpath(name).read_text(encoding="utf-8")


def _hash(content: str) -> str:
    """What allows this very script or style, and no other, to count."""
    return f"sha256-{b64encode(sha256(content.encode()).digest()).decode()}"


def _status(report: Told) -> str:
    status = report.get("status")
    return str(status) if status in _STATUSES else "unknown"


def _sections(report: Told, tables: Tables) -> Iterator[str]:
    yield section("findings", "What was found", [*findings(report), targets(report), ignored(report)])
    if not _is_shown(report):
        yield section("install", "What to install", install(report))
    chain = chain_of(facts_of(report), tables, errors_of(report))
    yield section("compatibility", "Driver, build and GPU", [picture(chain)] if chain else [])
    yield section("smoke", "Smoke tests", smoke(report))
    yield section("benchmark", "Benchmark", benchmark(report.get("bench"), tables))
    yield section("code", "Device code", code(report))
    yield section("checks", "Checks", checks(report))
    yield section("facts", "Facts, and where they were read", facts(report))


def _is_shown(report: Told) -> bool:
    """Whether a finding tells the install command already."""
    told = report.get("install")
    lines = commands(told) if isinstance(told, dict) else []
    remedies = (remedy for finding in items(report.get("findings")) for remedy in items(finding.get("remedies")))
    return bool(lines) and any(commands(remedy) == lines for remedy in remedies)


def _host(report: Told) -> Iterator[tuple[str, str]]:
    """The few facts that say which host it is about."""
    told = report.get("facts")
    for name, paths in (
        ("system", (("os", "distribution"), ("os", "name"))),
        ("machine", (("os", "machine"),)),
        ("Python", (("python", "version"), ("python", "tag"))),
        ("torch", (("torch", "full"), ("torch", "version"))),
        ("NVIDIA driver", (("driver", "version"),)),
    ):
        yield name, next((words(value) for path in paths if (value := member(told, *path)) is not None), "")
    names = dict.fromkeys(str(gpu.get("name") or "unnamed") for gpu in items(member(told, "gpus")))
    yield "GPU", ", ".join(names)


def _made(report: Told) -> str:
    """What made it; the page itself says nothing of when, so that it is the same whenever it is made."""
    return (
        f"torchdoctor {report.get('torchdoctor')}, tables of {report.get('tables')}. Home folders, users, hosts, "
        "addresses, serial numbers and tokens were taken out; equal ones stay equal. The page asks no network."
    )
