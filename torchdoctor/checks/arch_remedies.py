"""What helps where a build has no code for a GPU, whoever found that out: its list, or a test that failed."""

from __future__ import annotations

from collections.abc import Sequence

from torchdoctor.checks.installed import gpu_names, has_a_build
from torchdoctor.facts import Facts, Gpu, need
from torchdoctor.findings import Remedy, Text, setting
from torchdoctor.tables import Tables


def arch_remedies(
    facts: Facts, tables: Tables, missing: Sequence[Gpu], served: Sequence[Gpu] = ()
) -> tuple[Remedy, ...]:
    """What helps where the build has no code for the ``missing`` GPUs, and has it for those ``served``."""
    remedies = []
    if all(has_a_build(facts, tables, gpu) for gpu in missing):
        names = gpu_names(missing) or "this GPU"
        remedies.append(Remedy(Text("Install a build that has code for {gpu}", gpu=names), installs=True))
    if served:
        remedies.append(_hide(facts, missing))
    if not remedies:
        remedies.append(
            Remedy(Text("No official build has code for {gpu}; compute on the CPU there", gpu=gpu_names(missing)))
        )
    return tuple(remedies)


def _hide(facts: Facts, missing: Sequence[Gpu]) -> Remedy:
    mine = [gpu for gpu in need(facts.gpus) if gpu.vendor == "nvidia"]
    visible = ",".join(str(index) for index, gpu in enumerate(mine) if gpu not in missing)
    return Remedy(
        Text("Or hide {gpu} from the program", gpu=gpu_names(missing)),
        commands=(setting(CUDA_DEVICE_ORDER="PCI_BUS_ID", CUDA_VISIBLE_DEVICES=visible),),
    )
