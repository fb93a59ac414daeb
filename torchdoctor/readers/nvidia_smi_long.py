"""``nvidia-smi -q`` and ``nvidia-smi -q -x``: the long reports, which may be cut anywhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torchdoctor.patterns import lazily
from torchdoctor.readers.nvidia_smi_values import SICK, Values, cuda_said, driver_said, rows_said
from torchdoctor.readers.statement import Said

_LONG_GPU = lazily(r"GPU ([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f])\s*$")
_LONG_PAIR = lazily(r"(\s*)(\S[^:\n]{0,60}?)\s*:\s(.*)$")
_OWN_KEYS = 4  # columns of indent of a GPU's own keys; those of a section stand deeper
_TAG = lazily(r"<(/?)([a-z_]{1,40})(?:\s+id=\"([^\"<>]{0,40})\")?\s*>([^<\n]{0,200})")


def read_long(text: str, source: str) -> Iterator[Said]:
    """``nvidia-smi -q``: keys by section; R610 adds remarks in brackets behind a value, so its first word counts."""
    head: dict[str, str] = {}
    gpus: list[dict[str, str]] = []
    section = ""
    for line in text.split("\n"):
        if match := _LONG_GPU.match(line):
            gpus.append({"pci.bus_id": match[1]})
        elif pair := _LONG_PAIR.match(line):
            key, value = pair[2].lower(), pair[3].strip()
            key = f"{section}/{key}" if len(pair[1]) > _OWN_KEYS else key
            (gpus[-1] if gpus else head).setdefault(key, value)
        else:
            section = line.strip().lower() or section
    yield from _head_said(head, source)
    yield from rows_said([_columns_of_long(values) for values in gpus], source)
    yield from _fabric(gpus, source)


def _head_said(head: Values, source: str) -> Iterator[Said]:
    for key in ("kmd version", "driver version"):
        if key in head:
            yield from driver_said(head[key].split(" ")[0], source)
            break
    for key in ("cuda umd version", "cuda version"):
        if key in head:
            word = head[key].split(" ")[0]
            yield from cuda_said(word, source)
            break


_LONG_COLUMNS = {
    "product name": "name",
    "fb memory usage/total": "memory.total",
    "mig mode/current": "mig.mode.current",
    "pci/device id": "pci.device_id",
}


def _columns_of_long(values: Values) -> Values:
    """The keys of ``-q`` under the column names of csv."""
    renamed = {column: values[key] for key, column in _LONG_COLUMNS.items() if key in values}
    lost = next((value for value in values.values() if value.lower() in SICK), "")
    return {"pci.bus_id": values.get("pci.bus_id", ""), "lost": lost, **renamed}


def _fabric(gpus: Sequence[Values], source: str) -> Iterator[Said]:
    states = [values["fabric/state"] for values in gpus if values.get("fabric/state", "N/A") != "N/A"]
    if states:
        yield Said("driver.fabric", next((state for state in states if state != "Completed"), states[0]), source)


def read_xml(text: str, source: str) -> Iterator[Said]:
    """``nvidia-smi -q -x``, by its tags alone: a report may be cut anywhere, and no parser must follow its DTD."""
    head: dict[str, str] = {}
    gpus: list[dict[str, str]] = []
    path: list[str] = []
    for close, tag, identity, value in _TAG.findall(text):
        if close:
            while path and path.pop() != tag:
                pass
        else:
            path.append(tag)
            if tag == "gpu" and identity:
                gpus.append({"pci.bus_id": identity})
            elif value.strip():
                (gpus[-1] if gpus else head).setdefault("/".join(path[-2:]), value.strip())
    yield from driver_said(head.get("nvidia_smi_log/driver_version", ""), source)
    yield from cuda_said(head.get("nvidia_smi_log/cuda_version", ""), source)
    yield from rows_said([_columns_of_xml(values) for values in gpus], source)


_XML_COLUMNS = {
    "gpu/product_name": "name",
    "fb_memory_usage/total": "memory.total",
    "mig_mode/current_mig": "mig.mode.current",
    "pci/pci_device_id": "pci.device_id",
}


def _columns_of_xml(values: Values) -> Values:
    renamed = {column: values[key] for key, column in _XML_COLUMNS.items() if key in values}
    return {"pci.bus_id": values.get("pci.bus_id", ""), **renamed}
