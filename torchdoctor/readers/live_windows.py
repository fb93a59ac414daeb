"""Graphics adapters of a live Windows, from its registry: there is no PCI bus to read there without a library."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchdoctor.facts import Gpu, Unknown
from torchdoctor.patterns import lazily
from torchdoctor.readers.answers import Answers
from torchdoctor.readers.gpu_words import vendor_of
from torchdoctor.readers.statement import Said
from torchdoctor.recording import Recording, Want
from torchdoctor.values import DriverVersion, Version

_ADAPTERS = "HKLM\\SYSTEM\\CurrentControlSet\\Control\\Class\\{4d36e968-e325-11ce-bfc1-08002be10318}"
IDS, NAMES, DRIVERS = (
    Want(
        "command",
        ("reg", "query", _ADAPTERS, "/s", "/v", value),
        keep=("HKEY_", value),
        only="win32",
        name=f"registry {value}",
    )
    for value in ("MatchingDeviceId", "DriverDesc", "DriverVersion")
)
_CONTROL = "HKLM\\SYSTEM\\CurrentControlSet\\Control\\FileSystem"
_RUNTIMES = "HKLM\\SOFTWARE\\Microsoft\\VisualStudio\\14.0\\VC\\Runtimes\\X64"
RUNTIME, LONG_PATHS = (
    Want("command", ("reg", "query", key, "/v", value), keep=(value,), only="win32", name=f"registry {value} of {what}")
    for key, value, what in ((_RUNTIMES, "Version", "Visual C++"), (_CONTROL, "LongPathsEnabled", "file systems"))
)
MSVC = tuple(
    Want("glob", (f"${folder}/Microsoft Visual Studio/*/*/VC/Tools/MSVC/*",), only="win32")
    for folder in ("ProgramFiles", "ProgramFiles(x86)")
)
WANTS = (IDS, NAMES, DRIVERS, RUNTIME, LONG_PATHS, *MSVC)

_VALUE = lazily(r"\s+\w+\s+REG_SZ\s+(.*\S)")
_PCI = lazily(r"(?i)pci\\ven_([0-9a-f]{4})&dev_([0-9a-f]{4})")
_VENDORS = {"10DE": "nvidia", "1002": "amd", "8086": "intel"}


def read(recording: Recording) -> Iterator[Said]:
    """The NVIDIA driver's number as Windows keeps it, and the newest Visual C++."""
    answers = Answers(recording)
    if answers.os_name != "windows":
        yield Said("os.vc_runtime", None, "interpreter")
        yield Said("os.long_paths", None, "interpreter")
        return
    yield from _runtime(answers)
    yield from _long_paths(answers)
    ids, drivers = _values(answers, IDS), _values(answers, DRIVERS)
    for key, text in drivers.items():
        if "ven_10de" in ids.get(key, "").lower():
            yield from _driver(text)
            break
    versions = [re.fullmatch(r".*[/\\]14\.(\d{2})\.\d+", name) for want in MSVC for name in answers.names(want)]
    minors = [int(match[1]) for match in versions if match]
    if any(answers.looked(want) for want in MSVC):
        yield Said("tools.msvc", 1900 + max(minors) if minors else None, "Visual Studio folders")


def _runtime(answers: Answers) -> Iterator[Said]:
    """The Visual C++ runtime that its installer registered; a copy that some package brings is not told there."""
    result = answers.table(RUNTIME)
    match = re.search(r"REG_SZ\s+v?(\d+(?:\.\d+){1,3})", str(result.get("out", "")))
    if match:
        yield Said("os.vc_runtime", Version.parse(match[1]), "registry")
    elif result.get("rc") == 1:
        yield Said("os.vc_runtime", None, "registry")


def _long_paths(answers: Answers) -> Iterator[Said]:
    """Off unless it was switched on; a value that is not there (status 1) means off as well."""
    result = answers.table(LONG_PATHS)
    match = re.search(r"REG_DWORD\s+0x([0-9a-f]+)", str(result.get("out", "")))
    if match or result.get("rc") == 1:
        yield Said("os.long_paths", match is not None and int(match[1], 16) == 1, "registry")


def windows_gpus(answers: Answers, *, without_nvidia: bool) -> Iterator[Said]:
    """The adapters in the registry. It keeps removed ones too, so NVIDIA's are left to the driver where it answered."""
    ids, names = _values(answers, IDS), _values(answers, NAMES)
    gpus = []
    for key, text in ids.items():
        match = _PCI.search(text)
        vendor = _VENDORS.get(match[1].upper(), "") if match else vendor_of(names.get(key, ""))
        if match and vendor and not (vendor == "nvidia" and without_nvidia):
            name = names.get(key, "")
            is_own = vendor_of(name) == vendor  # else it is that of Microsoft's driver, in the language of Windows
            gpus.append(Gpu(vendor=vendor, name=name if is_own else Unknown("GPU name"), pci_id=match[2].upper()))
    if gpus:
        yield Said("gpus", tuple(gpus), "registry")


def _driver(text: str) -> Iterator[Said]:
    """Windows' number 32.0.15.9159 holds NVIDIA's 591.59 in its last five digits."""
    digits = "".join(text.split(".")[-2:])[-5:]
    if re.fullmatch(r"\d+\.\d+\.1\d\.\d{4}", text):  # Microsoft's own driver is numbered as Windows: 10.0.26100.1
        yield Said("driver.version", DriverVersion(parts=(int(digits[:3]), int(digits[3:]))), "registry")
        yield Said("driver.source", "registry", "registry")


def _values(answers: Answers, want: Want) -> dict[str, str]:
    """The value under each key of a ``reg query`` answer."""
    values: dict[str, str] = {}
    key = ""
    for line in str(answers.table(want).get("out", "")).splitlines():
        match = _VALUE.match(line)
        if line.startswith("HKEY_"):
            key = line.strip()
        elif match and key:
            values[key] = match[1]
    return values
