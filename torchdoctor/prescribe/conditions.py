"""The hard conditions: why one row of torch_builds cannot run on a host, from the tables alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from torchdoctor.facts import Unknown
from torchdoctor.findings import Text
from torchdoctor.prescribe.as_published import broken, longest_path
from torchdoctor.prescribe.companions import release_beside
from torchdoctor.prescribe.host import GpuTarget, Host
from torchdoctor.records import replace
from torchdoctor.tables import Tables
from torchdoctor.tables.driver_branches import DriverBranch
from torchdoctor.tables.torch_builds import TorchBuild
from torchdoctor.values import CudaVersion, DriverVersion, GpuArch, PythonTag, Version

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet


class Obstacle(NamedTuple):
    """One hard condition that a row fails: its kind, the words, and what would satisfy it."""

    kind: str  # python, project, libc, os, driver, branch, kernels, unsure, wish, broken, path, companion
    text: Text
    needs: str = ""


class Wish(NamedTuple):
    """What the user asks for beyond "what runs here"."""

    backend: str = "auto"
    torch: SpecifierSet | None = None
    companions: tuple[str, ...] = ()
    allow_inferred: bool = False
    max_cuda: CudaVersion | None = None
    prefer: str = "newest"  # or "native": a CUDA that the driver knows before a newer torch
    nightly: bool = False


class Judge:
    """Holds one host against rows; what depends on the host alone is worked out once.

    ``gpus`` are those that must be served. ``native_cuda`` is set for Jetsons, whose driver numbers are not desktop
    branches.
    """

    def __init__(
        self,
        host: Host,
        wish: Wish,
        tables: Tables,
        gpus: tuple[GpuTarget, ...] = (),
        native_cuda: CudaVersion | None = None,
    ) -> None:
        self.host, self.wish, self.tables = host, wish, tables
        self.gpus, self.native_cuda = gpus, native_cuda
        self._served: dict[tuple[int, int, CudaVersion | None, GpuArch], bool] = {}
        self._by_cuda: dict[CudaVersion, Obstacle | None] = {}
        self._by_pythons: dict[int, Obstacle | None] = {}

    @cached_property
    def driver_cuda(self) -> CudaVersion | None:
        """The driver branch's own CUDA version, never the one nvidia-smi prints; None when unknown."""
        if self.native_cuda:
            return self.native_cuda
        if not isinstance(self.host.driver, DriverVersion):
            return None
        branch = self.tables.driver_branches.of(self.host.driver, self.host.driver_line)
        return branch.cuda if branch else None

    @cached_property
    def branches(self) -> tuple[DriverBranch, ...]:
        """The driver branches that support every GPU, oldest first."""
        archs = [gpu.target for gpu in self.gpus if isinstance(gpu.target, GpuArch)]
        return tuple(row for row in self.tables.driver_branches.rows if all(map(row.supports, archs)))

    def with_gpus(self, gpus: tuple[GpuTarget, ...]) -> Judge:
        """The same judge for some of the GPUs."""
        return Judge(self.host, self.wish, self.tables, gpus, self.native_cuda)

    def with_wish(self, wish: Wish) -> Judge:
        """The same judge for another wish."""
        return Judge(self.host, wish, self.tables, self.gpus, self.native_cuda)

    def with_python(self, python: PythonTag) -> Judge:
        """The same judge for a host with this Python."""
        return Judge(replace(self.host, python=python), self.wish, self.tables, self.gpus, self.native_cuda)

    def with_driver(self, driver: DriverVersion) -> Judge:
        """The same judge for a host with another driver."""
        return Judge(replace(self.host, driver=driver), self.wish, self.tables, self.gpus)

    @cached_property
    def pythons(self) -> tuple[PythonTag, ...]:
        """The Python tags a wheel must exist for: the host's, or all current ones when it is unknown."""
        if not isinstance(self.host.python, Unknown):
            return (self.host.python,)
        return self.tables.pythons.current()

    def obstacles(self, row: TorchBuild) -> Iterator[Obstacle]:
        """Every hard condition the row fails, cheapest first."""
        for condition in _CONDITIONS:
            found = condition(self, row)
            if found:
                yield found

    def obstacle(self, row: TorchBuild) -> Obstacle | None:
        """The first hard condition the row fails, or None: it runs here."""
        for condition in _CONDITIONS:
            found = condition(self, row)
            if found:
                return found
        return None

    def is_native(self, row: TorchBuild) -> bool:
        """Whether the driver's own CUDA is at least the row's, so that nothing rests on minor-version compatibility."""
        return row.cuda is None or (self.driver_cuda is not None and self.driver_cuda >= row.cuda)

    def prefers(self, row: TorchBuild) -> bool:
        """Whether the row is to be taken before newer ones."""
        return self.wish.prefer == "native" and self.is_native(row)

    def assumptions(self, row: TorchBuild) -> Iterator[Text]:
        """What had to be taken for granted about the host for this row, in words."""
        if isinstance(self.host.python, Unknown):
            first, last = self.pythons[0], self.pythons[-1]
            yield Text(
                "the Python version is unknown; this build has wheels for {first} to {last}", first=first, last=last
            )
        if row.build.backend in {"cuda", "rocm", "xpu"} and not (self.gpus or self._has_intel_for(row)):
            yield Text("no GPU for {backend} is known here: that it runs was not checked", backend=row.build.backend)
        if row.code_confidence == "unknown" and self.gpus:
            yield Text("for which GPUs torch {torch} {build} has code is unknown", torch=row.torch, build=row.build)
        if row.glibc_min and isinstance(self.host.libc, Unknown):
            yield Text("the C library is unknown; this build needs glibc {needs} or newer", needs=row.glibc_min)
        if row.os_min and isinstance(self.host.os_version, Unknown):
            yield Text("the macOS version is unknown; this build needs {needs} or newer", needs=self._macos_floor(row))
        if row.cuda and self.gpus and isinstance(self.host.driver, DriverVersion) and self.driver_cuda is None:
            yield Text(
                "driver branch {branch} is not in the tables; it is taken to support these GPUs",
                branch=self.host.driver.branch,
            )
        if row.cuda:
            yield from self._newer_of_its_number(row.cuda)
            yield from self._later_drivers()

    def _newer_of_its_number(self, cuda: CudaVersion) -> Iterator[Text]:
        """What is taken for granted where a driver's number leaves open whether it meets the floor."""
        floor, driver = self.tables.cuda_drivers.floor(cuda, self.host.driver_line), self.host.driver
        if floor and isinstance(driver, DriverVersion) and not self.native_cuda and driver.reaches(floor) is None:
            text = "driver {driver} is taken to be {floor} or newer, as CUDA {cuda} needs"
            yield Text(text, driver=driver, floor=floor, cuda=cuda)

    def _later_drivers(self) -> Iterator[Text]:
        """What is taken for granted where a driver's number leaves open whether it drives a GPU."""
        driver = self.host.driver
        if not isinstance(driver, DriverVersion) or self.native_cuda:
            return
        branch = self.tables.driver_branches.of(driver, self.host.driver_line)
        for gpu in self.gpus if branch else ():
            if branch and isinstance(gpu.target, GpuArch) and branch.drives(gpu.target, driver) is None:
                first = branch.since[gpu.target]
                yield Text(
                    "driver {driver} is taken to be {first} or newer, as {gpu} needs",
                    driver=driver,
                    first=first,
                    gpu=gpu,
                )

    def _has_intel_for(self, row: TorchBuild) -> bool:
        """Whether it is the XPU build and an Intel GPU is there; those have no code of their own to be served with."""
        gpus = () if isinstance(self.host.gpus, Unknown) else self.host.gpus
        return row.build.backend == "xpu" and any(gpu.vendor == "intel" for gpu in gpus)

    def _wished(self, row: TorchBuild) -> Obstacle | None:
        if self.is_wished(row):
            return None
        if self._is_above(row):
            return Obstacle("wish", Text("CUDA {cuda} is above {max}", cuda=row.cuda, max=self.wish.max_cuda))
        return Obstacle("wish", Text("torch {torch} is not {spec}", torch=row.torch, spec=self.wish.torch))

    def is_wished(self, row: TorchBuild) -> bool:
        """Whether the row is among the versions asked for; a specifier may name a local label."""
        spec = self.wish.torch
        return not self._is_above(row) and (spec is None or spec.contains(f"{row.torch}+{row.build}"))

    def _is_above(self, row: TorchBuild) -> bool:
        return row.cuda is not None and self.wish.max_cuda is not None and row.cuda > self.wish.max_cuda

    def _python(self, row: TorchBuild) -> Obstacle | None:
        key = id(row.pythons)  # rows of equal lists share one tuple
        if key not in self._by_pythons:
            self._by_pythons[key] = self._python_of(row)
        return self._by_pythons[key]

    def _python_of(self, row: TorchBuild) -> Obstacle | None:
        missing = next((tag for tag in self.pythons if tag not in row.pythons), None)
        if missing is None:
            return None
        if not row.pythons:
            return Obstacle("unsure", Text("its Python versions are not known"))
        if isinstance(self.host.python, Unknown):
            text = Text("the Python version is unknown, and it has wheels for {tags} only", tags=Span(row.pythons))
        else:
            text = Text("no wheel for Python {python} (it has {tags})", python=missing, tags=Span(row.pythons))
        return Obstacle("python", text, str(row.pythons[0] if missing < row.pythons[0] else row.pythons[-1]))

    def _project(self, row: TorchBuild) -> Obstacle | None:
        """A package's lower bound of Python is what a lock fails by; what stands above all wheels it never meets."""
        oldest = self.host.oldest
        if oldest is None or row.is_of_conda or not row.pythons or oldest >= row.pythons[0]:
            return None
        text = "no wheel for Python {python}, which the project allows (it has {tags})"
        return Obstacle("project", Text(text, python=oldest, tags=Span(row.pythons)), str(row.pythons[0]))

    def _libc(self, row: TorchBuild) -> Obstacle | None:
        libc, needs = self.host.libc, row.glibc_min
        if needs is None or libc is None:
            return None
        if isinstance(libc, Unknown):
            return None
        if libc.kind == "glibc" and (libc.version is None or libc.version >= needs):
            return None
        return Obstacle(
            "libc", Text("needs glibc {needs} or newer, this host has {libc}", needs=needs, libc=libc), str(needs)
        )

    def _os(self, row: TorchBuild) -> Obstacle | None:
        needs, version = self._macos_floor(row), self.host.os_version
        if needs is None or version is None or isinstance(version, Unknown):
            return None
        if version.reaches(needs):
            return self._apple_gpu(row, version)
        text = Text("needs macOS {needs} or newer, this host has {version}", needs=needs, version=version)
        return Obstacle("os", text, str(needs))

    def _apple_gpu(self, row: TorchBuild, version: Version) -> Obstacle | None:
        """A release that installs here and computes on the processor alone, where an older one can use the GPU."""
        if row.build.name != "mps" or self.wish.backend == "cpu" or self.wish.torch is not None:
            return None
        floor, usable = self.tables.mps_floors.of(row.torch), self.tables.mps_floors.newest_on(version)
        if floor is None or usable is None or version.reaches(floor.macos_min):
            return None
        text = Text(
            "uses the Apple GPU from macOS {needs} on, this host has {version}", needs=floor.macos_min, version=version
        )
        return Obstacle("os", text, str(floor.macos_min))

    def _macos_floor(self, row: TorchBuild) -> Version | None:
        if row.os_min is None:
            return None
        return max(row.os_min_exceptions.get(tag, row.os_min) for tag in self.pythons)

    def _sure(self, row: TorchBuild) -> Obstacle | None:
        if not row.emit:
            return Obstacle("unpublished", Text("its publication is not confirmed"))
        if self.wish.allow_inferred:
            return None
        if not row.advertised:
            return Obstacle("unsure", Text("it is not advertised"))
        if row.code_confidence in {"inferred", "unknown"}:
            return Obstacle("unsure", Text("its list of architectures is {confidence}", confidence=row.code_confidence))
        return None

    def _driver(self, row: TorchBuild) -> Obstacle | None:
        if row.cuda is None or not (self.gpus or isinstance(self.host.driver, DriverVersion)):
            return None
        if row.cuda not in self._by_cuda:
            self._by_cuda[row.cuda] = self._driver_for(row.cuda)
        return self._by_cuda[row.cuda]

    def _driver_for(self, cuda: CudaVersion) -> Obstacle | None:
        floor, driver = self.tables.cuda_drivers.floor(cuda, self.host.driver_line), self.host.driver
        if floor is None:
            return Obstacle("driver", Text("the driver floor of CUDA {cuda} is not in the tables", cuda=cuda))
        if not isinstance(driver, DriverVersion):
            text = Text("needs an NVIDIA driver from {floor}, this host has none", floor=floor)
            return Obstacle("driver", text, str(floor))
        if driver.reaches(floor) is not False:
            return None
        text = Text("needs driver {floor} or newer, this host has {driver}", floor=floor, driver=driver)
        return Obstacle("driver", text, str(floor))

    @cached_property
    def _dropped(self) -> Obstacle | None:
        if self.native_cuda or not isinstance(self.host.driver, DriverVersion):
            return None
        branch = self.tables.driver_branches.of(self.host.driver, self.host.driver_line)
        if branch is None:
            return None
        driver, archs = self.host.driver, {gpu: gpu.target for gpu in self.gpus if isinstance(gpu.target, GpuArch)}
        lost = [gpu for gpu, arch in archs.items() if branch.drives(arch, driver) is False]
        if not lost:
            return None
        first = branch.since.get(archs[lost[0]])
        if first and driver.branch == branch.branch:
            text = Text(
                "{gpu} needs driver {first} or newer, this host has {driver}", gpu=lost[0], first=first, driver=driver
            )
            return Obstacle("branch", text, str(first))
        return Obstacle(
            "branch", Text("driver branch {branch} does not support {gpu}", branch=branch.branch, gpu=lost[0])
        )

    def _branch(self, row: TorchBuild) -> Obstacle | None:
        return self._dropped if row.cuda is not None and self.gpus else None

    def _kernels(self, row: TorchBuild) -> Obstacle | None:
        if row.build.backend not in {"cuda", "rocm"} or row.code_confidence == "unknown":
            return None
        unserved = next((gpu for gpu in self.gpus if not self.serves(row, gpu)), None)
        return None if unserved is None else Obstacle("kernels", Text("no code for {gpu}", gpu=unserved))

    def serves(self, row: TorchBuild, gpu: GpuTarget) -> bool:
        """Whether the row holds code this GPU runs."""
        if isinstance(gpu.target, GpuArch):
            key = (id(row.code), id(row.ptx), row.cuda, gpu.target)  # rows of equal lists share one tuple
            if key not in self._served:
                how = self.tables.coverage.serves(row.code, row.ptx, gpu.target, row.cuda, self.driver_cuda)
                self._served[key] = bool(how)
            return self._served[key]
        return gpu.target in row.gfx and gpu.target not in row.gfx_broken

    def _published(self, row: TorchBuild) -> Obstacle | None:
        if bad := broken(row, self.tables):
            return Obstacle("broken", Text("{effect}", effect=bad.effect), bad.fix)
        if longest := longest_path(row, self.host, self.tables):
            text = "its longest path has {longest} characters, and this folder of packages leaves room for {room}"
            return Obstacle("path", Text(text, longest=longest, room=self.host.room))
        return None

    def _companions(self, row: TorchBuild) -> Obstacle | None:
        bound = () if row.is_of_conda else self.host.bound  # whose solver fits them itself
        for name in dict.fromkeys((*self.wish.companions, *bound)):
            if release_beside(row, name, self.tables, self.host) is None:
                return Obstacle(
                    "companion",
                    Text("no {name} exists for torch {torch} {build}", name=name, torch=row.torch, build=row.build),
                )
        return None


class Span(NamedTuple):
    """Python tags as first to last; written out only if somebody reads it."""

    tags: tuple[PythonTag, ...]

    def __str__(self) -> str:
        first, last = self.tags[0], self.tags[-1]
        return str(first) if first == last else f"{first} to {last}"


_CONDITIONS: tuple[Callable[[Judge, TorchBuild], Obstacle | None], ...] = (
    Judge._wished,  # noqa: SLF001 - the list belongs to the class; it stands below because methods must exist first
    Judge._python,  # noqa: SLF001 - as above
    Judge._project,  # noqa: SLF001 - as above
    Judge._sure,  # noqa: SLF001 - as above
    Judge._libc,  # noqa: SLF001 - as above
    Judge._os,  # noqa: SLF001 - as above
    Judge._driver,  # noqa: SLF001 - as above
    Judge._branch,  # noqa: SLF001 - as above
    Judge._kernels,  # noqa: SLF001 - as above
    Judge._published,  # noqa: SLF001 - as above
    Judge._companions,  # noqa: SLF001 - as above
)
