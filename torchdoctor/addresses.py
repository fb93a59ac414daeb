"""Addresses of indexes: which are taken, and how reports and notes may show them."""

from __future__ import annotations

import re

from torchdoctor.errors import UsageError
from torchdoctor.patterns import late

_ADDRESS = late(r"https?://(?:[\w.~:%-]+@)?[A-Za-z0-9][\w.-]*(?::\d+)?(?:/[\w.~:/%-]*)?", re.ASCII)
_LOGIN = late(r"(://).*@", re.DOTALL)  # a password may hold anything: what stands before the last @ is not shown


def without_password(text: str) -> str:
    """The text with all hidden that may be a name or password of an address in it, however it is written."""
    return _LOGIN.sub(r"\1<secret>@", text) if "@" in text else text


def _shown(text: str) -> str:
    """What was given for an address, where it may have lost its slashes too."""
    shown = without_password(text)
    return shown if "://" in shown or "@" not in shown else f"<secret>@{shown.rpartition('@')[2]}"


def address(text: str, source: str = "--index-base") -> str:
    """An http(s) address that needs no quotes in any shell, without its last slash."""
    if text and not _ADDRESS.fullmatch(text):
        raise UsageError(f"{source} {_shown(text)}: not an http(s) address without query or spaces")
    return text.rstrip("/")
