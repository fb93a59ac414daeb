"""Whether a text is written in the markup of documentation: reStructuredText, HTML, AsciiDoc, a wiki, a manual page.

Reports come in markdown, so markdown says nothing here; and a page holds no raw output of a program.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from torchdoctor.patterns import lazily
from torchdoctor.readers.quotation_words import ADVICE, COMMON, HOSTS, LOG, REMEDY

_FEW = 2
_SHARE = 3  # lines, of which one is a sentence
_SPARE = 3  # characters by which an underline may be longer than its title

_DIRECTIVE = lazily(
    r"\s*\.\. (?:[\w:+-]{1,40}::(?:\s|$)|_[^:]{1,80}:(?:\s|$))"
    r"|(?:!!!|\?\?\?\+?) (?:note|tip|info|warning|danger|error|bug|failure|question|example|success|abstract)\b"
    r"|:::\s?(?:note|tip|warning|info|danger|caution|details|important)\b"
)
_ROLE = lazily(r":(?:ref|doc|class|func|meth|term|envvar):`")
_TERM = lazily("``[^`]{1,300}``")
_UNDERLINE = lazily(r"([=~^*#+\"'`:.<>_-])\1{2,}$")
_ELEMENT = lazily(r"</(h|p|dl|dt|dd|li|tr|td|th|table|body|html|section|article|nav)\d?>")
_CELL = lazily(r"<th\b[^>]{0,80}>([^<]{1,80})")
_LATEX = lazily(r"\s*\\(?:(?:sub){0,2}section|chapter|paragraph|begin|documentclass|usepackage)\*?[{\[]")
_LATEX_TEXT = lazily(r"\s*\\item\b|.{0,300}\\(?:texttt|emph|textbf|url|ref|cite|verb)\b")
_ORG = lazily(r"\s*#\+(?:begin|end)_(?:example|src|quote|verse)\b", 2)
_NOUN = lazily(r"\s*\w+ (?:of|\d)")  # "run 7", "use of"
_ORG_TITLE = lazily(r"\*{1,6} \w[^*]*")
_NAMED = lazily(r"</?(?:h[1-6]|dt|li|t[dh]|summary)\b")
_TITLE = lazily(r"={1,5} (?![^=]{0,80}\b(?:passed|failed|errors?\b.{0,20}\bin|FAILURES|session|summary)\b)[^=\s].*")
_CHAPTER = lazily(
    r"(?:NAME|SYNOPSIS|DESCRIPTION|OPTIONS|DIAGNOSTICS|EXIT STATUS|RETURN VALUE|SEE ALSO|BUGS|FILES|EXAMPLES?|ERRORS"
    r"|ENVIRONMENT|NOTES|AUTHORS?|TROUBLESHOOTING|CAVEATS)$"
)
_RAW = lazily(
    r"\[?\d{4}-\d\d-\d\d[T ]\d|\[?\d\d:\d\d:\d\d|(?:[$%]|>>>) |\[[\w ]{1,30}\]: |[EWI]\d{4} "
    r"|(?:ERROR|WARNING|INFO|DEBUG|FATAL|CRITICAL)\b"
)
_TRACE = lazily(r'Traceback \(most recent| {1,4}File ".+", line \d')
_ASIDE = lazily(
    r"\b(?:hello|hi|dear|thanks|thank you|please help|help needed|any (?:ideas?|help|hints?|clues?)"
    r"|build #\d{1,9}|finished: (?:failure|aborted|unstable)|job #?\d{1,12} failed)\b",
    2,
)


def is_marked_up(lines: Sequence[str]) -> bool:
    """Whether the markup of a text is that of documentation, and nothing in it is output or a word to the reader."""
    if any(_RAW.match(line) or _ASIDE.search(line) for line in lines):
        return False
    return _is_web_page(lines) or (not any(map(_TRACE.match, lines)) and _is_source_of_page(lines))


def is_title(above: str, line: str, below: str) -> bool:
    """Whether a line is a title with an underline of its own length."""
    underlined = bool(_UNDERLINE.match(below)) and 0 <= len(below) - len(line.strip()) <= _SPARE
    return underlined and bool(line) and not _UNDERLINE.match(line) and (not above or bool(_UNDERLINE.match(above)))


def is_rule(line: str) -> bool:
    """Whether a line is made of one mark only, as one below a title."""
    return bool(_UNDERLINE.match(line))


def _is_web_page(lines: Sequence[str]) -> bool:
    heads = " ".join(head for line in lines for head in _CELL.findall(line))
    if HOSTS.search(heads) and not REMEDY.search(heads):  # a table of runs
        return False
    kinds = {kind for line in lines for kind in _ELEMENT.findall(line)}
    return len(kinds) >= _FEW and any(map(_NAMED.search, lines))


def _is_source_of_page(lines: Sequence[str]) -> bool:
    if _is_typeset(lines) or _is_org(lines):
        return True
    if any(map(_DIRECTIVE.match, lines)) or any(map(_ROLE.search, lines)):
        return True
    indented = [line for line, below in pairwise(lines) if below.startswith("  ")]
    if sum(1 for line in indented if _CHAPTER.match(line)) >= _FEW or any(map(_TERM.fullmatch, indented)):
        return True
    titles = {place for place in range(len(lines) - 1) if is_title("", lines[place], lines[place + 1])}
    wiki = {place for place in range(len(lines)) if _is_wiki_title(lines, place)}
    is_literal = any(line.endswith("::") or "``" in line for line in lines)
    if len(titles) + is_literal < _FEW and len(wiki) < _FEW:
        return False
    return _is_mostly_prose([line for place, line in enumerate(lines) if place not in titles | wiki])


def _is_typeset(lines: Sequence[str]) -> bool:
    """Whether it is LaTeX with words in it."""
    return any(map(_LATEX.match, lines)) and any(map(_LATEX_TEXT.match, lines))


def _is_org(lines: Sequence[str]) -> bool:
    """Whether it is a page of org-mode that advises: notes of one's own runs are written in it as well."""
    titles = [line for line in lines if _ORG_TITLE.fullmatch(line)]
    prose = [line for line in lines if line not in titles and not LOG.match(line)]
    advises = any(ADVICE.match(line.lstrip()) and not _NOUN.match(line) for line in prose)
    return len(titles) >= _FEW and any(map(_ORG.match, lines)) and advises


def _is_wiki_title(lines: Sequence[str], index: int) -> bool:
    above = lines[index - 1] if index else ""
    return bool(_TITLE.fullmatch(lines[index])) and (not above or bool(_TITLE.fullmatch(above)))


def _is_mostly_prose(lines: Sequence[str]) -> bool:
    """Whether there are enough sentences between the titles: outputs that somebody has joined have titles too."""
    text = [line for line in lines if line and not line.startswith("   ") and not _UNDERLINE.match(line)]
    prose = sum(1 for line in text if len(COMMON.findall(line)) >= _FEW and not LOG.match(line))
    return prose * _SHARE >= len(text)
