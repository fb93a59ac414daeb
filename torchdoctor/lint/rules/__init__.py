"""The rules, file by file: each judges one group of pins, and says where the fault is and what the right lines are."""

from __future__ import annotations

from importlib import import_module

from torchdoctor.lint.rules.registry import RULES, Rule

TOPICS = (
    *(
        "labels",
        "versions",
        "refused",
        "pythons",
        "companions",
        "stated",
        "beside",
        "indexes",
        "sources",
        "conda",
        "images",
    ),
    *("image_torch", "one_torch", "compiling"),
)


def all_rules() -> list[Rule]:
    """Every rule, in the order of the list above."""
    for topic in TOPICS:
        import_module(f"torchdoctor.lint.rules.{topic}")
    return list(RULES)
