"""Which words every match of a pattern must hold: worked out from its parse, to prove the words of a table."""

from __future__ import annotations

import sys
from typing import Any

if sys.version_info >= (3, 11):
    from re import _constants as constants
    from re import _parser as parser
else:
    import sre_constants as constants
    import sre_parse as parser


def is_needed(pattern: str, words: tuple[str, ...]) -> bool:
    """Whether every text that the pattern matches holds one of the words."""
    return _holds(parser.parse(pattern), words)


def _holds(items: Any, words: tuple[str, ...]) -> bool:
    run = ""
    for op, argument in items:
        if op is constants.LITERAL:
            run += chr(argument)
            continue
        if any(word in run for word in words) or _one_holds(op, argument, words):
            return True
        run = ""
    return any(word in run for word in words)


def _one_holds(op: Any, argument: Any, words: tuple[str, ...]) -> bool:
    if op is constants.SUBPATTERN:
        return _holds(argument[3], words)
    if op in (constants.MAX_REPEAT, constants.MIN_REPEAT):
        return argument[0] > 0 and _holds(argument[2], words)
    if op is constants.BRANCH:
        return all(_holds(branch, words) for branch in argument[1])
    return False
