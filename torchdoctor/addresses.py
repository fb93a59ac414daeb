"""Addresses of indexes: which are taken, and how reports and notes may show them."""

from __future__ import annotations

import re

from torchdoctor.errors import UsageError
from torchdoctor.patterns import lazily

_HOST = r"(?:[A-Za-z0-9][\w.-]*|\[([0-9A-Fa-f:.]+)\])"
_ADDRESS = lazily(rf"(?i:https?)://(?:[\w.~:%-]+@)?{_HOST}(?::\d+)?(?:/[\w.~:/%+-]*)?", re.ASCII)
_LOGIN = lazily(r"(://).*@", re.DOTALL)  # a password may hold anything: what stands before the last @ is not shown


def without_password(text: str) -> str:
    """The text with all hidden that may be a name or password of an address in it, however it is written."""
    return _LOGIN.sub(r"\1<secret>@", text) if "@" in text else text


def _shown(text: str) -> str:
    """What was given for an address, where it may have lost its slashes too."""
    shown = without_password(text)
    return shown if "://" in shown or "@" not in shown else f"<secret>@{shown.rpartition('@')[2]}"


def address(text: str, source: str = "--index-base") -> str:
    """An http(s) address that no shell expands, its scheme in small letters and without its last slash.

    The brackets of an IPv6 address are the only letters that need quotes, and all shells take the same ones.
    """
    match = _ADDRESS.fullmatch(text)
    if text and not (match and (match[1] is None or _is_ipv6(match[1]))):
        raise UsageError(f"{source} {_shown(text)}: not an http(s) address without query or spaces")
    scheme, mark, rest = text.partition("://")
    return scheme.lower() + mark + rest.rstrip("/")


def _is_ipv6(text: str) -> bool:
    from ipaddress import AddressValueError, IPv6Address

    try:
        IPv6Address(text)
    except AddressValueError:
        return False
    return True
