"""One match specification of conda: ``conda-forge::pytorch=2.9.1=*cuda*``, ``python>=3.11``."""

from __future__ import annotations

import re

from torchdoctor.findings import Place
from torchdoctor.lint.model import Pin, PythonWish, normal

_SPEC = re.compile(r"(?:([\w./:-]{1,200})::)?([A-Za-z0-9_][\w.-]{0,100}?)\s*(\[.{0,300}\]|[=<>!~ ].{0,300})?$")
# conda's names of torch itself, and whether the name asks for a GPU.
TORCH = {"pytorch": False, "pytorch-gpu": True, "pytorch-cpu": False}


def pin_of(text: str, place: Place) -> Pin | None:
    """Read one specification; None for what is none."""
    match = _SPEC.match(text.strip()) if len(text) < 600 else None  # noqa: PLR2004 - no specification is longer
    if not match:
        return None
    name, rest = normal(match[2]), (match[3] or "").strip()
    version, _, build = rest.lstrip("=<>!~ ").partition("=") if not rest.startswith("[") else ("", "", "")
    sign = rest[: len(rest) - len(rest.lstrip("=<>!~ "))].strip() if not rest.startswith("[") else ""
    is_gpu = TORCH.get(name, False) or any(word in build for word in ("cuda", "gpu"))
    spec = specifier(sign, version.strip())
    return Pin(
        "torch" if name in TORCH else name,
        place,
        spec,
        text=text.strip(),
        channel=(match[1] or "").rpartition("/")[2],
        asks_gpu=is_gpu,
    )


def specifier(sign: str, version: str) -> str:
    """The version part as PEP 440 writes it: one ``=`` is a prefix, but a whole version stands for itself."""
    if version in {"", "*"} or "|" in version:
        return ""
    bare = version.removesuffix(".*")
    if sign in {"", "="} and re.fullmatch(r"\d+(\.\d+){0,3}", bare):
        return f"=={bare}" if bare.count(".") > 1 and bare == version else f"=={bare}.*"
    if sign == "==" and bare != version:
        return f"=={bare}.*"
    return f"{sign}{version}".replace(" ", "")


def python_of(pin: Pin) -> PythonWish | None:
    """The Python that a pin of ``python`` names; a range where it allows several."""
    if pin.name != "python" or not pin.spec:
        return None
    found = re.fullmatch(r"==(\d+\.\d+)(?:\.\d+|\.\*)?", pin.spec)
    return PythonWish(found[1], pin.place, is_one=True) if found else PythonWish(pin.spec, pin.place)
