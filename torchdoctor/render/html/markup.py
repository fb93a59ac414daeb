"""The few forms that the page is made of. Whatever comes in is escaped here, once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape

from torchdoctor.render.line import on_one_line

Rows = Iterable[Sequence[str]]


def text(value: object) -> str:
    """Any text, to stand between tags or in quotes; what a terminal would obey is shown instead."""
    return escape(on_one_line(str(value)))


def section(name: str, title: str, parts: Iterable[str]) -> str:
    """A part of the page under a heading; nothing where it would be empty."""
    body = "\n".join(part for part in parts if part)
    if not body:
        return ""
    head = f'<h2 id="{name}-title">{text(title)}</h2>'
    return f'<section id="{name}" aria-labelledby="{name}-title">\n{head}\n{body}\n</section>'


def table(caption: str, heads: Sequence[str], rows: Rows, classes: Sequence[str] = ()) -> str:
    """A table whose cells are markup already, in a region that scrolls and can be reached by the keyboard.

    ``classes`` are those of the columns. The first cell of a row is its heading.
    """
    body = "\n".join(_row(cells, classes) for cells in rows)
    if not body:
        return ""
    head = "".join(f'<th scope="col">{text(name)}</th>' for name in heads)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{text(caption)}">\n<table>\n'
        f"<caption>{text(caption)}</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>\n</div>"
    )


def _row(cells: Sequence[str], classes: Sequence[str]) -> str:
    marks = [f' class="{name}"' if name else "" for name in classes] + [""] * len(cells)
    head = f'<th scope="row"{marks[0]}>{cells[0]}</th>'
    return (
        f"<tr>{head}{''.join(f'<td{mark}>{cell}</td>' for cell, mark in zip(cells[1:], marks[1:], strict=False))}</tr>"
    )


def command(line: str) -> str:
    """One command, alone on its line; the page's script puts a button beside it."""
    return f'<pre class="command" tabindex="0"><code>{text(line)}</code></pre>'


def folded(title: str, parts: Iterable[str]) -> str:
    """Parts that open by a click or a key, without a script."""
    body = "\n".join(part for part in parts if part)
    return f"<details>\n<summary>{text(title)}</summary>\n{body}\n</details>" if body else ""


def listed(rows: Iterable[str]) -> str:
    """A list whose items are markup already."""
    body = "".join(f"<li>{row}</li>\n" for row in rows)
    return f"<ul>\n{body}</ul>" if body else ""


def terms(pairs: Iterable[tuple[str, str]]) -> str:
    """Names and what stands for them, both plain text; a pair without a value is left out."""
    body = "".join(f"<div><dt>{text(name)}</dt><dd>{text(value)}</dd></div>\n" for name, value in pairs if value)
    return f"<dl>\n{body}</dl>" if body else ""


def nonempty(parts: Iterable[str]) -> Iterator[str]:
    """The parts that hold anything."""
    return (part for part in parts if part)
