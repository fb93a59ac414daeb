"""What is inside the installed binaries, read from the files without importing or loading one of them.

Names of code are the compiler's: ``sm_90`` and ``sm_90a`` (SASS), ``compute_80`` (PTX), ``gfx942`` (AMD).
"""

from __future__ import annotations

from torchdoctor.records import record


@record(frozen=True, slots=True, kw_only=True)
class DeviceCode:
    """The device code of one library file; all counts are of entries in its fat binaries."""

    library: str  # from the folder of packages on: torch/lib/libtorch_cuda.so
    package: str = ""  # the distribution it belongs to, normalised; empty: of none
    version: str = ""  # of that distribution
    fatbins: int = 0
    sass: tuple[tuple[str, int], ...] = ()  # ("sm_90a", 4)
    ptx: tuple[tuple[str, int], ...] = ()  # ("compute_80", 11)
    ptx_isa: str = ""  # the newest PTX ISA version among them: 8.0
    gfx: tuple[tuple[str, int], ...] = ()
    error: str = ""  # why it could not be read to its end


@record(frozen=True, slots=True, kw_only=True)
class Linked:
    """One shared library that the loader will look for when torch or a companion is imported, and what it will find."""

    soname: str  # libcudnn.so.9
    path: str | None  # None: it is nowhere
    how: str = ""  # rpath, LD_LIBRARY_PATH, runpath, cache, default, loaded, path; of a DLL own, python, system, PATH
    needed_by: tuple[str, ...] = ()  # library files, from the folder of packages on
    package: str = ""  # the distribution of `path`; empty: of none
    version: str | None = None  # in the name of the file, or inside it (cuDNN, NCCL)
    own: str | None = None  # the wheel's own copy, where another one is found before it
    own_version: str | None = None
    lacks: tuple[str, ...] = ()  # symbol versions that are asked of it and that it has not: GLIBCXX_3.4.32
    damage: str = ""  # why the loader refuses the file
    opened: bool = False  # by name while the program runs: that it is nowhere stops no import
    for_torch: bool = False  # the import of torch itself asks for it


@record(frozen=True, slots=True, kw_only=True)
class Torn:
    """What is wrong with the files of one installed distribution, by its RECORD."""

    package: str
    version: str
    files: int  # listed
    missing: tuple[str, ...] = ()  # the first of them, libraries and modules before the rest
    changed: tuple[str, ...] = ()  # another size than listed
    cut: tuple[str, ...] = ()  # of those the libraries and modules whose end is not there
    missing_count: int = 0
    changed_count: int = 0
    shared_count: int = 0
    shared_with: tuple[str, ...] = ()  # files that another distribution or conda's package lists too
    others: tuple[str, ...] = ()  # who lists them


@record(frozen=True, slots=True, kw_only=True)
class OwnTable:
    """What a torch says of itself in torch/cuda/__init__.py: which code serves which device, which build has which."""

    serves: tuple[tuple[str, str, str, tuple[str, ...]], ...] = ()  # code, device from, device below, except
    builds: tuple[tuple[str, str, tuple[str, ...]], ...] = ()  # CUDA version, machine (empty: any), codes
