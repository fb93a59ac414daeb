"""nvidia-smi's answer in any of its forms: the table of every header generation, its lists, and its failures.

The csv, ``-q`` and ``-q -x`` forms are read in nvidia_smi_csv and nvidia_smi_long.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchdoctor.facts import Gpu, Unknown
from torchdoctor.patterns import lazily
from torchdoctor.readers.gpu_words import MEBIBYTE, is_cut, named_gpu, pci_address
from torchdoctor.readers.nvidia_smi_csv import is_csv, read_csv
from torchdoctor.readers.nvidia_smi_long import read_long, read_xml
from torchdoctor.readers.nvidia_smi_values import cuda_said, driver_said, library_said
from torchdoctor.readers.statement import Said
from torchdoctor.records import replace
from torchdoctor.values import DriverVersion

if TYPE_CHECKING:
    from torchdoctor.tables import Tables

_HEADER = lazily(r"NVIDIA-SMI\s+(\S+)\s+(?:Driver|KMD) Version:\s*(\S+)(?:\s+CUDA(?: UMD)? Version:\s*(\S+))?")
_WINDOWS = lazily(r"\b(?:Driver-Model|TCC/WDDM|WDDM|MCDM)\b")
_ROW = lazily(r"\s*(\d{1,3})\s+(\S.*?)\s+(?:On|Off|N/A|WDDM|TCC|MCDM|ERR!|Enabled|Disabled)\s*$")
_BUS = lazily(r"\s*([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f]|N/A|ERR!)\s")
_MEMORY = lazily(r"(?:(\d{1,7})MiB)?\s*/\s*(\d{2,7})MiB")
_POWER = lazily(r"\d{1,4}W\s*/\s*(\d{1,4})W\s*$")
_MIG_STATE = lazily(r"\s*(Enabled|Disabled)\*?\s*$")
_MIG_ROW = lazily(r"\s*(\d{1,3})\s+\d+\s+\d+\s+\d+\s*$")
_NO_MIG = lazily(r"No MIG devices found")
_LISTED = lazily(r"\s*GPU (\d{1,3}): (\S.{0,120}?)\s*(?:\(UUID: \S*\))?\s*$")
_LISTED_MIG = lazily(r"\s*MIG \S+\s+Device\s+\d+")
_LOST = lazily(
    r"GPU\s?([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f])[^\n]{0,20}(?:Unknown Error|GPU is lost)"
)
_LIBRARY = lazily(r"NVML library version:\s*([\d.]+)")
_QUOTED_NAME = lazily(r"[\"'\u2018`]nvidia-smi[\"'\u2019`]")
_ERROR_CELL = "ERR!"
_CELLS = 3  # a GPU's row: name, bus, ECC

# What an outcome proves beyond itself: the module is not loaded, or it is loaded and shows no GPU.
_NOT_LOADED = {"no-driver"}
_LOADED = {"version-mismatch", "no-devices", "no-supported-gpus", "gpu-lost"}
_EMPTY = {"no-devices", "no-supported-gpus"}


def read_smi(text: str, source: str, rc: int | None = None, tables: Tables | None = None) -> Iterator[Said]:
    """Everything one answer of nvidia-smi says, whatever option it was called with."""
    said = list(_read_success(text, source, tables))
    unquoted = _QUOTED_NAME.sub("nvidia-smi", text)
    outcome = tables.smi_outcomes.classify(unquoted, rc) if tables and _may_be_failure(text, rc, said) else None
    if outcome:
        yield from _failure(outcome, text, source)
    elif said:
        yield Said("driver.smi", "ok", source)
    yield from said


def _may_be_failure(text: str, rc: int | None, said: list[Said]) -> bool:
    """A table that was printed proves that the tool worked, though a cell of it may hold an error."""
    return not said or bool(rc) or "Unable to determine the device handle" in text


def _read_success(text: str, source: str, tables: Tables | None) -> Iterator[Said]:
    if "<nvidia_smi_log" in text:
        yield from read_xml(text, source)
    elif "NVSMI LOG" in text:
        yield from read_long(text, source)
    elif is_csv(text):
        yield from read_csv(text, source)
    else:
        yield from _header(text, source)
        yield from _gpus(text, source, tables)


def _header(text: str, source: str) -> Iterator[Said]:
    match = _HEADER.search(text)
    if not match:
        return
    yield from driver_said(match[2], source)
    if match[1] != match[2]:
        yield from _two_versions(match[1], match[2], source)
    else:
        yield from library_said(match[1], source)
    if match[3]:
        yield from cuda_said(match[3], source)
    if _WINDOWS.search(text):
        yield Said("os.name", "windows", source)
    elif "Persistence-M" in text:
        yield Said("os.name", "linux", source)


def _two_versions(tool: str, driver: str, source: str) -> Iterator[Said]:
    """Only WSL shows two: the tool is a Linux program, the driver is the one of Windows."""
    try:
        DriverVersion.parse(driver)
    except ValueError:
        return
    yield from library_said(tool, source)
    yield Said("place.wsl", 2, source)


def _gpus(text: str, source: str, tables: Tables | None) -> Iterator[Said]:
    lines = text.split("\n")
    gpus = _table_gpus(lines, tables) or _listed_gpus(lines)
    if gpus:
        yield Said("gpus", tuple(gpus), source)


def _table_gpus(lines: list[str], tables: Tables | None) -> list[Gpu]:
    """The rows of the table: each GPU has two or three lines between rules."""
    gpus: dict[int, Gpu] = {}
    current = -1
    in_mig = False
    for line in lines:
        in_mig = in_mig or "MIG devices:" in line
        cells = line.strip().strip("|").split("|")
        if (
            not in_mig
            and len(cells) == _CELLS
            and (row := _ROW.match(cells[0]))
            and (bus := _BUS.match(cells[1] + " "))
        ):
            current = int(row[1])
            gpus[current] = _with_error(_row_gpu(row[2], bus[1], tables), line)
        elif not in_mig and current in gpus and len(cells) == _CELLS:
            gpus[current] = _with_error(_more(gpus[current], cells), line)
        elif line.lstrip().startswith("+"):
            current = -1
    return [_with_instances(index, gpu, lines) for index, gpu in sorted(gpus.items())]


def _row_gpu(name: str, bus: str, tables: Tables | None) -> Gpu:
    gpu = named_gpu(name, driver_sees=True, vendor="nvidia")
    model = tables.gpu_models.by_name(name) if tables and is_cut(name) else None
    return replace(
        gpu,
        pci_address=pci_address(bus) or Unknown("PCI address"),
        compute_capability=(model and model.compute_capability) or Unknown("compute capability"),
        sick=None,
    )


def _more(gpu: Gpu, cells: list[str]) -> Gpu:
    """The second line holds power and memory, the third the MIG mode."""
    if power := _POWER.search(cells[0]):
        gpu = replace(gpu, power_limit=int(power[1]))
    if memory := _MEMORY.search(cells[1]):
        gpu = replace(gpu, memory=int(memory[2]) * MEBIBYTE)
        if memory[1]:
            gpu = replace(gpu, memory_free=(int(memory[2]) - int(memory[1])) * MEBIBYTE)
    if state := _MIG_STATE.match(cells[2]):
        gpu = replace(gpu, mig=state[1].lower())
    return gpu


def _with_error(gpu: Gpu, line: str) -> Gpu:
    return replace(gpu, sick=_ERROR_CELL) if _ERROR_CELL in line else gpu


def _with_instances(index: int, gpu: Gpu, lines: list[str]) -> Gpu:
    """MIG without an instance gives programs no device at all; only a printed MIG block can show that."""
    if gpu.mig != "enabled":
        return gpu
    start = next((place for place, line in enumerate(lines) if "MIG devices:" in line), None)
    if start is None:
        return gpu
    block = lines[start:]
    rows = {int(match[1]) for line in block if (match := _MIG_ROW.match(line.strip().strip("|").split("|")[0]))}
    empty = index not in rows and (bool(rows) or any(_NO_MIG.search(line) for line in block))
    return replace(gpu, mig="enabled-without-instance") if empty else gpu


def _listed_gpus(lines: list[str]) -> list[Gpu]:
    """``nvidia-smi -L``: one line a GPU, its MIG instances below it."""
    gpus: list[Gpu] = []
    for line in lines:
        if match := _LISTED.match(line):
            gpus.append(named_gpu(match[2], driver_sees=True, vendor="nvidia"))
        elif gpus and _LISTED_MIG.match(line):
            gpus[-1] = replace(gpus[-1], mig="enabled")
    return gpus


def _failure(outcome: str, text: str, source: str) -> Iterator[Said]:
    yield Said("driver.smi", outcome, source)
    if outcome in _NOT_LOADED:
        yield Said("driver.module_loaded", False, source)
        yield Said("driver.version", None, source)
    if outcome in _LOADED:
        yield Said("driver.module_loaded", True, source)
    if outcome in _EMPTY:
        yield Said("gpus", (), source)
    if match := _LIBRARY.search(text):
        yield from library_said(match[1], source)
    if outcome == "gpu-lost" and (match := _LOST.search(text)):
        address = pci_address(match[1])
        yield Said("gpus", (Gpu(vendor="nvidia", pci_address=address, sick="lost"),), source)
