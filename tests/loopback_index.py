"""A package index on loopback: PEP 503 pages, PEP 691 JSON by Accept and PEP 658 metadata, of tiny made-up wheels."""

from __future__ import annotations

import functools
import hashlib
import html
import io
import json
import re
import threading
import time
import zipfile
from base64 import urlsafe_b64encode
from collections.abc import Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, NamedTuple
from urllib.parse import quote, unquote, urlsplit

SIMPLE_JSON = "application/vnd.pypi.simple.v1+json"


def normalized(name: str) -> str:
    """A project name as it stands in an index address (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


class Wheel(NamedTuple):
    """One wheel. ``tags`` is what follows the version in its file name; ``says`` what the package itself prints."""

    name: str
    version: str
    tags: str = "py3-none-any"
    requires: tuple[str, ...] = ()
    requires_python: str = ""
    says: str = ""

    @property
    def stem(self) -> str:
        """The name and version as they begin the file name and the .dist-info folder."""
        return f"{normalized(self.name).replace('-', '_')}-{self.version}"

    @property
    def file(self) -> str:
        """The file name."""
        return f"{self.stem}-{self.tags}.whl"

    @property
    def module(self) -> str:
        """The name that is imported."""
        return normalized(self.name).replace("-", "_")

    @property
    def metadata(self) -> bytes:
        """The METADATA file, which is also what PEP 658 serves beside the wheel."""
        lines = ["Metadata-Version: 2.1", f"Name: {self.name}", f"Version: {self.version}"]
        lines += [f"Requires-Python: {self.requires_python}"] if self.requires_python else []
        lines += [f"Requires-Dist: {requirement}" for requirement in self.requires]
        return ("\n".join(lines) + "\n").encode()

    @property
    def data(self) -> bytes:
        """The wheel itself, the same bytes each time."""
        return _built(self)

    @property
    def sha256(self) -> str:
        """The hash that indexes print behind the address."""
        return hashlib.sha256(self.data).hexdigest()


def _sources(wheel: Wheel) -> dict[str, bytes]:
    """What the package holds: as much as is read of a real torch without importing it."""
    says = wheel.says or wheel.version
    build = says.partition("+")[2]
    cuda = f"{build[2:-1]}.{build[-1]}" if build.startswith("cu") else None
    hip = build.removeprefix("rocm") if build.startswith("rocm") else None
    version = f"__version__ = {says!r}\ncuda = {cuda!r}\nhip = {hip!r}\nxpu = {'2025' if build == 'xpu' else None!r}\n"
    return {
        f"{wheel.module}/__init__.py": f"__version__ = {says!r}\n".encode(),
        f"{wheel.module}/version.py": version.encode(),
    }


@functools.cache
def _built(wheel: Wheel) -> bytes:
    info = f"{wheel.stem}.dist-info"
    python, abi, platforms = wheel.tags.split("-")
    tags = [f"Tag: {one}-{abi}-{platform}" for one in python.split(".") for platform in platforms.split(".")]
    pure = str(platforms == "any").lower()
    about = ["Wheel-Version: 1.0", "Generator: loopback", f"Root-Is-Purelib: {pure}", *tags]
    files = {
        **_sources(wheel),
        f"{info}/METADATA": wheel.metadata,
        f"{info}/WHEEL": ("\n".join(about) + "\n").encode(),
    }
    rows = [f"{name},sha256={_digest(data)},{len(data)}" for name, data in files.items()]
    files[f"{info}/RECORD"] = ("\n".join([*rows, f"{info}/RECORD,,"]) + "\n").encode()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0)), data)
    return packed.getvalue()


def _digest(data: bytes) -> str:
    return urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


Pages = Mapping[str, Sequence[Wheel]]


class LoopbackIndex:
    """Serve ``{"whl/cu126": [Wheel, ...], "simple": [...]}`` at ``.url`` + "/whl/cu126/torch/" and so on.

    ``metadata`` offers PEP 658 files; ``as_json`` answers with PEP 691 JSON who accepts it; pages under ``unkept`` may
    not be cached; every answer waits ``delay`` seconds. ``requests`` holds the paths that were asked for.
    """

    def __init__(
        self, pages: Pages, *, metadata: bool = True, as_json: bool = True, unkept: str = "-", delay: float = 0
    ) -> None:
        self.metadata, self.as_json, self.unkept, self.delay = metadata, as_json, unkept, delay
        self.requests: list[str] = []
        self._projects: dict[str, dict[str, list[Wheel]]] = {}
        self._files: dict[str, Wheel] = {}
        for page, wheels in pages.items():
            projects = self._projects.setdefault(page.strip("/"), {})
            for wheel in wheels:
                projects.setdefault(normalized(wheel.name), []).append(wheel)
                self._files[f"{page.strip('/')}/{wheel.file}"] = wheel

    def __enter__(self) -> LoopbackIndex:  # noqa: PYI034 - typing.Self is newer than Python 3.10
        handler = type("Handler", (IndexHandler,), {"index": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, path: str, accept: str) -> tuple[str, bytes] | None:
        """Return the content type and body for a path, or None when it is not there."""
        self.requests.append(path)
        path = unquote(path).strip("/")
        wheel = self._files.get(path.removesuffix(".metadata") if self.metadata else path)
        if wheel:
            return "application/octet-stream", wheel.metadata if path.endswith(".metadata") else wheel.data
        is_json = self.as_json and SIMPLE_JSON in accept
        if path in self._projects:
            return self._root(path, is_json=is_json)
        page, _, project = path.rpartition("/")
        wheels = self._projects.get(page, {}).get(project)
        if wheels is None:
            return None
        return self._json_page(page, project, wheels) if is_json else self._html_page(page, wheels)

    def _root(self, page: str, *, is_json: bool) -> tuple[str, bytes]:
        names = sorted(self._projects[page])
        if is_json:
            return _json({"projects": [{"name": name} for name in names]})
        return _html("".join(f'<a href="{name}/">{name}</a><br/>\n' for name in names))

    def _json_page(self, page: str, project: str, wheels: list[Wheel]) -> tuple[str, bytes]:
        files = [
            {
                "filename": wheel.file,
                "url": f"/{page}/{quote(wheel.file)}",
                "hashes": {"sha256": wheel.sha256},
                **({"requires-python": wheel.requires_python} if wheel.requires_python else {}),
                **({"core-metadata": {"sha256": hashlib.sha256(wheel.metadata).hexdigest()}} if self.metadata else {}),
            }
            for wheel in wheels
        ]
        return _json({"name": project, "files": files})

    def _html_page(self, page: str, wheels: list[Wheel]) -> tuple[str, bytes]:
        return _html("".join(f"{self._anchor(page, wheel)}<br/>\n" for wheel in wheels))

    def _anchor(self, page: str, wheel: Wheel) -> str:
        more = f' data-requires-python="{html.escape(wheel.requires_python)}"' if wheel.requires_python else ""
        if self.metadata:
            digest = hashlib.sha256(wheel.metadata).hexdigest()
            more += f' data-dist-info-metadata="sha256={digest}" data-core-metadata="sha256={digest}"'
        return f'<a href="/{page}/{quote(wheel.file)}#sha256={wheel.sha256}"{more}>{html.escape(wheel.file)}</a>'


def _json(body: dict[str, Any]) -> tuple[str, bytes]:
    return SIMPLE_JSON, json.dumps({"meta": {"api-version": "1.0"}, **body}).encode()


def _html(body: str) -> tuple[str, bytes]:
    return "text/html; charset=utf-8", f"<!DOCTYPE html>\n<html><body>\n{body}</body></html>\n".encode()


class IndexHandler(BaseHTTPRequestHandler):
    """Answers from an index."""

    index: LoopbackIndex
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        answer = self.index.answer(urlsplit(self.path).path, self.headers.get("Accept", ""))
        kind, body = answer or ("text/plain", b"not found\n")
        time.sleep(self.index.delay)
        self.send_response(200 if answer else 404)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", self._keeping(is_file=kind == "application/octet-stream"))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def _keeping(self, *, is_file: bool) -> str:
        """As PyPI allows: a page for ten minutes, a file for ever."""
        if is_file:
            return "max-age=365000000, immutable, public"
        unkept = self.path.strip("/").startswith(self.index.unkept)
        return "no-cache, no-store, must-revalidate" if unkept else "max-age=600, public"

    def do_HEAD(self) -> None:
        self.do_GET()

    def log_message(self, *_: object) -> None:
        """Keep quiet; ``requests`` is the log."""
