"""``torchdoctor init``: what it writes holds on the very host it was written from; it overwrites nothing unasked."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from conftest import CASES, DATA, Run
from test_policy import BENCH, CPU_HOST, HOST

from torchdoctor.benchmark import as_json, summarise
from torchdoctor.checks.requirements import judged
from torchdoctor.cli import run
from torchdoctor.commands.policy import known_ids
from torchdoctor.policy.from_report import facts_of_report
from torchdoctor.policy.parse import policy_of
from torchdoctor.policy.project_file import has_policy, with_policy
from torchdoctor.policy.write import lines
from torchdoctor.records import replace
from torchdoctor.render.json_v1 import facts_object

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

RECORDINGS = sorted(
    path
    for path in (*(DATA / "recordings").glob("*.json"), *CASES.glob("*/recording.json"))
    if ".expected" not in path.name
)
GOOD = DATA / "recordings" / "bare-rtx4090-driver580.json"
SICK = DATA / "recordings" / "vm-without-gpu.json"


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_what_is_written_holds_on_that_very_host(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, recording: Path
) -> None:
    """A host that is good is one still; of one that is not, every requirement is met all the same."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TORCHDOCTOR_CONFIG", raising=False)
    was = run(["diagnose", str(recording), "-q"])
    capsys.readouterr()
    made = run(["init", "--from", str(recording)])
    said = capsys.readouterr()
    if was:
        assert (made, "this host is no example: " in said.err) == (1, True)
        assert not (tmp_path / "torchdoctor.toml").exists()
        made, said = run(["init", "--from", str(recording), "--force"]), capsys.readouterr()
    assert (made, said.out) == (0, "")
    assert "wrote torchdoctor.toml" in said.err
    status = run(["diagnose", str(recording), "--config", "torchdoctor.toml", "--format", "json"])
    report = json.loads(capsys.readouterr().out)
    assert "requirement-unmet" not in [item["id"] for item in report["findings"]]
    assert was or status == 0, (tmp_path / "torchdoctor.toml").read_text()


def test_a_rich_host_gives_a_requirement_of_every_kind() -> None:
    text = "\n".join(lines(HOST, ("torchvision", "torchaudio"), {"bf16-tflops-min": 500.0}))
    told = tomllib.loads(text)
    assert told == {
        "require": {
            "python": "==3.12.*",
            "torch": "==2.9.*",
            "build": ["cu126"],
            "driver": ">=550.54.15",
            "compute-capability": ">=8.0",
            "gpus": {"min": 2, "name": "NVIDIA H100 80GB HBM3|NVIDIA A100-SXM4-40GB", "memory-gb": 42},
            "shm-gb": 8,
            "packages": {"torchvision": "==0.24.*"},
        },
        "bench": {"bf16-tflops-min": 500},
    }
    policy = policy_of("torchdoctor.toml", told, known_ids())
    answers = list(judged(replace(HOST, request=policy.request())))
    assert len(answers) == 9
    assert {item.holds for item in answers} == {True}


def test_a_report_serves_as_well_and_its_figures_become_floors(torchdoctor: Run, tmp_path: Path) -> None:
    """The facts of a report, written and read again, hold what a policy asks for."""
    report = {
        "schema": "torchdoctor.report/1", "status": "ok", "findings": [], "facts": facts_object(HOST, []),
        "bench": as_json(summarise(BENCH)),
    }  # fmt: skip
    (tmp_path / "report.json").write_text(json.dumps(report))
    assert torchdoctor("init", "--from", "report.json").returncode == 0
    told = tomllib.loads((tmp_path / "torchdoctor.toml").read_text())
    assert told["require"]["gpus"]["min"] == 2
    assert told["require"]["driver"] == ">=550.54.15"
    assert told["bench"]["bf16-tflops-min"] == 560
    assert len(told["bench"]) == 8
    policy = policy_of("torchdoctor.toml", told, known_ids())
    assert {item.holds for item in judged(replace(HOST, request=policy.request()))} == {True}
    again = judged(replace(facts_of_report(report), request=policy.request()))
    assert {item.holds for item in again if item.counts} == {True}


@pytest.mark.parametrize(
    ("status", "words"), [("fail", "torch is not installed"), ("unknown", "nothing in it could be recognised")]
)
def test_a_report_of_a_host_that_is_not_good(torchdoctor: Run, tmp_path: Path, status: str, words: str) -> None:
    findings = [{"summary": words}] if status == "fail" else []
    report = {"schema": "torchdoctor.report/1", "status": status, "findings": findings, "unknown_because": words}
    facts = {"torch": {"installed": True, "version": "2.9.1", "full": "2.9.1+cpu", "build": "cpu"}}
    (tmp_path / "report.json").write_text(json.dumps({**report, "facts": facts}))
    done = torchdoctor("init", "--from", "report.json")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert words in done.stderr
    assert torchdoctor("init", "--from", "report.json", "--force").returncode == 0


def test_nothing_is_overwritten_unless_forced(torchdoctor: Run, tmp_path: Path) -> None:
    (tmp_path / "torchdoctor.toml").write_text("# mine\n")
    done = torchdoctor("init", "--from", str(GOOD))
    assert (done.returncode, "torchdoctor.toml has a policy already" in done.stderr) == (2, True)
    assert (tmp_path / "torchdoctor.toml").read_text() == "# mine\n"
    shown = torchdoctor("init", "--from", str(GOOD), "--print")
    assert (shown.returncode, (tmp_path / "torchdoctor.toml").read_text()) == (0, "# mine\n")
    assert torchdoctor("init", "--from", str(GOOD), "--force").returncode == 0
    assert (tmp_path / "torchdoctor.toml").read_text() == shown.stdout


PROJECT = '[project]\nname = "a"  # mine\n\n[tool.ruff]\nline-length = 120\n'


def test_a_table_is_added_to_the_project_and_replaced_by_force(torchdoctor: Run, tmp_path: Path) -> None:
    printed = torchdoctor("init", "--from", str(GOOD), "--pyproject")
    assert printed.returncode == 0
    assert "[tool.torchdoctor.require]" in printed.stdout
    assert list(tmp_path.glob("*.toml")) == []
    file = tmp_path / "pyproject.toml"
    file.write_text(PROJECT)
    assert torchdoctor("init", "--from", str(GOOD), "--pyproject").returncode == 0
    first = file.read_text()
    assert first.startswith(PROJECT)
    assert first.endswith(printed.stdout)
    again = torchdoctor("init", "--from", str(GOOD), "--pyproject")
    assert (again.returncode, file.read_text()) == (2, first)
    assert torchdoctor("init", "--from", str(GOOD), "--pyproject", "--force").returncode == 0
    assert file.read_text() == first
    assert torchdoctor("diagnose", str(GOOD), "--config", "pyproject.toml").returncode == 0


def test_a_cpu_build_needs_no_shared_memory() -> None:
    """It is half of the memory of a host, and 64 MB in a container of the same image."""
    texts = [tomllib.loads("\n".join(lines(facts, (), {}))) for facts in (HOST, CPU_HOST)]
    assert ["shm-gb" in text["require"] for text in texts] == [True, False]
    assert texts[1]["require"]["build"] == ["cpu"]


SMI = "| NVIDIA-SMI 550.54.15    Driver Version: 550.54.15    CUDA Version: 12.4 |\n"
TABLE = "[tool.torchdoctor.require]\ngpu = true\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", TABLE),
        ("a = 1\n", f"a = 1\n\n{TABLE}"),
        ("a = 1\n\n\n", f"a = 1\n\n{TABLE}"),
        ('[tool.torchdoctor]\nfail-on = "info"\n[tool.b]\nc = 1\n', f"[tool.b]\nc = 1\n\n{TABLE}"),
        ('[tool."torchdoctor"]\nx = 1\n[[ tool.torchdoctor.ignore-until ]]\ny = 1\n', TABLE),
        ("[tool.torchdoctor-x]\na = 1\n", f"[tool.torchdoctor-x]\na = 1\n\n{TABLE}"),
        ("[a]\nb = 1\n[tool.torchdoctor.require]\n# c\n[d]\n", f"[a]\nb = 1\n[d]\n\n{TABLE}"),
        ('tool.torchdoctor.fail-on = "info"\n', None),
        ("[tool]\ntorchdoctor = { fail-on = 'info' }\n", None),
        ('a = """\n[tool.torchdoctor]\n"""\n', None),
        ("a = [\n[1],\n", None),
        (f"a = {'[' * 5000}", None),
    ],
)
def test_the_table_in_a_file_of_the_project(before: str, after: str | None) -> None:
    if after is None:
        with pytest.raises(ValueError, match=r"."):
            with_policy(before, TABLE)
    else:
        assert with_policy(before, TABLE) == after
        assert has_policy(after)


def test_a_project_whose_table_cannot_be_replaced_is_left(torchdoctor: Run, tmp_path: Path) -> None:
    text = "[tool]\ntorchdoctor = { fail-on = 'info' }\n"
    (tmp_path / "pyproject.toml").write_text(text)
    done = torchdoctor("init", "--from", str(GOOD), "--pyproject", "--force")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "pyproject.toml is left as it is" in done.stderr
    assert (tmp_path / "pyproject.toml").read_text() == text


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "cannot read x.json"),
        ('{"schema": "torchdoctor.report/1"}', "no report: it has no facts"),
        ('{"schema": "torchdoctor.report/1", "facts": 3, "status": "ok"}', "no report: it has no facts"),
        ("not a report", "this host is no example"),
        (
            '{"schema": "torchdoctor.report/1", "facts": {}, "status": "ok"}',
            "x.json tells no version of Python or torch",
        ),
        (SMI, "x.json tells no version of Python or torch"),
        ('{"schema": "torchdoctor.report/1", "facts": {"torch": {"full": "2.9.1"}}}', "no example: it has no verdict"),
        ('{"schema": "torchdoctor.recording/99"}', "x.json"),
    ],
)
def test_a_file_from_which_nothing_can_be_written(
    torchdoctor: Run, tmp_path: Path, content: str | None, words: str
) -> None:
    if content is not None:
        (tmp_path / "x.json").write_text(content)
    done = torchdoctor("init", "--from", "x.json")
    assert done.returncode in {1, 2}
    assert (done.stdout, done.stderr.count("\n")) == ("", 1)
    assert words in done.stderr
    assert not (tmp_path / "torchdoctor.toml").exists()


def test_a_mangled_report_gives_a_policy_or_one_line(torchdoctor: Run, tmp_path: Path) -> None:
    facts = {
        "python": {"version": "three", "tag": 3}, "torch": {"full": ["2"], "build": "cuX"}, "gpus": [3, {"name": 5}],
        "packages": {"torchvision": None, "torchaudio": "2.9.1", 'a"b': "1.2.3"},
        "memory": {"shm": "much"}, "driver": {"version": "6"},
    }  # fmt: skip
    report = {"schema": "torchdoctor.report/1", "status": "ok", "facts": facts, "bench": {"figures": [1]}}
    (tmp_path / "x.json").write_text(json.dumps(report))
    done = torchdoctor("init", "--from", "x.json", "--print")
    assert done.returncode == 0
    tomllib.loads(done.stdout)


def test_this_very_host(torchdoctor: Run, tmp_path: Path) -> None:
    """A live check, of an environment that holds a small torch of files alone."""
    done = torchdoctor("init", "--force")
    assert (done.returncode, done.stdout) == (0, "")
    report = json.loads(torchdoctor("check", "--static", "--format", "json").stdout)
    assert "requirement-unmet" not in [item["id"] for item in report["findings"]]
    assert report["status"] != "unknown"
    assert (tmp_path / "torchdoctor.toml").read_text().startswith("# Written by torchdoctor ")
