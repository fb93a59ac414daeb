"""Regular expressions that are compiled when first used: most runs need few of those that modules declare."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from re import compile as late
else:

    class late:  # noqa: N801 - stands where re.compile stood
        """What ``re.compile`` returns, made at the first use of it."""

        def __init__(self, pattern: str, flags: int = 0) -> None:
            self._declared = pattern, flags

        def __getattr__(self, name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            found = getattr(re.compile(*self._declared), name)
            setattr(self, name, found)
            return found


__all__ = ["late"]
