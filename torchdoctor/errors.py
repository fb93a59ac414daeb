"""Errors that are the user's to mend: one clear line, and the documented exit status."""

from __future__ import annotations


class UsageError(Exception):
    """What was asked cannot be done as asked: says what was seen and what to type next. Exit status 2."""


class TableError(Exception):
    """A table is missing, unreadable or wrong; the text names the file, the line and the column."""
