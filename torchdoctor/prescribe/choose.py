"""Choose the build: hard conditions decide what runs, then a fixed order decides which of those is best."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations, groupby
from typing import TYPE_CHECKING, NamedTuple

from torchdoctor.facts import Unknown
from torchdoctor.findings import Text
from torchdoctor.prescribe.asking import Question, missing
from torchdoctor.prescribe.conditions import Judge, Obstacle, Span, Wish
from torchdoctor.prescribe.drivers import driver_window, first_number, newest_driver
from torchdoctor.prescribe.host import GpuTarget, Host
from torchdoctor.prescribe.jetson import JetsonRoute, Refusal, jetson_route
from torchdoctor.prescribe.nightly import judged_by, lenient, rows_for_nightly, still_built
from torchdoctor.prescribe.refuse import is_of_conda, refuse
from torchdoctor.records import record, replace
from torchdoctor.tables import Tables
from torchdoctor.tables.torch_builds import TorchBuild
from torchdoctor.values import Build, CudaVersion, DriverVersion, GpuArch, PythonTag

if TYPE_CHECKING:
    from torchdoctor.prescribe.amd import OwnIndex


class Upgrade(NamedTuple):
    """The build that a newer driver would allow, and the oldest driver that does."""

    min_driver: str
    row: TorchBuild


@record(frozen=True, slots=True, kw_only=True)
class Choice:
    """The solver's answer: a row (or a Jetson's own index, or AMD's), or the one condition in the way."""

    host: Host
    backend: str
    row: TorchBuild | None = None
    jetson: JetsonRoute | None = None
    amd: OwnIndex | None = None
    refusal: Text | None = None
    change: Text | None = None
    why: tuple[Text, ...] = ()
    assumed: tuple[Text, ...] = ()  # those of the reasons that take something for granted
    hidden: tuple[GpuTarget, ...] = ()
    visible: tuple[int, ...] = ()
    native_cuda: CudaVersion | None = None  # a Jetson's own
    is_hopeless: bool = False  # refused, and no single change would help
    asks: bool = False  # refused because a fact is missing, not because nothing runs

    @property
    def runs(self) -> bool:
        """Whether there is anything to install."""
        return self.row is not None or self.jetson is not None or self.amd is not None


_MOST_KINDS = 5  # architectures on one host: more are not tried one by one


def choose(host: Host, wish: Wish, tables: Tables) -> Choice:
    """Return the best build for the host, or a refusal that names the single condition in the way.

    Installed companions must exist for it, unless then nothing would run, or not on all GPUs.
    """
    running = []
    for names in _fewer(host.bound):
        choice = _choose(replace(host, bound=names) if names != host.bound else host, wish, tables)
        if choice.asks or not host.bound or (choice.runs and not choice.hidden):
            return choice
        if choice.runs:
            running.append(choice)
    return min(running, key=lambda choice: len(choice.hidden)) if running else choice


def _fewer(names: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """All of them, all but one, none."""
    yield names
    if len(names) > 1:
        yield from (tuple(other for other in names if other != name) for name in names)
    if names:
        yield ()


def _choose(host: Host, wish: Wish, tables: Tables) -> Choice:
    gpus, backend = gpus_to_serve(host, wish)
    if wish.nightly and is_of_conda(tables):
        return Choice(host=host, backend=backend, refusal=Text("conda-forge has no nightlies"))
    route = jetson_route(host, gpus, wish, tables) if wish.backend in {"auto", "cuda"} else None
    if isinstance(route, Refusal):
        return Choice(host=host, backend="cuda", refusal=route.text, change=route.change)
    if route is None:
        choice = _serve(Judge(host, wish, tables, gpus), backend)
        return _by_amds_route(choice, wish, tables) if backend == "rocm" else choice
    if route.index_path:
        return Choice(host=host, backend="cuda", jetson=route, why=(route.why,))
    host = replace(host, driver=route.driver, gpus=host.gpus if gpus else route.gpus)
    return _serve(Judge(host, wish, tables, gpus or route.gpus, route.cuda), "cuda")


def _by_amds_route(choice: Choice, wish: Wish, tables: Tables) -> Choice:
    from torchdoctor.prescribe.amd import by_route  # of no use to any other GPU

    return by_route(choice, wish, tables, lambda: _serve(Judge(choice.host, wish, tables), "cpu"))


def is_apple(host: Host) -> bool:
    """Whether it is a Mac of Apple silicon."""
    return host.os == "macos" and host.machine == "arm64"


def gpus_to_serve(host: Host, wish: Wish) -> tuple[tuple[GpuTarget, ...], str]:
    """Return the GPUs that the build must serve and the backend that serves them."""
    gpus = () if isinstance(host.gpus, Unknown) else host.gpus
    nvidia = tuple(gpu for gpu in gpus if gpu.vendor == "nvidia")
    amd = tuple(gpu for gpu in gpus if gpu.vendor == "amd")
    if wish.backend not in {"auto", "cuda", "rocm"} and not wish.backend.startswith(("cu", "rocm")):
        return (), wish.backend
    if wish.backend != "auto":
        is_cuda = wish.backend.startswith("cu")
        return (nvidia if is_cuda else amd), wish.backend
    if host.os == "macos":
        return (), "mps" if is_apple(host) else "cpu"
    if nvidia:
        return nvidia, "cuda"
    return (amd, "rocm") if any(gpu.target for gpu in amd) else ((), "cpu")


def _serve(judge: Judge, backend: str) -> Choice:
    host, tables = judge.host, judge.tables
    question = missing(judge)
    if question:
        return Choice(host=host, backend=backend, refusal=question.text, change=question.command(host), asks=True)
    rows = rows_of(tables, host, backend, () if judge.wish.nightly else judge.pythons)
    attempt = judge
    for gpus in _subsets(judge.gpus):
        attempt = judge.with_gpus(gpus) if gpus != judge.gpus else judge
        row = _best_nightly(attempt, rows) if judge.wish.nightly else best(attempt, rows)
        if row:
            return _chosen(attempt, row, backend, judge.gpus)
    every = rows_of(tables, host, backend)
    if judge.wish.nightly:
        if every and not still_built(every, tables):
            return Choice(host=host, backend=backend, refusal=_not_built(tables, backend), is_hopeless=True)
        every = rows_for_nightly(attempt, every)
    question = _which_python(attempt, every)
    if question:
        return Choice(host=host, backend=backend, refusal=question.text, change=question.command(host), asks=True)
    refusal, change = refuse(attempt, every, backend)
    return Choice(host=host, backend=backend, refusal=refusal, change=change, is_hopeless=change is None)


def _best_nightly(judge: Judge, rows: tuple[TorchBuild, ...]) -> TorchBuild | None:
    """The row to judge a nightly by; nobody promises more of one than is inferred, where no row tells more."""
    fitting = rows_for_nightly(judge, rows)
    return best(judge, fitting) or best(lenient(judge), fitting)


def _not_built(tables: Tables, backend: str) -> Text:
    text = "no nightly of {backend} is known: torch {newest} has no such build"
    return Text(text, backend=backend, newest=tables.torch_builds.newest())


def _which_python(judge: Judge, rows: tuple[TorchBuild, ...]) -> Question | None:
    """Ask for the Python where none of the builds fits every one, and one of them fits this or that."""
    if not isinstance(judge.host.python, Unknown):
        return None
    for tag in sorted({tag for row in rows for tag in row.pythons if not tag.free_threaded}, reverse=True):
        row = best(judge.with_python(tag), rows)
        if row:
            text = "the Python version is unknown, and torch {torch} {build} has wheels for {tags} only"
            said = Text(text, torch=row.torch, build=row.build, tags=Span(row.pythons))
            return Question(said, ("--python-version", "VERSION"))
    return None


def rows_of(tables: Tables, host: Host, backend: str, pythons: tuple[PythonTag, ...] = ()) -> tuple[TorchBuild, ...]:
    """The rows of this OS and machine that belong to the backend: a family such as cuda, one variant, or all."""
    if host.bits != 64 or host.implementation.lower() != "cpython":  # noqa: PLR2004 - the word size
        return ()
    if backend == "cpu" and is_apple(host):
        backend = "mps"  # one build for both
    return tables.torch_builds.of_backend(str(host.os), str(host.machine), backend, pythons)


def _subsets(gpus: tuple[GpuTarget, ...]) -> Iterator[tuple[GpuTarget, ...]]:
    """All GPUs first; then every choice of architectures, those with the better GPUs and with more of them first."""
    yield gpus
    kinds = sorted({_strength(gpu): gpu.target for gpu in gpus}.items(), reverse=True)[:_MOST_KINDS]
    chosen = [group for size in range(1, len(kinds)) for group in combinations(kinds, size)]
    for group in sorted(chosen, key=lambda group: [strength for strength, _ in group], reverse=True):
        targets = {target for _, target in group}
        yield tuple(gpu for gpu in gpus if gpu.target in targets)


def _strength(gpu: GpuTarget) -> tuple[tuple[int, ...], str]:
    target = gpu.target
    return (target.order, "") if isinstance(target, GpuArch) else ((), str(target))


def best(judge: Judge, rows: Iterable[TorchBuild]) -> TorchBuild | None:
    """The preferred row among those that run; ``rows`` come read before inferred, then newest torch first.

    Within one torch version: CUDA the driver knows natively, then PyPI's default, then the newest CUDA.
    """
    if judge.wish.prefer == "native":
        rows = sorted(rows, key=lambda row: (row.existence == "read", judge.prefers(row)), reverse=True)
    for _, group in groupby(rows, key=lambda row: (row.existence, judge.prefers(row), row.torch.parts)):
        running = ranked(judge, group)
        if running:
            return running[0]
    return None


def ranked(judge: Judge, rows: Iterable[TorchBuild]) -> list[TorchBuild]:
    """The rows of one torch version that run, the preferred one first."""
    running = [row for row in rows if judge.obstacle(row) is None]
    return sorted(running, key=lambda row: (judge.is_native(row), bool(row.on_pypi), _variant_rank(row)), reverse=True)


def _variant_rank(row: TorchBuild) -> tuple[int, ...]:
    digits = row.build.name.lstrip("abcdefghijklmnopqrstuvwxyz")
    return tuple(int(part) for part in digits.split(".") if part)


def _chosen(judge: Judge, row: TorchBuild, backend: str, all_gpus: tuple[GpuTarget, ...]) -> Choice:
    hidden = tuple(gpu for gpu in all_gpus if gpu not in judge.gpus)
    visible = tuple(index for index, gpu in enumerate(all_gpus) if gpu in judge.gpus) if hidden else ()
    assumed = (*(judged_by(row) if judge.wish.nightly else ()), *judge.assumptions(row))
    why = (*_reasons(judge, row, backend), *assumed)
    return Choice(
        host=judge.host,
        backend=backend,
        row=row,
        why=why,
        assumed=assumed,
        hidden=hidden,
        visible=visible,
        native_cuda=judge.native_cuda,
    )


def _reasons(judge: Judge, row: TorchBuild, backend: str) -> Iterator[Text]:
    if row.cuda and judge.gpus and isinstance(judge.host.driver, DriverVersion):
        if judge.is_native(row):
            yield Text("driver {driver} knows CUDA {cuda}", driver=judge.host.driver, cuda=row.cuda)
        else:
            floor = judge.tables.cuda_drivers.floor(row.cuda, judge.host.driver_line)
            yield Text(
                "driver {driver} runs CUDA {cuda} by minor-version compatibility (floor {floor})",
                driver=judge.host.driver, cuda=row.cuda, floor=floor,
            )  # fmt: skip
        if row.code:
            yield Text("the build has code for {gpus}", gpus=", ".join(sorted({str(gpu) for gpu in judge.gpus})))
    if backend == "cpu" and judge.wish.backend == "auto":
        others = (
            [gpu.name for gpu in judge.host.gpus if gpu.vendor != "nvidia"]
            if not isinstance(judge.host.gpus, Unknown)
            else []
        )
        yield (
            Text("no GPU that an official build serves is known here; seen: {gpus}", gpus=", ".join(others))
            if others
            else Text("no GPU on this host")
        )
    if judge.host.os == "macos" and row.build.backend == "cpu" and not row.is_of_conda:
        yield from _ended(judge, row)
    if backend == "cpu" and row.build.backend != backend:
        yield Text("macOS has one build, with and without GPU support")
    if row.existence != "read" and not judge.wish.nightly:
        yield Text("torch {torch} for this variant was inferred to exist, and nothing else runs here", torch=row.torch)


def _ended(judge: Judge, row: TorchBuild) -> Iterator[Text]:
    """That the wheels for a Mac with an Intel processor came to an end, and where newer packages are."""
    host, tables = judge.host, judge.tables
    if row.torch == tables.torch_builds.newest():
        return
    newer = tables.of_conda().torch_builds.for_host(str(host.os), str(host.machine))
    text = "the wheels for Macs with an Intel processor end with torch {last}; conda-forge has {newer} (--tool conda)"
    if newer and newer[0].torch > row.torch:
        yield Text(
            text, last=tables.torch_builds.for_host(str(host.os), str(host.machine))[0].torch, newer=newer[0].torch
        )


def rejected(choice: Choice, wish: Wish, tables: Tables) -> Iterator[tuple[TorchBuild, Obstacle]]:
    """Every row of the backend that was passed over, newest torch first: for a hard condition, or as only inferred."""
    host = choice.host
    gpus, _ = gpus_to_serve(host, wish)
    judge = Judge(host, wish, tables, tuple(gpu for gpu in gpus if gpu not in choice.hidden), choice.native_cuda)
    is_sure = choice.row is not None and choice.row.existence == "read"
    for row in sorted(rows_of(tables, host, choice.backend), key=lambda row: row.torch.parts, reverse=True):
        if not judge.is_wished(row):
            continue
        obstacle = judge.obstacle(row)
        if obstacle is None and is_sure and row.existence != "read":
            obstacle = Obstacle("existence", Text("that it exists was only inferred"))
        if obstacle:
            yield row, obstacle


def upgrade_of(choice: Choice, wish: Wish, tables: Tables) -> Upgrade | None:
    """What the newest driver that supports these GPUs would allow beyond the choice, or None."""
    row = None if wish.nightly else choice.row
    gpus, backend = gpus_to_serve(choice.host, wish)
    judge = Judge(choice.host, wish, tables, tuple(gpu for gpu in gpus if gpu not in choice.hidden))
    newest = None if choice.native_cuda else newest_driver(judge)
    if row is None or row.cuda is None or newest is None or not judge.gpus:
        return None
    better = best(judge.with_driver(newest), rows_of(tables, choice.host, backend))
    if better is None or better.torch <= row.torch or better.existence != "read":
        return None
    number = next(
        (number for number in _newer(judge, better) if judge.with_driver(number).obstacle(better) is None), None
    )
    return Upgrade(str(number), better) if number and judge.obstacle(better) else None


def _newer(judge: Judge, row: TorchBuild) -> Iterator[DriverVersion]:
    """The drivers to try, oldest first, all newer than the one that is there."""
    window, driver = driver_window(judge, row), judge.host.driver
    numbers = [first_number(branch, judge.host.driver_line) for branch in judge.branches]
    first = window[0] if window else None
    for number in sorted({*numbers, first} if first else (), key=lambda number: number.parts):
        if first and number >= first and not (isinstance(driver, DriverVersion) and number <= driver):
            yield number


def already_right(host: Host, tables: Tables, wish: Wish) -> Choice | None:
    """The installed build as the choice, when it runs here, serves the GPUs there are, and is what is wished for."""
    row = installed_row(host, tables)
    if row is None or (isinstance(host.gpus, Unknown) and wish.backend != "cpu") or not _meets(row, host, wish, tables):
        return None
    wanted = gpus_to_serve(host, wish)[1]
    if wish.backend == "auto" and wanted not in {"cpu", row.build.backend}:
        return None
    why = Text("it is installed, and this host runs it" if host.lacking else "it is installed, and it runs here")
    return Choice(host=host, backend=row.build.backend, row=row, why=(why,))


def _meets(row: TorchBuild, host: Host, wish: Wish, tables: Tables) -> bool:
    """Whether nothing else than this build was wished for; no installed one stands for a nightly."""
    judge = Judge(host, wish, tables, gpus_to_serve(host, wish)[0])
    is_preferred = wish.prefer != "native" or judge.is_native(row)
    return not wish.nightly and is_asked_for(row.build, wish) and judge.is_wished(row) and is_preferred


def is_asked_for(build: Build, wish: Wish) -> bool:
    """Whether the build is of the backend or the variant that was asked for."""
    names = {"auto", build.backend, build.name, *(("cpu",) if build.backend == "mps" else ())}  # macOS has one for both
    return wish.backend in names


def installed_row(host: Host, tables: Tables) -> TorchBuild | None:
    """The row of the installed build when every hard condition holds for it on this host, else None."""
    if (
        host.torch is None
        or isinstance(host.torch, Unknown)
        or isinstance(host.os, Unknown)
        or isinstance(host.machine, Unknown)
    ):
        return None
    public, _, label = host.torch.partition("+")
    rows = [
        row for row in rows_of(tables, host, "")
        if (row.build.name == label or (not label and (row.os == "macos" or _is_of_conda(row, host))))
        and str(row.torch) == public
    ]  # fmt: skip
    gpus, _ = gpus_to_serve(host, Wish(backend=rows[0].build.backend)) if rows else ((), "")
    judge = Judge(replace(host, bound=(), room=None), Wish(allow_inferred=True), tables, gpus)
    return next((row for row in rows if judge.obstacle(row) is None), None)


def _is_of_conda(row: TorchBuild, host: Host) -> bool:
    """Whether it is conda-forge's package of the installed build: those have no label to tell it by."""
    return row.is_of_conda and host.build == row.build
