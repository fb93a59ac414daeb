"""Whether what is examined is an image, which brings its system along."""

from __future__ import annotations

from torchdoctor.facts import Facts, value_or


def is_image(facts: Facts) -> bool:
    """Whether what is examined is the content of a container, which brings its system's files along."""
    return bool(value_or(facts.place.container, ""))
