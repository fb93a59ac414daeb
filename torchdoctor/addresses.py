"""Addresses as reports and notes may show them."""

from __future__ import annotations

import re

_LOGIN = re.compile(r"(://)[^/\s]+@")


def without_password(text: str) -> str:
    """The text with the name and password of every address in it hidden, and nothing else of it."""
    return _LOGIN.sub(r"\1<secret>@", text) if "@" in text else text
