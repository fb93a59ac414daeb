"""Whether a program went on after the error that it tells of: it fell back on something else, or tried again.

A fall back to the CPU is no way out, and an attempt is one only where nothing fails after it.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

from torchdoctor.patterns import lazily

if TYPE_CHECKING:
    from torchdoctor.readers.document import Document

_BESIDE = 300  # characters beside an error that may speak of it
_WIDEST = 1000  # characters of the line of a test
_ELSE = lazily(
    r"\b(?:falling|falls|fell|will fall|fallback) (?:back|to)\b(?!.{0,24}\bcpu\b)"
    r"|\busing (?!.{0,24}\bcpu\b).{1,40} instead\b|\busing (?:the |a )?python fallback\b"
    r"|\bcontinuing (?:with(?:out)?|anyway)\b|\b(?:will be|is) (?:skipped|ignored|disabled)\b|\bNCCL INFO\b",
    re.IGNORECASE,
)
_AGAIN = lazily(
    r"\btrying batch size\b|\bbatch size \d{1,7} failed with\b|\bretry(?:ing)?\b|\btrying again\b", re.IGNORECASE
)
_TEST_ID = lazily(r"\S{1,200}::\w{1,120}\[[^\]]{0,300}$|_{3,} [\w.]{1,200}\[[^\]]{0,300}$")
_PASSED = lazily(r"\b(?:PASSED|XFAIL|SKIPPED|XPASS)\b|\.\.\. (?:ok|skipped|expected failure)\b")
_FAILED = lazily(r"\b(?:FAILED|ERROR|FAIL)\b")
_FAILURE = lazily(
    r"\s*(?:[\w.]{0,80}(?:Error|Exception)\b|Traceback |ERROR\b|error\b|fatal\b|FATAL\b|Killed\b|Aborted\b)"
    r"|.*core dumped|.{0,200}\b(?:failed after \d|marked as failed|[Gg]iving up|[Gg]ave up|gives up)\b"
    r"|(?:[\W\d]|the ){0,40}(?i:job|run|task|training|process|worker|node)\b.{0,60}\b(?:failed|aborted)\b"
    r"|.{0,200}\b(?i:(?:attempts|retries|tries) (?:have )?failed|(?:no|out of)(?: more)? (?:attempts|retries|tries))\b"
    r"|.{0,200}\b(?i:retries|attempts|tries) (?:were |are |have been )?(?:exceeded|exhausted|used up)\b"
)
_FAILURE_WORDS = (
    "Error", "Exception", "Traceback", "ERROR", "error", "atal", "FATAL", "Killed", "Aborted", "dumped", "failed",
    "aborted", "iving up", "ave up", "ives up", "exceeded", "exhausted", "used up",
    "retries", "attempts", "tries",
)  # fmt: skip


class Endings:
    """How the errors of a text ended."""

    def __init__(self, document: Document) -> None:
        self._document = document

    def is_got_over(self, index: int, before: str, after: str) -> bool:
        """Whether the program went on; ``before`` and ``after`` stand in the line of the error beside it."""
        line = " ".join(self._document.texts[index][:_WIDEST].split())
        if _TEST_ID.search(before) or _is_passed(before, line, after):
            return True
        if index >= self._last_other:
            return False
        beside = f"{before[-_BESIDE:]} {after[:_BESIDE]}"
        if _ELSE.search(beside) or _ELSE.match(self._below(index)):
            return True
        tries = _AGAIN.search(beside) or _AGAIN.match(self._below(index))
        return bool(tries) and index >= self._last_failure

    def _below(self, index: int) -> str:
        return self._document.texts[index + 1].strip() if index + 1 < len(self._document) else ""

    @cached_property
    def _last_failure(self) -> int:
        """The last line that tells of a failure, and of no further attempt."""
        texts = self._document.texts
        failures = (
            index for index in reversed(self._document.lines_with(*_FAILURE_WORDS)) if _FAILURE.match(texts[index])
        )
        return next((index for index in failures if not _AGAIN.search(texts[index])), -1)

    @cached_property
    def _last_other(self) -> int:
        """The last line that tells of anything but another attempt."""
        texts = self._document.texts
        return next(
            (index for index in reversed(range(len(texts))) if texts[index] and not _AGAIN.search(texts[index])), -1
        )


def _is_passed(before: str, line: str, after: str) -> bool:
    """Whether it tells of a test that did not fail; the line is that of the end, which may be another one."""
    beside = line if before and line.startswith(before.strip()) else f"{before[-_BESIDE:]} {after[:_BESIDE]}"
    return bool(_PASSED.search(beside)) and not _FAILED.search(beside)
