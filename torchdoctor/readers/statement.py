"""What readers say: a dotted path, a value, and where it was read. Facts are assembled from many of these."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple


class Said(NamedTuple):
    """One statement of a reader.

    ``path`` is a fact's dotted path (``driver.version``) or one of the lists ``gpus``, ``packages``, ``env`` and
    ``quoted``; ``value`` has that fact's type, or is None for "looked, there is none".
    """

    path: str
    value: object
    source: str


Statements = Iterator[Said]
