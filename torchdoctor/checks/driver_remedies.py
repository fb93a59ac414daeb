"""What to do about a driver, in the words and commands of the place the host is in."""

from __future__ import annotations

from collections.abc import Sequence

from torchdoctor.checks.drivers import driver_lines
from torchdoctor.facts import Facts, Gpu, value_or
from torchdoctor.findings import Fixer, Remedy, Text
from torchdoctor.tables import Tables
from torchdoctor.tables.driver_branches import DriverBranch
from torchdoctor.values import DriverVersion, GpuArch


def fitting_branches(tables: Tables, gpus: Sequence[Gpu], at_least: DriverVersion | None = None) -> list[DriverBranch]:
    """Return the branches that drive all GPUs of known capability, from this Linux number on, oldest first."""
    archs = [gpu.compute_capability for gpu in gpus if isinstance(gpu.compute_capability, GpuArch)]
    rows = [row for row in tables.driver_branches.rows if all(row.supports(arch) for arch in archs)]
    return [row for row in rows if at_least is None or row.branch >= at_least.branch]


def suggested(tables: Tables, rows: Sequence[DriverBranch]) -> DriverBranch | None:
    """Return the oldest branch with long support that still has it, else the newest of all."""
    lasting = [
        row
        for row in rows
        if row.kind in {"LTS", "production"} and row.end_of_life and not row.is_end_of_life(tables.date)
    ]
    return lasting[0] if lasting else (rows[-1] if rows else None)


def install_driver(
    facts: Facts, branch: DriverBranch, gpus: Sequence[Gpu], flavour: str = "", at_least: DriverVersion | None = None
) -> Remedy:
    """How to install a driver of this branch here; on the host when here is a container, on Windows under WSL."""
    if at_least:
        return _update_to(facts, at_least, branch, gpus)
    if value_or(facts.place.container, ""):
        return Remedy(
            Text("Have driver branch {branch} installed on the host of the container", branch=branch.branch),
            risk="changes-system",
        )
    if driver_lines(facts) == ("windows",):
        text = Text(
            "Install the NVIDIA driver for Windows, {number} or newer of that branch",
            number=branch.windows_from or branch.branch,
        )
        return Remedy(text, ("nvidia-smi.exe",), risk="changes-system")
    modules = flavour or _flavour(branch, gpus)
    commands = _packages(facts, branch, modules)
    if modules == "open":
        return Remedy(
            Text("Install driver branch {branch} with the open kernel modules", branch=branch.branch),
            commands,
            risk="changes-system",
        )
    if modules == "proprietary":
        return Remedy(
            Text("Install driver branch {branch} with the proprietary kernel modules", branch=branch.branch),
            commands,
            risk="changes-system",
        )
    return Remedy(Text("Install driver branch {branch}", branch=branch.branch), commands, risk="changes-system")


def _update_to(facts: Facts, first: DriverVersion, branch: DriverBranch, gpus: Sequence[Gpu]) -> Remedy:
    """A later driver of the branch that is there."""
    if value_or(facts.place.container, ""):
        text = Text("Have the driver on the host of the container updated to {first} or newer", first=first)
        return Remedy(text, risk="changes-system")
    commands = _packages(facts, branch, _flavour(branch, gpus))
    return Remedy(Text("Update the driver to {first} or newer", first=first), commands, risk="changes-system")


def driver_fixer(facts: Facts) -> Fixer:
    """Who can change the driver: a user on an own Windows or WSL machine, else whoever administers the host."""
    alone = driver_lines(facts) == ("windows",) and not value_or(facts.place.container, "")
    return "user" if alone else "admin"


def show_kernel_log() -> Remedy:
    """How to read what the kernel says about the driver."""
    return Remedy(Text("Read what the kernel says about it"), ("sudo dmesg | grep -iE 'nvrm|nvidia|nouveau'",))


def _flavour(branch: DriverBranch, gpus: Sequence[Gpu]) -> str:
    """Return the kernel modules that the GPUs demand, or an empty string when any will do."""
    demands = {branch.flavours(gpu.compute_capability) for gpu in gpus if isinstance(gpu.compute_capability, GpuArch)}
    only = {options[0] for options in demands if len(options) == 1}
    return only.pop() if len(only) == 1 and branch.open_archs else ""


def _packages(facts: Facts, branch: DriverBranch, modules: str) -> tuple[str, ...]:
    """Return the distribution's command where its package names are known to follow the branch."""
    if not value_or(facts.os.distribution, "").startswith("Ubuntu"):
        return ()
    suffix = "-open" if modules == "open" else ""
    return (f"sudo apt install nvidia-driver-{branch.branch}{suffix}", "sudo reboot")
