"""The fields of a collect_env report, one small reader each."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.facts import Variables
from torchdoctor.readers.collect_env_gpus import read_cpu, read_gpus, read_intel_gpus, read_intel_names
from torchdoctor.readers.collect_env_lines import Field, Fields, Reader, has_xpu, is_apple
from torchdoctor.readers.platform_words import (
    compiler_version,
    distribution_said,
    platform_said,
    python_said,
)
from torchdoctor.readers.statement import Said
from torchdoctor.readers.torch_words import build_of, torch_said
from torchdoctor.values import Build, CudaVersion, DriverVersion, Libc

_YES = {"true": True, "yes": True, "false": False, "no": False}


def _torch(field: Field, _fields: Fields) -> Iterator[Said]:
    yield from torch_said(field.value, field.source)


def _cuda_of_build(field: Field, fields: Fields) -> Iterator[Said]:
    if not _torch_was_imported(fields):
        return
    try:
        cuda = CudaVersion.parse(field.value)
    except ValueError:
        if field.is_nothing:
            yield Said("torch.cuda", None, field.source)
            yield from _build_without_cuda(field, fields)
        return
    yield Said("torch.cuda", cuda, field.source)
    yield Said("torch.build", Build.of_cuda(cuda), field.source)


def _torch_was_imported(fields: Fields) -> bool:
    return "pytorch version" in fields and not fields["pytorch version"].is_nothing


def _build_without_cuda(field: Field, fields: Fields) -> Iterator[Said]:
    rocm = fields.get("rocm used to build pytorch")
    if (rocm and not rocm.is_nothing) or has_xpu(fields) or field.value.lower() == "n/a":
        return
    yield Said("torch.build", Build("mps" if is_apple(fields) else "cpu"), field.source)


def _rocm_of_build(field: Field, fields: Fields) -> Iterator[Said]:
    if not _torch_was_imported(fields):
        return
    if field.is_nothing:
        yield Said("torch.hip", None, field.source)
    elif build := build_of(f"rocm{field.value}"):
        yield Said("torch.hip", field.value, field.source)
        yield Said("torch.build", build, field.source)


def _xpu_of_build(field: Field, fields: Fields) -> Iterator[Said]:
    if has_xpu(fields):
        yield Said("torch.build", Build("xpu"), field.source)


def _available(field: Field, _fields: Fields) -> Iterator[Said]:
    answer = _YES.get(field.value.lower())
    if answer is not None:
        yield Said("torch.cuda_available", answer, field.source)


def _system(field: Field, _fields: Fields) -> Iterator[Said]:
    if not field.is_nothing:
        yield from distribution_said(field.value, field.source)


def _libc(field: Field, _fields: Fields) -> Iterator[Said]:
    try:
        yield Said("os.libc", Libc.parse(field.value), field.source)
    except ValueError:
        return


def _gcc(field: Field, _fields: Fields) -> Iterator[Said]:
    yield from _compiler("tools.gcc", field)


def _clang(field: Field, _fields: Fields) -> Iterator[Said]:
    yield from _compiler("tools.clang", field)


def _compiler(path: str, field: Field) -> Iterator[Said]:
    version = compiler_version(field.value)
    if version or field.value.lower() == "could not collect":
        yield Said(path, version, field.source)


def _python(field: Field, _fields: Fields) -> Iterator[Said]:
    yield from python_said(field.value, field.source)


def _platform(field: Field, _fields: Fields) -> Iterator[Said]:
    yield from platform_said(field.value, field.source)


def _nvcc(field: Field, _fields: Fields) -> Iterator[Said]:
    try:
        yield Said("tools.nvcc", CudaVersion.parse(field.value), field.source)
    except ValueError:
        if field.value.lower() in {"could not collect", "no cuda"}:
            yield Said("tools.nvcc", None, field.source)


def _driver(field: Field, _fields: Fields) -> Iterator[Said]:
    try:
        yield Said("driver.version", DriverVersion.parse(field.value), field.source)
    except ValueError:
        return
    yield Said("driver.source", "pasted", field.source)


def _allocator(field: Field, _fields: Fields) -> Iterator[Said]:
    if not field.is_nothing:
        yield Said("env", Variables({"PYTORCH_CUDA_ALLOC_CONF": field.value}), field.source)


READERS: tuple[tuple[str, Reader], ...] = (
    ("cpu", read_cpu),
    ("pytorch version", _torch),
    ("cuda used to build pytorch", _cuda_of_build),
    ("rocm used to build pytorch", _rocm_of_build),
    ("xpu used to build pytorch", _xpu_of_build),
    ("is xpu available", _xpu_of_build),
    ("is cuda available", _available),
    ("os", _system),
    ("libc version", _libc),
    ("gcc version", _gcc),
    ("clang version", _clang),
    ("python version", _python),
    ("python platform", _platform),
    ("cuda runtime version", _nvcc),
    ("nvidia driver version", _driver),
    ("gpu models and configuration", read_gpus),
    ("intel gpu models detected", read_intel_gpus),
    ("intel gpu models onboard", read_intel_names),
    ("caching allocator config", _allocator),
)
