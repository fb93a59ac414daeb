"""What the installed torch says in its own source of builds and their code, held against what is known of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from torchdoctor.checks.installed import gpu_names, is_foreign, official_rows, release, torch_cuda
from torchdoctor.code_view import main_codes, torch_library
from torchdoctor.facts import Facts, Gpu, is_known, need, value_or
from torchdoctor.findings import Text
from torchdoctor.inside import OwnTable
from torchdoctor.records import record
from torchdoctor.tables import Tables
from torchdoctor.values import Build, CudaVersion, GpuArch

_SURE = {"measured", "read"}


@record(frozen=True, slots=True)
class Disagreement:
    """Torch's own list for the installed build, and what is really in it, with the place where that was read."""

    own: tuple[GpuArch, ...]
    real: tuple[GpuArch, ...]
    source: str


def disagreement(facts: Facts, tables: Tables) -> Disagreement | None:
    """How torch's own list for the installed build differs from its libraries; None where it does not, or may.

    A list that tells no machines apart may name code that only another machine's build has.
    """
    table, cuda = need(facts.inside.own_table), torch_cuda(facts)
    if is_foreign(facts) or cuda is None:
        return None
    real, source = _real(facts, tables)
    for version, machine, names in table.builds if real else ():
        own = tuple(GpuArch.parse_each(names))
        if version != str(cuda) or machine not in {"", value_or(facts.os.machine, "")}:
            continue
        if set(real) - set(own) or (machine and set(own) - set(real)):
            return Disagreement(own, real, source)
    return None


def _real(facts: Facts, tables: Tables) -> tuple[tuple[GpuArch, ...], str]:
    """The code of the installed build, of its file or of the table's row, and where that was read."""
    library = torch_library(facts, tables)
    if library is not None:
        names = (name for name in main_codes(library) if name.startswith("sm_"))
        return tuple(sorted(set(GpuArch.parse_each(names)))), library.library
    rows = official_rows(facts, tables)
    if len(rows) == 1 and rows[0].code_confidence in _SURE:
        return rows[0].code, f"torch_builds: {rows[0].key}"
    return (), ""


def wrong_advice(facts: Facts, tables: Tables, missing: Sequence[Gpu]) -> Text | None:
    """What is wrong in torch's own warning about GPUs without code: it may name a build that its release has not."""
    table = value_or(facts.inside.own_table, None)
    version = release(value_or(facts.torch.version, None) or "")
    if table is None or version is None or version > tables.torch_builds.newest() or not is_known(facts.os.name):
        return None
    archs = [arch for gpu in missing if (arch := value_or(gpu.compute_capability, None))]
    os_name, machine = value_or(facts.os.name, None) or "", value_or(facts.os.machine, None) or ""
    advised = [
        cuda
        for cuda in _advised(table, machine, archs)
        if tables.torch_builds.find(version, Build.of_cuda(cuda), os_name, machine) is None
    ]
    if not advised or not machine:
        return None
    return Text(
        "Torch's own warning advises a build for CUDA {cuda} to a {gpu}. Torch {version} has no such build.",
        cuda=" or ".join(map(str, advised)),
        gpu=gpu_names(missing),
        version=version,
    )


def _advised(table: OwnTable, machine: str, devices: Iterable[GpuArch]) -> Iterator[CudaVersion]:
    """The CUDA versions whose builds hold code for these devices, by the table's own rule."""
    wanted = set(devices)
    for cuda, own_machine, names in table.builds:
        if own_machine in {"", machine} and any(_serves(table, set(names), device) for device in wanted):
            yield CudaVersion.parse(cuda)


def _serves(table: OwnTable, codes: set[str], device: GpuArch) -> bool:
    return any(
        code in codes and GpuArch.parse(first) <= device < GpuArch.parse(below) and str(device) not in excluded
        for code, first, below, excluded in table.serves
    )
