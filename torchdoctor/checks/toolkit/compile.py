"""What only compiling needs: nvcc, host compilers and Triton. Silent unless somebody compiles an extension."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.checks.installed import release, torch_cuda
from torchdoctor.checks.registry import check, seen
from torchdoctor.facts import Facts, NotThereError, known, need, value_or
from torchdoctor.findings import Evidence, Finding, Remedy, Row, Text, setting
from torchdoctor.tables import Tables
from torchdoctor.tables.toolkits import Toolkit
from torchdoctor.values import CudaVersion


def _wanted_cuda(facts: Facts) -> CudaVersion:
    """Return torch's CUDA where an extension is to be compiled for it; end the check as passed everywhere else."""
    if known(facts.tools.compiling) is not True:
        raise NotThereError
    cuda = torch_cuda(facts) if need(facts.torch.build).backend == "cuda" else None
    if cuda is None:
        raise NotThereError
    return cuda


@check("toolkit-missing", severity="warning", after=("torch-cpu-build", "torch-wrong-vendor"))
def toolkit_missing(facts: Facts, _tables: Tables) -> Iterator[Finding]:
    """An extension is to be compiled and there is no nvcc."""
    cuda = _wanted_cuda(facts)
    if known(facts.tools.nvcc) is not None:
        return
    without = [toolkit.path for toolkit in value_or(facts.tools.toolkits, ()) if not toolkit.has_nvcc]
    yield Finding(
        summary=Text("nvcc is missing; compiling an extension for CUDA {cuda} needs it", cuda=cuda),
        why=Text("torch runs without a toolkit; only compiling an extension calls nvcc, and runtime images have none."),
        evidence=(seen(facts, "tools.nvcc", None), *(seen(facts, "tools.toolkits", path) for path in without)),
        remedies=(
            Remedy(Text("Use a wheel of the extension that is already compiled")),
            Remedy(
                Text("Or add the compiler of the same CUDA to this environment"),
                commands=(f"conda install -c nvidia cuda-nvcc={cuda}",),
            ),
        ),
    )


@check("toolkit-mismatch", severity="warning", after=("toolkit-missing",))
def toolkit_mismatch(facts: Facts, _tables: Tables) -> Iterator[Finding]:
    """The nvcc is of another CUDA major than torch, and an extension is to be compiled."""
    cuda = _wanted_cuda(facts)
    nvcc = need(facts.tools.nvcc)
    if nvcc.major == cuda.major:
        return
    home = "${CONDA_PREFIX}\\Library" if facts.os.name == "windows" else "${CONDA_PREFIX}"
    yield Finding(
        summary=Text("nvcc is of CUDA {nvcc}, torch of CUDA {cuda}", nvcc=nvcc, cuda=cuda),
        why=Text(
            "torch.utils.cpp_extension refuses a compiler of another CUDA major. "
            "For running torch the toolkit on the host does not matter."
        ),
        evidence=(seen(facts, "tools.nvcc", nvcc), seen(facts, "torch.cuda", cuda), *_path(facts)),
        remedies=(
            Remedy(
                Text("Compile with a compiler of torch's CUDA; no administrator is needed for it"),
                commands=(f"conda install -c nvidia cuda-nvcc={cuda}", setting(CUDA_HOME=home)),
            ),
        ),
    )


def _path(facts: Facts) -> tuple[Evidence, ...]:
    path = value_or(facts.tools.nvcc_path, None)
    return (seen(facts, "tools.nvcc_path", path),) if path else ()


@check("host-compiler-unsupported", severity="warning", after=("toolkit-missing", "toolkit-mismatch"))
def host_compiler_unsupported(facts: Facts, tables: Tables) -> Iterator[Finding]:
    """The nvcc does not accept the host's C++ compiler."""
    cuda = _wanted_cuda(facts)
    nvcc = value_or(facts.tools.nvcc, None) or cuda
    toolkit = tables.toolkits.of(nvcc)
    if toolkit is None:
        return
    yield from _msvc(facts, toolkit, nvcc) if facts.os.name == "windows" else _gcc(facts, toolkit, nvcc)


def _gcc(facts: Facts, toolkit: Toolkit, nvcc: CudaVersion) -> Iterator[Finding]:
    gcc = known(facts.tools.gcc)
    if gcc is not None and gcc.parts[0] <= toolkit.gcc_max:
        return
    yield Finding(
        summary=Text(
            "nvcc {nvcc} accepts gcc up to {limit}, found {gcc}",
            nvcc=nvcc,
            limit=toolkit.gcc_max,
            gcc="none" if gcc is None else gcc,
        ),
        why=Text(
            "nvcc hands the host's part of the code to gcc and stops at one newer than it knows. torch is unaffected."
        ),
        evidence=(seen(facts, "tools.gcc", gcc), seen(facts, "tools.nvcc", nvcc)),
        remedies=(
            Remedy(
                Text("Install a gcc that nvcc accepts beside the present one and name it"),
                commands=(
                    setting(
                        CC=f"gcc-{toolkit.gcc_max}",
                        CXX=f"g++-{toolkit.gcc_max}",
                        NVCC_PREPEND_FLAGS=f"-ccbin=g++-{toolkit.gcc_max}",
                    ),
                ),
            ),
        ),
        row=Row("cuda_toolkits", toolkit.key, toolkit.source),
    )


def _msvc(facts: Facts, toolkit: Toolkit, nvcc: CudaVersion) -> Iterator[Finding]:
    msvc = known(facts.tools.msvc)
    if msvc is not None and toolkit.msc_min <= msvc <= toolkit.msc_max:
        return
    yield Finding(
        summary=Text(
            "nvcc {nvcc} accepts {studio}, found MSVC {msvc}",
            nvcc=nvcc,
            studio=toolkit.visual_studio,
            msvc=msvc or "none",
        ),
        why=Text(
            "nvcc hands the host's part of the code to MSVC and accepts a range of versions. torch is unaffected."
        ),
        evidence=(seen(facts, "tools.msvc", msvc), seen(facts, "tools.nvcc", nvcc)),
        remedies=(
            Remedy(
                Text("Install the C++ build tools of {studio} and build in their prompt", studio=toolkit.visual_studio)
            ),
        ),
        row=Row("cuda_toolkits", toolkit.key, toolkit.source),
    )


@check("compile-stack-missing", severity="warning")
def compile_stack_missing(facts: Facts, tables: Tables) -> Iterator[Finding]:
    """Triton or what it compiles with is missing where torch.compile is wanted."""
    if known(facts.tools.torch_compile) is not True or need(facts.torch.build).backend != "cuda":
        return
    windows = need(facts.os.name) == "windows"
    triton = "triton-windows" if windows else "triton"
    installed = facts.packages.find(triton)
    missing = dict(_missing_parts(facts, triton, windows=windows))
    wanted = _triton_for_windows(facts, tables) if windows else triton
    if not missing:
        known(installed)
        return
    yield Finding(
        summary=Text("torch.compile lacks {missing}", missing=" and ".join(missing)),
        why=Text(
            "Triton makes the GPU code of torch.compile and a small C stub with the host's compiler. "
            "Eager mode needs none of it."
        ),
        evidence=tuple(item for evidence in missing.values() for item in evidence),
        remedies=(
            Remedy(Text("Stay in eager mode, or add what is missing: {missing}", missing=" and ".join(missing))),
            *(
                [Remedy(Text("Install Triton"), commands=(f"python -m pip install {wanted}",))]
                if triton in missing and wanted
                else []
            ),
        ),
    )


def _triton_for_windows(facts: Facts, tables: Tables) -> str:
    """The requirement of the Triton that fits the installed torch; empty where none is known to."""
    version = release(value_or(facts.torch.version, ""))
    row = tables.windows_wheels.of(version) if version else None
    return f"triton-windows=={row.triton_windows}.*" if row and row.triton_windows else ""


def _missing_parts(facts: Facts, triton: str, *, windows: bool) -> Iterator[tuple[str, tuple[Evidence, ...]]]:
    """Name what was looked for and not found, with what shows it."""
    if facts.packages.find(triton) is None:
        yield triton, (seen(facts, f"packages.{triton}", None),)
    compilers = ("msvc",) if windows else ("gcc", "clang")
    if all(getattr(facts.tools, name) is None for name in compilers):
        yield "a C compiler", tuple(seen(facts, f"tools.{name}", None) for name in compilers)
    if facts.tools.python_headers is False:
        yield "the Python headers", (seen(facts, "tools.python_headers", value=False),)
