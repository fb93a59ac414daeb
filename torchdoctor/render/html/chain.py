"""What the driver allows, what the build has, what each GPU needs, and whether they meet: data of the picture."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

from torchdoctor.checks.drivers import branches_of, driver_lines, is_jetson
from torchdoctor.checks.installed import driver_cuda, gpu_name, official_rows, torch_cuda
from torchdoctor.checks.torch_code import Code, codes_of, is_for_cuda, serves
from torchdoctor.facts import Facts, Gpu, NotKnownError, NotThereError, Unknown, value_or
from torchdoctor.records import record, replace
from torchdoctor.tables import Tables
from torchdoctor.values import CudaVersion, DriverVersion, GfxId, GpuArch

State = Literal["ok", "bad", "unknown", "none"]
# The findings that deny that the driver allows the build, and that the build serves the GPU.
_OF_DRIVER = ("driver-too-old", "driver-library-mismatch", "driver-not-loaded")
_OF_BUILD = ("torch-arch-missing", "rocm-gfx-unsupported")
_OVERRIDE = "HSA_OVERRIDE_GFX_VERSION"
_MOST_GPUS = 6  # kinds of them that the picture has room for


@record(frozen=True, slots=True)
class Chip:
    """One thing of a row of equal things, and whether it is the one that is asked for; ``none`` is neither."""

    text: str
    state: State = "none"


@record(frozen=True, slots=True)
class Link:
    """Whether two neighbours meet, and by what."""

    state: State
    words: str


@record(frozen=True, slots=True)
class Node:
    """One of the three: its name, and what it allows, has or needs."""

    title: str
    says: str = ""
    chips: tuple[Chip, ...] = ()


@record(frozen=True, slots=True)
class Arm:
    """A kind of GPU: how the build serves it, and whether the driver drives it."""

    gpu: Node
    served: Link
    driven: Link | None = None


@record(frozen=True, slots=True)
class Chain:
    """Driver, build and GPUs in the order in which they rest on each other."""

    driver: Node
    allowed: Link
    build: Node
    arms: tuple[Arm, ...] = ()
    left_out: int = 0  # further kinds of GPU


def chain_of(facts: Facts, tables: Tables, errors: Mapping[str, str]) -> Chain | None:
    """The picture's data; None where neither a torch nor a driver nor a GPU is known.

    ``errors`` holds the summaries of the report's errors by id: the picture draws no other conclusion than they do.
    """
    gpus = value_or(facts.gpus, ())
    if not (gpus or _version(facts) or value_or(facts.driver.version, None)):
        return None
    codes = _codes(facts, tables)
    kinds = Counter((gpu_name(gpu), _target(gpu)) for gpu in gpus)
    firsts = {(gpu_name(gpu), _target(gpu)): gpu for gpu in reversed(gpus)}
    drawn = (_arm(facts, tables, firsts[kind], count, codes) for kind, count in kinds.items())
    arms = [replace(arm, served=_agreeing(arm.served, errors, _OF_BUILD)) for arm in drawn]
    return Chain(
        driver=_driver(facts, tables),
        allowed=_agreeing(_allowed(facts, tables), errors, _OF_DRIVER),
        build=_build(facts, tables, codes, gpus),
        arms=tuple(arms[:_MOST_GPUS]) or _no_gpu(facts),
        left_out=len(arms[_MOST_GPUS:]),
    )


def _agreeing(link: Link, errors: Mapping[str, str], ids: Iterable[str]) -> Link:
    """A link as the findings have it: what one of them denies is not held, and what none denies is not denied."""
    denied = next((errors[name] for name in ids if name in errors), "")
    if link.state == "ok" and denied:
        return Link("bad", denied)
    return Link("unknown", link.words) if link.state == "bad" and not errors else link


def _version(facts: Facts) -> str:
    return value_or(facts.torch.full, "") or value_or(facts.torch.version, "") or ""


def _backend(facts: Facts) -> str:
    """The family of the installed build; empty where none is known."""
    build = value_or(facts.torch.build, None)
    if build:
        return build.backend
    try:
        return "cuda" if is_for_cuda(facts) else ""
    except (NotKnownError, NotThereError):
        return ""


def _target(gpu: Gpu) -> GpuArch | GfxId | None:
    return value_or(gpu.compute_capability, None) or value_or(gpu.gfx, None)


def _driver(facts: Facts, tables: Tables) -> Node:
    version = facts.driver.version
    if isinstance(version, Unknown):
        return Node("NVIDIA driver: not known")
    if version is None:
        return Node("no NVIDIA driver is loaded")
    cuda = driver_cuda(facts, tables)
    says = f"speaks CUDA {cuda}; allows builds of" if cuda else "allows builds of"
    if is_jetson(facts, tables):
        return Node(f"NVIDIA driver {version}", f"of a Jetson{f', speaks CUDA {cuda}' if cuda else ''}")
    return Node(f"NVIDIA driver {version}", says, tuple(_majors(version, driver_lines(facts), tables)))


def _majors(driver: DriverVersion, lines: Sequence[str], tables: Tables) -> Iterator[Chip]:
    """Each CUDA that torch is built for, and whether the driver is above its floor on the system."""
    majors = sorted({row.cuda.major for row in tables.torch_builds.rows if row.cuda and row.emit})
    for major in majors:
        rows = [row for row in tables.cuda_drivers.rows if row.cuda.major == major]
        if rows:
            known = {driver.reaches(min(row.floor(line) for row in rows)) for line in lines}
            yield Chip(f"CUDA {major}", _state(known.pop() if len(known) == 1 else None))


def _state(holds: bool | None) -> State:
    return "unknown" if holds is None else "ok" if holds else "bad"


def _allowed(facts: Facts, tables: Tables) -> Link:
    """Between driver and build."""
    if why_not := _needs_no_driver(facts):
        return Link("none", why_not)
    if facts.torch.cuda_available is True:
        return Link("ok", "torch itself could start CUDA")
    driver, cuda = facts.driver.version, torch_cuda(facts)
    if isinstance(driver, Unknown) or cuda is None:
        return Link("unknown", "what the driver allows is not known")
    floors = [tables.cuda_drivers.floor(cuda, line) for line in driver_lines(facts)]
    if is_jetson(facts, tables) or len(floors) != 1 or floors[0] is None:
        return Link("unknown", f"the floor of CUDA {cuda} here is not known")
    return _by_floor(driver, cuda, floors[0], value_or(facts.driver.cuda_shown, None))


def _needs_no_driver(facts: Facts) -> str:
    """Why there is nothing that a driver would have to allow; empty where there is."""
    backend = _backend(facts)
    if not _version(facts):
        return "no torch is installed" if facts.torch.installed is False else "the installed torch is not known"
    if backend != "cuda":
        return "this build needs no NVIDIA driver" if backend else "the build is not known"
    if facts.driver.version is None and facts.gpus == ():
        return "without a GPU the build needs no driver; it runs on the processor"
    return ""


def _by_floor(driver: DriverVersion | None, cuda: CudaVersion, floor: DriverVersion, shown: CudaVersion | None) -> Link:
    needs = f"CUDA {cuda} needs driver {floor} or newer"
    if driver is None:
        return Link("bad", f"{needs}; none is loaded")
    if driver.reaches(floor) is False and shown is not None and shown >= cuda:
        return Link("ok", f"a libcuda of CUDA {shown} stands in for an older driver")
    return Link(_state(driver.reaches(floor)), needs)


def _codes(facts: Facts, tables: Tables) -> list[Code]:
    if _backend(facts) != "cuda" or not _version(facts):
        return []
    try:
        return codes_of(facts, tables)
    except (NotKnownError, NotThereError):
        return []


def _build(facts: Facts, tables: Tables, codes: Sequence[Code], gpus: Sequence[Gpu]) -> Node:
    version, backend = _version(facts), _backend(facts)
    if not version:
        return Node("no torch" if facts.torch.installed is False else "torch: not known")
    if backend == "cuda":
        chips = tuple(_cuda_chips(codes, gpus, tables))
        sure = bool(codes) and codes[0].sure
        has = ("has code for" if sure else "may have code for") if chips else "for which GPUs it has code is not known"
        return Node(f"torch {version}", has, chips)
    if backend == "rocm":
        chips = tuple(_gfx_chips(_gfx_names(facts, tables), gpus))
        return Node(f"torch {version}", "has code for" if chips else "for which GPUs it has code is not known", chips)
    words = {"cpu": "uses no GPU", "mps": "uses Apple's GPU by Metal", "xpu": "uses Intel's GPUs"}
    return Node(f"torch {version}", words.get(backend, ""))


def _cuda_chips(codes: Sequence[Code], gpus: Sequence[Gpu], tables: Tables) -> Iterator[Chip]:
    """The code of the build; marked where it is what a GPU of this host runs."""
    devices = [arch for gpu in gpus if (arch := value_or(gpu.compute_capability, None))]
    cuda = codes[0].cuda if codes else None
    native = sorted({arch for code in codes for arch in code.native})
    for arch in native:
        runs = any(tables.coverage.covers(arch, device, cuda) for device in devices)
        yield Chip(arch.sm, "ok" if runs else "none")
    for arch in sorted({arch for code in codes for arch in code.ptx}):
        yield Chip(f"{arch.sm}+PTX")


def _gfx_names(facts: Facts, tables: Tables) -> tuple[str, ...]:
    """The AMD GPUs that the build has code for: as torch lists them, else as the table has the official wheel."""
    own = tuple(name.partition(":")[0] for name in value_or(facts.torch.arch_list, ()) or () if name.startswith("gfx"))
    if own:
        return own
    try:
        rows = official_rows(facts, tables)
    except (NotKnownError, NotThereError):
        return ()
    return tuple(dict.fromkeys(str(gfx) for row in rows for gfx in row.gfx))


def _gfx_chips(names: Iterable[str], gpus: Sequence[Gpu]) -> Iterator[Chip]:
    here = {str(gpu.gfx) for gpu in gpus}
    return (Chip(name, "ok" if name in here else "none") for name in dict.fromkeys(names))


def _no_gpu(facts: Facts) -> tuple[Arm, ...]:
    none = isinstance(facts.gpus, tuple)
    return (Arm(Node("no GPU" if none else "GPUs: not known"), Link("none" if none else "unknown", "")),)


def _arm(facts: Facts, tables: Tables, gpu: Gpu, count: int, codes: Sequence[Code]) -> Arm:
    name = f"{count} x {gpu_name(gpu)}" if count > 1 else gpu_name(gpu)
    target = _target(gpu)
    needs = (f"needs code for {target.sm if isinstance(target, GpuArch) else target}") if target else ""
    return Arm(Node(name, needs), _served(facts, tables, gpu, codes), _driven(facts, tables, gpu))


def _served(facts: Facts, tables: Tables, gpu: Gpu, codes: Sequence[Code]) -> Link:
    """Between build and GPU."""
    backend, target = _backend(facts), _target(gpu)
    maker = {"nvidia": "cuda", "amd": "rocm", "intel": "xpu", "apple": "mps"}.get(value_or(gpu.vendor, "") or "", "")
    if not _version(facts):
        return Link("none", "")
    if backend == "cpu" or (backend and maker and backend != maker):
        return Link("none", "this build does not use it")
    if backend == "rocm" and isinstance(target, GfxId):
        return _by_gfx(facts, tables, target)
    if backend == "cuda" and isinstance(target, GpuArch) and codes:
        return _by_code(facts, tables, gpu, codes)
    return Link("unknown", "whether it can use it is told by the smoke tests")


def _by_gfx(facts: Facts, tables: Tables, target: GfxId) -> Link:
    """An AMD GPU runs code for exactly itself, unless a variable passes it off as another."""
    if value_or(facts.env.get(_OVERRIDE), ""):
        return Link("unknown", f"{_OVERRIDE} passes it off as another")
    names = _gfx_names(facts, tables)
    if str(target) in names:
        return Link("ok", "code of its own")
    return Link("bad", f"no code for {target}") if names else Link("unknown", "its code is not known")


def _by_code(facts: Facts, tables: Tables, gpu: Gpu, codes: Sequence[Code]) -> Link:
    device = value_or(gpu.compute_capability, None)
    if device is None:
        return Link("unknown", "its compute capability is not known")
    try:
        held = {serves(code, gpu, facts, tables) for code in codes}
    except NotKnownError as error:
        return Link("unknown", f"not known: the {error.args[0]}" if error.args else "not known")
    if held != {True}:
        return Link("bad" if held == {False} else "unknown", f"no code that {device.sm} can run")
    ours = [arch for code in codes for arch in code.native if tables.coverage.covers(arch, device, code.cuda)]
    by = f"{max(ours).sm} runs on it" if ours else "PTX, which the driver compiles at first use"
    return Link("ok" if all(code.sure for code in codes) else "unknown", by)


def _driven(facts: Facts, tables: Tables, gpu: Gpu) -> Link | None:
    """Between driver and GPU; nothing where that is not NVIDIA's, or a Jetson's."""
    driver, arch = value_or(facts.driver.version, None), value_or(gpu.compute_capability, None)
    if driver is None or arch is None or is_jetson(facts, tables) or value_or(gpu.vendor, "") != "nvidia":
        return None
    told = {branch.drives(arch, driver) for branch in branches_of(facts, tables, driver)}
    if len(told) != 1:
        return None
    holds = told.pop()
    words = {True: "drives it", False: "does not drive it", None: "may drive it"}[holds]
    return Link(_state(holds), f"driver {driver} {words}")
