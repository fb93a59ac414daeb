"""One requirement, as files write it: ``torch==2.9.1+cu126 ; sys_platform == 'linux'``, or a wheel's address."""

from __future__ import annotations

import re
from urllib.parse import unquote

from torchdoctor.findings import Place
from torchdoctor.index.wheel_names import parse_wheel_name
from torchdoctor.lint.model import DIRECT, Pin, normal

_NAME = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]{0,100})\s*(?:\[[^\]]{0,200}\])?\s*")
_LABEL = re.compile(r"(={2,3})\s*([0-9][0-9A-Za-z.!*]{0,60})\+([A-Za-z0-9._-]{1,60})")
_ANY_LABEL = re.compile(r"(>=|<=|~=|<|>)\s*[0-9][0-9A-Za-z.*]{0,60}\+[A-Za-z0-9._-]{1,60}")
LONGEST = 2000
INDEX_OPTIONS = {  # of pip and uv, and how the index is used beside others
    "-i": "main",
    "--index-url": "main",
    "--default-index": "main",
    "--extra-index-url": "extra",
    "--index": "first",
    "-f": "extra",
    "--find-links": "extra",
}


def pin_of(text: str, place: Place, marker: str = "") -> Pin | None:
    """Read one requirement; None for what is no requirement. A broken specifier is kept as it is written."""
    text = text.strip()
    if not text or len(text) > LONGEST:
        return None
    requirement, own = _split_marker(text)
    both = f"({own}) and ({marker})" if own and marker else own or marker
    if requirement.startswith(("http://", "https://", "file:", "./", "/")) or requirement.endswith(".whl"):
        return _of_wheel(requirement, place, both)
    match = _NAME.match(requirement)
    if not match:
        return None
    name, rest = normal(match[1]), requirement[match.end() :].strip()
    if rest.startswith("@"):
        pin = _of_wheel(rest[1:].strip(), place, both)
        return pin if pin and pin.name == name else Pin(name, place, marker=both, url=DIRECT, text=text)
    if rest and rest[0] not in "=<>!~(":
        return None
    return with_spec(Pin(name, place, marker=both, text=text), rest.strip("() "))


def with_spec(pin: Pin, spec: str) -> Pin:
    """The pin with a specifier, its label taken out."""
    label = _LABEL.search(spec)
    if label:
        spec = spec.replace(label[0], f"{label[1]}{label[2]}", 1)
    return pin._replace(spec=spec, label=label[3].lower() if label else "")


def wrong_label(pin: Pin) -> str:
    """The clause that pins a label by anything but ``==``, which no installer accepts; empty where there is none."""
    found = _ANY_LABEL.search(pin.spec)
    if found:
        return found[0]
    return f"=={pin.spec.lstrip('= ')}+{pin.label}" if pin.label and "*" in pin.spec else ""


def _split_marker(text: str) -> tuple[str, str]:
    """The requirement and its marker: behind a semicolon, which an address wants to have a blank before."""
    if "@" in text.partition(";")[0] or text.startswith(("http", "file:")):
        head, found, marker = text.partition(" ;")
    else:
        head, found, marker = text.partition(";")
    return head.strip(), marker.strip() if found else ""


def _of_wheel(address: str, place: Place, marker: str) -> Pin | None:
    file = unquote(address.partition("#")[0].partition("?")[0]).rsplit("/", 1)[-1]
    wheel = parse_wheel_name(file) if len(file) < LONGEST else None
    if wheel is None:
        return None
    python = next((str(tag) for tag in wheel.pythons), "")
    spec = f"=={wheel.version}"
    return Pin(wheel.project, place, spec, wheel.label, marker, url=address, python=python, text=address)
