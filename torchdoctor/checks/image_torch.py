"""The torch of NVIDIA's monthly images, which the rest of such an image was compiled against."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.checks.registry import seen
from torchdoctor.facts import Facts, value_or
from torchdoctor.findings import Finding, Remedy, Row, Text
from torchdoctor.tables import Tables

_RELEASE = "NVIDIA_PYTORCH_VERSION"  # which of its releases an image is
_ELSEWHERE = frozenset({"pypi", "pytorch"})


def replaced_in_image(facts: Facts, tables: Tables) -> Iterator[Finding]:
    """That pip has put another torch in the place of the image's; one in an environment of its own is apart."""
    row = tables.ngc_images.find(value_or(facts.env.get(_RELEASE), None) or "")
    is_its_own = value_or(facts.torch.origin, "") not in _ELSEWHERE
    if row is None or not row.torch or is_its_own or value_or(facts.python.environment, "") != "system":
        return
    yield Finding(
        summary=Text("torch {torch} has replaced the one of NVIDIA's image {image}", torch=_full(facts), image=row.key),
        why=Text(
            "The image brings torch {own}, and its torchvision, flash-attn and other extensions are compiled against "
            "exactly that one. Its version sorts before the release, so a requirement for the release replaces it.",
            own=row.torch,
        ),
        evidence=(
            seen(facts, f"env.{_RELEASE}", row.key),
            seen(facts, "torch.version", _full(facts)),
            seen(facts, "torch.origin", facts.torch.origin),
        ),
        remedies=(
            Remedy(Text("Start again from the image, and leave torch out of what is installed in it")),
            Remedy(Text("Or install the other torch into an environment of its own"), ("python3 -m venv .venv",)),
        ),
        confidence="likely",
        row=Row("ngc_images", row.key, row.source),
    )


def _full(facts: Facts) -> str:
    return value_or(facts.torch.full, "") or value_or(facts.torch.version, "")
