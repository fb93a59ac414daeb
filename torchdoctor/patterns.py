"""Patterns that are compiled when they are first used: a run needs few of the hundreds that modules declare."""

from __future__ import annotations

import re
from typing import Any, cast

_METHODS = ("match", "search", "fullmatch", "finditer", "findall", "sub", "split")


class _Lazy:
    """Stands for a pattern until somebody asks it for a method, and then has those of the real one."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern, self.flags = pattern, flags

    def __getattr__(self, name: str) -> Any:
        if name not in _METHODS:
            raise AttributeError(name)
        compiled = re.compile(self.pattern, self.flags)
        self.__dict__.update({method: getattr(compiled, method) for method in _METHODS})
        return self.__dict__[name]


def lazily(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """A pattern as ``re.compile`` gives it, compiled at its first use. A wrong one raises ``re.error`` only then."""
    return cast("re.Pattern[str]", _Lazy(pattern, flags))
