"""Rows of the user's own over the tables: where they lie, what they replace, and what happens when they are wrong."""

from __future__ import annotations

import json
import shutil
import sys
import time
from pathlib import Path

import jsonschema
import pytest
from conftest import ROOT, Run

from torchdoctor.commands.tables_list import as_text, summaries
from torchdoctor.errors import UsageError
from torchdoctor.tables import TableError, Tables
from torchdoctor.tables.indexes import FILE as INDEXES
from torchdoctor.tables.overlay import own_folder, tables_of, target_folder
from torchdoctor.tables.torch_builds import FILE as BUILDS
from torchdoctor.values import Build, Version

TEXT = (ROOT / "compat_tables" / "torch_builds.csv").read_text(encoding="utf-8")
HEAD, *LINES = TEXT.splitlines()
CU126 = next(line for line in LINES if line.startswith("2.14.1,cu126,linux,x86_64,"))
HOST = ("--os", "linux", "--machine", "x86_64", "--python-version", "3.12", "--libc", "glibc-2.35")
OLD_GPU = (*HOST, "--driver", "550.54.14", "--gpu", "sm_86")


def lay(folder: Path, *lines: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "torch_builds.csv").write_text("\n".join([HEAD, *lines]) + "\n", encoding="utf-8")
    return folder


@pytest.fixture
def over(tmp_path: Path) -> Path:
    """One row replaced: that build has code for Hopper alone; and one added."""
    less = CU126.replace("5.0 6.0 7.0 7.5 8.0 8.6 9.0", "9.0")
    assert less != CU126
    return lay(tmp_path / "over", less, CU126.replace("2.14.1,", "2.14.9,", 1).replace("2026-11-30", "2027-01-02"))


def test_rows_replace_by_key_and_others_are_added(over: Path) -> None:
    plain, laid = Tables(), Tables(over=over)
    assert len(laid.torch_builds.rows) == len(plain.torch_builds.rows) + 1
    found = laid.torch_builds.find(Version.parse("2.14.1"), Build.parse("cu126"), "linux", "x86_64")
    assert found
    assert [str(arch) for arch in found.code] == ["9.0"]
    assert laid.torch_builds.find(Version.parse("2.14.9"), Build.parse("cu126"), "linux", "x86_64")
    assert len(laid.gpu_models.rows) == len(plain.gpu_models.rows)


def test_the_edition_says_that_there_is_an_overlay_and_the_date_is_the_newest(over: Path) -> None:
    plain, laid = Tables(), Tables(over=over)
    assert plain.edition == plain.date
    assert (laid.date, laid.edition) == ("2027-01-02", "2027-01-02+overlay")


def test_a_folder_with_a_date_replaces_all(over: Path) -> None:
    assert tables_of(str(over), {}).over == over
    (over / "DATE").write_text("2026-11-30\n", encoding="utf-8")
    whole = tables_of(str(over), {})
    assert (whole.root, whole.over, len(whole.torch_builds.rows)) == (over, None, 2)


def test_merged_rows_stand_in_the_order_of_the_file(over: Path) -> None:
    merged = BUILDS.merged(TEXT, (over / "torch_builds.csv").read_text(encoding="utf-8"))
    assert BUILDS.canonical(merged) == merged
    assert BUILDS.merged(TEXT, HEAD + "\n") == TEXT


def test_conda_builds_are_laid_over_as_well(tmp_path: Path) -> None:
    head, line = (ROOT / "compat_tables" / "conda_builds.csv").read_text(encoding="utf-8").splitlines()[:2]
    public = line.partition(",")[0]
    (tmp_path / "conda_builds.csv").write_text(f"{head}\n{line.replace(public, '9.9.9', 1)}\n", encoding="utf-8")
    assert str(Tables(over=tmp_path).of_conda().torch_builds.newest()) == "9.9.9"


# Where it lies.


def test_the_variable_names_a_folder_or_none(over: Path, tmp_path: Path) -> None:
    lay(tmp_path / "config" / "torchdoctor" / "tables", CU126)
    config = {"XDG_CONFIG_HOME": str(tmp_path / "config"), "APPDATA": str(tmp_path / "config"), "HOME": str(tmp_path)}
    if sys.platform != "darwin":
        assert tables_of(None, config).over == tmp_path / "config" / "torchdoctor" / "tables"
    assert tables_of(None, {**config, "TORCHDOCTOR_TABLES": str(over)}).over == over
    for none in ("", "none"):
        assert tables_of(None, {**config, "TORCHDOCTOR_TABLES": none}).over is None
    assert tables_of(str(over), config).over == over
    with pytest.raises(UsageError, match=r"TORCHDOCTOR_TABLES=/no/where: no such folder"):
        tables_of(None, {"TORCHDOCTOR_TABLES": "/no/where"})


@pytest.mark.parametrize(
    ("platform", "environ", "expected"),
    [
        ("linux", {"HOME": "/home/me"}, "/home/me/.config/torchdoctor/tables"),
        ("linux", {"HOME": "/home/me", "XDG_CONFIG_HOME": "/cfg"}, "/cfg/torchdoctor/tables"),
        ("linux", {"HOME": "/home/me", "XDG_CONFIG_HOME": "relative"}, "/home/me/.config/torchdoctor/tables"),
        ("linux", {}, None),
        ("darwin", {"HOME": "/Users/me"}, "/Users/me/Library/Application Support/torchdoctor/tables"),
        ("win32", {"APPDATA": "C:/Users/me/AppData/Roaming"}, "C:/Users/me/AppData/Roaming/torchdoctor/tables"),
        ("win32", {"HOME": "/home/me"}, None),
    ],
)
def test_the_users_folder_is_where_the_platform_keeps_configuration(
    monkeypatch: pytest.MonkeyPatch, platform: str, environ: dict[str, str], expected: str | None
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    assert own_folder(environ) == (Path(expected) if expected else None)


def test_what_is_written_goes_where_it_is_read(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "APPDATA": str(tmp_path)}
    assert target_folder(None, environ) == own_folder(environ)
    assert target_folder(None, {**environ, "TORCHDOCTOR_TABLES": "none"}) is None
    assert target_folder(None, {**environ, "TORCHDOCTOR_TABLES": "/x"}) == Path("/x")
    assert target_folder("/y", {**environ, "TORCHDOCTOR_TABLES": "/x"}) == Path("/y")


def test_rows_that_hide_newer_ones_are_counted(tmp_path: Path) -> None:
    lay(tmp_path, CU126.replace("2026-11-30", "2026-01-01"), CU126.replace("2.14.1,", "2.14.9,", 1))
    tables = Tables(over=tmp_path)
    found = summaries(tables)
    assert {one.file: (one.overlay, one.stale) for one in found}["torch_builds.csv"] == (2, 1)
    assert "1 of these hide rows that were checked later" in as_text(tables, found)


def test_without_one_nothing_is_lost(tmp_path: Path) -> None:
    """Less than a millisecond: two look-ups and one question to the file system."""
    environ, took = {"HOME": str(tmp_path)}, list[float]()
    for _ in range(200):
        started = time.perf_counter()
        assert tables_of(None, environ).over is None
        took.append(time.perf_counter() - started)
    assert min(took) < 0.001  # the least: a busy machine proves nothing


# When it is wrong.


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (HEAD.replace("torch,", "tarch,", 1), "torch_builds.csv:1: the columns must be torch,build,"),
        (
            f"{HEAD}\n{CU126.replace('2.28', 'new')}",
            "torch_builds.csv:2: column glibc_min: not a dotted version: 'new'",
        ),
        (f"{HEAD}\n{CU126}\n{CU126}", "torch_builds.csv:3: the same key as line 2"),
    ],
)
def test_a_wrong_row_is_named_with_file_and_line_and_the_way_out(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "torch_builds.csv").write_text(text + "\n", encoding="utf-8")
    with pytest.raises(TableError) as caught:
        _ = Tables(over=tmp_path).torch_builds
    assert str(caught.value).startswith(f"{tmp_path / said}")
    assert str(caught.value).endswith("to leave this folder out: TORCHDOCTOR_TABLES=none, and no --tables")


def test_only_the_table_that_is_asked_for_is_read(over: Path) -> None:
    (over / "gpu_models.csv").write_text("nonsense\n", encoding="utf-8")
    assert Tables(over=over).torch_builds.rows
    with pytest.raises(TableError, match="gpu_models"):
        _ = Tables(over=over).gpu_models


# The same as a command.


def test_the_overlay_counts_in_every_command_and_in_the_report(torchdoctor: Run, over: Path) -> None:
    mine = {"TORCHDOCTOR_TABLES": str(over)}
    plain, laid = (torchdoctor("install-cmd", *OLD_GPU, "--torch", "2.14.1", env=env) for env in ({}, mine))
    assert "torch==2.14.1" in plain.stdout
    assert (laid.returncode, laid.stdout) == (1, "")
    shown = torchdoctor("tables", env=mine).stdout
    assert "tables of 2027-01-02+overlay" in shown
    assert f"rows over them: 2 in {over}" in shown
    text = "PyTorch version: 2.14.1+cu126\nCUDA used to build PyTorch: 12.6\nOS: Ubuntu 22.04.5 LTS (x86_64)\n"
    report = json.loads(torchdoctor("diagnose", "-", "--format", "json", stdin=text, env=mine).stdout)
    assert report["tables"] == "2027-01-02+overlay"
    schema = json.loads((ROOT / "torchdoctor" / "schema" / "report-1.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(report, schema)


def test_a_faulty_overlay_is_one_of_usage_and_can_be_left_out(torchdoctor: Run, tmp_path: Path) -> None:
    lay(tmp_path / "bad", "oops")
    mine = {"TORCHDOCTOR_TABLES": str(tmp_path / "bad")}
    wrong = torchdoctor("install-cmd", *OLD_GPU, env=mine)
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert wrong.stderr.count("\n") == 1
    assert f"{tmp_path / 'bad' / 'torch_builds.csv'}:2: 1 cells instead of 30" in wrong.stderr
    assert torchdoctor("install-cmd", *OLD_GPU, env={"TORCHDOCTOR_TABLES": "none"}).returncode == 0


def test_a_whole_folder_of_ones_own_is_taken_as_it_is(torchdoctor: Run, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "compat_tables", tmp_path / "whole")
    path = tmp_path / "whole" / INDEXES.name
    path.write_text(path.read_text(encoding="utf-8").replace("https://download", "https://mirror"), encoding="utf-8")
    result = torchdoctor("install-cmd", *OLD_GPU, "--tables", "whole")
    assert "https://mirror." in result.stdout
