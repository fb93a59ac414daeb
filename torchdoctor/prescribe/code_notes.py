"""What a build that runs lacks all the same: code for a GPU in a library beside torch's main one, or in a companion."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from torchdoctor.findings import Text
from torchdoctor.prescribe.host import GpuTarget
from torchdoctor.tables import Tables
from torchdoctor.tables.torch_builds import TorchBuild
from torchdoctor.values import GpuArch


def notes_on_libraries(row: TorchBuild, gpus: Sequence[GpuTarget], tables: Tables) -> Iterator[Text]:
    """One for each library of the measured wheel that serves only some of the GPUs that the build serves."""
    from torchdoctor.code_view import of_torch, serves

    for library in tables.device_code.of(row.torch, row.build, row.os, row.machine) if gpus else ():
        code = of_torch(library)
        left = [gpu for gpu, arch in _archs(gpus) if serves(code, arch, tables, None, row.cuda) in {"", "partly"}]
        if left and not library.main:
            yield Text(
                "{library} of torch {torch} has no code for {gpus}: see torchdoctor explain library-arch-missing",
                library=library.library,
                torch=row.torch,
                gpus=", ".join(dict.fromkeys(map(str, left))),
            )


def notes_on_companions(
    row: TorchBuild, releases: Iterable[tuple[str, str]], gpus: Sequence[GpuTarget], tables: Tables
) -> Iterator[Text]:
    """One for each release, a name and a version, whose measured wheel has nothing that one of the GPUs runs."""
    from torchdoctor.checks.companion_libraries import lacking, measured

    for name, version in releases if gpus else ():
        rows = tables.companion_code.of(name, version, row.os, row.machine, row.cuda)
        for companion in measured(rows, row.cuda):
            left = [gpu for gpu, arch in _archs(gpus) if lacking(companion, arch, tables, None)]
            if left:
                yield Text(
                    "{companion} has no code for {gpus}: see torchdoctor explain companion-arch-missing",
                    companion=companion.named,
                    gpus=", ".join(dict.fromkeys(map(str, left))),
                )


def _archs(gpus: Iterable[GpuTarget]) -> Iterator[tuple[GpuTarget, GpuArch]]:
    """The NVIDIA GPUs whose compute capability is known."""
    for gpu in gpus:
        if isinstance(gpu.target, GpuArch):
            yield gpu, gpu.target
