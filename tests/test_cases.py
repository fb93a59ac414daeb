"""Recorded environments with the right answer beside them: adding one needs no code."""

from __future__ import annotations

import json
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from conftest import CASES

from torchdoctor.checks import all_checks
from torchdoctor.commands.diagnose import load
from torchdoctor.commands.predict import targets_of
from torchdoctor.pipeline import examine
from torchdoctor.policy.parse import policy_of
from torchdoctor.predict.foretell import foretell
from torchdoctor.prescribe.writing import Writing
from torchdoctor.records import replace
from torchdoctor.render import json_v1
from torchdoctor.render.text import IN_TABLE
from torchdoctor.tables import Tables

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOLDERS = sorted(path.parent for path in CASES.glob("*/case.toml"))
SCHEMA = json.loads(files("torchdoctor").joinpath("schema/report-1.schema.json").read_text(encoding="utf-8"))


def case_of(folder: Path) -> dict[str, Any]:
    case: dict[str, Any] = tomllib.loads((folder / "case.toml").read_text(encoding="utf-8"))
    return case


def report_of(folder: Path, tables: Tables) -> dict[str, Any]:
    case = case_of(folder)
    recording = load([str(folder / name) for name in case["inputs"]])
    policy = policy_of("case.toml", case.get("policy", {}))
    request = replace(policy.request(today=case.get("today", "")), require_gpu=case.get("gpu_required", False))
    if "targets" in case:
        report = foretell(recording, targets_of(case["targets"], tables), tables, request, Writing())
    else:
        report = examine(recording, tables, request, Writing())
    return json.loads(json_v1.render(report))  # type: ignore[no-any-return]


def lineage(word: str) -> set[str]:
    parents = {item.id: item.parent for item in all_checks()}
    line = set()
    while word and word not in line:
        line.add(word)
        word = parents.get(word, "")
    return line


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_case(folder: Path, tables: Tables) -> None:
    case, report = case_of(folder), report_of(folder, tables)
    jsonschema.validate(report, SCHEMA)
    loud = [finding["id"] for finding in report["findings"] if finding["severity"] != "info"]
    assert report["status"] == case["status"], loud
    if case["status"] in {"ok", "unknown"}:
        assert loud == []
    else:
        first = {case["causes"][0], *case.get("finer_cause", [])}
        assert any(loud[0] in lineage(cause) or cause in lineage(loud[0]) for cause in first), loud
    said = json.dumps(report["findings"]).lower()
    own = [finding["summary"] for finding in report["findings"] if finding["id"] not in IN_TABLE]  # those quote another
    assert [summary for summary in own if len(summary.split()) >= 15] == []
    assert [words for words in case.get("must_not_say", []) if words.lower() in said] == []
    install = report["install"]
    if install and install["needed"] and install["build"]:
        assert install["build"] not in case.get("unacceptable_builds", [])
    if case.get("acceptable_builds") and case.get("build_expected"):
        assert install
        assert install["build"] in case["acceptable_builds"]


def test_every_finding_id_has_a_case() -> None:
    told = {
        cause
        for folder in FOLDERS
        for key in ("causes", "finer_cause", "also")
        for cause in case_of(folder).get(key, [])
    }
    assert sorted({item.id for item in all_checks()} - told) == []
