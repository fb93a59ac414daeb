"""The page of one project, in either form: HTML (PEP 503) or JSON (PEP 691), told apart by its media type."""

from __future__ import annotations

import json
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any, NamedTuple
from urllib.parse import unquote, urljoin, urlsplit

from torchdoctor.index.client import Answer, Client, IndexReadError, may_lead_to, shown

_ACCEPT = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"
_LONGEST_NAME = 300
DAY = len("2026-11-30")  # of a time, the day that it begins with
_MAJOR = "1"  # of the simple API: what is meant to be read by older programs keeps it


class IndexFile(NamedTuple):
    """One file of a project. ``metadata`` is the hash of its METADATA file, empty without one; None: not offered."""

    name: str
    url: str
    metadata: str | None = None
    yanked: bool = False
    uploaded: str = ""


def project_files(client: Client, base: str, project: str) -> tuple[IndexFile, ...]:
    """Return the files that the index of this address lists for a project."""
    return parse_page(client.get(f"{base}/{project}/", _ACCEPT))


def parse_page(answer: Answer) -> tuple[IndexFile, ...]:
    """Return the files that a page lists; raise ``IndexReadError`` when it is none."""
    is_json = answer.kind.endswith("json")
    try:
        text = answer.body.decode("utf-8")
        found = list(_json_files(json.loads(text), answer.url) if is_json else _html_files(text, answer.url))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        what = "JSON" if is_json else "HTML"
        raise IndexReadError(f"{shown(answer.url)}: not a page of files in {what} ({type(error).__name__})") from None
    return tuple(file for file in found if len(file.name) <= _LONGEST_NAME and may_lead_to(answer.url, file.url))


def _json_files(page: Any, url: str) -> Iterator[IndexFile]:
    _require_major(page["meta"]["api-version"], url)
    for item in page["files"]:
        metadata = item.get("core-metadata", item.get("dist-info-metadata", False))
        yield IndexFile(
            name=str(item["filename"]),
            url=urljoin(url, item["url"]),
            metadata=_hash(metadata.get("sha256", "")) if isinstance(metadata, dict) else ("" if metadata else None),
            yanked=bool(item.get("yanked", False)),
            uploaded=str(item.get("upload-time") or "")[:DAY],
        )


def _hash(text: object) -> str:
    return str(text).rpartition("=")[2] if text not in {True, "true"} else ""


def _html_files(text: str, url: str) -> Iterator[IndexFile]:
    page = _Anchors()
    page.feed(text)
    page.close()
    if page.version:
        _require_major(page.version, url)
    base = urljoin(url, page.base)
    for attributes in page.anchors:
        address = urljoin(base, attributes["href"])
        metadata = attributes.get("data-core-metadata", attributes.get("data-dist-info-metadata"))
        yield IndexFile(
            name=unquote(urlsplit(address).path.rpartition("/")[2]),
            url=address.partition("#")[0],
            metadata=None if metadata in {None, "false"} else _hash(metadata),
            yanked="data-yanked" in attributes,
        )


def _require_major(version: object, url: str) -> None:
    if str(version).partition(".")[0] != _MAJOR:
        raise IndexReadError(f"{shown(url)}: version {str(version)[:20]!r} of the index API is not known")


class _Anchors(HTMLParser):
    """Collects the links of a page, its base address and the version of the API."""

    def __init__(self) -> None:
        super().__init__()
        self.anchors: list[dict[str, str]] = []
        self.base, self.version = "", ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what the tag says; text between tags says nothing that the address does not."""
        attributes = {name: value or "" for name, value in attrs}
        if tag == "a" and attributes.get("href"):
            self.anchors.append(attributes)
        elif tag == "base":
            self.base = self.base or attributes.get("href", "")
        elif tag == "meta" and attributes.get("name") == "pypi:repository-version":
            self.version = attributes.get("content", "")
