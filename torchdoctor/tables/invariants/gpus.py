"""What must hold of GPUs: their names, capabilities, drivers, and the code that runs on them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from torchdoctor.tables import Tables
from torchdoctor.tables.coverage import FILE as COVERAGE
from torchdoctor.tables.gpu_models import FILE as GPUS
from torchdoctor.tables.invariants.fault import Fault, fault
from torchdoctor.values import GpuArch


def the_last_branch_of_a_gpu_supports_it(tables: Tables) -> Iterator[Fault]:
    """The last driver branch of a GPU drives it, and no later one does."""
    newest = max((row.branch for row in tables.driver_branches.rows), default=0)
    for model in tables.gpu_models.rows:
        last = model.last_driver_branch or newest
        later = [row for row in tables.driver_branches.rows if row.branch > last]
        for arch in () if model.tegra else model.capabilities:
            row = tables.driver_branches.by_number(last)
            if row is None or not row.supports(arch):
                yield fault(GPUS.name, model, f"branch {last} does not drive {arch}")
            elif any(branch.supports(arch) for branch in later):
                yield fault(GPUS.name, model, f"a branch after {last} drives {arch} as well")


def a_pci_id_has_one_capability(tables: Tables) -> Iterator[Fault]:
    """A PCI id decides what a name leaves open."""
    found: dict[str, set[GpuArch]] = defaultdict(set)
    for model in tables.gpu_models.rows:
        if not set(model.pci_capabilities) <= set(model.pci_ids):
            yield fault(GPUS.name, model, "pci_capabilities names an id outside pci_ids")
        for pci in model.pci_ids:
            decided = model.pci_capabilities.get(pci)
            found[pci] |= {decided} if decided else set(model.capabilities)
            if len(found[pci]) > 1:
                yield fault(GPUS.name, model, f"{pci} has more than one compute capability")


def tegra_is_tegra_everywhere(tables: Tables) -> Iterator[Fault]:
    """A GPU is of a Tegra when its capability is."""
    for model in tables.gpu_models.rows:
        if model.tegra != all(tables.coverage.is_tegra(arch) for arch in model.capabilities):
            yield fault(GPUS.name, model, "tegra does not agree with code_coverage.csv")


def code_runs_on_its_own_architecture(tables: Tables) -> Iterator[Fault]:
    """Code for an architecture runs on that architecture."""
    for row in tables.coverage.rows:
        if not row.covers(row.code, None) or row.device_from >= row.device_below:
            yield fault(COVERAGE.name, row, f"code for {row.code} does not run on {row.code}")
