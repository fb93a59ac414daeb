"""Intel GPUs: whether the XPU builds are made for them, and what they need of the host."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torchdoctor.checks.installed import gpu_evidence, gpu_names
from torchdoctor.checks.registry import check, seen
from torchdoctor.facts import Facts, Gpu, known, need, value_or
from torchdoctor.findings import Evidence, Finding, Remedy, Row, Text
from torchdoctor.tables import Tables
from torchdoctor.tables.xpu_devices import NO

_DRIVERS = frozenset({"i915", "xe"})
_ON_CPU = Remedy(
    Text("Compute on the processor: take torch's build for it"), ("torchdoctor install-cmd --backend cpu",)
)


@check("xpu-device-unsupported", severity="warning", after=("torch-wrong-vendor",))
def xpu_device_unsupported(facts: Facts, tables: Tables) -> Iterator[Finding]:
    """The XPU build is not made for the Intel GPUs of this host."""
    if need(facts.torch.build).backend != "xpu":
        return
    gpus = _intel(facts)
    rows = [tables.xpu_devices.by_id(value_or(gpu.pci_id, "") or "") for gpu in gpus]
    served = [is_served(gpu, tables) for gpu in gpus]
    if not gpus or not all(answer is False for answer in served):
        return
    row = next((row for row in rows if row), None)
    yield Finding(
        summary=Text("{gpu} is not among the GPUs that torch XPU is made for", gpu=gpu_names(gpus)),
        why=Text(
            "torch lists the GPU, warns of it at most, and is_available() stays True; what it computes there nobody "
            "tests. The printed name does not tell the supported ones apart, the PCI id does."
        ),
        evidence=gpu_evidence(facts, gpus, "pci_id" if row else "name"),
        remedies=(_ON_CPU,),
        confidence="certain" if row else "likely",
        row=Row("xpu_devices", row.key, row.source) if row else None,
    )


def is_served(gpu: Gpu, tables: Tables) -> bool | None:
    """Whether the XPU builds are made for this GPU; None where nothing tells."""
    return tables.xpu_devices.is_served(value_or(gpu.pci_id, "") or "", value_or(gpu.name, "") or "")


@check("xpu-runtime-missing", severity="error", by_admin=True, after=("xpu-device-unsupported",))
def xpu_runtime_missing(facts: Facts, tables: Tables) -> Iterator[Finding]:
    """The runtime of the Intel GPU (Level Zero, driver) is missing."""
    if need(facts.torch.build).backend != "xpu" or value_or(facts.torch.cuda_available, False):
        return
    gpus = [gpu for gpu in _intel(facts) if _may_be_served(gpu, tables)]
    if need(facts.os.name) != "linux" or not gpus or value_or(facts.place.image_build, False):
        return
    if not value_or(facts.place.wsl, 0):
        closed = _no_node(facts, gpus)
        if closed:
            yield closed
            return
    if known(facts.compute.level_zero_driver) is None:
        yield _no_driver(facts, gpus)


def _may_be_served(gpu: Gpu, tables: Tables) -> bool:
    """Whether it is on PyTorch's list, or has a PCI id of which some parts are; unknown ones may be older or newer."""
    row = tables.xpu_devices.by_id(value_or(gpu.pci_id, "") or "")
    return row.support != NO if row else is_served(gpu, tables) is True


def _intel(facts: Facts) -> list[Gpu]:
    return [gpu for gpu in known(facts.gpus) or () if value_or(gpu.vendor, "") == "intel"]


def _no_node(facts: Facts, gpus: Sequence[Gpu]) -> Finding | None:
    """The render node: closed to this user, not passed in, or not made because no driver holds the GPU."""
    access, container = known(facts.compute.render), value_or(facts.place.container, "") or ""
    if access == "open":
        return None
    if access == "closed":
        summary, remedy = Text("the render node of {gpu} is closed to this user", gpu=gpu_names(gpus)), _join_group()
    elif container:
        summary, remedy = Text("the container was given no /dev/dri for {gpu}", gpu=gpu_names(gpus)), _pass_in()
    else:
        summary, remedy = Text("there is no /dev/dri/renderD* for {gpu}", gpu=gpu_names(gpus)), _look()
    return Finding(
        summary=summary,
        why=Text(
            "Level Zero opens the render node of the GPU for reading and writing. It belongs to a group, most often "
            "render; a container sees it only when it is passed in."
        ),
        evidence=(seen(facts, "compute.render", access), *_holders(facts, gpus)),
        remedies=(_pass_in() if container else remedy,),
        fixable_by="admin",
    )


def _holders(facts: Facts, gpus: Sequence[Gpu]) -> tuple[Evidence, ...]:
    """Which kernel driver holds the GPUs, where it is none of Intel's."""
    bound = [value_or(gpu.kernel_driver, "") or "none" for gpu in gpus]
    strange = ", ".join(dict.fromkeys(name for name in bound if name not in _DRIVERS))
    return (seen(facts, "gpus[].kernel_driver", strange, facts.source("gpus")),) if strange else ()


def _join_group() -> Remedy:
    text = Text("Have an administrator add the user to the group render, then log in again")
    return Remedy(text, ('sudo usermod -aG render "$USER"',), risk="changes-system")


def _pass_in() -> Remedy:
    run = 'docker run --device /dev/dri --group-add "$(stat -c %g /dev/dri/renderD128)" IMAGE'
    return Remedy(Text("Start the container with the GPU's node and its group, from the host"), (run,))


def _look() -> Remedy:
    return Remedy(Text("See why neither i915 nor xe drives the GPU"), ("sudo dmesg | grep -iE 'i915|xe '",))


def _no_driver(facts: Facts, gpus: Sequence[Gpu]) -> Finding:
    loader = value_or(facts.compute.level_zero, None)
    return Finding(
        summary=Text("the Level Zero driver for {gpu} (libze_intel_gpu) is not installed", gpu=gpu_names(gpus)),
        why=Text(
            "The wheel brings SYCL and asks the system for the GPU's user-mode driver, which is Intel's compute "
            "runtime. Without it there is no device, whatever the kernel driver shows. oneAPI is not needed."
        ),
        evidence=(
            seen(facts, "compute.level_zero_driver", None),
            *((seen(facts, "compute.level_zero", loader),) if loader else ()),
        ),
        remedies=(
            Remedy(
                Text("Have an administrator install Intel's compute runtime with Level Zero"),
                ("sudo apt install libze1 libze-intel-gpu1",),
                risk="changes-system",
            ),
        ),
        fixable_by="admin",
        confidence="likely",
    )
