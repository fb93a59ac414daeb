"""torch's own report, ``python -m torch.utils.collect_env``, in the layouts of torch itself and of vLLM.

What its words for "nothing" mean (read in torch's source): ``N/A`` stands everywhere when torch could not be imported;
``None`` and ``Could not collect`` after "CUDA used to build PyTorch" both mean that the build has no CUDA; ``No CUDA``
means that nvidia-smi, its GPU list and nvcc all gave nothing. ``Could not collect`` after the driver proves nothing:
newer drivers renamed the header it looks for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchdoctor.patterns import lazily
from torchdoctor.readers.collect_env_fields import READERS
from torchdoctor.readers.collect_env_lines import Field, has_key, is_continuation
from torchdoctor.readers.collect_env_packages import is_package_line, read_packages
from torchdoctor.readers.document import Document, Part
from torchdoctor.readers.statement import Said
from torchdoctor.records import record

KIND = "collect_env"

_STRONG = (
    "pytorch version", "is debug build", "cuda used to build pytorch", "rocm used to build pytorch",
    "xpu used to build pytorch", "gcc version", "clang version", "cmake version", "libc version", "python platform",
    "is cuda available", "cuda runtime version", "cuda_module_loading set to", "gpu models and configuration",
    "nvidia driver version", "cudnn version", "is xpu available", "hip runtime version", "miopen runtime version",
    "is xnnpack available", "caching allocator config", "intel gpu driver version", "intel gpu models onboard",
    "intel gpu models detected",
)  # fmt: skip
_WEAK = ("os", "python version", "cpu", "versions of relevant libraries", "version of relevant libraries")
_LABEL = lazily(rf"\s*({'|'.join((*_STRONG, *_WEAK))})\s*(?:[:\uff1a]\s*(.*)|(?<=version)\s+(\d.*))?$", re.IGNORECASE)
_SIGNS = (
    "PyTorch version",
    "CUDA used to build",
    "Is CUDA available",
    "GPU models and",
    "Nvidia driver",
    "Libc version",
)
_START = "Collecting environment information"
_BEGINNINGS = frozenset(label[:2] for label in (*_STRONG, *_WEAK))
_NEAR = 6  # a weak label belongs to the report when a strong one stands this near
_FAR = 400  # lines without any label that end a report


@record(frozen=True, slots=True)
class _Report:
    """Where the labels of one report stand."""

    labels: dict[str, int]  # label -> index of its line

    @property
    def strength(self) -> int:
        return sum(label in _STRONG for label in self.labels)


def find(document: Document) -> list[Part]:
    """The report in a text: of several, the fullest, because mixing two would describe a host that does not exist."""
    if not document.has(*_SIGNS):
        return []
    reports = [report for report in _reports(document) if report.strength > 1]
    if not reports:
        return []
    document.take(KIND, document.lines_with(_START))
    reports.sort(key=lambda report: -report.strength)
    return [document.take(KIND, list(_lines_of(report, document))) for report in reports][:1]


def _reports(document: Document) -> list[_Report]:
    reports = [_Report({})]
    last = 0
    for index, text in enumerate(document.texts):
        if _START in text or (index - last > _FAR and reports[-1].labels):
            reports.append(_Report({}))
            last = index
        if label := _label(text):
            if label in _STRONG and label in reports[-1].labels:
                reports.append(_Report({}))
            reports[-1].labels[label] = last = index
    return [_without_strays(report) for report in reports]


def _label(text: str) -> str:
    """The label a line begins with, in lower case; most lines are told by their first two letters."""
    if text.lstrip()[:2].lower() not in _BEGINNINGS or not (match := _LABEL.match(text)):
        return ""
    label = match[1].lower()
    return "" if match[2] is None and match[3] is None and "relevant libraries" not in label else label


def _without_strays(report: _Report) -> _Report:
    """Drop an "OS:" or "Python version:" that stands alone somewhere before or after the report."""
    strong = [index for label, index in report.labels.items() if label in _STRONG]
    near = {
        label: index
        for label, index in report.labels.items()
        if label in _STRONG or "relevant" in label or any(abs(index - other) <= _NEAR for other in strong)
    }
    return _Report(near)


def _lines_of(report: _Report, document: Document) -> Iterator[int]:
    """The lines of the report that are read here; what stands between them (lscpu, a log) is left to other readers."""
    first, last = min(report.labels.values()), max(report.labels.values())
    plain_next, misses = False, 0
    for index in range(first, len(document)):
        text = document.texts[index]
        label = _label(text) if index <= last else ""
        belongs = (
            bool(label)
            or is_package_line(text)
            or is_continuation(text)
            or (plain_next and text != "" and not has_key(text))
        )
        misses = 0 if belongs or not text or index <= last else misses + 1
        if misses > _NEAR or (index > last and _START in text):
            return
        if text:
            plain_next = label == "cpu"
        if belongs:
            yield index


def read(part: Part) -> Iterator[Said]:
    """Everything a collect_env report says."""
    found = _fields(part)
    for label, reader in READERS:
        if label in found:
            yield from reader(found[label], found)
    yield from read_packages(part, found)


def _fields(part: Part) -> dict[str, Field]:
    found: dict[str, Field] = {}
    current: Field | None = None
    for line in part.lines:
        label = _label(line.text)
        if label:
            match = _LABEL.match(line.text)
            value = (match[2] or match[3] or "").strip() if match else ""
            current = Field(value, part.at(line), [])
            found[label] = current
        elif current is not None and line.text and not is_package_line(line.text):
            current.more.append(line.text)
    return found
