"""What must hold across rows and tables: ``torchdoctor tables verify`` and the tests ask all of it."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.tables import Tables
from torchdoctor.tables.invariants import builds, code, drivers, gpus, references
from torchdoctor.tables.invariants.fault import Fault, Invariant

__all__ = ["INVARIANTS", "Fault", "Invariant", "faults"]

INVARIANTS: tuple[Invariant, ...] = (
    drivers.driver_floors_never_fall,
    drivers.floors_are_one_per_cuda,
    drivers.printed_minimums_belong_to_a_branch_of_that_cuda,
    drivers.the_cuda_of_branches_rises,
    drivers.windows_numbers_do_not_overlap,
    drivers.flavours_are_of_supported_gpus,
    drivers.a_jetson_driver_is_no_other_driver,
    drivers.jetpacks_resolve,
    drivers.every_cuda_has_a_toolkit,
    gpus.the_last_branch_of_a_gpu_supports_it,
    gpus.a_pci_id_has_one_capability,
    gpus.tegra_is_tegra_everywhere,
    gpus.code_runs_on_its_own_architecture,
    builds.one_pypi_default_per_platform,
    builds.code_is_within_its_toolkit,
    builds.a_newer_torch_loses_no_code_silently,
    builds.code_lists_fit_the_backend,
    builds.minimums_fit_the_system,
    builds.unpublished_rows_say_why,
    code.measured_code_is_the_builds,
    code.ptx_has_a_known_version,
    references.builds_resolve,
    references.companions_resolve,
    references.python_support_agrees_with_the_builds,
    references.rows_have_source_and_day,
)


def faults(tables: Tables) -> Iterator[Fault]:
    """Everything in the tables that breaks an invariant."""
    for invariant in INVARIANTS:
        yield from invariant(tables)
