"""Every recorded host: the facts that are read, the findings, the verdict, and what install-cmd answers."""

from __future__ import annotations

import json
import os
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from recorded_hosts import HOSTS, host_of, install_of, record, toml

from torchdoctor.facts import Facts, Request, Unknown
from torchdoctor.pipeline import examine
from torchdoctor.prescribe.writing import Writing
from torchdoctor.reading import facts_of
from torchdoctor.recording import Recording
from torchdoctor.render import json_v1
from torchdoctor.tables import Tables

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the trees hold names with colons, as of PCI devices")
NAMES = sorted(path.parent.name for path in HOSTS.glob("*/host.toml"))
LONGEST_PATH = 150  # below tests/hosts: room for a checkout in a folder of ordinary depth
SCHEMA = json.loads(files("torchdoctor").joinpath("schema/report-1.schema.json").read_text(encoding="utf-8"))


def shown(value: object) -> object:
    """A fact as expected.toml writes it: "-" for none, "?" for what is not known."""
    if value is None or isinstance(value, Unknown):
        return "-" if value is None else "?"
    if isinstance(value, (tuple, frozenset)):
        return [shown(item) for item in value]
    return value if isinstance(value, (bool, int)) else str(value)


def facts_told(facts: Facts, paths: dict[str, Any]) -> dict[str, object]:
    pairs = {path: path.partition(".")[::2] for path in paths}
    return {path: shown(getattr(getattr(facts, group), name)) for path, (group, name) in pairs.items()}


def gpus_told(facts: Facts, wanted: list[dict[str, Any]]) -> object:
    if not isinstance(facts.gpus, tuple):
        return shown(facts.gpus)
    if len(facts.gpus) != len(wanted):
        return list(facts.gpus)
    return [{name: shown(getattr(gpu, name)) for name in item} for gpu, item in zip(facts.gpus, wanted, strict=True)]


@pytest.mark.parametrize("name", NAMES)
def test_recorded_host(name: str, tmp_path: Path, tables: Tables) -> None:
    host, recording = record(name, tmp_path)
    expected = toml(HOSTS / name / "expected.toml")
    request = Request(require_gpu=host.get("require_gpu", False))
    report = json.loads(json_v1.render(examine(recording, tables, request, Writing())))
    jsonschema.validate(report, SCHEMA)
    facts = facts_of(recording, tables, request)
    assert facts_told(facts, expected.get("facts", {})) == expected.get("facts", {})
    if "gpus" in expected:
        assert gpus_told(facts, expected["gpus"]) == expected["gpus"]
    found = {finding["id"]: finding["severity"] for finding in report["findings"]}
    assert found == expected.get("findings", {})
    assert [item for item in report["checks"] if item["outcome"] == "crashed"] == []
    assert report["status"] == expected["status"]
    said = json.dumps(report["findings"], ensure_ascii=False).lower()
    assert [words for words in expected.get("says", []) if words.lower() not in said] == []
    assert [words for words in expected.get("must_not_say", []) if words.lower() in said] == []
    if "install" in expected:
        check_install(host, recording, expected["install"], tables)


def check_install(host: dict[str, Any], recording: Recording, wanted: dict[str, Any], tables: Tables) -> None:
    status, install, err = install_of(host, recording, tables)
    if "refusal" in wanted:
        assert install is None, install
        assert status == wanted.get("exit", 1)
        assert wanted["refusal"] in err
        return
    assert install is not None, err
    assert {name: install[name] for name in wanted if name != "note"} == {
        name: value for name, value in wanted.items() if name != "note"
    }
    assert wanted.get("note", "") in err


def test_a_host_says_nothing_of_the_machine_that_tests_it(tmp_path: Path) -> None:
    _, recording = record(NAMES[0], tmp_path)
    assert str(tmp_path) not in recording.to_json()


def test_every_file_can_be_checked_out_on_windows() -> None:
    names = [path.relative_to(HOSTS).as_posix() for path in HOSTS.rglob("*")]
    assert [name for name in names if re.search(r'[:<>"|?*\\]|[. ]$', name) or len(name) > LONGEST_PATH] == []


@pytest.mark.parametrize("name", NAMES)
def test_every_host_has_a_title_and_an_answer(name: str) -> None:
    assert host_of(name)["title"]
    assert (HOSTS / name / "expected.toml").is_file()
