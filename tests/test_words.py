"""What findings say, as they are read: under 15 words, no plea, no blame, in a line of its own.

The templates in the code are held by test_architecture.py, the summaries of recorded hosts by test_cases.py.
"""

from __future__ import annotations

import re

import pytest

from torchdoctor.checks import all_checks
from torchdoctor.checks.registry import Check
from torchdoctor.tables import Tables
from torchdoctor.tables.known_errors import KnownError

MOST = 14
KNOWN = Tables().known_errors
ENTRIES = tuple(KNOWN)
ECHOED = {id_ for entry in ENTRIES for id_ in entry.echoes}
BLAME = re.compile(r"\b(please|you|your|yours|sorry|stupid|silly|obviously|simply|forgot|forgotten)\b|!", re.IGNORECASE)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.id)
def test_the_title_of_an_error_is_a_summary(entry: KnownError) -> None:
    assert len(entry.title.split()) <= MOST
    assert not BLAME.search(entry.title)
    assert "\n" not in entry.title
    assert entry.title[:1].strip() == entry.title[:1]


@pytest.mark.parametrize("check", [check for check in all_checks() if check.id in ECHOED], ids=lambda check: check.id)
def test_what_an_echo_says_is_a_summary(check: Check) -> None:
    assert len(check.meaning.split()) <= MOST


@pytest.mark.parametrize("check", all_checks(), ids=lambda check: check.id)
def test_no_meaning_blames(check: Check) -> None:
    assert not BLAME.search(check.meaning)
