"""Addresses of indexes: which are taken, and how reports and notes may show them."""

from __future__ import annotations

import re

from torchdoctor.errors import UsageError

_ADDRESS = re.compile(r"https?://(?:[\w.~:%-]+@)?[A-Za-z0-9][\w.-]*(?::\d+)?(?:/[\w.~:/@%-]*)?", re.ASCII)
_LOGIN = re.compile(r"(://)[^/\s]+@")


def without_password(text: str) -> str:
    """The text with the name and password of every address in it hidden, and nothing else of it."""
    return _LOGIN.sub(r"\1<secret>@", text) if "@" in text else text


def address(text: str, source: str = "--index-base") -> str:
    """An http(s) address that needs no quotes in any shell, without its last slash."""
    if text and not _ADDRESS.fullmatch(text):
        raise UsageError(f"{source} {without_password(text)}: not an http(s) address without query or spaces")
    return text.rstrip("/")
