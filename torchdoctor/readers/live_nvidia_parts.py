"""The parts of the NVIDIA driver on a live host: kernel modules, libcuda, Secure Boot, the kernel's log, WSL's trap."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.patterns import lazily
from torchdoctor.readers.answers import BUS, MEMINFO, PYTHON, Answers
from torchdoctor.readers.live_host import pairs_of
from torchdoctor.readers.live_nvidia import MODULES, PROC, cuda_of_number, driver_of
from torchdoctor.readers.statement import Said
from torchdoctor.recording import Recording, Want

_FOLDERS = (
    "/usr/lib/wsl/lib", "/usr/lib/*-linux-gnu", "/usr/lib/*-linux-gnu/nvidia/current", "/usr/lib/*-linux-gnu/nvidia",
    "/usr/lib/*-linux-gnu/tegra", "/usr/lib64", "/usr/lib", "/run/opengl-driver/lib", "/usr/local/nvidia/lib64",
    "/usr/local/cuda/compat",
)  # fmt: skip
LIBCUDA = Want("library", ("libcuda.so.1", "cuDriverGetVersion", *_FOLDERS), only="linux", name="library libcuda.so.1")
NVCUDA = Want(
    "library", ("nvcuda.dll", "cuDriverGetVersion", "$SystemRoot/System32"), only="win32", name="library nvcuda.dll"
)
LIBRARIES = tuple(
    Want("glob", (f"{folder}/libnvidia-ml.so.*",))
    for folder in ("/usr/lib/*-linux-gnu", "/usr/lib/*-linux-gnu/nvidia/current", "/usr/lib64", "/usr/lib")
)
MODINFO = Want(
    "command",
    ("modinfo|/usr/sbin/modinfo|/sbin/modinfo", "nvidia"),
    keep=("version:", "license:", "filename:"),
    only="linux",
    name="command modinfo nvidia",
)
EFI = Want("stat", ("/sys/firmware/efi",))
SECURE_BOOT = Want("file", ("/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c",))
_LOG_WORDS = ("NVRM", "Xid", "nvidia", "nouveau", "nvgpu", "unavailable key", "Key was rejected", "amdgpu")
DMESG = Want("command", ("dmesg",), keep=_LOG_WORDS, only="linux")
WSL_LIBRARIES = Want("glob", ("/usr/lib/*-linux-gnu/libcuda.so.*",))
WANTS = (PYTHON, MEMINFO, BUS, LIBCUDA, NVCUDA, *LIBRARIES, MODULES, MODINFO, EFI, SECURE_BOOT, DMESG, WSL_LIBRARIES)

_LINES = 200
_NUMBERED = lazily(r"lib(?:nvidia-ml|cuda)\.so\.(\d{2,3}\.\d{2,3}(?:\.\d{2,3})?)$")


def read(recording: Recording) -> Iterator[Said]:
    """Each part that can be told; module and package questions only where they concern this kernel."""
    answers = Answers(recording)
    if answers.os_name not in ("linux", "windows"):
        return
    yield from _libcuda(answers, NVCUDA if answers.os_name == "windows" else LIBCUDA)
    if answers.os_name == "linux":
        yield from _library_version(answers)
        yield from _wsl(answers)
        if not answers.is_wsl and not answers.is_tegra:
            yield from _modules(answers)
            yield from _on_disk(answers)
            yield from _secure_boot(answers)
        yield from _log(answers)


def _libcuda(answers: Answers, want: Want) -> Iterator[Said]:
    if not answers.looked(want):
        return
    found = answers.table(want)
    if found.get("path"):
        yield Said("driver.libcuda", str(found["path"]), "loader")
    elif not str(found.get("error", "")).startswith("no answer"):
        yield Said("driver.libcuda", None, "loader")
    if shown := cuda_of_number(found.get("number")):
        yield Said("driver.cuda_shown", shown, "cuDriverGetVersion")


def _library_version(answers: Answers) -> Iterator[Said]:
    """From the numbers in the names of the driver's own libraries; a compat libcuda is not the driver's own."""
    names = [name for want in LIBRARIES for name in answers.names(want)]
    libcuda = str(answers.table(LIBCUDA).get("path", ""))
    names += [libcuda] if "/compat/" not in libcuda else []
    for name in names:
        match = _NUMBERED.search(name)
        if match and (version := driver_of(match[1])):
            yield Said("driver.library_version", version, name)
            return


def _modules(answers: Answers) -> Iterator[Said]:
    if not answers.looked(MODULES) or not answers.has_proc:
        return
    loaded = {line.split(" ")[0] for line in answers.text(MODULES).splitlines()}
    yield Said("driver.module_loaded", "nvidia" in loaded, MODULES.args[0])
    yield Said("driver.uvm_loaded", "nvidia_uvm" in loaded, MODULES.args[0])


def _on_disk(answers: Answers) -> Iterator[Said]:
    """The module built for the running kernel. A container sees no modules, so there it tells nothing."""
    result = answers.table(MODINFO)
    pairs = pairs_of(str(result.get("out", "")), ":")
    if result.get("rc") == 0 and "version" in pairs:
        if version := driver_of(pairs["version"]):
            yield Said("driver.module_on_disk", version, "modinfo nvidia")
        if not answers.text(PROC):  # else the loaded module speaks for itself
            flavour = "open" if "GPL" in pairs.get("license", "") else "proprietary"
            yield Said("driver.flavour", flavour, "modinfo nvidia")
    elif result.get("rc") == 1 and "not found" in str(result.get("err", "")):
        yield Said("driver.module_on_disk", None, "modinfo nvidia")


def _secure_boot(answers: Answers) -> Iterator[Said]:
    text = answers.text(SECURE_BOOT)
    if text:
        yield Said("driver.secure_boot", text[-1] == "\x01", "efivars/SecureBoot")
    elif answers.has_sys and answers.looked(EFI) and not answers.table(EFI):
        yield Said("driver.secure_boot", False, EFI.args[0])


def _log(answers: Answers) -> Iterator[Said]:
    result = answers.table(DMESG)
    if result.get("rc") == 0:
        lines = str(result.get("out", "")).splitlines()
        yield Said("driver.kernel_log", tuple(lines[-_LINES:]), "dmesg")


def _wsl(answers: Answers) -> Iterator[Said]:
    """A Linux driver installed inside WSL puts its own libcuda before the one Windows lends."""
    if not answers.is_wsl:
        yield Said("driver.linux_driver_in_wsl", None, "uname")
        return
    names = [*answers.names(WSL_LIBRARIES), *(name for want in LIBRARIES for name in answers.names(want))]
    own = [name for name in names if _NUMBERED.search(name)]
    if answers.looked(WSL_LIBRARIES):
        yield Said("driver.linux_driver_in_wsl", bool(own), next(iter(own), WSL_LIBRARIES.args[0]))
