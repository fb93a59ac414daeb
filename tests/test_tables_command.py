"""``torchdoctor tables``: the list, the verification, and the weekly run that refreshes them."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from conftest import ROOT, Run

from torchdoctor.commands.tables_list import as_json, as_text, summaries
from torchdoctor.commands.tables_verify import located, verify
from torchdoctor.tables import Tables
from torchdoctor.tables.describe import table_files

FOLDER = ROOT / "compat_tables"
WORKFLOW = (ROOT / ".github" / "workflows" / "tables.yml").read_text(encoding="utf-8")


def test_the_list_says_of_every_table_what_is_known_how_old_and_from_where(tables: Tables) -> None:
    found = {one.file: one for one in summaries(tables)}
    assert set(found) == {path.name for path in FOLDER.iterdir() if path.suffix in {".csv", ".toml"}}
    builds = found["torch_builds.csv"]
    assert builds.rows == len(tables.torch_builds.rows)
    assert builds.newest == f"torch {tables.torch_builds.newest()}"
    assert (builds.checked, builds.overlay) == (max(row.checked for row in tables.torch_builds.rows), 0)
    assert builds.sources == len({source for row in tables.torch_builds.rows for source in row.source.split(" ; ")})
    assert found["driver_branches.csv"].newest == f"branch {max(row.branch for row in tables.driver_branches.rows)}"
    assert found["python_support.csv"].newest == "Python 3.15t"
    assert all(one.rows and one.sources and one.about for one in found.values())


def test_text_and_json_say_the_same(tables: Tables) -> None:
    found = summaries(tables)
    text, data = as_text(tables, found), json.loads(as_json(tables, found))
    assert (data["schema"], data["tables"], data["overlay"]) == ("torchdoctor.tables/1", tables.date, None)
    for one in data["list"]:
        line = next(line for line in text.splitlines() if line.startswith(f"{one['table']} "))
        assert f" {one['rows']} " in line
        assert line.endswith(str(one["sources"]))
        assert (one["newest"] or "") in line


def test_the_command_lists_by_default_and_in_json(torchdoctor: Run) -> None:
    plain, listed = torchdoctor("tables"), torchdoctor("tables", "list", "--format", "json")
    assert (plain.returncode, plain.stderr, listed.returncode) == (0, "", 0)
    assert plain.stdout.startswith("tables of 20")
    assert len(json.loads(listed.stdout)["list"]) == len(plain.stdout.splitlines()) - 2


def test_the_tables_verify(tables: Tables) -> None:
    found = verify(tables)
    assert (found.faults, found.files) == ((), len(table_files()) + 1)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    shutil.copytree(FOLDER, tmp_path / "tables")
    return tmp_path / "tables"


def edit(folder: Path, name: str, old: str, new: str) -> int:
    """Replace once in a file and return the number of the line."""
    path = folder / name
    lines = path.read_text(encoding="utf-8").split("\n")
    number = next(number for number, line in enumerate(lines) if old in line)
    lines[number] = lines[number].replace(old, new, 1)
    path.write_text("\n".join(lines), encoding="utf-8")
    return number + 1


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("cuda_drivers.csv", "12.9.1,12.9", "twelve,12.9", "column toolkit: not a "),
        ("torch_builds.csv", "2.14.1,cu126,linux,x86_64", "2.14.1,cu126,linux", "29 cells instead of 30"),
        (
            "python_support.csv",
            "3.9,1.13.0,2.8.0",
            "3.9,1.13.0,2.7.0",
            "3.9: first_torch and last_torch are not those of",
        ),
        (
            "torch_companions.csv",
            "torchvision,0.28.0,no,2.13.0,2.13.0",
            "torchvision,0.28.0,no,2.13.0,2.13.7",
            "torch 2.13.7 is not in",
        ),
        (
            "torch_builds.csv",
            "2.14.1,cu126,linux,x86_64",
            "2.14.1,cu127,linux,x86_64",
            "CUDA 12.6 is not that of cu127",
        ),
        ("indexes.csv", "2026-11-30", "2999-01-01", "no source, or checked after"),
        ("known_errors.toml", "tier = 1", "tier = 9", ""),
    ],
)
def test_a_fault_is_said_with_file_and_line(copy: Path, name: str, old: str, new: str, said: str) -> None:
    line = edit(copy, name, old, new)
    tables = Tables(copy)
    lines = [located(fault, tables) for fault in verify(tables).faults]
    assert lines
    if said:
        assert any(text.startswith(f"{copy / name}:{line}: ") and said in text for text in lines), lines
    else:
        assert any(text.startswith(f"{copy / name}:") for text in lines)


def test_every_table_that_cannot_be_read_is_said_at_once(copy: Path) -> None:
    edit(copy, "torch_builds.csv", "linux", "linus")
    (copy / "indexes.csv").unlink()
    (copy / "DATE").write_text("soon\n", encoding="utf-8")
    (copy / "torch_build.csv").write_text("x\n", encoding="utf-8")
    said = "\n".join(located(fault, Tables(copy)) for fault in verify(Tables(copy)).faults)
    for words in (
        "torch_builds.csv:2: column os",
        "indexes.csv: no such file",
        "DATE:1: not an ISO date",
        "torch_build.csv:1: no table",
    ):
        assert words in said


def test_a_fault_of_an_overlay_is_in_its_own_file(tmp_path: Path) -> None:
    head, *lines = (FOLDER / "torch_builds.csv").read_text(encoding="utf-8").splitlines()
    row = next(line for line in lines if line.startswith("2.14.1,cu126,linux,x86_64,"))
    (tmp_path / "torch_builds.csv").write_text(f"{head}\n{row.replace(',12.6,', ',12.7,')}\n", encoding="utf-8")
    (tmp_path / "known_errors.toml").write_text("", encoding="utf-8")
    assert [located(fault, Tables(over=tmp_path)) for fault in verify(Tables(over=tmp_path)).faults] == [
        f"{tmp_path / 'known_errors.toml'}:1: no table of this name can lie here"
    ]
    (tmp_path / "known_errors.toml").unlink()
    tables = Tables(over=tmp_path)
    assert {located(fault, tables) for fault in verify(tables).faults} >= {
        f"{tmp_path / 'torch_builds.csv'}:2: 2.14.1+cu126 linux x86_64: CUDA 12.7 is not that of cu126",
        f"{tmp_path / 'torch_builds.csv'}:2: 2.14.1+cu126 linux x86_64: nvcc of CUDA 12.7 makes no code for 5.0",
    }


def test_the_command_ends_in_1_for_a_fault_and_in_0_without(torchdoctor: Run, copy: Path) -> None:
    good = torchdoctor("tables", "verify", "--tables", str(copy))
    assert (good.returncode, good.stderr) == (0, "")
    assert good.stdout.startswith("ok: ")
    edit(copy, "python_support.csv", "3.9,1.13.0,2.8.0", "3.9,1.13.0,2.7.0")
    wrong = torchdoctor("tables", "verify", "--tables", str(copy))
    assert wrong.returncode == 1
    assert re.fullmatch(r".*python_support\.csv:4: 3\.9: .*\n", wrong.stdout)
    assert wrong.stderr == f"1 faults in the tables of {copy}\n"


# The weekly run.


def steps() -> dict[str, str]:
    """The steps of the workflow by name."""
    parts = re.split(r"^      - name: (.+)$", WORKFLOW, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_the_weekly_run_refreshes_verifies_tests_and_opens_a_request_in_that_order() -> None:
    assert re.search(r'^  schedule:\n    - cron: "\d+ \d+ \* \* \d"$', WORKFLOW, re.MULTILINE)
    found = steps()
    assert list(found) == [
        "Clone",
        "Install",
        "Refresh",
        "Verify",
        "Test",
        "Open a pull request",
        "Nothing stays unsaid",
    ]
    assert "tables refresh --from" in found["Refresh"]
    assert "--tables compat_tables --write" in found["Refresh"]
    assert "tables verify --tables compat_tables" in found["Verify"]
    assert "-m pytest" in found["Test"]
    assert "gh pr create" in found["Open a pull request"]
    assert "gh pr edit" in found["Open a pull request"]
    assert "exit" in found["Nothing stays unsaid"]


def test_it_uses_no_action_and_may_do_no_more_than_it_must() -> None:
    assert not re.search(r"^\s*(- )?uses:", WORKFLOW, re.MULTILINE)
    assert re.search(r"^permissions: \{\}$", WORKFLOW, re.MULTILINE)
    granted = re.search(r"^    permissions:\n((?:      .+\n)+)", WORKFLOW, re.MULTILINE)
    assert granted
    assert granted[1].split() == ["contents:", "write", "pull-requests:", "write"]
    assert "timeout-minutes" in WORKFLOW


def test_nothing_from_outside_is_pasted_into_its_commands() -> None:
    """What an index says reaches the request as a file; the one expression is the token, in the environment."""
    assert re.findall(r"\$\{\{.*?\}\}", WORKFLOW) == ["${{ github.token }}"]
    assert all("${{" not in body for body in steps().values())
    assert "--body-file" in WORKFLOW
    assert "http" not in WORKFLOW.replace("https://github.com", "")
