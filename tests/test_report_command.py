"""``torchdoctor report`` from outside: what it makes, of what, what it lists, and how it refuses."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from conftest import CASES, Run
from report_objects import everything, recording_of, saved, told_of

from torchdoctor.tables import Tables

PASTED = str(CASES / "r570-under-cuda-13-build")
FILES = [f"{PASTED}/{path.name}" for path in sorted(Path(PASTED).iterdir()) if path.name != "case.toml"]
FROM = [word for path in FILES for word in ("--from", path)]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "--html FILE.html"),
        (["--dry-run", "--html", "a.html"], "add --bundle FILE.zip"),
        (["--html", "--markdown"], "stdout can hold one"),
        (["--bundle", "-"], "--bundle FILE.zip"),
        (["--markdown", "--bundle", "a.zip"], "stdout can hold one"),
        (["--html", "a", "--markdown", "a"], "a file of its own"),
        (["--html", "no/such/folder/a.html"], "no/such/folder"),
        (["--html", "a.html", "--from", "no-such.json"], "no-such.json"),
        (["--html", "a.html", "--from", "newer.json"], "upgrade torchdoctor"),
        (["--html", "a.html", "--from", "report.json", *FROM], "is a report already"),
        (["--html", "a.html", "--from", "-", "--from", "-"], "stdin can be read once"),
        (["--html", "a.html", "--no-bench", *FROM], "--no-bench is of this host"),
        (["--html", "a.html", "--from", "report.json", "--ignore", "driver-*"], "--ignore is of judging"),
        (["--html", "a.html", "--static", "--repro"], "report: --repro needs torch to run"),
    ],
)
def test_usage_error_is_one_line_and_2(
    torchdoctor: Run, tmp_path: Path, arguments: list[str], words: str, tables: Tables
) -> None:
    saved(told_of(recording_of("r570-under-cuda-13-build"), tables), tmp_path / "report.json")
    saved({"schema": "torchdoctor.report/7"}, tmp_path / "newer.json")
    done = torchdoctor("report", *arguments)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert words in done.stderr
    assert not list(tmp_path.glob("a*"))


def test_of_pasted_texts(torchdoctor: Run, tmp_path: Path) -> None:
    done = torchdoctor("report", *FROM, "--html", "page.html", "--markdown")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("### torchdoctor: fail\n\n```text\nfail: driver 570.86.10 is older than 580")
    assert done.stdout.endswith("```\n")
    assert "pip install torch==" in done.stdout
    assert "driver 570.86.10 is older" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_of_a_saved_report_and_of_its_recording_it_is_the_same(torchdoctor: Run, tmp_path: Path) -> None:
    recording = str(CASES / "power-capped-4090" / "recording.json")
    torchdoctor("diagnose", recording, "--format", "json=report.json")
    pages = [torchdoctor("report", "--html", "--from", path).stdout for path in (recording, "report.json")]
    assert pages[0] == pages[1]
    assert pages[0].startswith("<!DOCTYPE html>")
    stdin = torchdoctor("report", "--html", "--from", "-", stdin=(tmp_path / "report.json").read_text(encoding="utf-8"))
    assert stdin.stdout == pages[0]


def test_of_this_host(torchdoctor: Run, tmp_path: Path) -> None:
    done = torchdoctor("report", "--static", "--markdown", "text.md", "--bundle", "all.zip", "--fail-on", "never")
    assert done.returncode in {0, 3}
    assert done.stdout.splitlines()[0] == "all.zip holds:"
    with zipfile.ZipFile(tmp_path / "all.zip") as archive:
        names = archive.namelist()
        report = json.loads(archive.read("report.json"))
        text = archive.read("report.md").decode()
    assert names == ["report.html", "report.md", "report.json", "recording.json"]
    assert report["facts"]["python"]["chosen_because"]
    assert (tmp_path / "text.md").read_text(encoding="utf-8") == text


@pytest.mark.parametrize(("threshold", "status"), [("error", 0), ("warning", 1), ("never", 0)])
def test_exit_status_is_that_of_the_check(torchdoctor: Run, threshold: str, status: int) -> None:
    recording = str(CASES / "power-capped-4090" / "recording.json")
    done = torchdoctor("report", "--from", recording, "--markdown", "--fail-on", threshold)
    assert done.returncode == status == torchdoctor("diagnose", recording, "--fail-on", threshold).returncode


def test_unknown_is_3(torchdoctor: Run) -> None:
    done = torchdoctor("report", "--from", "-", "--markdown", stdin="the quick brown fox\n")
    assert done.returncode == 3
    assert "### torchdoctor: unknown" in done.stdout


def test_a_bundle_lists_what_it_holds_and_a_dry_run_writes_nothing(torchdoctor: Run, tmp_path: Path) -> None:
    dry = torchdoctor("report", *FROM, "--bundle", "all.zip", "--dry-run").stdout
    assert not (tmp_path / "all.zip").exists()
    done = torchdoctor("report", *FROM, "--bundle", "all.zip").stdout
    assert done.splitlines()[1:] == dry.splitlines()[1:]
    with zipfile.ZipFile(tmp_path / "all.zip") as archive:
        sizes = {item.filename: item.file_size for item in archive.infolist()}
        assert archive.testzip() is None
    assert {line.split()[1]: int(line.split()[0]) for line in done.splitlines()[1:]} == sizes
    first = (tmp_path / "all.zip").read_bytes()
    torchdoctor("report", *FROM, "--bundle", "all.zip")
    assert (tmp_path / "all.zip").read_bytes() == first


def test_the_recording_of_a_bundle_gives_the_same_report(torchdoctor: Run, tmp_path: Path) -> None:
    torchdoctor("report", *FROM, "--bundle", "all.zip")
    with zipfile.ZipFile(tmp_path / "all.zip") as archive:
        archive.extractall(tmp_path)
    again = json.loads(torchdoctor("diagnose", "recording.json", "--format", "json").stdout)
    assert again == json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))


def test_a_bundle_of_a_report_has_no_recording(torchdoctor: Run, tmp_path: Path, tables: Tables) -> None:
    path = saved(everything(tables), tmp_path / "report.json")
    torchdoctor("report", "--from", str(path), "--bundle", "all.zip")
    content = io.BytesIO((tmp_path / "all.zip").read_bytes())
    assert zipfile.ZipFile(content).namelist() == ["report.html", "report.md", "report.json"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_bundle_whose_list_cannot_be_shown_is_not_written(tmp_path: Path, clean_environment: dict[str, str]) -> None:
    command = [sys.executable, "-m", "torchdoctor", "report", *FROM, "--bundle", str(tmp_path / "all.zip")]
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, env=clean_environment, check=False)
    assert done.returncode == 2
    assert b"cannot write" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_left_of_a_page_that_cannot_be_written(torchdoctor: Run, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    done = torchdoctor("report", *FROM, "--html", "folder")
    assert done.returncode == 2
    assert list((tmp_path / "folder").iterdir()) == []
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
