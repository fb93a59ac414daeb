"""Lines whose structure says that they hold an error as text: a field of a FAQ or catalogue, the title of a page."""

from __future__ import annotations

from collections.abc import Sequence

from torchdoctor.patterns import lazily
from torchdoctor.readers.quotation_words import REMEDY

_NEAR = 6  # lines below a question that may hold its answer
_FAR = 20  # lines above an annotation that may hold its rule
_CELLS = 3

_QUESTION = lazily(  # the last field before the error
    r"(?:^|[\s{,\[(])[\"']?(?:q|question|match(?:es)?|pattern|regexp?|symptom)[\"']?\s{0,4}[:=]"
    r"(?!.{0,300}[\"'],\s{0,4}[\"']?\w{1,30}[\"']?\s?[:=])",
    2,
)
_ANSWER = lazily(
    r"(?:^|[\s{,\[(])[\"']?(?:a|answer|advice|fix|solution|remedy|resolution|meaning|explanation|cause)[\"']?\s{0,4}[:=]",
    2,
)
_MESSAGE_ID = lazily(r"(?:#~ )?msg(?:id(?:_plural)?|ctxt|str(?:\[\d\])?) \"")
_ANNOTATION = lazily(r"\s*(?:summary|description|message|title|runbook)\s?: ")
_ALERT = lazily(r"\s*(?:- )?alert\s?: \S")
_TITLE = lazily(
    r".{4,300} [-|\u2013\u2014\u00b7:] (?:Stack Overflow|Super User|Server Fault|Ask Ubuntu"
    r"|\w[\w &]{1,30} Stack Exchange|PyTorch Forums|PyTorch Developer Mailing List|NVIDIA Developer Forums"
    r"|Hugging Face Forums|GitHub"
    r"|r/\w{2,30}|Reddit|YouTube|Medium)$"
)
_EXPECTED = lazily(
    r"\bexpected (?:results?|outputs?|outcomes?|messages?|errors?|text)\s?:"
    r"(?!.*\b(?:actual|but|got|instead|observed)\b)",
    2,
)
_HEAD = lazily(r"[\w \"'/-]{1,40}(?:[,;\t][\w \"'/-]{1,40}){1,12}$")
_NAMES_ERRORS = lazily(r"(?:the )?(?:errors?|messages?|symptoms?|problems?)(?: (?:messages?|texts?))?$", 2)


def is_field(lines: Sequence[str], index: int, before: str) -> bool:
    """Whether an error stands in such a line; ``before`` is what goes before it there."""
    line = lines[index]
    if _MESSAGE_ID.match(line) or _TITLE.fullmatch(line) or _EXPECTED.search(before):
        return True
    return _is_asked(lines, index, before) or _is_annotation(lines, index) or _is_in_sheet(lines, index)


def _is_asked(lines: Sequence[str], index: int, before: str) -> bool:
    """Whether it is a question or a pattern, with the answer in a field of its own."""
    if not _QUESTION.search(before):
        return False
    return any(map(_ANSWER.search, (lines[index][len(before) :], *lines[index + 1 : index + _NEAR])))


def _is_annotation(lines: Sequence[str], index: int) -> bool:
    """Whether it is what a rule of a monitoring system says when it fires."""
    return bool(_ANNOTATION.match(lines[index])) and any(map(_ALERT.match, lines[max(0, index - _FAR) : index]))


def _is_in_sheet(lines: Sequence[str], index: int) -> bool:
    """Whether it is a row of a sheet whose head names errors and what to do about them."""
    first = index
    while first and index - first < _FAR and lines[first - 1]:
        first -= 1
    if first == index or not _HEAD.fullmatch(lines[first]):
        return False
    mark = next(mark for mark in "\t;," if mark in lines[first])
    names = [name.strip(" \"'") for name in lines[first].split(mark)]
    is_told = any(map(REMEDY.fullmatch, names)) and any(map(_NAMES_ERRORS.fullmatch, names))
    return len(names) >= _CELLS and is_told and lines[index].count(mark) >= len(names) - 1
