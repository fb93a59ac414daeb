"""Kinds of fault on other platforms, each in several wordings and on hosts where the facts decide otherwise."""

from __future__ import annotations

import sys

import pytest
from conftest import ROOT

from torchdoctor.facts import Request
from torchdoctor.pipeline import examine
from torchdoctor.prescribe.writing import Writing
from torchdoctor.recording import PastedText, Recording
from torchdoctor.tables import Tables

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

KINDS = tomllib.loads((ROOT / "tests" / "data" / "kinds_of_fault.toml").read_text(encoding="utf-8"))["kind"]


@pytest.mark.parametrize("kind", KINDS, ids=[kind["name"] for kind in KINDS])
def test_the_kind_is_recognised(kind: dict[str, str], tables: Tables) -> None:
    recording = Recording(texts=(PastedText("report.txt", kind["text"]),))
    report = examine(recording, tables, Request(), Writing())
    loud = [item.id for item in report.findings if item.severity != "info" and item.explained_by is None]
    assert loud == [kind["finding"]] * bool(kind["finding"])
    if "builds" in kind:
        assert report.install is not None
        assert str(report.install.build) in kind["builds"]
