"""Inline SVG in few forms: colours come from the page's style sheet, sizes are pixels of a picture 400 wide."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from textwrap import wrap

from torchdoctor.records import record
from torchdoctor.render.html.markup import text

WIDTH = 400
LINE = 18  # from one line of text to the next
_WIDE, _NARROW = 8.6, 6.9  # about the width of a letter of a title, and of other text
_CHIP = 7.8  # of one that nothing may stick out of
_BAR, _ROW = 14, 44
SIGNS = {"ok": "\u2713", "bad": "\u2717", "unknown": "?", "none": ""}


@record(frozen=True, slots=True)
class Bar:
    """One row of a chart: ``value`` and ``mark`` in the unit of the chart's end; ``box`` spans of low and high."""

    label: str
    told: str
    value: float
    mark: float | None = None
    box: tuple[float, float] | None = None
    whisker: tuple[float, float] | None = None
    state: str = "none"


def svg(name: str, title: str, height: float, body: Iterable[str], description: str = "") -> str:
    """A picture with its text alternative."""
    told = f'<desc id="{name}-desc">{text(description)}</desc>' if description else ""
    ids = f"{name}-name {name}-desc" if description else f"{name}-name"
    return (
        f'<svg role="img" aria-labelledby="{ids}" viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}" '
        f'height="{height:.0f}">\n<title id="{name}-name">{text(title)}</title>{told}\n{chr(10).join(body)}\n</svg>'
    )


def lines(words: str, x: float, y: float, width: float, kind: str = "") -> tuple[list[str], float]:
    """A text in as many lines as its room asks for, and where the next one may begin."""
    letter = _WIDE if kind == "title" else _NARROW
    parts = wrap(words, max(8, int(width / letter)), max_lines=3, placeholder=" ...", break_on_hyphens=False)
    drawn = [label(part, x, y + LINE * (index + 1) - 5, kind) for index, part in enumerate(parts)]
    return drawn, y + LINE * len(parts)


def label(words: str, x: float, y: float, kind: str = "", anchor: str = "start") -> str:
    """One line of text at its baseline."""
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind or "words"}" text-anchor="{anchor}">{text(words)}</text>'


def rect(x: float, y: float, width: float, height: float, kind: str, radius: float = 3) -> str:
    """A rectangle; never thinner than can be seen."""
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 1):.1f}" height="{height:.1f}" rx="{radius}" '
        f'class="{kind}"/>'
    )


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    """A straight line."""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>'


def chips(items: Iterable[tuple[str, str]], x: float, y: float, width: float) -> tuple[list[str], float]:
    """Small boxes of (text, state) in rows, and where the next thing may begin."""
    drawn: list[str] = []
    at, top = x, y + 4
    for words, state in items:
        told = f"{SIGNS[state]} {words}".strip()
        size = len(told) * _CHIP + 20
        if at > x and at + size > x + width:
            at, top = x, top + 28
        drawn += [rect(at, top, size, 22, f"chip {state}", 11), label(told, at + size / 2, top + 15, "chip", "middle")]
        at += size + 6
    return drawn, (top + 28 if drawn else y)


def chart(name: str, title: str, bars: Sequence[Bar], end: float, unit: str) -> str:
    """Horizontal bars or box plots, one below the other on a scale from nought to ``end``."""
    told = "; ".join(f"{bar.label}: {bar.told}" for bar in bars)
    body = [part for index, bar in enumerate(bars) for part in _drawn(bar, index * _ROW, WIDTH / end)]
    bottom = len(bars) * _ROW + 4
    body += [line(0, bottom, WIDTH, bottom, "axis"), label("0", 0, bottom + 15, "tick")]
    body.append(label(f"{end:.3g} {unit}", WIDTH, bottom + 15, "tick", "end"))
    return svg(name, title, bottom + 22, body, told)


def _drawn(bar: Bar, top: float, scale: float) -> Iterator[str]:
    yield label(bar.label, 0, top + 14)
    yield label(bar.told, WIDTH, top + 14, "value", "end")
    y = top + 21
    yield rect(0, y, WIDTH, _BAR, "track")
    if bar.box is None:
        yield rect(0, y, min(WIDTH, bar.value * scale), _BAR, f"bar {bar.state}")
    else:
        yield from _box(bar, bar.box, y, scale)
    if bar.mark is not None:
        yield line(bar.mark * scale, y - 3, bar.mark * scale, y + _BAR + 3, "mark")


def _box(bar: Bar, box: tuple[float, float], y: float, scale: float) -> Iterator[str]:
    """The quartiles as a box, the median as a line across it, a thin line for the wider span."""
    low, high = bar.whisker or box
    yield line(low * scale, y + _BAR / 2, high * scale, y + _BAR / 2, "whisker")
    yield rect(box[0] * scale, y, (box[1] - box[0]) * scale, _BAR, "bar none")
    yield line(bar.value * scale, y - 2, bar.value * scale, y + _BAR + 2, "median")
