"""``torchdoctor lint``: each planted fault is found on its line and nothing else; healthy files are silent."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from time import perf_counter

import pytest

from torchdoctor.cli import run
from torchdoctor.lint.kinds import kind_of, known_files
from torchdoctor.lint.rules import all_rules
from torchdoctor.lint.run import BROKEN, lint
from torchdoctor.render import text
from torchdoctor.tables import Tables

DATA = Path(__file__).parent / "data" / "lint"
BAD = sorted(path for path in (DATA / "bad").iterdir())
GOOD = sorted(path for path in (DATA / "good").iterdir())
with (DATA / "expected.csv").open(encoding="utf-8", newline="") as stream:
    EXPECTED = list(csv.DictReader(stream))
_INDEX = "https://download.pytorch.org/whl"


def name_of(path: Path) -> str:
    return path.name


def files_of(folder: Path) -> list[str]:
    return [str(path) for path in known_files(folder)]


@pytest.fixture(scope="module")
def tables() -> Tables:
    return Tables()


@pytest.mark.parametrize("folder", BAD, ids=name_of)
def test_the_planted_fault_is_found_on_its_line_and_nothing_else(folder: Path, tables: Tables) -> None:
    report = lint(files_of(folder), tables).report
    found = {
        (Path(item.place.file).relative_to(folder).as_posix(), item.place.line, item.id, item.severity)
        for item in report.findings
        if item.place
    }
    planted = {
        (row["file"], int(row["line"]), row["id"], row["severity"]) for row in EXPECTED if row["case"] == folder.name
    }
    assert planted
    assert found == planted
    assert len(found) == len(report.findings)
    assert [item.reason for item in report.outcomes if item.outcome == "crashed"] == []


@pytest.mark.parametrize("row", EXPECTED, ids=lambda row: f"{row['case']}-{row['id']}")
def test_the_line_that_is_expected_holds_the_fault(row: dict[str, str]) -> None:
    lines = (DATA / "bad" / row["case"] / row["file"]).read_text(encoding="utf-8").splitlines()
    assert lines[int(row["line"]) - 1].strip()[: len(row["text"])] == row["text"]


@pytest.mark.parametrize("folder", GOOD, ids=name_of)
def test_healthy_files_are_silent(folder: Path, tables: Tables) -> None:
    linted = lint(files_of(folder), tables)
    assert [(item.id, str(item.place), str(item.summary)) for item in linted.report.findings] == []
    assert linted.unreadable == ()
    assert linted.report.status == "ok"
    assert {item.outcome for item in linted.report.outcomes} == {"passed"} or folder.name == "req-ignored"
    assert "nothing wrong was found in" in text.render(linted.report)[0].text


def test_there_is_a_bad_file_for_every_rule_and_both_sides_hold_every_kind() -> None:
    assert {row["id"] for row in EXPECTED} == {item.id for item in all_rules()} | {BROKEN}
    kinds = {"requirements", "pyproject", "conda", "pixi", "lock", "pylock", "dockerfile"}
    for side in (BAD, GOOD):
        assert len(side) >= 25
        assert {kind_of(path) for folder in side for path in known_files(folder)} == kinds


@pytest.mark.parametrize("folder", [path for path in BAD if path.name.startswith("req-")], ids=name_of)
def test_the_lines_that_are_shown_are_right(folder: Path, tables: Tables, tmp_path: Path) -> None:
    """What a remedy says to write has no finding of its own."""
    for finding in lint(files_of(folder), tables).report.findings:
        for remedy in finding.remedies:
            lines = [str(line) for line in remedy.commands]
            if any(line.startswith("torch==") for line in lines):
                right = tmp_path / "requirements.txt"
                right.write_text("\n".join(lines) + "\n", encoding="utf-8")
                assert [str(item.summary) for item in lint([str(right)], tables).report.findings] == []


def written(folder: Path, name: str, content: str | bytes) -> str:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


def test_the_command_finds_the_known_files_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path, "requirements.txt", "torch==2.12.3\n")
    written(tmp_path, "notes.txt", "torch==2.12.3\n")
    monkeypatch.chdir(tmp_path)
    assert run(["lint"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("fail: torch ==2.12.3: no such release")
    assert "requirements.txt:1" in out
    assert "notes.txt" not in out


def test_no_file_here_is_a_usage_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["lint"]) == 2
    assert "no file to lint in ." in capsys.readouterr().err


def test_a_file_that_cannot_be_read_stops_no_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = [
        str(tmp_path / "missing" / "requirements.txt"),
        written(tmp_path, "Dockerfile", b"\x7fELF\0\0\0" * 100),
        written(tmp_path, "environment.yml", "x" * 2_000_001),
        written(tmp_path, "holiday.txt", "a long letter home, with commas\n"),
        written(tmp_path, "requirements.txt", "torch==2.9.1\ntorchvision==0.23.0\n"),
    ]
    assert run(["lint", *names, "--format", "json"]) == 2
    out = capsys.readouterr()
    report = json.loads(out.out)
    assert [(item["id"], item["place"]["line"]) for item in report["findings"]] == [("torch-companion-mismatch", 2)]
    assert report["status"] == "fail"
    for words in ("does not exist", "binary data", "longer than 2000000 bytes", "neither its name nor its text"):
        assert words in out.err


def test_only_unreadable_files_is_a_usage_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["lint", str(tmp_path / "requirements.txt")]) == 2
    assert "nothing was linted" in capsys.readouterr().err


def test_exit_status_follows_fail_on(tmp_path: Path) -> None:
    name = written(tmp_path, "requirements.txt", "torch==2.1.2\nnumpy==2.0.1\n")
    assert run(["lint", name]) == 0
    assert run(["lint", name, "--fail-on", "warning"]) == 1


def test_utf16_of_powershell_is_read(tmp_path: Path, tables: Tables) -> None:
    name = written(tmp_path, "requirements.txt", b"\xff\xfe" + "torch==2.12.3\r\n".encode("utf-16-le"))
    assert [item.id for item in lint([name], tables).report.findings] == ["index-lacks-version"]


@pytest.mark.parametrize(
    ("content", "ids"),
    [
        ("torch==2.12.3  # torchdoctor: ignore[index-lacks-version]\n", []),
        ("# torchdoctor: ignore[index-lacks-version]\ntorch==2.12.3\n", []),
        ("torch==2.12.3  # torchdoctor: ignore[base-image-cuda]\n", ["index-lacks-version"]),
        ("torch==2.12.3  # torchdoctor: ignore[base-image-cuda, index-lacks-version]\n", []),
    ],
)
def test_a_comment_leaves_a_finding_out_and_the_report_says_so(
    content: str, ids: list[str], tmp_path: Path, tables: Tables
) -> None:
    report = lint([written(tmp_path, "requirements.txt", content)], tables).report
    assert [item.id for item in report.findings] == ids
    assert [item.finding.id for item in report.ignored] == ([] if ids else ["index-lacks-version"])


def test_a_password_in_an_address_is_not_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = "--extra-index-url https://me:hunter2@download.pytorch.org/whl/cu118\ntorch\n"
    run(["lint", written(tmp_path, "requirements.txt", content)])
    out = capsys.readouterr().out
    assert "extra-index-unpinned" in out
    assert "hunter2" not in out


def test_one_rule_that_crashes_stops_no_other(
    tmp_path: Path, tables: Tables, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    del tables
    monkeypatch.setattr("torchdoctor.lint.rules.companions.is_plain", None)
    name = written(tmp_path, "requirements.txt", "torch==2.9.1\ntorchvision>=0.23,<0.24\nnumpy==9\n")
    assert run(["lint", name]) == 3
    assert "the check torch-companion-mismatch crashed" in capsys.readouterr().out


def test_a_requirements_file_that_includes_itself_ends(tmp_path: Path, tables: Tables) -> None:
    name = written(tmp_path, "requirements.txt", "-r requirements.txt\n-r ./b.txt\ntorch==2.12.3\n")
    written(tmp_path, "b.txt", "-r requirements.txt\n")
    assert [item.id for item in lint([name], tables).report.findings] == ["index-lacks-version"]


def test_no_file_outside_of_the_project_is_read(tmp_path: Path, tables: Tables) -> None:
    outside = written(tmp_path, "outside.txt", "torch==2.12.3\n")
    folder = tmp_path / "a" / "b" / "c" / "d"
    folder.mkdir(parents=True)
    name = written(folder, "requirements.txt", f"-r {outside}\n-r ../../../../outside.txt\nrich\n")
    report = lint([name], tables).report
    assert report.findings == ()
    assert len(report.linted) == 1


def test_the_json_report_is_one_of_ours(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import jsonschema

    import torchdoctor

    run(["lint", *(name for folder in BAD[:12] for name in files_of(folder)), "--format", "json"])
    report = json.loads(capsys.readouterr().out)
    schema = Path(torchdoctor.__file__).parent / "schema" / "report-1.schema.json"
    jsonschema.validate(report, json.loads(schema.read_text(encoding="utf-8")))
    assert all(item["place"]["file"] and item["place"]["line"] > 0 for item in report["findings"])
    assert report["unknown_because"] is None
    del tmp_path


def test_annotations_of_github_name_file_and_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = written(tmp_path, "requirements.txt", "rich\ntorch==2.12.3\n")
    run(["lint", name, "--format", "github"])
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("::error"))
    assert f"file={name}" in line
    assert "line=2" in line


def test_a_policy_sets_findings_aside_and_says_what_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path, "requirements.txt", "torch==2.1.2\nnumpy==2.0.1\n")
    written(tmp_path, "torchdoctor.toml", 'fail-on = "warning"\n')
    monkeypatch.chdir(tmp_path)
    assert run(["lint"]) == 1
    assert run(["lint", "--ignore", "numpy-abi-mismatch"]) == 0
    assert run(["lint", "--no-config"]) == 0
    capsys.readouterr()


_INCLUDES = ["{include-group = 'g%d'}" % j for j in range(40)]  # noqa: UP031 - braces of TOML
_HOSTILE = {
    "pyproject.toml": [
        "a" + ".a" * 50_000 + " = 1",
        "a = " + "[" * 50_000,
        "[project]\nname = 'a'\n[project.optional-dependencies]\n"
        + "\n".join(f"e{i} = ['a[{','.join(f'e{j}' for j in range(40))}]', 'torch==2.9.1']" for i in range(40)),
        "[dependency-groups]\n" + "\n".join("g%d = [%s, 'torch']" % (i, ",".join(_INCLUDES)) for i in range(40)),  # noqa: UP031 - braces
    ],
    "requirements.txt": [
        "torch==2.9.1 ; " + "(" * 3000 + "os_name == 'posix'" + ")" * 3000,
        "torch==" + "9" * 500_000,
        "torch>=2.9," * 50_000,
        "\\\n" * 300_000,
        "\n".join(f"torch==2.9.1 ; python_version < '3.{i % 15}'" for i in range(5000)),
    ],
    "Dockerfile": [
        "FROM x\nENV A=" + "$A" * 5000 + "\n" + "ENV A=$A$A$A$A\n" * 500 + "RUN pip install $A\n",
        "FROM a AS a0\n" + "".join(f"FROM a{i} AS a{i + 1}\nRUN pip install torch\n" for i in range(500)),
        "FROM x\nRUN " + '"\\' * 100_000,
        "FROM x\nRUN <<EOF\n" + "pip install torch\n" * 20_000,
        "FROM x\nRUN [" + "[" * 50_000,
    ],
    "environment.yml": ["dependencies:\n" + "  - pip:\n" * 20_000, "dependencies: [" + "a," * 200_000 + "]"],
    "uv.lock": ["[[package]]\nname = 'torch'\nversion = '2.9.1+cpu'\n" * 2000],
}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        pytest.param(name, content, id=f"{name}-{i}")
        for name, texts in _HOSTILE.items()
        for i, content in enumerate(texts)
    ],
)
def test_a_file_written_to_take_long_does_not(name: str, content: str, tmp_path: Path, tables: Tables) -> None:
    begin = perf_counter()
    report = lint([written(tmp_path, name, content)], tables).report
    assert perf_counter() - begin < 20
    assert [item.reason for item in report.outcomes if item.outcome == "crashed"] == []
