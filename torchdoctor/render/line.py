"""One line of a report for people."""

from __future__ import annotations

from typing import NamedTuple


class Line(NamedTuple):
    """One line of output and the style a terminal may give it."""

    text: str
    style: str = ""
