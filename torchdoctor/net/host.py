"""What a rank tells of itself before anything can hang: versions, device, network interfaces."""

from __future__ import annotations

import os
import platform
import socket
import struct
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from torchdoctor import __version__
from torchdoctor.net.place import Place

_VARIABLES = ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME", "UCC_TL_UCP_NETDEVS", "NCCL_IB_DISABLE", "NCCL_P2P_DISABLE")
_ADDRESS_OF = 0x8915  # SIOCGIFADDR


def facts_of(torch: Any, place: Place, backend: str) -> dict[str, Any]:
    """Plain values; addresses stay on this host, its name is told for people alone."""
    return {
        "rank": place.rank,
        "local_rank": place.local_rank,
        "host": socket.gethostname(),
        "boot": _boot(),
        "pid": os.getpid(),
        "torchdoctor": __version__,
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "cuda": getattr(torch.version, "cuda", None),
        "hip": getattr(torch.version, "hip", None),
        "nccl": _nccl(torch) if backend == "nccl" else None,
        "backend": backend,
        "device": device_name(torch, place, backend),
        "env": {name: os.environ[name] for name in _VARIABLES if name in os.environ},
        "interfaces": list(interfaces()),
        "route": route_to(place.address),
    }


def backend_for(torch: Any, asked: str) -> str:
    """The backend of the device that is there: nccl (also AMD's), xccl, else gloo."""
    if asked != "auto":
        return asked
    if torch.cuda.is_available():
        return "nccl"
    xpu = getattr(torch, "xpu", None)
    return "xccl" if xpu is not None and xpu.is_available() else "gloo"


def device_of(place: Place, backend: str) -> str:
    """The device of this rank, as torch names it."""
    kind = {"nccl": "cuda", "xccl": "xpu"}.get(backend, "cpu")
    return kind if kind == "cpu" else f"{kind}:{place.local_rank}"


def device_name(torch: Any, place: Place, backend: str) -> str:
    """Its model, where it has one."""
    device = device_of(place, backend)
    kind = device.partition(":")[0]
    return device if kind == "cpu" else str(getattr(torch, kind).get_device_name(place.local_rank))


def _nccl(torch: Any) -> str | None:
    try:
        return ".".join(map(str, torch.cuda.nccl.version()))
    except (AttributeError, RuntimeError, TypeError):
        return None


def _boot() -> str:
    """What tells two hosts with one name apart, and two names of one host together; namespaces count as hosts."""
    try:
        kernel = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
        return f"{kernel} {Path('/proc/self/ns/net').stat().st_ino}"
    except OSError:
        return socket.gethostname()


def interfaces() -> Iterator[Mapping[str, Any]]:
    """Every interface: its name, whether it is up, has an address, is the loopback, and its speed in Mbit/s."""
    if not hasattr(socket, "if_nameindex") or sys.platform == "win32":
        return
    for _, name in socket.if_nameindex():
        folder = Path("/sys/class/net", name)
        speed = _text(folder / "speed")
        yield {
            "name": name,
            "up": _text(folder / "operstate") in {"up", "unknown"},
            "address": _address(name) is not None,
            "loopback": _text(folder / "type") == "772" or name == "lo",
            "speed": int(speed) if speed.isdecimal() else None,
        }


def route_to(address: str) -> str | None:
    """The interface by which packets to an address leave; nothing is sent."""
    with suppress(OSError), closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as probe:
        probe.connect((address, 9))
        own = probe.getsockname()[0]
        return next((name for _, name in socket.if_nameindex() if _address(name) == own), None)
    return None


def _address(name: str) -> str | None:
    try:
        import fcntl

        with closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as probe:
            asked = struct.pack("256s", name[:15].encode())
            return socket.inet_ntoa(fcntl.ioctl(probe.fileno(), _ADDRESS_OF, asked)[20:24])
    except (ImportError, OSError):
        return None


def _text(path: Path) -> str:
    try:
        return path.read_text("ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""
