"""``online.ask``: whether a wheel is on an index now, and when that cannot be known."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from index_pages import JSON, Reply, html_page, json_page, served

from torchdoctor.index.online import Online, ask, default_index
from torchdoctor.values import PythonTag

LINUX = "manylinux_2_28_x86_64"
NAMES = [
    f"torch-2.9.1+cu126-cp312-cp312-{LINUX}.whl",
    f"torch-2.9.1+cu126-cp313-cp313t-{LINUX}.whl",
    f"torch-2.9.1-cp312-cp312-{LINUX}.whl",
    "torch-2.9.1+cu126-cp312-cp312-win_amd64.whl",
    "torchvision-0.29.2-py3-none-win_amd64.whl",
]
PAGES = {
    "/cu126/torch/": Reply(html_page(NAMES)),
    "/json/torch/": Reply(json_page(NAMES), JSON),
    "/json/torchvision/": Reply(json_page(NAMES), JSON),
    "/labelled/torchvision/": Reply(html_page([f"torchvision-0.29.1+cu126-cp312-cp312-{LINUX}.whl"])),
    "/down/torch/": Reply(b"", status=503),
    "/broken/torch/": Reply(b"<", JSON),
    "/yanked/torch/": Reply(html_page(NAMES).replace(b"<a ", b'<a data-yanked="" ')),
}


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loopback is asked directly, whatever the machine's proxy."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.mark.parametrize(
    ("page", "name", "version", "python", "system", "state", "said"),
    [
        ("cu126", "torch", "2.9.1+cu126", "3.12", "linux x86_64", "yes", "for Python 3.12 on linux x86_64 is on http"),
        ("json", "torch", "2.9.1+cu126", "3.13t", "linux x86_64", "yes", "3.13t"),
        ("json", "torch", "2.9.1", "3.12", "linux x86_64", "yes", "torch 2.9.1 "),
        ("json", "torch", "2.9.1+cu126", None, "windows x86_64", "yes", "for windows x86_64"),
        ("json", "torchvision", "0.29.2", "3.15t", "windows x86_64", "yes", ""),
        ("labelled", "torchvision", "0.29.1", "3.12", "linux x86_64", "yes", "torchvision 0.29.1 for"),
        ("labelled", "torchvision", "0.29.1+cpu", "3.12", "linux x86_64", "no", "torchvision 0.29.1+cpu is not on"),
        ("labelled", "torchvision", "0.29.1", "3.13", "linux x86_64", "no", "and not for Python 3.13"),
        ("labelled", "torchvision", "0.29.2", "3.12", "linux x86_64", "no", "is not on"),
        ("yanked", "torch", "2.9.1+cu126", "3.12", "linux x86_64", "yes", "(yanked)"),
        ("cu126", "torch", "2.9.1+cu126", "3.13", "linux x86_64", "no", "and not for Python 3.13 on linux x86_64"),
        ("cu126", "torch", "2.9.1+cu126", "3.12", "linux aarch64", "no", "and not for"),
        ("cu126", "torch", "2.9.1+cu128", "3.12", "linux x86_64", "no", "torch 2.9.1+cu128 is not on"),
        ("cu126", "torch", "2.9.2+cu126", "3.12", "linux x86_64", "no", "is not on"),
        ("cu999", "torch", "2.9.1+cu126", "3.12", "linux x86_64", "no", "has no page of torch"),
        ("down", "torch", "2.9.1", "3.12", "linux x86_64", "unknown", "HTTP status 503"),
        ("broken", "torch", "2.9.1", "3.12", "linux x86_64", "unknown", "not a page of files"),
    ],
)
def test_the_answer_is_yes_no_or_unknown_with_a_reason(
    page: str, name: str, version: str, python: str | None, system: str, state: str, said: str
) -> None:
    tag = PythonTag.parse(python) if python else None
    os_name, machine = system.split()
    with served(PAGES) as url:
        found = ask(f"{url}/{page}", name, version, python=tag, os=os_name, machine=machine, timeout=5)
    assert found.state == state, found.reason
    assert said in found.reason


def asked(index: str) -> Online:
    return ask(index, "torch", "2.9.1", python=None, os="linux", machine="x86_64", timeout=2)


def test_it_never_raises_and_keeps_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    for index in ("nonsense", "ftp://x/y", "http://127.0.0.1:1/whl", "http://me:secret@127.0.0.1:1/whl"):
        found = asked(index)
        assert (found.state, "secret" in found.reason) == ("unknown", False)
    for name in ("PIP_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    assert asked("") == ("unknown", "no default index is configured for pip, and none is asked without")
    with served({"/simple/torch/": Reply(html_page(NAMES))}) as url:
        monkeypatch.setenv("PIP_INDEX_URL", f"{url}/simple")
        assert asked("").state == "yes"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[global]\nindex-url = https://a.example/simple\n", "https://a.example/simple"),
        (
            "[global]\nindex-url = https://a.example\n[install]\nindex-url=https://b.example/%s\n",
            "https://b.example/%s",
        ),
        ("[global]\ntimeout = 5\n", ""),
        ("index-url = x", ""),
        ("\x00\x01", ""),
    ],
)
def test_the_default_index_is_the_one_pip_is_told(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "pip.conf"
    path.write_text(text, encoding="utf-8")
    bare = {"HOME": str(tmp_path), "XDG_CONFIG_DIRS": str(tmp_path)}
    assert default_index({**bare, "PIP_CONFIG_FILE": str(path)}) == (expected or default_index(bare))


def test_the_environment_stands_above_the_files(tmp_path: Path) -> None:
    (tmp_path / "pip.conf").write_text("[global]\nindex-url = https://a.example\n", encoding="utf-8")
    environ = {"PIP_CONFIG_FILE": str(tmp_path / "pip.conf"), "UV_INDEX_URL": "https://c.example"}
    assert default_index(environ) == "https://c.example"
    assert default_index({**environ, "PIP_INDEX_URL": "https://d.example"}) == "https://d.example"
    assert default_index({"PIP_CONFIG_FILE": os.devnull, "HOME": str(tmp_path)}) == ""


@pytest.mark.skipif(sys.platform == "win32", reason="the places differ on Windows")
def test_the_users_file_is_found_where_pip_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "nowhere"))
    (tmp_path / "cfg" / "pip").mkdir(parents=True)
    (tmp_path / "cfg" / "pip" / "pip.conf").write_text("[global]\nindex-url = https://u.example\n", encoding="utf-8")
    assert default_index({"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "cfg")}) == "https://u.example"
