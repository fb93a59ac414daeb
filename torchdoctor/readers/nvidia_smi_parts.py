"""Where nvidia-smi's answers stand in a pasted text: tables, lists, csv, ``-q``, XML, and failures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial

from torchdoctor.patterns import lazily
from torchdoctor.readers.document import Document, Part
from torchdoctor.readers.nvidia_smi_csv import is_csv
from torchdoctor.readers.nvidia_smi_values import NAMES

KIND = "nvidia_smi"
_MANY = 20  # lines that differ in their digits alone: of more not every one is looked at

_TABLE = lazily(r"\s*(?:[|+].*[|+]|[|+][-=+|\s]*)$")
_TABLE_START = lazily(r"\s*\|\s*NVIDIA-SMI\s+\S|\s*\|\s+\d+\s+\S.*\|\s*(?:[0-9A-Fa-f]{4,8}:[0-9A-Fa-f:.]{7}|N/A)\s.*\|")
_HEADER_ALONE = lazily(r"[\s|]*NVIDIA-SMI\s+\d[\d.]*\s+(?:Driver|KMD) Version:\s*\S+")
_LISTED = lazily(r"\s*GPU \d{1,3}: \S.{0,120}\(UUID: \S*\)\s*$")
_LISTED_MIG = lazily(r"\s*MIG \S+\s+Device\s+\d+")
_LONG_LINE = lazily(r"\s{4,}\S|\S[^:]{0,60}\s*:\s|GPU [0-9A-Fa-f]{8}:[0-9A-Fa-f:.]{7}\s*$|\s*$")
_CSV = lazily(
    r"[a-z][a-z0-9_.]{3,40}(?: \[\w{1,5}\])?(?:,|$)"
    r"|.{0,60}?\b(?:NVIDIA|Tesla|GeForce|Quadro|RTX|GTX|TITAN)\b[^,]{0,60},"
)
_FAILURES = (
    "NVIDIA-SMI has failed", "NVIDIA-SMI couldn't find", "Failed to initialize NVML", "No devices were found",
    "Unable to determine the device handle", "nvidia-smi: command not found", "nvidia-smi: not found",
    "'nvidia-smi' not found", "'nvidia-smi' is not recognized", "term 'nvidia-smi' is not recognized",
    '"nvidia-smi": executable file not found', "command not found: nvidia-smi", "nvidia-smi: No such file",
    "(nvidia-smi:String)", "nvidia-smi: Befehl nicht gefunden", '"nvidia-smi" ist entweder falsch geschrieben',
    "'nvidia-smi' 不是内部或外部命令", "nvidia-smi: 未找到命令", "'nvidia-smi' n'est pas reconnu",
)  # fmt: skip
_FAILURE_FOLLOWS = (
    "NVML library version",
    "Failed to properly shut down NVML",
    "Unable to determine the number of GPUs",
    "Please also try",
)
_CSV_WORDS = (
    "driver_version", "compute_cap", "memory.total", "gpu_name", "bus_id", "gpu_uuid", "name, ", "index, ", "NVIDIA",
    "Tesla", "GeForce", "Quadro", "RTX", "GTX", "TITAN",
)  # fmt: skip


def find(document: Document) -> list[Part]:
    """Every answer of nvidia-smi in a text."""
    return [
        *_xml(document),
        *_long(document),
        *_tables(document),
        *_lists(document),
        *_failures(document),
        *_csv(document),
    ]


def _xml(document: Document) -> Iterator[Part]:
    for index in document.lines_with("<nvidia_smi_log"):
        end = _end(document, index, lambda text: "</nvidia_smi_log>" not in text)
        yield document.take(KIND, range(index, min(end + 1, len(document))))


def _long(document: Document) -> Iterator[Part]:
    for index in document.lines_with("NVSMI LOG"):
        yield document.take(KIND, range(index, _end(document, index, lambda text: bool(_LONG_LINE.match(text)))))


def _tables(document: Document) -> Iterator[Part]:
    """A table may begin anywhere: at its header, or at a GPU's row when the header was cut off."""
    others: set[bytes] = set()  # kinds of lines that begin no table, in a flood of them
    for index in document.lines_with("NVIDIA-SMI ", "0000:", "(nvgpu)"):
        text = document.texts[index]
        if not document.is_free(index) or document.alike(index) in others:
            continue
        if _TABLE_START.match(text) or _HEADER_ALONE.match(text):
            end = _end(document, index, lambda text: not text or bool(_TABLE.match(text)))
            yield document.take(KIND, range(index, end))
        elif "|" not in text:
            others.add(document.alike(index))


def _lists(document: Document) -> Iterator[Part]:
    for index in document.lines_with("(UUID: "):
        if document.is_free(index) and _LISTED.match(document.texts[index]):
            end = _end(document, index, lambda text: bool(_LISTED.match(text) or _LISTED_MIG.match(text)))
            yield document.take(KIND, range(index, end))


def _failures(document: Document) -> Iterator[Part]:
    """Failures stay among the messages too, for the readers of logs; of a flood of one the first ones tell it."""
    times: Counter[bytes] = Counter()
    for index in document.lines_with(*_FAILURES):
        times[document.alike(index)] += 1
        if times[document.alike(index)] > _MANY:
            continue
        end = _end(document, index, lambda text: text.lstrip().startswith(_FAILURE_FOLLOWS))
        yield document.part(KIND, range(index, end))


def _csv(document: Document) -> Iterator[Part]:
    """A header and its rows, or rows alone; one column needs its first row as well to be told from other text."""
    others: Counter[bytes] = Counter()  # kinds of lines that are none, in a flood of them
    for found in document.lines_with(*_CSV_WORDS):
        if others[document.alike(found)] > _MANY:
            continue
        index = found - 1 if found and document.texts[found - 1] in NAMES else found
        text = document.texts[index]
        following = document.texts[index + 1] if index + 1 < len(document) else ""
        if document.is_free(index) and _CSV.match(text) and is_csv(f"{text}\n{following}"):
            end = _end(document, index, partial(_has_columns, count=text.count(",")))
            yield document.take(KIND, range(index, end))
        else:
            others[document.alike(found)] += 1


def _has_columns(text: str, count: int) -> bool:
    return bool(text) and text.count(",") == count


def _end(document: Document, start: int, goes_on: Callable[[str], bool]) -> int:
    """The first line after ``start`` that does not belong to it any more."""
    end = start + 1
    while end < len(document) and document.is_free(end) and goes_on(document.texts[end]):
        end += 1
    return end
