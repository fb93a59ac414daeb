"""Fetch a page of an index: http, https or file, with limits on size, time and where a redirect may lead."""

from __future__ import annotations

import time
from base64 import b64encode
from http.client import HTTPException, HTTPMessage
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple
from urllib.error import HTTPError, URLError
from urllib.parse import unquote, urlsplit, urlunsplit
from urllib.request import (
    HTTPDefaultErrorHandler,
    HTTPErrorProcessor,
    HTTPHandler,
    HTTPRedirectHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
    UnknownHandler,
    url2pathname,
)

if TYPE_CHECKING:
    from http.client import HTTPResponse

MEBIBYTE = 1 << 20
LIMIT = 64 * MEBIBYTE
_CHUNK = 1 << 16
_GONE = (404, 410)
_SCHEMES = {"http": ("http", "https"), "https": ("https",), "file": ("file",)}


class IndexReadError(Exception):
    """An index could not be read, or not be believed; the text is one line and holds no credentials."""


class NoPageError(IndexReadError):
    """The index has no such page."""


class Answer(NamedTuple):
    """A page: the address it came from in the end, its media type, its bytes."""

    url: str
    kind: str
    body: bytes


def checked_base(text: str) -> str:
    """Return the address of an index without its last slash; raise ``ValueError`` for anything else."""
    try:
        parts, port = urlsplit(text), urlsplit(text).port
    except ValueError:  # whose words quote what may be a password
        raise ValueError("not an address of a host and a port") from None
    if not text.isprintable() or " " in text or parts.query or parts.fragment:
        raise ValueError("not an address without query, fragment and spaces")
    is_file = parts.scheme == "file"
    if parts.scheme not in _SCHEMES or bool(parts.hostname) == is_file or (is_file and port):
        raise ValueError("not an http, https or file address")
    if "@" in parts.path and not is_file:
        raise ValueError("not an address without an @ behind its host (write %40)")
    return text.rstrip("/")


def shown(url: str) -> str:
    """An address as it may be printed: without query, and without all that may be a name or password."""
    parts = urlsplit(url)
    plain = urlunsplit((parts.scheme, parts.netloc, parts.path, "", ""))
    scheme, _, rest = plain.partition("://")
    return plain if parts.scheme == "file" else f"{scheme}://{rest.rpartition('@')[2]}"


def may_lead_to(origin: str, target: str) -> bool:
    """Whether a page of this address may send us to that one: never from the network to a file, nor out of TLS."""
    return urlsplit(target).scheme in _SCHEMES.get(urlsplit(origin).scheme, ())


class Client:
    """Fetches pages; ``timeout`` is for a whole page, ``limit`` the bytes of the largest one that is read."""

    def __init__(self, timeout: float = 60.0, limit: int = LIMIT) -> None:
        self.timeout, self.limit = timeout, limit
        self._opener = _opener()

    def get(self, url: str, accept: str = "*/*", limit: int | None = None) -> Answer:
        """Return the page; raise ``NoPageError`` where there is none, ``IndexReadError`` where it cannot be read."""
        size = min(self.limit, limit or self.limit)
        if urlsplit(url).scheme == "file":
            return _from_file(url, size)
        try:
            return self._over_http(url, accept, size)
        except HTTPError as error:
            kind = NoPageError if error.code in _GONE else IndexReadError
            with error:
                raise kind(f"{shown(url)}: HTTP status {error.code}") from None
        except URLError as error:
            raise IndexReadError(f"{shown(url)}: {error.reason}") from None
        except OSError as error:
            raise IndexReadError(f"{shown(url)}: {str(error) or type(error).__name__}") from None
        except (HTTPException, ValueError) as error:  # whose words quote the address that a page led to
            raise IndexReadError(f"{shown(url)}: {type(error).__name__}") from None

    def _over_http(self, url: str, accept: str, size: int) -> Answer:
        deadline = time.monotonic() + self.timeout
        with self._opener.open(_request(url, accept), timeout=self.timeout) as response:
            if response.headers.get("Content-Encoding", "identity") != "identity":
                raise IndexReadError(f"{shown(url)}: the answer is compressed, which was not asked for")
            kind = response.headers.get_content_type()
            return Answer(response.geturl(), kind, _body(response, url, size, deadline))


def _body(response: HTTPResponse, url: str, size: int, deadline: float) -> bytes:
    """Read to the end, or give up: more bytes than allowed, or too slow a trickle."""
    chunks, total = list[bytes](), 0
    while chunk := response.read1(_CHUNK):
        chunks.append(chunk)
        total += len(chunk)
        if total > size:
            raise IndexReadError(f"{shown(url)}: larger than {size // MEBIBYTE} MiB")
        if time.monotonic() > deadline:
            raise IndexReadError(f"{shown(url)}: not read to its end in time")
    if response.length:
        raise IndexReadError(f"{shown(url)}: the answer was cut short")
    return b"".join(chunks)


def _request(url: str, accept: str) -> Request:
    parts = urlsplit(url)
    bare = urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, parts.query, ""))
    request = Request(bare, headers={"Accept": accept, "User-Agent": "torchdoctor"})  # noqa: S310 - the opener knows no other scheme
    if parts.username is not None:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode()
        request.add_unredirected_header("Authorization", f"Basic {b64encode(pair).decode()}")
    return request


class _Redirects(HTTPRedirectHandler):
    """Follows to http and https only, and not out of TLS."""

    max_redirections = 5

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Request | None:
        if not may_lead_to(req.full_url, newurl):
            raise URLError(f"it redirects to {urlsplit(newurl).scheme or 'no scheme'}, which is refused")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _opener() -> OpenerDirector:
    """No handler for file, ftp or data: an address from outside can reach http and https, and nothing else."""
    opener = OpenerDirector()
    handlers = (HTTPDefaultErrorHandler, HTTPErrorProcessor, HTTPHandler, HTTPSHandler, UnknownHandler)
    for handler in (ProxyHandler(), _Redirects(), *(make() for make in handlers)):
        opener.add_handler(handler)
    return opener


def _from_file(url: str, size: int) -> Answer:
    path = Path(url2pathname(urlsplit(url).path))
    if path.is_dir():
        path = next((path / name for name in ("index.json", "index.html") if (path / name).is_file()), path)
    if not path.is_file():
        raise NoPageError(f"{shown(url)}: no such page")
    try:
        with path.open("rb") as stream:
            body = stream.read(size + 1)
    except OSError as error:
        raise IndexReadError(f"{shown(url)}: {error.strerror or error}") from None
    if len(body) > size:
        raise IndexReadError(f"{shown(url)}: larger than {size // MEBIBYTE} MiB")
    return Answer(url, "application/json" if path.suffix == ".json" else "text/html", body)
