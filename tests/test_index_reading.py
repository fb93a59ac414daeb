"""Reading an index: names of wheels, pages in both forms, and pages that mean harm."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest
from index_pages import HTML, JSON, Reply, html_page, json_page, served

from torchdoctor.index.client import Answer, Client, IndexReadError, NoPageError, checked_base, shown
from torchdoctor.index.metadata import read_metadata
from torchdoctor.index.pages import IndexFile, parse_page, project_files
from torchdoctor.index.wheel_names import parse_wheel_name
from torchdoctor.values import PythonTag


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loopback is asked directly, whatever the machine's proxy."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


HERE = "https://index.example/whl/torch/"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("torch-2.14.1+cu126-cp312-cp312-manylinux_2_28_x86_64.whl", ("2.14.1", "cu126", "3.12", "linux x86_64 2.28")),
        (
            "torch-2.14.1+cu126-cp313-cp313t-manylinux_2_28_aarch64.whl",
            ("2.14.1", "cu126", "3.13t", "linux aarch64 2.28"),
        ),
        ("torch-1.13.1+cu117-cp37-cp37m-linux_x86_64.whl", ("1.13.1", "cu117", "3.7", "linux x86_64 None")),
        ("torch-2.5.1-cp312-cp312-manylinux2014_aarch64.whl", ("2.5.1", "", "3.12", "linux aarch64 2.17")),
        ("torch-2.15.0-cp311-none-macosx_14_0_arm64.whl", ("2.15.0", "", "3.11", "macos arm64 14.0")),
        ("torch-2.10.0-3-cp312-cp312-manylinux_2_28_x86_64.whl", ("2.10.0", "", "3.12", "linux x86_64 2.28")),
        ("torch-2.9.0+cpu-cp310-cp310-win_amd64.whl", ("2.9.0", "cpu", "3.10", "windows x86_64 None")),
        (
            "torch-2.9.0+cpu.cxx11.abi-cp310-cp310-linux_x86_64.whl",
            ("2.9.0", "cpu.cxx11.abi", "3.10", "linux x86_64 None"),
        ),
        ("torchaudio-2.11.1-py3-none-win_amd64.whl", ("2.11.1", "", "", "windows x86_64 None")),
        ("torchdata-0.11.0-py3-none-any.whl", ("0.11.0", "", "", "any  None")),
    ],
)
def test_a_name_is_taken_apart(name: str, expected: tuple[str, str, str, str]) -> None:
    wheel = parse_wheel_name(name)
    assert wheel
    one = wheel.platforms[0]
    place = f"{one.os} {one.machine} {one.glibc or one.macos}"
    assert (str(wheel.version), wheel.label, " ".join(map(str, wheel.pythons)), place) == expected


@pytest.mark.parametrize(
    "name",
    [
        "torch-2.16.0.dev20261101+cu130-cp312-cp312-manylinux_2_28_x86_64.whl",
        "torch-2.16.0rc1+cpu-cp312-cp312-win_amd64.whl",
        "torch-2.10.0+cu130-cp312-cp312-manylinux_2_28_x86_64-cu130.whl",  # a variant label (PEP 825)
        "torch-2.9.0+cpu-cp310-cp310-win32.whl",
        "torch-2.9.0+cpu-cp27-cp27mu-linux_x86_64.whl",
        "torch-2.9.0+CPU-cp310-cp310-linux_x86_64.whl",
        "torch-2.9.0+=cmd()-cp310-cp310-linux_x86_64.whl",
        "torch-2.9.0,x-cp310-cp310-linux_x86_64.whl",
        'torch-2.9.0"\n-cp310-cp310-linux_x86_64.whl',
        "torch-2.9.0.tar.gz",
        "torch-2.9.0-cp310.whl",
        "-----.whl",
    ],
)
def test_what_is_no_final_release_is_passed_over(name: str) -> None:
    assert parse_wheel_name(name) is None


def test_a_stable_abi_is_for_every_later_python_and_plain_code_for_all() -> None:
    stable = parse_wheel_name("torchcodec-0.16.0-cp310-abi3-win_amd64.whl")
    plain = parse_wheel_name("torchdata-0.11.0-py3-none-any.whl")
    assert stable
    assert plain
    assert [stable.accepts(PythonTag.parse(tag)) for tag in ("3.9", "3.10", "3.14", "3.14t")] == [
        False,
        True,
        True,
        False,
    ]
    assert plain.accepts(PythonTag.parse("3.15t"))


NAMES = ["torch-2.9.0+cu126-cp310-cp310-manylinux_2_28_x86_64.whl", "torch-2.9.0-cp310-none-macosx_11_0_arm64.whl"]


def test_both_forms_of_a_page_say_the_same() -> None:
    offered = {NAMES[0]: ""}
    as_html = parse_page(Answer(HERE, HTML, html_page(NAMES, offered)))
    as_json = parse_page(Answer(HERE, JSON, json_page(NAMES, offered, uploaded="2026-11-01")))
    assert [file.name for file in as_html] == NAMES
    assert as_html == tuple(file._replace(uploaded="") for file in as_json)
    assert as_html[0].url == HERE + NAMES[0].replace("+", "%2B")
    assert [file.metadata for file in as_html] == ["", None]
    assert as_json[0].uploaded == "2026-11-01"


def test_the_base_of_a_page_counts_and_a_yanked_file_is_marked() -> None:
    page = b'<base href="https://files.example/x/"><a href="a.whl" data-yanked="broken">a</a>'
    page += b'<a href="/b.whl">b</a><a>c</a>'
    found = parse_page(Answer(HERE, HTML, page))
    assert [(file.url, file.yanked) for file in found] == [
        ("https://files.example/x/a.whl", True),
        ("https://files.example/b.whl", False),
    ]


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://x/y.whl", "data:,x", "http://plain.example/y.whl"])
def test_a_page_cannot_send_us_to_a_file_nor_out_of_tls(url: str) -> None:
    assert parse_page(Answer(HERE, HTML, f'<a href="{url}">x.whl</a>'.encode())) == ()


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (JSON, b"{"),
        (JSON, b"[]"),
        (JSON, b'{"meta": {"api-version": "1.0"}, "files": [{"url": "x"}]}'),
        (JSON, b'{"meta": {"api-version": "1.0"}, "files": 7}'),
        (JSON, b'{"meta": {"api-version": "2.0"}, "files": []}'),
        (JSON, b"[" * 100_000),
        (HTML, b"\xff\xfe<a"),
        (HTML, b'<meta name="pypi:repository-version" content="2.1"><a href="x.whl">x.whl</a>'),
    ],
)
def test_what_is_no_page_is_refused_in_one_line(kind: str, body: bytes) -> None:
    with pytest.raises(IndexReadError) as caught:
        parse_page(Answer(HERE, kind, body))
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    "address",
    [
        "ftp://x/whl",
        "whl",
        "https://",
        "https:///whl",
        "file:/x?y",
        "https://x/?q=1",
        "https://x/#f",
        "https://x/a b",
        "https://x/\n",
        "https://x:y/whl",
        "javascript:alert(1)",
        "file://host/x",
    ],
)
def test_an_index_has_a_plain_address(address: str) -> None:
    with pytest.raises(ValueError, match=r"not an|[Pp]ort"):
        checked_base(address)


def test_an_address_is_shown_without_what_is_secret() -> None:
    assert checked_base("https://me:secret@x.example:8080/whl/") == "https://me:secret@x.example:8080/whl"
    assert shown("https://me:secret@x.example:8080/whl?token=1") == "https://x.example:8080/whl"


def test_name_and_password_are_sent_and_never_printed() -> None:
    with served({"/whl/torch/": Reply(html_page(NAMES))}) as url:
        base = url.replace("http://", "http://me:secret@")
        assert len(project_files(Client(), f"{base}/whl", "torch")) == 2
        with pytest.raises(NoPageError) as caught:
            project_files(Client(), f"{base}/other", "torch")
    assert "secret" not in str(caught.value)
    assert str(caught.value).endswith("/other/torch/: HTTP status 404")


def redirect(where: str) -> Reply:
    return Reply(status=302, headers=(("Location", where),))


def test_redirects_lead_to_http_only() -> None:
    secret = Path(__file__).resolve().as_uri()
    pages = {
        "/good/torch/": redirect("/whl/torch/"),
        "/whl/torch/": Reply(html_page(NAMES)),
        "/loop/torch/": redirect("/loop/torch/"),
        "/file/torch/": redirect(secret),
        "/ftp/torch/": redirect("ftp://127.0.0.1/x"),
        "/data/torch/": redirect("data:,x"),
    }
    with served(pages) as url:
        assert len(project_files(Client(), f"{url}/good", "torch")) == 2
        for name, said in (
            ("file", "status 302"),
            ("ftp", "redirects to ftp"),
            ("data", "status 302"),
            ("loop", "302"),
        ):
            with pytest.raises(IndexReadError, match=said):
                project_files(Client(), f"{url}/{name}", "torch")


def test_a_page_that_is_too_large_cut_short_compressed_or_broken_is_not_read() -> None:
    body = html_page(NAMES)
    pages = {
        "/large/torch/": Reply(b"x" * 300_000),
        "/short/torch/": Reply(body[:50], headers=(("Content-Length", str(len(body))),)),
        "/packed/torch/": Reply(body, headers=(("Content-Encoding", "gzip"),)),
        "/broken/torch/": Reply(b"oops", status=500),
    }
    with served(pages) as url:
        for name, said in (
            ("large", "larger than"),
            ("short", "short|Incomplete"),
            ("packed", "compressed"),
            ("broken", "status 500"),
        ):
            with pytest.raises(IndexReadError, match=said):
                project_files(Client(timeout=5, limit=200_000), f"{url}/{name}", "torch")


def test_nobody_there_and_a_name_that_is_none_are_said() -> None:
    with served({}) as url:
        pass
    for base in (url, "http://no-such-host.invalid/whl"):
        with pytest.raises(IndexReadError, match=base.partition("//")[2].partition("/")[0]):
            project_files(Client(timeout=5), base, "torch")


def test_a_trickle_ends_at_the_deadline() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    over = threading.Event()

    def drip() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(4096)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 400\r\n\r\n")
            with suppress(OSError):
                while not over.wait(0.05):
                    connection.sendall(b"x")

    thread = threading.Thread(target=drip, daemon=True)
    thread.start()
    started = time.monotonic()
    with pytest.raises(IndexReadError, match="not read to its end in time"):
        Client(timeout=0.5).get(f"http://127.0.0.1:{listener.getsockname()[1]}/torch/")
    assert time.monotonic() - started < 5
    over.set()
    thread.join(5)
    listener.close()


def test_an_index_of_files_is_read_in_either_form(tmp_path: Path) -> None:
    (tmp_path / "torch").mkdir()
    with pytest.raises(NoPageError):
        project_files(Client(), tmp_path.as_uri(), "torch")
    (tmp_path / "torch" / "index.html").write_bytes(html_page(NAMES))
    assert len(project_files(Client(), tmp_path.as_uri(), "torch")) == 2
    (tmp_path / "torch" / "index.json").write_bytes(json_page(NAMES[:1]))
    assert len(project_files(Client(), tmp_path.as_uri(), "torch")) == 1
    with pytest.raises(IndexReadError, match="larger than"):
        project_files(Client(limit=10), tmp_path.as_uri(), "torch")


METADATA = """Metadata-Version: 2.4
Name: torch
Version: 2.16.0
Requires-Python: >=3.11,!=3.14.1,!=3.9.*
Requires-Dist: triton==3.10.0; platform_system == "Linux" and platform_machine == "x86_64"
Requires-Dist: nvidia_cudnn-cu13==9.30.0.1; platform_system == "Linux"
Requires-Dist: jinja2
Requires-Dist: opt-einsum>=3.3; extra == "opt-einsum"
Requires-Dist: this is not one
Requires-Dist: odd==1.0+=1
"""


def test_metadata_counts_for_the_platform_of_the_wheel(tmp_path: Path) -> None:
    path = tmp_path / "x.whl.metadata"
    path.write_text(METADATA, encoding="utf-8")
    file = IndexFile("x.whl", path.with_suffix("").as_uri(), metadata="")
    on_linux, on_windows = (read_metadata(Client(), file, os, "x86_64") for os in ("linux", "windows"))
    assert on_linux
    assert on_windows
    assert [item.project for item in on_linux.requires] == ["triton", "nvidia-cudnn-cu13", "jinja2"]
    assert [item.project for item in on_windows.requires] == ["jinja2"]
    assert on_linux.requires[0].clause("==") == "3.10.0"
    assert on_linux.pythons_excluded == ("3.14.1",)
    assert read_metadata(Client(), file._replace(metadata=None), "linux", "x86_64") is None
    assert read_metadata(Client(), file._replace(url=tmp_path.as_uri() + "/none.whl"), "linux", "x86_64") is None
    with pytest.raises(IndexReadError, match="hash"):
        read_metadata(Client(), file._replace(metadata="0" * 64), "linux", "x86_64")
