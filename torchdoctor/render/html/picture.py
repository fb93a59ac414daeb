"""The picture of driver, build and GPU: an inline SVG, and the same in words."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.render.html.chain import Arm, Chain, Link, Node
from torchdoctor.render.html.drawing import LINE, SIGNS, WIDTH, chips, label, line, lines, rect, svg
from torchdoctor.render.html.markup import listed, text

_INDENT, _PAD, _GAP = 28.0, 12.0, 12.0
_ANSWERS = {"ok": "yes", "bad": "no", "unknown": "not known", "none": ""}


def picture(chain: Chain) -> str:
    """The picture with its words beside it."""
    said = list(in_words(chain))
    drawing = svg("chain", "What the driver allows, the build has and the GPU needs", *_drawn(chain), " ".join(said))
    return f'<div class="beside">\n<figure>{drawing}</figure>\n{listed(map(text, said))}\n</div>'


def in_words(chain: Chain) -> Iterator[str]:
    """The picture, a sentence each."""
    yield _node(chain.driver)
    yield _told(chain.allowed, "Does the driver allow the build?")
    yield _node(chain.build)
    for arm in chain.arms:
        yield _node(arm.gpu)
        if arm.served.words:
            yield _told(arm.served, "Does the build serve it?")
        if arm.driven:
            yield _told(arm.driven, "Does the driver know it?")
    if chain.left_out:
        yield f"{chain.left_out} more kinds of GPU are in the facts."


def _told(link: Link, question: str) -> str:
    answer = _ANSWERS[link.state]
    return f"{question} {answer[:1].upper()}{answer[1:]}: {link.words}." if answer else f"{_capital(link.words)}."


def _node(node: Node) -> str:
    held = ", ".join(f"not {chip.text}" if chip.state == "bad" else chip.text for chip in node.chips)
    return f"{_capital(node.title)}{f': {node.says}' if node.says else ''}{f' {held}' if held else ''}."


def _capital(words: str) -> str:
    return words if words.startswith(("torch", "libcuda")) else f"{words[:1].upper()}{words[1:]}"


def _drawn(chain: Chain) -> tuple[float, list[str]]:
    """The height, and everything from top to bottom."""
    body, y = _box(chain.driver, 1, 1)
    parts, y = _step(chain.allowed, y)
    body += parts
    parts, y = _box(chain.build, 1, y)
    body += parts
    bottom = y
    for arm in chain.arms:
        parts, y = _arm(arm, bottom, y)
        body = [*parts, *body]  # lines below the boxes they come from
    return y + 1, body


def _step(link: Link, y: float) -> tuple[list[str], float]:
    """A link straight down."""
    words, below = lines(link.words, _INDENT + 4, y + 6, WIDTH - _INDENT - 4)
    end = max(below + 6, y + 24)
    return [line(_PAD, y, _PAD, end, f"link {link.state}"), *_badge(link, _PAD, (y + end) / 2), *words], end


def _arm(arm: Arm, bottom: float, y: float) -> tuple[list[str], float]:
    """A GPU with the line that comes down from the build."""
    words, below = lines(arm.served.words, _INDENT + 4, y + 6, WIDTH - _INDENT - 4)
    top = max(below + 6, y + _GAP)
    box, end = _box(arm.gpu, _INDENT, top, arm.driven)
    middle = top + 20
    kind = f"link {arm.served.state}"
    drawn = [line(_PAD, bottom, _PAD, middle, kind), line(_PAD, middle, _INDENT, middle, kind)]
    return [*drawn, *words, *box, *_badge(arm.served, _PAD, middle)], end


def _badge(link: Link, x: float, y: float) -> list[str]:
    if link.state == "none":
        return []
    circle = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="10" class="badge {link.state}"/>'
    return [circle, label(SIGNS[link.state], x, y + 5, "sign", "middle")]


def _box(node: Node, x: float, y: float, driven: Link | None = None) -> tuple[list[str], float]:
    """One node, as high as its words and chips."""
    room = WIDTH - x - 2 * _PAD
    body, below = lines(node.title, x + _PAD, y + 8, room, "title")
    for words in (node.says, f"{SIGNS[driven.state]} {driven.words}" if driven else ""):
        drawn, below = lines(words, x + _PAD, below, room) if words else ([], below)
        body += drawn
    drawn, below = chips([(chip.text, chip.state) for chip in node.chips], x + _PAD, below, room)
    below = max(below + 8, y + LINE * 2)
    return [rect(x, y, WIDTH - x - 1, below - y, "node", 8), *body, *drawn], below
