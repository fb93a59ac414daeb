"""Torch's libraries beside the main one: they are built for architectures of their own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from torchdoctor.checks.installed import (
    driver_cuda,
    gpu_evidence,
    gpu_names,
    is_foreign,
    nvidia_gpus,
    release,
    torch_cuda,
)
from torchdoctor.checks.registry import check
from torchdoctor.checks.torch_code import codes_of, is_for_cuda, with_capability
from torchdoctor.checks.torch_code import serves as torch_serves
from torchdoctor.code_view import file_name, main_codes, of_torch, serves
from torchdoctor.facts import Facts, Gpu, NotKnownError, need, value_or
from torchdoctor.findings import Evidence, Finding, Remedy, Row, Text, setting
from torchdoctor.inside import DeviceCode
from torchdoctor.records import record
from torchdoctor.tables import Tables

if TYPE_CHECKING:
    from torchdoctor.tables.device_code import LibraryCode


@record(frozen=True, slots=True)
class _Beside:
    """A library of torch that some calls need, and the row where it was not read from the file itself."""

    code: DeviceCode
    row: Row | None = None


@check("library-arch-missing", severity="warning", parent="torch-arch-missing", after=("torch-arch-missing",))
def library_arch_missing(facts: Facts, tables: Tables) -> Iterator[Finding]:
    """Torch has code for this GPU, and one of its libraries, which some calls need, has none."""
    if not is_for_cuda(facts):
        return
    gpus = with_capability(nvidia_gpus(facts))
    for library in _libraries(facts, tables) if gpus else ():
        missing = [gpu for gpu in gpus if _is_left_out(facts, tables, library.code, gpu)]
        if missing and not (len(missing) < len(gpus) and value_or(facts.env.get("CUDA_VISIBLE_DEVICES"), "")):
            yield _finding(facts, tables, library, missing)


def _libraries(facts: Facts, tables: Tables) -> Iterator[_Beside]:
    """Those of the installed files where they were read, else those of the measured wheel that is installed."""
    codes = value_or(facts.inside.code, None)
    if codes is not None:
        own = (code for code in codes if code.package == "torch" and not code.error)
        yield from (_Beside(code) for code in own if file_name(code) in tables.device_code.beside)
        return
    for row in _rows(facts, tables):
        if not row.main:
            yield _Beside(of_torch(row), Row("device_code", row.key, row.source))


def _rows(facts: Facts, tables: Tables) -> tuple[LibraryCode, ...]:
    version = release(need(facts.torch.version))
    rows: tuple[LibraryCode, ...] = ()
    if version is not None and not is_foreign(facts):
        rows = tables.device_code.of(version, need(facts.torch.build), need(facts.os.name), need(facts.os.machine))
    if not rows:
        raise NotKnownError("device code of torch's libraries")
    return rows


def _is_left_out(facts: Facts, tables: Tables, code: DeviceCode, gpu: Gpu) -> bool:
    """Whether torch itself serves the GPU and this library has, at best, a few kernels for it."""
    how = serves(code, need(gpu.compute_capability), tables, driver_cuda(facts, tables), torch_cuda(facts))
    return how in {"", "partly"} and any(torch_serves(item, gpu, facts, tables) for item in codes_of(facts, tables))


def _finding(facts: Facts, tables: Tables, library: _Beside, missing: Sequence[Gpu]) -> Finding:
    name, held = file_name(library.code), " ".join(main_codes(library.code))
    source = f"device_code: {library.row.key}" if library.row else facts.source("inside.code")
    return Finding(
        summary=Text("{library} of torch has no code for {gpu}", library=name, gpu=gpu_names(missing)),
        why=Text(
            "Torch's own kernels serve {gpus}; {library}, which holds the kernels of MAGMA, was built for {code}. Some "
            "calls of torch.linalg use them and end in 'no kernel image is available': the LU and LDL "
            "factorisations, above all of batches, with what is made of them. Which ones, depends on the release.",
            gpus=", ".join(dict.fromkeys(str(gpu.compute_capability) for gpu in missing)),
            library=name,
            code=held,
        ),
        evidence=(
            Evidence("inside.code", f"{library.code.library}: {held}", source),
            *gpu_evidence(facts, missing, "compute_capability"),
        ),
        remedies=(
            Remedy(
                Text("Let torch prefer cuSOLVER to MAGMA, wherever cuSOLVER can do the call"),
                commands=(setting(TORCH_LINALG_PREFER_CUSOLVER="1"),),
            ),
            *_older(facts, tables, name, missing),
        ),
        confidence="likely",
        row=library.row,
    )


def _older(facts: Facts, tables: Tables, library: str, missing: Sequence[Gpu]) -> tuple[Remedy, ...]:
    """The newest measured wheel for this platform whose library serves all of these GPUs; none where there is none."""
    os_name, machine = value_or(facts.os.name, None), value_or(facts.os.machine, None)
    rows = [row for row in tables.device_code.rows if (row.os, row.machine, row.library) == (os_name, machine, library)]
    served = [row for row in rows if all(_is_native(row, gpu, tables) for gpu in missing)]
    newest = max(served, key=lambda row: row.torch, default=None)
    if newest is None:
        return ()
    text = Text(
        "Or install torch {version} {build}, whose {library} serves it, where the driver and Python allow it",
        version=newest.torch,
        build=newest.build,
        library=library,
    )
    return (Remedy(text, commands=(f'torchdoctor install-cmd --torch "=={newest.torch}"',)),)


def _is_native(row: LibraryCode, gpu: Gpu, tables: Tables) -> bool:
    build = tables.torch_builds.find(row.torch, row.build, row.os, row.machine)
    if build is None or not build.emit:
        return False
    device = need(gpu.compute_capability)
    return serves(of_torch(row), device, tables, None, row.build.cuda) == "native" and any(
        tables.coverage.covers(code, device, build.cuda) for code in build.code
    )
