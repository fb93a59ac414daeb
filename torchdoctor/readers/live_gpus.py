"""The GPUs of a live host: the driver's view first, then what stands on the PCI bus, known to a driver or not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from torchdoctor.facts import Gpu, Unknown
from torchdoctor.patterns import lazily
from torchdoctor.readers.answers import BUS, PYTHON, Answers
from torchdoctor.readers.gpu_words import pci_address
from torchdoctor.readers.live_host import MAC_CPU, pairs_of
from torchdoctor.readers.live_nvidia import DXG, NODES, SMI_QUERY, nvml_of
from torchdoctor.readers.live_windows import windows_gpus
from torchdoctor.readers.statement import Said
from torchdoctor.recording import Recording, Want
from torchdoctor.values import GfxId, GpuArch

# Classes of the PCI standard: VGA, 3D, other display, processing accelerator.
PCI = Want(
    "files",
    ("/sys/bus/pci/devices/*/uevent",),
    keep=("PCI_CLASS=300", "PCI_CLASS=302", "PCI_CLASS=380", "PCI_CLASS=1200"),
)
KFD = Want("files", ("/sys/class/kfd/kfd/topology/nodes/*/properties",))
VRAM = Want("files", ("/sys/bus/pci/devices/*/mem_info_vram_total",))
BOARD, CHIP = Want("file", ("/proc/device-tree/model",)), Want("file", ("/proc/device-tree/compatible",))
PROC_PCI = Want("file", ("/proc/bus/pci/devices",))
WANTS = (PYTHON, PCI, BUS, PROC_PCI, KFD, VRAM, BOARD, CHIP, SMI_QUERY, NODES, DXG, MAC_CPU)

_VENDORS = {"10DE": "nvidia", "1002": "amd", "8086": "intel"}
_LISTED = lazily(r"[0-9a-f]{3}[08]\t(?P<vendor>10de|1002)(?P<device>[0-9a-f]{4})\t")
_DRIVER_COLUMN = 17
_ACCELERATOR = "120000"  # Intel and others have accelerators of this class that are no GPUs
_PAIR = 2  # major, minor
_SICK = {"NVML_ERROR_GPU_IS_LOST": "lost", "NVML_ERROR_RESET_REQUIRED": "requires reset"}


def read(recording: Recording) -> Iterator[Said]:
    """Each view as one statement; they are put together by the address on the bus."""
    answers = Answers(recording)
    if answers.os_name == "macos":
        yield from _apple(answers)
        return
    nvml = tuple(_nvml_gpus(nvml_of(answers)))
    if nvml:
        yield Said("gpus", nvml, "NVML")
    if answers.os_name == "windows":
        driver_knows = bool(nvml) or answers.table(SMI_QUERY).get("rc") == 0
        yield from windows_gpus(answers, without_nvidia=driver_knows)
        return
    yield from _kfd(answers)
    bus = tuple(_bus(answers)) if answers.has_sys else tuple(_listed(answers.text(PROC_PCI)))
    where = "/sys/bus/pci" if answers.has_sys else "/proc/bus/pci"
    yield from _jetson(answers, nvml)
    looked = answers.looked(PCI) if answers.has_sys else bool(answers.text(PROC_PCI))
    if bus or (looked and not (_has_gpu_node(answers) or answers.table(DXG) or answers.is_tegra)):
        yield Said("gpus", bus, where)


def _has_gpu_node(answers: Answers) -> bool:
    """Whether /dev has a node of a GPU; the control node alone stays behind when a driver goes."""
    return any(path.removeprefix("/dev/nvidia").isdecimal() for path in answers.table(NODES))


def _nvml_gpus(nvml: Mapping[str, Any]) -> Iterator[Gpu]:
    gpus = nvml.get("gpus")
    for gpu in gpus if isinstance(gpus, list) else ():
        if isinstance(gpu, dict):
            yield _nvml_gpu(gpu)


def _nvml_gpu(gpu: Mapping[str, Any]) -> Gpu:
    memory, mig = gpu.get("memory"), gpu.get("mig")
    known_mig = {0: "disabled", 1: "enabled" if gpu.get("mig_instances") else "enabled-without-instance", None: None}
    healthy = not gpu.get("error")
    return Gpu(
        vendor="nvidia",
        name=str(gpu["name"]) if gpu.get("name") else Unknown("GPU name"),
        compute_capability=_arch(gpu.get("cc")),
        pci_id=str(gpu["pci_id"]) if gpu.get("pci_id") else Unknown("PCI device id"),
        pci_address=pci_address(str(gpu.get("pci", ""))) or Unknown("PCI address"),
        memory=memory if isinstance(memory, int) else Unknown("GPU memory"),
        power_limit=_number(gpu, "power_limit", "power limit of the GPU", divided_by=1000),
        clock_limit=_number(gpu, "clock_limit", "highest clock of the GPU"),
        pcie_width=_number(gpu, "pcie_width", "width of the GPU's PCIe link"),
        firmware=str(gpu["firmware"]) if gpu.get("firmware") else Unknown("firmware of the GPU"),
        driver_sees=True,
        mig=known_mig.get(mig, Unknown("MIG mode")) if healthy else Unknown("MIG mode"),
        sick=None if healthy else _SICK.get(str(gpu["error"]), "ERR!"),
    )


def _number(gpu: Mapping[str, Any], name: str, what: str, divided_by: int = 1) -> int | Unknown:
    """A whole number that NVML told; what a GPU does not support is not told."""
    value = gpu.get(name)
    return value // divided_by if isinstance(value, int) and value > 0 else Unknown(what)


def _arch(pair: object) -> GpuArch | Unknown:
    """A compute capability told as major and minor."""
    if isinstance(pair, list) and len(pair) == _PAIR and all(isinstance(number, int) for number in pair):
        return GpuArch(*pair)
    return Unknown("compute capability")


def _bus(answers: Answers) -> Iterator[Gpu]:
    for path, text in answers.texts(PCI).items():
        pairs = pairs_of(text, "=")
        vendor, _, device = pairs.get("PCI_ID", "").upper().partition(":")
        if vendor not in _VENDORS or (vendor == "8086" and pairs.get("PCI_CLASS") == _ACCELERATOR):
            continue
        vram = answers.texts(VRAM).get(path.replace("/uevent", "/mem_info_vram_total"), "").strip()
        yield Gpu(
            vendor=_VENDORS[vendor],
            pci_id=device,
            pci_address=pairs.get("PCI_SLOT_NAME", "").lower() or Unknown("PCI address"),
            kernel_driver=pairs.get("DRIVER"),
            memory=int(vram) if vram.isdecimal() else Unknown("GPU memory"),
        )


def _listed(text: str) -> Iterator[Gpu]:
    """Where /sys is not mounted (a chroot): ids and drivers without classes; graphics are function 0 of their slot."""
    for line in text.splitlines():
        match = _LISTED.match(line)
        if match:
            driver = line.split("\t")[_DRIVER_COLUMN:]
            vendor = _VENDORS[match["vendor"].upper()]
            yield Gpu(
                vendor=vendor, pci_id=match["device"].upper(), kernel_driver=driver[0].strip() if driver else None
            )


def _kfd(answers: Answers) -> Iterator[Said]:
    """AMD's compute driver: one node a GPU, its target as a number such as 90402 for gfx942."""
    gpus = []
    for text in answers.texts(KFD).values():
        pairs = dict(line.split(" ", 1) for line in text.splitlines() if " " in line)
        target, place, domain = (
            int(pairs.get(name, "0") or 0) if pairs.get(name, "0").isdecimal() else 0
            for name in ("gfx_target_version", "location_id", "domain")
        )
        if target:
            name = f"gfx{target // 10000}{target // 100 % 100:x}{target % 100:x}"
            address = f"{domain:04x}:{place >> 8 & 0xFF:02x}:{place >> 3 & 0x1F:02x}.{place & 7}"
            gpus.append(Gpu(vendor="amd", gfx=GfxId.parse(name), pci_address=address, driver_sees=True))
    if gpus:
        yield Said("gpus", tuple(gpus), "/sys/class/kfd")


def _jetson(answers: Answers, nvml: tuple[Gpu, ...]) -> Iterator[Said]:
    """A Jetson's GPU stands on no bus; its board's name tells it, where no driver does."""
    if "nvidia,tegra" not in answers.text(CHIP) or nvml or answers.table(SMI_QUERY).get("rc") == 0:
        return
    model = answers.text(BOARD).strip("\0\n ")
    if model:
        yield Said("gpus", (Gpu(vendor="nvidia", name=model),), BOARD.args[0])


def _apple(answers: Answers) -> Iterator[Said]:
    """Apple silicon holds its GPU; an Intel Mac's GPU is none torch can use."""
    if "ARM64" in answers.uname("version") or answers.uname("machine") == "arm64":
        name = str(answers.table(MAC_CPU).get("out", "")).strip()
        yield Said("gpus", (Gpu(vendor="apple", name=name or Unknown("GPU name"), driver_sees=True),), "uname")
