"""Seeded secrets of every kind: none survives in any form of a report, and equal things stay equal."""

from __future__ import annotations

import json
import re
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Run
from report_objects import case_names, recording_of, told_of

from torchdoctor.bundle import redacted, redactor_for
from torchdoctor.commands.diagnose import load
from torchdoctor.recording import PastedText, Recording
from torchdoctor.redact import Identity
from torchdoctor.render.formats import FORMATS
from torchdoctor.tables import Tables

# What is seeded, by its kind; the log below holds each of them.
SECRETS = {
    "home": "/home/alicewonder",
    "user": "alicewonder",
    "other user": "bobsmith",
    "host": "gpu-a012",
    "other host": "storage17.corp.example",
    "index user": "svc-build",
    "index token": "hunter2secretpass",
    "query token": "q1w2e3r4t5y6",
    "hub token": "hf_abcdefghijklmnopqrstuvwx",
    "github token": "ghp_abcdefghijklmnopqrstuvwx0123",
    "key": "0123456789abcdef0123456789abcdef01234567",
    "gpu uuid": "8932f937-d72c-4106-c12f-20bd9faed9f6",
    "second uuid": "11111111-d72c-4106-c12f-20bd9faed9f6",
    "serial": "1321021009876",
    "ip": "10.1.2.3",
    "private ip": "192.168.14.7",
    "ipv6": "fe80::1ff:fe23:4567:890a",
    "mac": "aa:bb:cc:dd:ee:0f",
    "email": "alice.wonder@corp.example",
    "machine id": "123e4567-e89b-12d3-a456-426614174000",
}
LOG = """\
alicewonder@gpu-a012:/home/alicewonder/train$ python train.py
gpu-a012: Nov 18 03:41:12 gpu-a012 kernel: NVRM: Xid (PCI:0000:41:00): 79, GPU has fallen off the bus.
Nov 18 03:41:13 storage17.corp.example sshd[812]: closed
export PIP_EXTRA_INDEX_URL=https://svc-build:hunter2secretpass@packages.corp.example/simple?token=q1w2e3r4t5y6
export HF_TOKEN=hf_abcdefghijklmnopqrstuvwx WANDB_API_KEY=0123456789abcdef0123456789abcdef01234567 USER=bobsmith
git+https://ghp_abcdefghijklmnopqrstuvwx0123@github.com/o/r
GPU 0: NVIDIA GeForce RTX 4090 (UUID: GPU-8932f937-d72c-4106-c12f-20bd9faed9f6)
GPU 1: NVIDIA GeForce RTX 4090 (UUID: GPU-11111111-d72c-4106-c12f-20bd9faed9f6)
CUDA_VISIBLE_DEVICES=GPU-8932f937-d72c-4106-c12f-20bd9faed9f6
LD_LIBRARY_PATH=/home/alicewonder/lib:/home/bobsmith/lib
Serial Number : 1321021009876
inet 192.168.14.7 ether aa:bb:cc:dd:ee:0f http://[fe80::1ff:fe23:4567:890a]/ UUID=123e4567-e89b-12d3-a456-426614174000
mail to alice.wonder@corp.example
torch.__version__ = 2.9.1+cu128
  File "/home/alicewonder/train/train.py", line 3, in <module>
RuntimeError: [10.1.2.3]:29500: CUDA error: unspecified launch failure on gpu-a012 at tcp://10.1.2.3:29500
"""


def survivors(content: str, secrets: dict[str, str] | None = None) -> list[str]:
    lowered = content.lower()
    return [kind for kind, secret in (secrets or SECRETS).items() if secret.lower() in lowered]


def contents(folder: Path) -> Iterator[tuple[str, str]]:
    """Everything that was written, inside of archives too."""
    for path in folder.iterdir():
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive:
                for name in archive.namelist():
                    yield f"{path.name}:{name}", archive.read(name).decode()
        else:
            yield path.name, path.read_text(encoding="utf-8")


def test_every_secret_is_in_the_log() -> None:
    assert sorted(survivors(LOG)) == sorted(SECRETS)


def test_no_secret_of_a_pasted_log_survives_in_any_form(torchdoctor: Run, tmp_path: Path) -> None:
    log, made = tmp_path / "log.txt", tmp_path / "made"
    log.write_text(LOG, encoding="utf-8")
    made.mkdir()
    done = torchdoctor(
        "report", "--from", "log.txt", "--html", "made/a.html", "--markdown", "made/a.md", "--bundle", "made/a.zip"
    )
    assert done.returncode == 1
    formats = [f"--format={name}=made/{name}" for name in FORMATS if name != "quiet"]
    every = torchdoctor("diagnose", "-v", "log.txt", *formats)
    told = {"stdout": done.stdout + every.stdout, "stderr": done.stderr + every.stderr, **dict(contents(made))}
    assert len(told) == 2 + 2 + 4 + len(formats)
    assert {name: kinds for name, content in told.items() if (kinds := survivors(content))} == {}


def test_equal_things_stay_equal_in_all_files_of_a_bundle(torchdoctor: Run, tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_text(LOG, encoding="utf-8")
    torchdoctor("report", "--from", "log.txt", "--bundle", "a.zip")
    told = dict(contents(tmp_path))
    text = json.loads(told["a.zip:recording.json"])["texts"][0]["text"]
    lines = text.splitlines()
    assert len(lines) == len(LOG.splitlines())
    assert lines[0] == "<user>@<host-1>:/home/<user>/train$ python train.py"
    assert lines[1].startswith("<host-1>: Nov 18 03:41:12 <host-1> kernel: NVRM: Xid")
    assert "<host-2> sshd" in lines[2]
    assert [re.findall(r"GPU-<\d>", lines[at]) for at in (6, 7, 8)] == [["GPU-<1>"], ["GPU-<2>"], ["GPU-<1>"]]
    assert lines[15].count("<ip-3>") == 2
    assert lines[15].endswith("on <host-1> at tcp://<ip-3>:29500")
    assert "<ip-1>" in lines[11]
    report = json.loads(told["a.zip:report.json"])
    assert report["facts"]["env"]["CUDA_VISIBLE_DEVICES"] == "GPU-<1>"
    assert "2.9.1+cu128" in text


HERE = {
    "home": "carolinahome",
    "user": "carolinawho",
    "token": "hunter2secretpass",
    "hub": "hf_abcdefghijklmnopqrstuvwx",
    "uuid": "8932f937-d72c-4106-c12f-20bd9faed9f6",
}


@pytest.mark.skipif(sys.platform == "win32", reason="the variables of a POSIX login")
def test_no_secret_of_this_host_survives_in_any_form(torchdoctor: Run, tmp_path: Path) -> None:
    home = tmp_path / "homes" / HERE["home"]
    made = tmp_path / "made"
    home.mkdir(parents=True)
    made.mkdir()
    env = {
        "HOME": str(home),
        "USER": HERE["user"],
        "LOGNAME": HERE["user"],
        "PIP_EXTRA_INDEX_URL": f"https://{HERE['user']}:{HERE['token']}@packages.corp.example/simple",
        "PIP_INDEX_URL": f"https://packages.corp.example/simple?token={HERE['token']}",
        "HF_TOKEN": HERE["hub"],
        "LD_LIBRARY_PATH": f"{home}/lib",
        "CUDA_VISIBLE_DEVICES": f"GPU-{HERE['uuid']}",
    }
    formats = [f"--format={name}=made/{name}" for name in FORMATS if name != "quiet"]
    torchdoctor("check", "--static", "-v", "--record", "made/recording.json", *formats, env=env)
    done = torchdoctor(
        "report", "--static", "--html", "made/a.html", "--markdown", "made/a.md", "--bundle", "made/a.zip", env=env
    )
    told = {"stdout": done.stdout, "stderr": done.stderr, **dict(contents(made))}
    assert len(told) == 2 + 1 + 2 + 4 + len(formats)
    assert {name: kinds for name, content in told.items() if (kinds := survivors(content, HERE))} == {}
    assert json.loads(told["json"])["facts"]["env"]["LD_LIBRARY_PATH"] == "~/lib"


def test_a_name_in_the_middle_of_a_long_log_is_found() -> None:
    middle = "Nov 18 03:41:12 hiddenbox77 kernel: hello\n"
    text = "step 1 loss 6.9\n" * 20_000 + middle + "step 2 loss 6.8\n" * 20_000 + "seen on hiddenbox77\n"
    recording = Recording(texts=(PastedText("a.log", text),))
    told = redacted(recording, redactor_for(recording, None, Identity())).texts[0]
    assert "hiddenbox77" not in told.text
    assert told.text.count("<host-1>") == 2


def test_what_was_redacted_elsewhere_stays_another_thing() -> None:
    recording = Recording(texts=(PastedText("a.log", "<ip-1> GPU-<2>\ntcp://10.1.2.3:29500 GPU-8932f937-d72c\n"),))
    told = redacted(recording, redactor_for(recording, None, Identity())).texts[0]
    assert told.text == "<ip-1> GPU-<2>\ntcp://<ip-2>:29500 GPU-<3>\n"


def wanted(told: dict[str, Any]) -> tuple[object, ...]:
    """The install object but for its commands: a path that nobody can type any more stands in none."""
    return tuple((told["install"] or {}).get(name) for name in ("needed", "torch", "build", "tool"))


def without_people(value: object) -> str:
    return re.sub(r"(?<=/home/)[\w<>-]+|(?<=/Users/)[\w<>-]+|<(?:host|ip)(?:-\d+)?>", "", json.dumps(value))


@pytest.mark.parametrize("name", case_names())
def test_what_is_taken_out_changes_no_finding(name: str, tables: Tables) -> None:
    recording = recording_of(name)
    before = told_of(recording, tables)
    after = told_of(redacted(recording, redactor_for(recording, None, Identity(("/home/x",), "me", "box1"))), tables)
    keys = ("id", "severity", "explained_by")
    assert [[item[key] for key in keys] for item in after["findings"]] == [
        [item[key] for key in keys] for item in before["findings"]
    ]
    assert after["status"] == before["status"]
    assert wanted(after) == wanted(before)
    for group in ("os", "place", "driver", "gpus", "tools"):
        assert without_people(after["facts"].get(group)) == without_people(before["facts"].get(group))
    assert after["facts"]["torch"].get("full") == before["facts"]["torch"].get("full")


def test_the_lines_keep_their_numbers(tmp_path: Path, tables: Tables) -> None:
    path = tmp_path / "log.txt"
    path.write_text(LOG, encoding="utf-8")
    recording = load([str(path)])
    after = told_of(redacted(recording, redactor_for(recording, None, Identity())), tables)
    where = [item["source"] for finding in after["findings"] for item in finding["evidence"]]
    assert "log.txt line 2" in where
