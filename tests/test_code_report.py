"""The device code of the installed libraries in a report: in JSON, and as a table of GPUs and libraries."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import jsonschema
import pytest
from conftest import DATA

from torchdoctor.facts import Request
from torchdoctor.pipeline import examine
from torchdoctor.prescribe.writing import Writing
from torchdoctor.recording import Answer, Recording
from torchdoctor.render import json_v1
from torchdoctor.render.text import render
from torchdoctor.report import Report
from torchdoctor.tables import Tables

SCHEMA = json.loads(files("torchdoctor").joinpath("schema/report-1.schema.json").read_text(encoding="utf-8"))
MAIN: dict[str, Any] = {
    "library": "torch/lib/libtorch_cuda.so",
    "package": "torch",
    "version": "2.9.1",
    "fatbins": 4,
    "sass": {"sm_86": 4},
}
LINALG: dict[str, Any] = {**MAIN, "library": "torch/lib/libtorch_cuda_linalg.so", "sass": {"sm_90": 4}}
XFORMERS: dict[str, Any] = {
    "library": "xformers/_C.so", "package": "xformers", "version": "0.0.35", "fatbins": 2, "sass": {"sm_75": 2},
    "ptx": {"compute_80": 2}, "ptx_isa": "8.7",
}  # fmt: skip
CUBLAS = {
    "library": "nvidia/cublas/lib/libcublas.so.12",
    "package": "nvidia-cublas-cu12",
    "fatbins": 1,
    "sass": {"sm_50": 1},
}
TORN = {"library": "mine.so", "package": "", "version": "", "fatbins": 1, "sass": {"sm_50": 1}, "error": "it is cut"}


def report_of(tables: Tables, *libraries: dict[str, Any]) -> Report:
    """The report on a recorded host with an RTX 4090 and an AMD GPU in its processor, whose files were looked into."""
    text = (DATA / "recordings" / "bare-rtx4090-driver580.json").read_text(encoding="utf-8")
    recording = Recording.from_json(text)
    looked = {"device code": Answer({"files": list(libraries), "cut": ""})} if libraries else {}
    return examine(Recording({**recording.answers, **looked}), tables, Request(), Writing())


def table_of(report: Report, verbosity: int) -> list[list[str]]:
    """The cells of the table in the text."""
    lines = [line.text for line in render(report, verbosity)]
    start = next((place for place, line in enumerate(lines) if line.startswith("  device code")), len(lines))
    rows = []
    for line in lines[start:]:
        if not line.strip():
            break
        rows.append([cell.strip() for cell in line.split("  ") if cell.strip()])
    return rows


def test_where_nobody_looked_there_is_none(tables: Tables) -> None:
    report = report_of(tables)
    told = json.loads(json_v1.render(report))
    assert told["code"] is None
    assert table_of(report, 1) == []


def test_every_library_and_gpu_in_json(tables: Tables) -> None:
    told = json.loads(json_v1.render(report_of(tables, MAIN, LINALG, XFORMERS, CUBLAS, TORN)))
    jsonschema.validate(told, SCHEMA)
    assert [(row["library"], row["gpus"]) for row in told["code"]] == [
        (MAIN["library"], {"0": "native"}),
        (LINALG["library"], {"0": "none"}),
        (XFORMERS["library"], {"0": "ptx"}),
        (CUBLAS["library"], {}),  # NVIDIA's own choose by themselves
        (TORN["library"], {}),
    ]
    assert told["code"][2]["ptx"] == {"compute_80": 2}
    assert (told["code"][4]["package"], told["code"][4]["error"]) == (None, "it is cut")
    assert "code" not in told["facts"].get("inside", {})
    assert [item["id"] for item in told["findings"] if item["severity"] == "warning"] == ["library-arch-missing"]


HEAD: list[str] = ["device code", "0: NVIDIA GeForce RTX 4090"]
SHOWN: list[tuple[tuple[dict[str, Any], ...], int, list[list[str]]]] = [
    ((MAIN,), 0, []),
    ((MAIN, XFORMERS), 0, []),  # a remark is no reason for a table
    ((MAIN,), 1, [HEAD, [MAIN["library"], "native"]]),
    ((MAIN, LINALG), 0, [HEAD, [LINALG["library"], "none"]]),
    ((MAIN, LINALG, CUBLAS), 1, [HEAD, [MAIN["library"], "native"], [LINALG["library"], "none"]]),
    ((MAIN, XFORMERS), 1, [HEAD, [MAIN["library"], "native"], [XFORMERS["library"], "PTX"]]),
]


@pytest.mark.parametrize(("libraries", "verbosity", "rows"), SHOWN)
def test_the_table_is_shown_where_something_is_missing_or_everything_is_asked_for(
    libraries: tuple[dict[str, Any], ...], verbosity: int, rows: list[list[str]], tables: Tables
) -> None:
    assert table_of(report_of(tables, *libraries), verbosity) == rows
