"""The folder of tables: form, validation with file and line, the README, the date."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

from torchdoctor.tables import TableError, Tables
from torchdoctor.tables.describe import describe, table_files
from torchdoctor.tables.loading import TableFile, find_root
from torchdoctor.tables.torch_builds import FILE as BUILDS

FOLDER = ROOT / "compat_tables"
FILES = table_files()


def by_name(file: TableFile[Any]) -> str:
    return file.name


def test_every_csv_file_has_a_schema_and_every_schema_a_file() -> None:
    assert [file.name for file in FILES] == sorted(path.name for path in FOLDER.glob("*.csv"))


@pytest.mark.parametrize("file", FILES, ids=by_name)
def test_each_file_is_in_canonical_form(file: TableFile[Any]) -> None:
    data = (FOLDER / file.name).read_bytes()
    assert data == file.canonical(data.decode("utf-8")).encode("utf-8")


@pytest.mark.parametrize("file", FILES, ids=by_name)
def test_each_row_validates_and_names_a_source_and_a_day(file: TableFile[Any]) -> None:
    rows = file.load(FOLDER)
    assert rows
    assert [row.key for row in rows if not row.source or not row.checked] == []
    assert {"source", "checked"} <= set(file.columns)


def test_the_date_is_the_newest_day_of_any_row() -> None:
    newest = max(row.checked for file in FILES for row in file.load(FOLDER))
    assert Tables().date == newest
    assert (FOLDER / "DATE").read_text(encoding="utf-8") == newest + "\n"


def test_the_readme_is_what_the_tables_say() -> None:
    assert (FOLDER / "README.md").read_text(encoding="utf-8") == describe(FOLDER), (
        "write it anew: python -m torchdoctor.tables.describe > compat_tables/README.md"
    )


def test_addresses_stand_only_in_the_table_of_indexes() -> None:
    """The texts of errors quote those that other programs print: tests/test_known_errors.py looks at what we say."""
    addresses = {path.name for path in FOLDER.iterdir() if "://" in path.read_text(encoding="utf-8")}
    assert addresses - {"known_errors.toml"} == {"indexes.csv"}


def test_the_folder_is_found_in_an_installed_package_before_a_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "torchdoctor"
    (package / "tables").mkdir(parents=True)
    monkeypatch.setattr("torchdoctor.tables.loading.__file__", str(package / "tables" / "loading.py"))
    assert find_root() == tmp_path / "compat_tables"
    (package / "compat_tables").mkdir()
    assert find_root() == package / "compat_tables"


GOOD = (FOLDER / "torch_builds.csv").read_text(encoding="utf-8")


def changed(line: int, old: str, new: str) -> str:
    lines = GOOD.split("\n")
    assert old in lines[line - 1]
    lines[line - 1] = lines[line - 1].replace(old, new, 1)
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (changed(17, "2.17", "x"), "torch_builds.csv:17: column glibc_min: not a dotted version: 'x'"),
        (changed(2, "linux", "linus"), "torch_builds.csv:2: column os: not one of 'linux', 'windows', 'macos'"),
        (changed(3, "1.13.0,", "1.13.0,,"), "torch_builds.csv:3: 31 cells instead of 30"),
        (changed(1, "torch,", "tarch,"), "torch_builds.csv:1: the columns must be torch,build,os,"),
        (changed(3, "cpu", "gpu"), "torch_builds.csv:3: column build: not a torch build: 'gpu'"),
        (changed(4, "2026-11-30", "today"), "torch_builds.csv:4: column checked: not an ISO date: 'today'"),
        (changed(4, "2026-11-30", "2026-13-45"), "torch_builds.csv:4: column checked: not an ISO date: '2026-13-45'"),
        (GOOD + GOOD.split("\n")[1] + "\n", "torch_builds.csv:437: the same key as line 2"),
        (GOOD + '"open', "torch_builds.csv:437: "),
        ("", "torch_builds.csv:1: the columns must be "),
    ],
)  # fmt: skip
def test_an_error_names_file_line_and_column(text: str, message: str) -> None:
    with pytest.raises(TableError) as caught:
        BUILDS.parse(text)
    assert str(caught.value).startswith(message)


def test_unsorted_quoted_or_crlf_rows_are_not_canonical() -> None:
    head, first, second, *rest = GOOD.rstrip("\n").split("\n")
    quoted = ",".join(f'"{cell}"' for cell in first.split(",")) if '"' not in first else first
    for text in ("\n".join([head, second, first, *rest]), "\n".join([head, quoted, second, *rest]), GOOD.rstrip("\n")):
        assert BUILDS.canonical(text + "\n") == GOOD
    assert BUILDS.canonical(GOOD.replace("\n", "\r\n")) == GOOD


def test_versions_sort_by_value_not_as_text() -> None:
    torch = [row.torch for row in BUILDS.parse(GOOD)]
    assert torch == sorted(torch)


def test_a_header_alone_is_an_empty_table() -> None:
    assert BUILDS.parse(GOOD.split("\n")[0] + "\n") == ()


def test_a_missing_folder_file_or_date_is_said_plainly(tmp_path: Path) -> None:
    with pytest.raises(TableError, match=r"^torch_builds\.csv: no such file in .*nowhere$"):
        _ = Tables(tmp_path / "nowhere").torch_builds
    (tmp_path / "DATE").write_text("soon\n", encoding="utf-8")
    with pytest.raises(TableError, match=r"^DATE:1: not an ISO date: 'soon'$"):
        _ = Tables(tmp_path).date
    (tmp_path / "indexes.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(TableError, match=r"^indexes\.csv: cannot be read: "):
        _ = Tables(tmp_path).indexes


def test_a_table_is_read_only_when_asked_for(tmp_path: Path) -> None:
    shutil.copy(FOLDER / "indexes.csv", tmp_path)
    tables = Tables(tmp_path)
    assert tables.indexes.url("pypi") == ""
    with pytest.raises(TableError):
        _ = tables.gpu_models


def test_rows_are_frozen_and_print_their_key() -> None:
    row = BUILDS.parse(GOOD)[0]
    assert repr(row) == "<TorchBuild 1.13.0+cpu linux aarch64>"
    with pytest.raises(AttributeError):
        row.os = "windows"  # type: ignore[misc]
