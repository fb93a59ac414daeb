"""Every format as those read it who know it: real parsers, the limits of the services, and snapshots.

``TORCHDOCTOR_UPDATE_SNAPSHOTS=1 pytest tests/test_formats.py`` writes the snapshots anew.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from conftest import DATA
from format_reports import NOW, REPORTS, invented
from hypothesis import given, settings
from hypothesis import strategies as st
from junitparser import JUnitXml
from markdown_it import MarkdownIt
from prometheus_client.parser import text_string_to_metric_families
from tap.parser import Parser as TapParser
from test_hostile import ORDERS
from xmlschema import XMLSchema

from torchdoctor.checks import all_checks
from torchdoctor.facts import Facts, Gpu, Request
from torchdoctor.findings import SEVERITIES, Ignored, Outcome, Place, Prediction, Severity, Text, Verdict
from torchdoctor.lint.run import lint
from torchdoctor.pipeline import examine
from torchdoctor.prescribe.writing import Writing
from torchdoctor.recording import Recording
from torchdoctor.records import replace
from torchdoctor.render import github, markdown, nagios
from torchdoctor.render.cases import cases
from torchdoctor.render.formats import FORMATS, View, rendered
from torchdoctor.render.labels import place_of
from torchdoctor.render.line import on_one_line
from torchdoctor.render.text import IN_TABLE, verdict
from torchdoctor.report import Report, exit_status
from torchdoctor.tables import Tables

SNAPSHOTS = DATA / "formats"
ENDINGS = {"json": "json", "gitlab": "json", "junit": "xml", "markdown": "md", "prometheus": "prom"}
VIEW = View(now=NOW)
WRITTEN = [name for name, item in FORMATS.items() if item.module]
SEVERITY: st.SearchStrategy[Severity] = st.sampled_from(SEVERITIES)
IDS = st.sampled_from([f"finding-{number}" for number in range(40)])
FINDINGS = st.lists(st.tuples(SEVERITY, IDS), max_size=400)
WORDS = st.one_of(
    st.text(max_size=60),
    st.sampled_from(
        ["::error::x", "a\n::error::x", "##[error]y", "%0A\r%", "]]>", "`" * 12, "<b>&amp;", "| a |", "\x1b[2J"]
    ),
)
PLACES = st.one_of(
    st.none(), st.builds(Place, st.sampled_from(["a.txt", "./b:c,d%.txt", "x\n::y"]), st.integers(0, 99))
)


@pytest.fixture(scope="module", params=list(REPORTS))
def named(request: pytest.FixtureRequest) -> tuple[str, Report]:
    name = str(request.param)
    return name, REPORTS[name]()


@pytest.mark.parametrize("kind", ["text", *(name for name in WRITTEN if name not in {"text", "json"})])
def test_snapshot(named: tuple[str, Report], kind: str) -> None:
    name, report = named
    file = SNAPSHOTS / name / f"{kind}.{ENDINGS.get(kind, 'txt')}"
    content = re.sub(r"(?m)^  unknown: .*", "  unknown: ...", rendered(kind, report, VIEW))  # grows with each new fact
    if os.environ.get("TORCHDOCTOR_UPDATE_SNAPSHOTS"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(content, encoding="utf-8")
    assert content == file.read_text(encoding="utf-8")


def test_no_snapshot_is_left_over() -> None:
    files = {path.relative_to(SNAPSHOTS).parts[0] for path in SNAPSHOTS.rglob("*") if path.parent != SNAPSHOTS}
    assert files == set(REPORTS)


def test_the_reports_are_of_the_five_kinds() -> None:
    assert {name: make().status for name, make in REPORTS.items()} == {
        "healthy-cpu": "ok",
        "error-with-command": "fail",
        "hostile-paste": "fail",
        "unknown": "unknown",
        "crashed-check": "unknown",
    }
    assert "pip install" in rendered("markdown", REPORTS["error-with-command"](), VIEW)


@pytest.mark.parametrize("kind", WRITTEN)
@given(findings=FINDINGS, words=WORDS, place=PLACES)
@settings(max_examples=25, deadline=None)
def test_no_format_gives_orders(
    kind: str, findings: list[tuple[Severity, str]], words: str, place: Place | None
) -> None:
    content = rendered(kind, invented(findings[:20], words, place), VIEW)
    if kind == "github":  # whose lines are orders, each one of ours
        content = re.sub(r"(?m)^::(error|warning|notice) [^:\n]*::", "", content)
    assert not ORDERS.search(content)
    content.encode("utf-8")


@pytest.mark.parametrize("kind", WRITTEN)
def test_hostile_text_gives_no_orders(kind: str) -> None:
    content = rendered(kind, REPORTS["hostile-paste"](), VIEW)
    if kind == "github":
        content = re.sub(r"(?m)^::(error|warning|notice) title=torchdoctor%3A [a-z-]+::", "", content)
    assert not ORDERS.search(content)


# What a policy sets aside, hosts that were asked about, places in files


@pytest.fixture(scope="module")
def with_aside() -> Report:
    report = invented([("error", "finding-1"), ("error", "finding-2"), ("info", "finding-3")])
    aside = Ignored(report.findings[0], "ticket 123", "2027-01-31")
    return replace(report, findings=report.findings[1:], ignored=(aside,))


def test_what_is_set_aside_is_skipped_and_alerts_nobody(with_aside: Report) -> None:
    told = {case.name: (case.outcome, case.about) for case in cases(with_aside, "error")}
    assert told["finding-1"] == ("skipped", "set aside until 2027-01-31 (ticket 123): seen is wrong")
    assert [told[f"finding-{number}"][0] for number in (2, 3)] == ["failed", "passed"]
    found = series(rendered("prometheus", with_aside, VIEW))
    assert found["torchdoctor_finding", frozenset({("id", "finding-1")})] == 0
    assert found["torchdoctor_set_aside", frozenset()] == 1
    assert "finding-1" not in "".join(rendered(kind, with_aside, VIEW) for kind in ("github", "gitlab", "nagios"))


def foretold() -> Report:
    verdicts: tuple[Verdict, ...] = ("runs", "runs-with-warnings", "will-not-run", "unknown")
    targets = tuple(
        Prediction(name=f"{verdict} # SKIP |x|", target={"driver": "535"}, verdict=verdict, why=Text("reason"))
        for verdict in verdicts
    )
    facts = Facts(request=Request(targets=targets))
    checked = [check for check in all_checks() if check.id in IN_TABLE]
    findings = tuple(
        replace(draft, id=check.id, severity=check.severity)
        for check in checked
        for draft in check.rule(facts, Tables())
    )
    outcomes = (*(Outcome(check.id, "found") for check in checked), Outcome("torch-missing", "passed"))
    return Report(facts=facts, findings=findings, outcomes=outcomes, tables_date="2026-11-30")


@pytest.mark.parametrize(("fail_on", "second"), [("error", "passed"), ("warning", "failed")])
def test_each_host_asked_about_is_a_test(fail_on: str, second: str) -> None:
    report = foretold()
    told = [(case.family, case.name, case.outcome) for case in cases(report, fail_on)]
    assert told == [
        ("build", "torch-missing", "passed"),
        ("target", "runs # SKIP |x|", "passed"),
        ("target", "runs-with-warnings # SKIP |x|", second),
        ("target", "will-not-run # SKIP |x|", "failed"),
        ("target", "unknown # SKIP |x|", "errored"),
        ("", "verdict", "passed"),
    ]
    points = tap(rendered("tap", report, VIEW))
    assert [point.ok for point in points] == [True, True, True, False, False, True]
    assert not any(point.skip for point in points)


def test_hosts_asked_about_are_series_and_issues_of_their_own() -> None:
    report = foretold()
    found = series(rendered("prometheus", report, VIEW))
    runs = {
        dict(labels)["target"]: value for (name, labels), value in found.items() if name == "torchdoctor_target_runs"
    }
    assert list(runs.values()) == [1, 1, 0, 0]
    assert len({issue["fingerprint"] for issue in json.loads(rendered("gitlab", report, VIEW))}) == 3


@pytest.mark.parametrize("kind", ["text", "json", "junit", "github", "gitlab", "tap", "markdown"])
def test_a_place_in_a_file_is_told(kind: str) -> None:
    content = rendered(
        kind, invented([("warning", "finding")], place=Place("req/dev.txt", 12)), View("warning", 0, NOW)
    )
    assert "req/dev.txt" in content
    assert "12" in content


@pytest.mark.parametrize("variable", ["GITHUB_WORKSPACE", "CI_PROJECT_DIR", ""])
def test_a_place_is_told_from_the_top_of_the_repository(
    variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "repository" / "sub").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "repository" / ("sub" if variable else ""))
    if variable:
        monkeypatch.setenv(variable, str(tmp_path / "repository"))
    for given_, told in (
        ("a.txt", "sub/a.txt" if variable else "a.txt"),
        ("./b.txt", "sub/b.txt" if variable else "b.txt"),
        (str(tmp_path / "repository" / "c.txt"), "c.txt"),
        (str(tmp_path / "d.txt"), str(tmp_path / "d.txt")),
    ):
        report = invented([("error", "finding")], place=Place(given_, 2))
        ((_, properties, _message),) = annotated(rendered("github", report, VIEW))
        assert properties["file"] == told
        (issue,) = json.loads(rendered("gitlab", report, VIEW))
        assert issue["location"] == {"path": told.lstrip("/"), "lines": {"begin": 2}}


# JUnit


@pytest.fixture(scope="module")
def junit_schema() -> XMLSchema:
    return XMLSchema(str(SNAPSHOTS / "junit.xsd"))


def counted(report: Report, fail_on: str) -> dict[str, int]:
    outcomes = [case.outcome for case in cases(report, fail_on)]
    return {outcome: outcomes.count(outcome) for outcome in ("failed", "errored", "skipped")}


@pytest.mark.parametrize("fail_on", [*SEVERITIES, "never"])
def test_junit_is_read_back(named: tuple[str, Report], fail_on: str, junit_schema: XMLSchema) -> None:
    _, report = named
    text = rendered("junit", report, VIEW._replace(fail_on=fail_on))
    junit_schema.validate(text)
    (suite,) = JUnitXml.fromstring(text.encode())
    expected = counted(report, fail_on)
    assert (suite.tests, suite.failures, suite.errors, suite.skipped) == (len(list(suite)), *expected.values())
    assert (suite.failures + suite.errors > 0) is (exit_status(report, fail_on) != 0)
    failed = {case.name for case in suite for result in case.result if type(result).__name__ == "Failure"}
    severities = SEVERITIES[: SEVERITIES.index(fail_on) + 1] if fail_on in SEVERITIES else ()
    assert failed == {finding.id for finding in report.findings if finding.severity in severities}


@given(findings=FINDINGS, words=WORDS, place=PLACES)
@settings(max_examples=60, deadline=None)
def test_junit_holds_whatever_it_is_told(
    findings: list[tuple[Severity, str]], words: str, place: Place | None, junit_schema: XMLSchema
) -> None:
    report = invented(findings[:30], words, place)
    text = rendered("junit", report, VIEW)
    junit_schema.validate(text)
    (suite,) = JUnitXml.fromstring(text.encode())
    names = [case.name for case in suite]
    assert len(names) == len(set(names))
    told = [result.message for case in suite for result in case.result if type(result).__name__ == "Failure"]
    where = f"{place_of(report.findings[0])[0]}{f':{place.line}' * bool(place.line)}: " if place and findings else ""
    assert all(message == on_one_line(f"{where}{words} is wrong") for message in told)


@pytest.mark.parametrize(("first", "last"), [(0, 0x8000), (0x8000, 0x10000), (0x10000, 0x11000), (0x10FF00, 0x110000)])
def test_junit_takes_every_character(first: int, last: int) -> None:
    """All that a parser could choke on; what XML 1.0 forbids lies in the first of these."""
    text = rendered("junit", invented([("error", "finding")], "".join(map(chr, range(first, last)))), VIEW)
    (suite,) = JUnitXml.fromstring(text.encode("ascii"))
    assert suite.failures == 1


def test_junit_schema_refuses_what_is_wrong(junit_schema: XMLSchema) -> None:
    text = rendered("junit", REPORTS["unknown"](), VIEW)
    for before, after in ((' hostname="localhost"', ""), ("system-out>", "out>"), ('time="0"', 'time="soon"')):
        assert before in text
        assert not junit_schema.is_valid(text.replace(before, after))


# GitHub Actions

ANNOTATION = re.compile(r"::(error|warning|notice) ([^:\r\n]*)::(.*)")


def annotated(text: str) -> list[tuple[str, dict[str, str], str]]:
    """As the runner reads them."""
    found = []
    for line in text.splitlines():
        match = ANNOTATION.fullmatch(line)
        assert match, line
        pairs = (part.partition("=") for part in match[2].split(","))
        found.append((match[1], {key: unescaped(value) for key, _, value in pairs}, unescaped(match[3])))
    return found


def unescaped(text: str) -> str:
    for code, character in (("%2C", ","), ("%3A", ":"), ("%0A", "\n"), ("%0D", "\r"), ("%25", "%")):
        text = text.replace(code, character)
    return text


@given(findings=FINDINGS, words=WORDS, place=PLACES, fail_on=st.sampled_from([*SEVERITIES, "never"]))
@settings(max_examples=150, deadline=None)
def test_annotations_keep_within_the_limits(
    findings: list[tuple[Severity, str]], words: str, place: Place | None, fail_on: str
) -> None:
    report = invented(findings, words, place)
    view = VIEW._replace(fail_on=fail_on)
    told = annotated(rendered("github", report, view))
    loud = [severity for severity, _ in findings if severity != "info" or fail_on == "info" or place]
    assert len(told) == min(10, len(loud)) + (report.status == "unknown" and not findings)
    kinds = [("error", "warning", "notice").index(kind) for kind, _, _ in told if findings]
    assert kinds == sorted(SEVERITIES.index(severity) for severity in loud)[:10]
    assert all(message.startswith(on_one_line(f"{words} is wrong")[:3000]) for _, _, message in told if findings)
    assert all(on_one_line(f"because of {words}")[:3000] in message.split("\n") for _, _, message in told if findings)
    if place and findings:
        assert all(given["file"] == on_one_line(place.file).removeprefix("./") for _, given, _ in told)
        assert all(given.get("line", "0") == str(place.line) for _, given, _ in told)
    page = markdown.summary(report, view, github.SUMMARY_BYTES)
    assert page.count(" is wrong") >= len(findings)


@given(findings=FINDINGS, words=WORDS, room=st.integers(-10, 30_000))
@settings(max_examples=100, deadline=None)
def test_a_step_summary_keeps_to_its_room(findings: list[tuple[Severity, str]], words: str, room: int) -> None:
    page = markdown.summary(invented(findings, words), VIEW, room)
    assert len(page.encode()) <= max(room, 0)
    shown = len(re.findall(r"(?m)^\| (?:error|warning|info) \|", page))
    left_out = sum(map(int, re.findall(r"\| \| \| (\d+) more findings \|", page)))
    assert not page or shown + left_out == len(findings)


def test_hundreds_of_long_findings_fill_a_summary_and_no_more() -> None:
    report = invented([("error", f"finding-{number}") for number in range(900)], "x&" * 500)
    page = markdown.summary(report, VIEW, github.SUMMARY_BYTES)
    assert github.SUMMARY_BYTES - 10_000 < len(page.encode()) <= github.SUMMARY_BYTES
    assert re.search(r"\d+ more findings", page)


def test_that_too_little_is_known_is_an_annotation() -> None:
    ((kind, given_, message),) = annotated(rendered("github", REPORTS["unknown"](), VIEW))
    assert (kind, given_) == ("error", {"title": "torchdoctor: unknown"})
    assert message == "nothing in it could be recognised"


def test_outputs_are_read_back_with_any_value() -> None:
    values = {"verdict": "fail", "report": "/a\nverdict<<x\nok\nx\n/b.json"}
    lines = github.outputs(values, "end_of_it").splitlines()
    read: dict[str, str] = {}
    while lines:
        name, _, delimiter = lines.pop(0).partition("<<")
        end = lines.index(delimiter)
        read[name], lines = "\n".join(lines[:end]), lines[end + 1 :]
    assert read == values


# GitLab


@given(findings=FINDINGS, words=WORDS, place=PLACES)
@settings(max_examples=60, deadline=None)
def test_gitlab_issues_have_what_gitlab_demands(
    findings: list[tuple[Severity, str]], words: str, place: Place | None
) -> None:
    report = invented(findings, words, place)
    issues: list[dict[str, Any]] = json.loads(rendered("gitlab", report, VIEW))
    assert len(issues) == len(findings) + (report.status == "unknown")
    assert len({issue["fingerprint"] for issue in issues}) == len(issues)
    for issue in issues:
        assert issue["severity"] in {"info", "minor", "major", "critical", "blocker"}
        assert issue["location"]["path"]
        assert not issue["location"]["path"].startswith(("/", "./"))
        assert issue["location"]["lines"]["begin"] >= 1


def test_gitlab_knows_an_issue_again() -> None:
    def fingerprint(words: str, place: Place | None) -> str:
        (issue,) = json.loads(rendered("gitlab", invented([("error", "finding")], words, place), VIEW))
        return str(issue["fingerprint"])

    assert fingerprint("3.1 GiB free", None) == fingerprint("3.2 GiB free", None)
    assert fingerprint("cu118", Place("a.txt", 3)) == fingerprint("cu118", Place("a.txt", 30))
    assert fingerprint("cu118", Place("a.txt", 3)) != fingerprint("cu118", Place("b.txt", 3))
    assert fingerprint("cu118", Place("a.txt", 3)) != fingerprint("cu121", Place("a.txt", 3))


# TAP


def tap(text: str) -> list[Any]:
    lines = list(TapParser().parse_text(text.replace("TAP version 14", "TAP version 13")))  # which knows as much of it
    assert [line.category for line in lines if line.category in {"unknown", "diagnostic", "bail"}] == []
    return [line for line in lines if line.category == "test"]


@pytest.mark.parametrize("fail_on", [*SEVERITIES, "never"])
def test_tap_is_read_back(named: tuple[str, Report], fail_on: str) -> None:
    _, report = named
    text = rendered("tap", report, VIEW._replace(fail_on=fail_on))
    points, expected = tap(text), cases(report, fail_on)
    assert text.splitlines()[:2] == ["TAP version 14", f"1..{len(points)}"]
    assert [point.number for point in points] == list(range(1, len(expected) + 1))
    assert [point.ok for point in points] == [case.outcome in {"passed", "skipped"} for case in expected]
    assert [bool(point.skip) for point in points] == [case.outcome == "skipped" for case in expected]


@given(findings=FINDINGS, words=WORDS)
@settings(max_examples=40, deadline=None)
def test_tap_holds_whatever_it_is_told(findings: list[tuple[Severity, str]], words: str) -> None:
    points = tap(rendered("tap", invented(findings[:20], words), VIEW))
    told = [point.yaml_block for point in points[:-1]]
    assert [block["summary"] for block in told] == [on_one_line(f"{words} is wrong")] * len(findings[:20])
    assert [block["commands"] for block in told] == [[on_one_line(f"change {words}")]] * len(findings[:20])


# Nagios

NAGIOS = re.compile(r"TORCHDOCTOR (OK|WARNING|CRITICAL|UNKNOWN) - ([^|\n]+) \|( \w+=[\d.]+s?(;\d*){0,2})+\n")


@pytest.mark.parametrize(
    ("severities", "fail_on", "status", "words"),
    [
        ((), "error", 3, "UNKNOWN"),
        (("info",), "error", 0, "OK - no findings"),
        (("warning", "info"), "error", 1, "WARNING - 1 warning: "),
        (("error", "warning", "warning"), "error", 2, "CRITICAL - 1 error, 2 warnings: "),
        (("warning",), "warning", 2, "CRITICAL"),
        (("info",), "info", 2, "CRITICAL - 1 info: finding-0 |"),
        (("info", "info", "error"), "info", 2, "CRITICAL - 1 error, 2 info: "),
        (("info", "error"), "warning", 2, "CRITICAL - 1 error: finding-1 |"),
        (("error",), "never", 1, "WARNING"),
    ],
)  # fmt: skip
def test_nagios_states(severities: tuple[Severity, ...], fail_on: str, status: int, words: str) -> None:
    report = invented([(severity, f"finding-{index}") for index, severity in enumerate(severities)])
    line = rendered("nagios", report, VIEW._replace(fail_on=fail_on))
    assert line.startswith(f"TORCHDOCTOR {words}")
    assert nagios.status_of(report, fail_on) == status


@given(findings=FINDINGS, words=WORDS)
@settings(max_examples=60, deadline=None)
def test_nagios_is_one_line_with_one_bar(findings: list[tuple[Severity, str]], words: str) -> None:
    line = rendered("nagios", invented(findings, words), VIEW)
    assert NAGIOS.fullmatch(line), line
    assert len(line.partition(" |")[0]) <= 80
    crash = replace(invented([]), outcomes=(Outcome("torch-missing", "crashed", f"{words} | x=1"),))
    assert NAGIOS.fullmatch(rendered("nagios", crash, VIEW))
    assert rendered("nagios", crash, VIEW).startswith("TORCHDOCTOR UNKNOWN - the check torch-missing crashed: ")


@pytest.mark.parametrize(
    ("severities", "fail_on", "words"),
    [
        (("info",), "info", "info: seen is wrong (finding-0; fail-on is info)"),
        (("info",), "warning", "ok: "),
        (("info",), "never", "ok: "),
        (("warning", "info"), "info", "warning: seen is wrong"),
    ],
)
def test_the_verdict_names_what_makes_the_exit_status_1(
    severities: tuple[Severity, ...], fail_on: str, words: str
) -> None:
    report = invented([(severity, f"finding-{index}") for index, severity in enumerate(severities)])
    assert exit_status(report, fail_on) == (fail_on == "info")
    told = (
        verdict(report, fail_on),
        rendered("text", report, VIEW._replace(fail_on=fail_on, verbosity=-1)),
        cases(report, fail_on)[-1].about,
    )
    assert [line.startswith(words) for line in told] == [True] * 3, told


# Prometheus


def series(text: str) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    found = {}
    for family in text_string_to_metric_families(text):
        assert family.type == "gauge"
        assert family.documentation
        for sample in family.samples:
            assert sample.timestamp is None
            found[sample.name, frozenset(sample.labels.items())] = sample.value
    return found


def test_prometheus_text_is_accepted(named: tuple[str, Report]) -> None:
    _, report = named
    found = series(rendered("prometheus", report, VIEW))
    ids = {dict(labels)["id"] for (name, labels), value in found.items() if name == "torchdoctor_finding" and value}
    assert ids == {finding.id for finding in report.findings}
    assert found["torchdoctor_last_run_timestamp_seconds", frozenset()] == NOW
    assert found["torchdoctor_exit_status", frozenset()] == exit_status(report, "error")
    assert found["torchdoctor_status", frozenset({("status", report.status)})] == 1


def test_prometheus_series_are_the_same_after_every_run(tables_reports: list[Report]) -> None:
    names = [
        {key for key in series(rendered("prometheus", report, VIEW)) if key[0] != "torchdoctor_info"}
        for report in tables_reports
    ]
    assert names[0] == names[1]
    assert len(names[0]) > 100


def test_prometheus_series_of_lint_are_the_same_whatever_the_files_hold(tmp_path: Path) -> None:
    contents = {
        "requirements.txt": "requests\n",
        "pyproject.toml": "[project\n",
        "environment.yml": "dependencies: [x]\n",
    }
    found = []
    for name, content in contents.items():
        (tmp_path / name).write_text(content)
        report = lint([str(tmp_path / name)], Tables()).report
        found.append(series(rendered("prometheus", report, VIEW)))
    assert found[0].keys() == found[1].keys() == found[2].keys()
    broken = "torchdoctor_finding", frozenset({("id", "manifest-unreadable")})
    assert [each[broken] for each in found] == [0, 1, 0]


@pytest.fixture(scope="module")
def tables_reports() -> list[Report]:
    """One sick and one healthy host, with every check."""
    files = (DATA / "recordings" / f"{name}.json" for name in ("macos-m2", "bare-nouveau"))
    recordings = (Recording.from_json(file.read_text(encoding="utf-8")) for file in files)
    return [examine(recording, Tables(), Request(), Writing()) for recording in recordings]


@given(findings=FINDINGS, words=WORDS)
@settings(max_examples=40, deadline=None)
def test_prometheus_takes_any_finding(findings: list[tuple[Severity, str]], words: str) -> None:
    report = replace(invented(findings, words), facts=Facts(gpus=(Gpu(name=f'{words}"\\n'),)))
    found = series(rendered("prometheus", report, VIEW))
    (about,) = (dict(labels) for name, labels in found if name == "torchdoctor_info")
    assert about["gpu"] == on_one_line(f'{words}"\\n')
    counts = {severity: found["torchdoctor_findings", frozenset({("severity", severity)})] for severity in SEVERITIES}
    assert counts == {severity: [each for each, _ in findings].count(severity) for severity in SEVERITIES}


# Markdown


def test_markdown_keeps_hostile_text_in_its_fences() -> None:
    report = REPORTS["hostile-paste"]()
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(rendered("markdown", report, VIEW))
    kinds = [token.type for token in tokens]
    assert kinds == ["heading_open", "inline", "heading_close", "fence", "html_block", "fence", "html_block"]
    assert tokens[1].content == f"torchdoctor: {report.status}"
    assert tokens[3].content.startswith(verdict(report))
    assert {token.content.strip() for token in tokens if token.type == "html_block"} == {
        "<details>\n<summary>Checks and facts</summary>",
        "</details>",
    }


@given(words=WORDS, place=PLACES)
@settings(max_examples=60, deadline=None)
def test_a_step_summary_shows_text_as_text(words: str, place: Place | None) -> None:
    report = invented([("error", "finding")], words, place)
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(markdown.summary(report, VIEW, 100_000))
    cells = [token for token in tokens if token.type == "inline"]
    where = f"{on_one_line(str(place)).removeprefix('./')}: " if place else ""
    shown = " ".join(on_one_line(f"{where}{words} is wrong").split())
    assert [cell.content for cell in cells[2:6]] == ["severity", "finding", "what", "what to do"]
    assert len(cells) == 10
    for cell in cells:
        assert {child.type for child in cell.children or ()} <= {"text", "text_special", "html_inline"}
    plain = " ".join("".join(child.content for child in cells[8].children or ()).split())
    assert plain == shown


def test_markdown_names_nobody(tmp_path: Path) -> None:
    report = invented([("error", "finding")], "/home/janedoe/x token=abcdef0123456789", Place("/home/janedoe/r.txt", 2))
    text = rendered("markdown", report, VIEW)
    assert "janedoe" not in text
    assert "abcdef0123456789" not in text
    assert str(tmp_path) not in text
