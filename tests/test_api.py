"""The Python interface: five steps that print nothing, exit nowhere and raise one kind of error."""

from __future__ import annotations

import inspect
import json
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from torchdoctor import api

ROOT = Path(__file__).resolve().parent.parent
CASE = ROOT / "tests" / "cases" / "v100-on-cu130"
H100 = {
    "os": "linux", "machine": "x86_64", "python": "3.12", "libc": "glibc-2.35", "driver": "580.65.06",
    "gpus": ["sm_90"],
}  # fmt: skip


def pasted() -> list[Path]:
    return [path for path in sorted(CASE.iterdir()) if path.suffix != ".toml"]


def test_a_text_and_its_file_give_the_same_report() -> None:
    of_files = api.diagnose(api.read(*pasted()))
    of_texts = api.diagnose(api.read_named({path.name: path.read_bytes() for path in pasted()}))
    assert api.render(of_files, "json") == api.render(of_texts, "json")
    assert of_files.findings[0].id == "torch-arch-missing"
    assert of_files.status == "fail"


def test_this_host_recorded_saved_and_read_again(tmp_path: Path) -> None:
    recording = api.record(sys.executable)
    saved = tmp_path / "host.json"
    saved.write_text(recording.to_json(), "utf-8")
    assert api.render(api.diagnose(recording), "json") == api.render(api.diagnose(saved), "json")


def test_a_described_host_gets_the_answer_of_the_command_line(tmp_path: Path) -> None:
    answer = api.prescribe({"id": "node", **H100}, companions=["torchvision"], torch=">=2.6,<2.10")
    batch = tmp_path / "hosts.jsonl"
    batch.write_text(json.dumps({"id": "node", **H100}), "utf-8")
    told = subprocess.run(
        [sys.executable, "-m", "torchdoctor", "install-cmd", "--batch", str(batch), "--with", "torchvision",
         "--torch", ">=2.6,<2.10"],
        capture_output=True, text=True, check=True, cwd=ROOT,
    )  # fmt: skip
    assert answer == json.loads(told.stdout)
    assert answer["torch"] == "2.9.1"


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: api.read(Path("nowhere.txt")), "nowhere.txt does not exist"),
        (lambda: api.read(b"\x89PNG\r\n"), "is a PNG picture"),
        (lambda: api.read(""), "is empty"),
        (lambda: api.read('{"schema": "torchdoctor.report/1"}'), "a report holds conclusions"),
        (lambda: api.render(api.diagnose("x"), "yaml"), "format 'yaml' is not known"),
        (lambda: api.prescribe({**H100, "gpu": "H100"}), "did you mean: gpus?"),
        (lambda: api.prescribe({**H100, "os": "plan9"}), "plan9"),
        (lambda: api.prescribe(H100, backend="cuda99"), "not a backend"),
        (lambda: api.record("/no/such/python"), "/no/such/python"),
    ],
)
def test_what_cannot_be_done_is_one_line(call: Any, says: str) -> None:
    with pytest.raises(api.UsageError, match=re.escape(says)) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_a_host_that_nothing_runs_on_is_an_answer_and_no_error() -> None:
    answer = api.prescribe({**H100, "driver": None}, backend="cuda")
    assert answer["build"] is None
    assert answer["reason"]


def test_triage_goes_to_another_process_and_comes_back() -> None:
    item = {"id": 7, "files": {path.name: path.read_bytes() for path in pasted()}}
    work = pickle.loads(pickle.dumps(api.triage))  # noqa: S301 - our own function
    answer = json.loads(json.dumps(work(item)))
    assert answer["id"] == 7
    assert answer["report"]["schema"] == "torchdoctor.report/1"
    assert answer["report"]["findings"][0]["id"] == "torch-arch-missing"


@pytest.mark.parametrize(
    "item",
    [{"id": 1}, {"id": 2, "text": None}, {"id": 3, "files": []}, {"id": 4, "files": {}}, {"id": 5, "files": {"a": 3}}],
)
def test_triage_never_raises(item: dict[str, Any]) -> None:
    answer = api.triage(item)
    assert answer["id"] == item["id"]
    assert "report" not in answer
    assert "text" in answer["error"]


@pytest.mark.parametrize("item", [None, [], "text"])
def test_triage_of_what_is_no_item(item: Any) -> None:
    assert "object with a text" in api.triage(item)["error"]


def test_a_required_gpu_counts() -> None:
    text = "PyTorch version: 2.9.1+cpu\nIs CUDA available: False\nOS: Ubuntu 22.04.4 LTS\n"
    assert api.triage({"id": 1, "text": text, "require_gpu": True})["report"]["status"] == "fail"
    assert api.triage({"id": 1, "text": text})["report"]["status"] != "fail"


def test_nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    api.render(api.diagnose("RuntimeError: CUDA error: out of memory"))
    api.prescribe(H100)
    assert capfd.readouterr() == ("", "")


def test_every_name_is_documented_and_named_in_the_documentation() -> None:
    page = (ROOT / "docs" / "api.md").read_text("utf-8")
    for name in api.__all__:
        assert getattr(api, name).__doc__
        assert f"`{name}" in page
    for name in ("record", "read", "diagnose", "prescribe", "render", "triage"):
        parameters = inspect.signature(getattr(api, name)).parameters
        assert all(f"`{parameter}" in page for parameter in parameters), name


def test_importing_it_is_cheap() -> None:
    code = "import sys, torchdoctor.api; print(*{'rich', 'packaging', 'psutil'}.intersection(sys.modules))"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert told.stdout == "\n"


def test_the_example_sorts_reports(tmp_path: Path) -> None:
    (tmp_path / "oom.txt").write_text("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB.")
    (tmp_path / "none.txt").write_text("No module named 'torch'\nModuleNotFoundError: No module named 'torch'\n")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"\0" * 100)
    told = subprocess.run(
        [sys.executable, "examples/triage.py", str(tmp_path)], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert told.stdout.splitlines() == ["out-of-memory: oom.txt", "torch-missing: none.txt", "unreadable: picture.png"]


def test_the_snippets_of_the_documentation_run() -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "api.md").read_text("utf-8"), re.DOTALL)
    assert blocks
    for block in blocks:
        subprocess.run([sys.executable, "-c", block], check=True, cwd=ROOT, capture_output=True)
