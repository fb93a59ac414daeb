"""An index as plain pages: what the tables say exists, as a page would show it, and a server for pages of any kind."""

from __future__ import annotations

import html
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from torchdoctor.tables import Tables
from torchdoctor.tables.torch_builds import TorchBuild
from torchdoctor.values import PythonTag

HTML, JSON = "text/html", "application/vnd.pypi.simple.v1+json"


class Reply(NamedTuple):
    """What the server answers for one path."""

    body: bytes = b""
    kind: str = HTML
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()


def torch_names(tables: Tables) -> list[str]:
    """The file names of every wheel of torch that the tables have read to be on the index."""
    rows = [row for row in tables.torch_builds.rows if row.existence == "read" and set(row.indexes) - {"pypi"}]
    return [wheel_name(row, tag) for row in rows for tag in row.pythons]


def wheel_name(row: TorchBuild, tag: PythonTag) -> str:
    label = "" if row.os == "macos" else f"+{row.build}"
    python, abi = f"cp{tag.major}{tag.minor}", f"cp{tag.major}{tag.minor}{'t' * tag.free_threaded}"
    return f"torch-{row.torch}{label}-{python}-{abi}-{_platform(row, tag)}.whl"


def _platform(row: TorchBuild, tag: PythonTag) -> str:
    if row.os == "linux":
        return f"manylinux_{str(row.glibc_min).replace('.', '_')}_{row.machine}"
    if row.os == "macos":
        floor = row.os_min_exceptions.get(tag, row.os_min)
        return f"macosx_{str(floor).replace('.', '_')}_{row.machine}"
    return {"x86_64": "win_amd64", "arm64": "win_arm64"}[row.machine]


def companion_names(tables: Tables) -> list[str]:
    """The same of torchvision and torchaudio, for one Python and platform each."""
    return [
        f"{row.name}-{row.version}{'+cpu' if row.labelled == 'yes' else ''}-cp312-cp312-manylinux_2_28_x86_64.whl"
        for name in ("torchvision", "torchaudio")
        for row in tables.companions.releases(name)
    ]


def html_page(names: list[str], metadata: Mapping[str, str] | None = None) -> bytes:
    offered = dict.fromkeys(metadata or {}, " data-core-metadata")
    links = (f'<a href="{quote(name)}"{offered.get(name, "")}>{html.escape(name)}</a><br>' for name in names)
    return ("<!DOCTYPE html><html><body>\n" + "\n".join(links) + "\n</body></html>\n").encode()


def json_page(names: list[str], metadata: Mapping[str, str] | None = None, uploaded: str = "") -> bytes:
    files = [
        {
            "filename": name, "url": quote(name), "hashes": {}, "core-metadata": name in (metadata or {}),
            **({"upload-time": f"{uploaded}T12:00:00.000000Z"} if uploaded else {}),
        }
        for name in names
    ]  # fmt: skip
    return json.dumps({"meta": {"api-version": "1.1"}, "name": "any", "files": files}).encode()


def write_index(folder: Path, names: list[str], metadata: Mapping[str, str] | None = None) -> str:
    """Lay an index into a folder and return its address."""
    projects = {name.partition("-")[0] for name in names}
    for project in projects:
        (folder / project).mkdir(parents=True, exist_ok=True)
        own = [name for name in names if name.startswith(f"{project}-")]
        (folder / project / "index.html").write_bytes(html_page(own, metadata))
    for name, text in (metadata or {}).items():
        (folder / name.partition("-")[0] / f"{name}.metadata").write_text(text, encoding="utf-8")
    return folder.as_uri()


def metadata_text(*requires: str, python: str = ">=3.11") -> str:
    """A METADATA file."""
    lines = ["Metadata-Version: 2.4", "Name: any", "Version: 0", f"Requires-Python: {python}"]
    return "\n".join([*lines, *(f"Requires-Dist: {one}" for one in requires)]) + "\n"


@contextmanager
def served(replies: Mapping[str, Reply]) -> Iterator[str]:
    """Serve pages by path on loopback; anything else is 404."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            reply = replies.get(self.path, Reply(b"no", status=404))
            self.send_response(reply.status)
            self.send_header("Content-Type", reply.kind)
            for name, value in reply.headers:
                self.send_header(name, value)
            if not any(name == "Content-Length" for name, _ in reply.headers):
                self.send_header("Content-Length", str(len(reply.body)))
            self.end_headers()
            self.wfile.write(reply.body)

        def log_message(self, *_: object) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
