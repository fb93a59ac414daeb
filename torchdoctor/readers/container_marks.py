"""Marks of a container or of a hosted service on lines that speak of other things: prompts, events, paths."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice

from torchdoctor.patterns import lazily
from torchdoctor.readers.document import Document
from torchdoctor.readers.statement import Said

# A container's host is called by the first 12 digits of its id where nobody named it.
_PROMPT = lazily(r"^ {0,8}(?:\([\w.-]{1,40}\) {0,4})?\w{1,32}@([0-9a-f]{12}):[^\s#$]{0,160}[#$](?=\s|$)", re.MULTILINE)
_SERVICE = lazily(r"^([a-z0-9][\w.-]{0,60}[-_]\d{1,3})( {1,20})\| (?!.* \| )", re.MULTILINE)  # no row of a table
_MARKS = ("@", "| ")
# What stands in a line, the line's pattern, and the kind of container that prints it.
_KINDS = (
    ("Apptainer> ", lazily(r"^Apptainer> ", re.MULTILINE), "apptainer"),
    ("Singularity> ", lazily(r"^Singularity> ", re.MULTILINE), "apptainer"),
    ("Using Docker executor", lazily(r"Using Docker executor with image \S"), "docker"),
    ("kubelet", lazily(r"\bkubelet\b.{0,60}?\b(?:pulled image|(?:Created|Started) container)"), "kubernetes"),
    ("Statuses:", lazily(r"^\s{0,20}(?:initC|c)ontainerStatuses:", re.MULTILINE), "kubernetes"),
    ("OOMKilled", lazily(r"^\s{0,40}(?:- )?[rR]eason:\s{1,20}OOMKilled\b", re.MULTILINE), "kubernetes"),
)  # fmt: skip
_SERVICES = (
    ("/content", lazily(r"(?:File \"|^[%!]?cd |^root@\w{1,40}:)/content(?:[/\s#]|$)", re.MULTILINE), "colab-notebook"),
    ("/google/colab/", lazily(r"dist-packages/google/colab/"), "colab-notebook"),
    ("/kaggle/", lazily(r"/kaggle/working\b|File \"/kaggle/"), "kaggle-notebook"),
    ("Runner Image", lazily(r"^(?:\S{1,40}Z )?(?:##\[group\])?Runner Image\b", re.MULTILINE), "github-runner"),
    ("/home/runner/", lazily(r"File \"/home/runner/"), "github-runner"),
)  # fmt: skip
_MOST = 200  # lines looked at: in a log of services they stand one after another


def container_said(document: Document) -> Iterator[Said]:
    """In which kind of container or service these lines were written."""
    yield from _marked(document, _KINDS, "place.container")
    yield from _marked(document, _SERVICES, "place.service")
    if not any(map(document.may_have, _MARKS)):
        return
    place = _prompt(document.text) if "@" in document.text else None
    if place is None:
        place = _service(document.text)
    if place is not None:
        source = document.at(document.text.count("\n", 0, place))
        yield Said("place.container", "docker", source)
        yield Said("os.name", "linux", source)


def _marked(document: Document, marks: Iterable[tuple[str, re.Pattern[str], str]], path: str) -> Iterator[Said]:
    for words, pattern, kind in marks:
        match = pattern.search(document.text) if document.may_have(words) else None
        if match:
            source = document.at(document.text.count("\n", 0, match.start()))
            yield Said(path, kind, source)
            yield Said("os.name", "linux", source)


def _prompt(text: str) -> int | None:
    match = _PROMPT.search(text)
    return match.start(1) if match and re.search(r"\d", match[1]) and re.search(r"[a-f]", match[1]) else None


def _service(text: str) -> int | None:
    """Compose pads the names to two blanks and more; with one, two lines of a service one after another are needed."""
    before = None
    for match in islice(_SERVICE.finditer(text), _MOST):
        is_next = before is not None and text.count("\n", before.start(), match.start()) == 1
        if len(match[2]) > 1 or (before is not None and is_next and before[1] == match[1]):
            return match.start()
        before = match
    return None
