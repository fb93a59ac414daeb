"""What GPUs of AMD's and Intel's need of a live Linux: device nodes, the kernel driver's version, Level Zero."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from torchdoctor.readers.answers import Answers
from torchdoctor.readers.statement import Said
from torchdoctor.recording import Recording, Want

KFD = Want("stat", ("/dev/kfd",))
RENDER = Want("stats", ("/dev/dri/renderD*",))
MODULE = Want("file", ("/sys/module/amdgpu/version",))  # AMD's package has one, the driver of the kernel has none
ROCM = Want("file", ("/opt/rocm/.info/version",))
NODES = Want("glob", ("/sys/devices/system/node/node*",))
_FOLDERS = ("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib", "@prefix/lib")
LOADER, DRIVER = (
    tuple(Want("stat", (f"{folder}/{name}",)) for folder in _FOLDERS)
    for name in ("libze_loader.so.1", "libze_intel_gpu.so.1")
)
WANTS = (KFD, RENDER, MODULE, ROCM, NODES, *LOADER, *DRIVER)


def read(recording: Recording) -> Iterator[Said]:
    """Each of them; None where it was looked for and is not there."""
    answers = Answers(recording)
    if answers.os_name != "linux":
        return
    if answers.looked(KFD):
        yield Said("compute.kfd", _access([answers.table(KFD)]), KFD.args[0])
    if answers.looked(RENDER):
        nodes = [node for node in answers.table(RENDER).values() if isinstance(node, dict)]
        yield Said("compute.render", _access(nodes), RENDER.args[0])
    for path, want in (("compute.amdgpu", MODULE), ("compute.rocm", ROCM)):
        if answers.looked(want) and (want is not MODULE or answers.has_sys):
            yield Said(path, answers.text(want).strip() or None, want.args[0])
    for path, wants in (("compute.level_zero", LOADER), ("compute.level_zero_driver", DRIVER)):
        if all(answers.looked(want) for want in wants):
            found = next((want.args[0] for want in wants if answers.table(want)), None)
            yield Said(path, found, found or wants[0].args[0])
    if answers.looked(NODES) and answers.names(NODES):
        yield Said("cpu.nodes", len(answers.names(NODES)), "/sys/devices/system/node")


def _access(nodes: Iterable[Mapping[str, Any]]) -> str | None:
    """``open`` where every node can be read and written, ``closed`` where one cannot; None without any."""
    told = [bool(node.get("readable") and node.get("writable")) for node in nodes if node]
    return None if not told else "open" if all(told) else "closed"
