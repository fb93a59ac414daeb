"""Why an installed driver's kernel module is not loaded, and what loads it."""

from __future__ import annotations

from collections.abc import Sequence

from torchdoctor.checks.registry import seen
from torchdoctor.facts import Facts, Gpu, value_or
from torchdoctor.findings import Evidence, Remedy, Text

FREE_DRIVERS = frozenset({"nouveau", "nova", "nova_core", "nova-core"})
_NOT_INSTALLED = frozenset({"", "not-found", "no-nvml"})


def installed_sign(facts: Facts) -> Evidence | None:
    """Return what shows that an NVIDIA driver is installed, or None."""
    driver = facts.driver
    for path, fact in (
        ("driver.module_on_disk", driver.module_on_disk),
        ("driver.library_version", driver.library_version),
    ):
        value = value_or(fact, None)
        if value is not None:
            return seen(facts, path, value)
    if value_or(driver.smi, "") not in _NOT_INSTALLED:
        return seen(facts, "driver.smi", driver.smi)
    return None


def not_loaded_because(facts: Facts, gpus: Sequence[Gpu]) -> tuple[Text, Remedy]:
    """Return the likeliest reason and its remedy: another driver, Secure Boot, no module for this kernel."""
    holder = next((name for gpu in gpus if (name := value_or(gpu.kernel_driver, "")) in FREE_DRIVERS), "")
    if holder:
        return _held(holder)
    if value_or(facts.driver.secure_boot, False):
        return _unsigned()
    if facts.driver.module_on_disk is None:
        return _not_built(value_or(facts.os.kernel, ""))
    return (
        Text(
            "nvidia-smi asks for the latest driver whenever it reaches none; the driver is there. After a kernel "
            "update the module is often missing for the new kernel, or Secure Boot refuses it. Loading it by hand "
            "shows the reason."
        ),
        Remedy(
            Text("Load the module and read the answer"), ("sudo modprobe nvidia", "dkms status"), risk="changes-system"
        ),
    )


def _held(holder: str) -> tuple[Text, Remedy]:
    return (
        Text("The {holder} driver holds the GPU, and only one driver can.", holder=holder),
        Remedy(
            Text("Keep {holder} from loading, then restart", holder=holder),
            (
                f"echo 'blacklist {holder}' | sudo tee /etc/modprobe.d/blacklist-{holder}.conf",
                "sudo update-initramfs -u",
                "sudo reboot",
            ),
            risk="changes-system",
        ),
    )


def _unsigned() -> tuple[Text, Remedy]:
    return (
        Text(
            "Secure Boot is on: the kernel loads only modules signed with an enrolled key, and modules built on the "
            "host are not by default."
        ),
        Remedy(
            Text(
                "Enrol the key that signs the module and confirm at the next start, or switch Secure Boot off in the "
                "firmware"
            ),
            ("sudo mokutil --import /var/lib/dkms/mok.pub", "sudo reboot"),
            risk="changes-system",
        ),
    )


def _not_built(kernel: str) -> tuple[Text, Remedy]:
    why = (
        Text(
            "There is no nvidia module for the running kernel {kernel}: it has to be built anew for every kernel, for "
            "which its headers are needed.",
            kernel=kernel,
        )
        if kernel
        else Text(
            "There is no nvidia module for the running kernel: it has to be built anew for every kernel, for which its "
            "headers are needed."
        )
    )
    return (
        why,
        Remedy(
            Text("Install the headers of the running kernel, build the module and load it"),
            ("sudo dkms autoinstall", "sudo modprobe nvidia"),
            risk="changes-system",
        ),
    )
