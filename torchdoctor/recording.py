"""What was seen on a host, raw and redacted: the only thing that ever leaves the machine.

A recording holds either the answers to what the readers wanted of a live host, or the texts somebody pasted. Saved as
JSON (``torchdoctor.recording/1``) and read back, it gives the same report, byte for byte.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from torchdoctor.records import field, record

VERSION = 1
SCHEMA = f"torchdoctor.recording/{VERSION}"
_GAP = ("omitted", "omitted_after", "omitted_lines")

WantKind = Literal[
    "file", "files", "glob", "links", "stat", "stats", "space", "command", "env", "python", "library", "distributions",
    "requirers", "code", "loading", "records", "assignments",
]  # fmt: skip


@record(frozen=True, slots=True)
class Want:
    """One thing a reader wants of the host where the examined Python runs.

    ==============  =========================================  ====================================================
    kind            args                                       answer
    ==============  =========================================  ====================================================
    file            path                                       text (first 256 KiB)
    files           glob                                       {path: text} (first 4 KiB each, 512 files)
    glob            glob                                       [path, ...] sorted
    links           glob                                       {path: target} of the symbolic links
    stat            path                                       {"type", "readable", "writable", "size"}
    stats           glob                                       {path: the same}
    space           path                                       total bytes of its file system
    command         argv ...                                   {"rc", "out", "err", "timed_out"}; rc None: not run
    env             name ...                                   {name: value} of those that are set
    python          -                                          what the interpreter says of itself (target/probe.py)
    distributions   name ... whose METADATA is wanted          [{"name", "version", "path", "installer", ...}]
    requirers       beginning of a name ...                    [{"name", "requires", "requested", "installer"}]
    library         soname, function, search dir ...           {"path", "number", "error"}: int f(int*) in a child
    code            package, folder or file ...                {"files": [...], "cut"}: device code (target/xray.py)
    loading         -                                          {"linked": [...], "error"}: what the loader would find
    assignments     path, name ...                             their source, of a Python file (target/xray.py as well)
    records         -                                          [{"package", "missing", "changed", ...}] of torn wheels
    ==============  =========================================  ====================================================

    A path may start with ``$NAME/``, ``~/``, ``@prefix/`` (of the interpreter), ``@path/`` (each entry of sys.path) or
    ``@cgroup/`` (its control groups); a star in a glob, or in the name of a variable, stands for anything. A command is
    ``name|/other/place`` (the first that is there) and may be followed by ``||`` and one to try when it fails.
    """

    kind: WantKind
    args: tuple[str, ...] = ()
    seconds: float = 5.0
    keep: tuple[str, ...] = ()  # of file and command: only lines with one of these words; of files: only such files
    only: str = ""  # asked only where sys.platform starts with this; elsewhere there is no answer
    name: str = ""  # its key, where the arguments are a list that may grow: old recordings must stay readable

    @property
    def key(self) -> str:
        """The name of its answer in a recording."""
        return self.name or " ".join((self.kind, *self.args))


@record(frozen=True, slots=True)
class Answer:
    """The answer to one want: a value, or ``absent`` (looked: not there), or an error's words."""

    value: Any = None
    absent: bool = False
    error: str = ""


@record(frozen=True, slots=True)
class PastedText:
    """One pasted file: its name as given (no folder) and its decoded text.

    Of one that is too long ``omitted`` bytes are missing: ``omitted_lines`` lines after the first ``omitted_after``.
    One line of ``text`` says so in their place.
    """

    name: str
    text: str
    omitted: int = 0
    omitted_after: int = 0
    omitted_lines: int = 0

    def line_number(self, index: int) -> int:
        """The number that the line of this index has in the file itself."""
        is_behind = self.omitted and index > self.omitted_after
        return index + self.omitted_lines if is_behind else index + 1


@record(frozen=True, slots=True)
class Recording:
    """Raw answers of a live host, or pasted texts, already redacted."""

    answers: Mapping[str, Answer] = field(default_factory=dict)
    texts: tuple[PastedText, ...] = ()

    def answer(self, want: Want) -> Answer | None:
        """The answer to a want, or None when this recording was never asked for it."""
        return self.answers.get(want.key)

    def to_json(self) -> str:
        """Write the recording as stable JSON."""
        return json.dumps(
            {
                "schema": SCHEMA,
                "answers": {key: _plain(answer) for key, answer in sorted(self.answers.items())},
                "texts": [_plain_text(text) for text in self.texts],
            },
            indent=1,
            ensure_ascii=False,
        )

    @classmethod
    def from_json(cls, text: str) -> Recording:
        """Read a saved recording; raise ``ValueError`` with what was seen when it is not one."""
        data = json.loads(text)
        if not isinstance(data, dict) or data.get("schema") != SCHEMA:
            raise ValueError(f"not a {SCHEMA} file")
        answers, texts = data.get("answers", {}), data.get("texts", [])
        if not isinstance(answers, dict) or not isinstance(texts, list):
            raise ValueError("answers must be an object and texts a list")  # noqa: TRY004 - one error type for a bad file
        return cls(dict(_read_answers(answers)), tuple(_read_text(item) for item in texts))


def _plain(answer: Answer) -> dict[str, Any]:
    if answer.absent:
        return {"absent": True}
    return {"error": answer.error} if answer.error else {"value": answer.value}


def _plain_text(text: PastedText) -> dict[str, Any]:
    gap = {name: getattr(text, name) for name in _GAP} if text.omitted else {}
    return {"name": text.name, "text": text.text, **gap}


def _read_answers(answers: Mapping[str, Any]) -> Iterator[tuple[str, Answer]]:
    for key, item in answers.items():
        if not isinstance(item, dict):
            raise ValueError(f"the answer to {key[:60]!r} is not an object")  # noqa: TRY004 - as above
        yield key, Answer(item.get("value"), bool(item.get("absent")), str(item.get("error", "")))


def _read_text(item: Any) -> PastedText:
    if not isinstance(item, dict) or not isinstance(item.get("text"), str):
        raise ValueError("a text must be an object with name and text")  # noqa: TRY004 - as above
    gap = {name: item.get(name, 0) for name in _GAP}
    if not all(isinstance(number, int) and number >= 0 for number in gap.values()):
        raise ValueError("what a text leaves out must be told in whole numbers")
    return PastedText(str(item.get("name", "text")), item["text"], **gap)
