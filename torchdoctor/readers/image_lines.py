"""Lines that name a container image: a Dockerfile, a build's log, ``docker run``, a manifest."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import takewhile

from torchdoctor.patterns import lazily
from torchdoctor.readers.image_words import IMAGE, image_said, machine_said
from torchdoctor.readers.recogniser import Recogniser, Spot
from torchdoctor.readers.statement import Said
from torchdoctor.readers.torch_words import build_of, torch_said
from torchdoctor.values import CudaVersion

_STEP = r"(?:Step \d{1,3}/\d{1,3} : |(?:#\d{1,4} |=> )(?:CACHED )?\[[^\]]{1,60}\] )?"
_FROM = lazily(rf"\s*{_STEP}FROM\s+(?:--platform=(\S{{1,40}})\s+)?({IMAGE})(?:\s+[Aa][Ss]\s+([\w.-]{{1,60}}))?\s*$")
_ARGUMENT = lazily(r"\s*ARG\s+(\w{1,60})=[\"']?([^\s\"']{1,160})")
_REFERENCE = lazily(r"\$(?:\{(\w{1,60})(?::-[^}]{0,80})?\}|(\w{1,60}))")
_NAMED = lazily(rf"(?:image|Image|container)[\"']?\s*[:=]?\s+[\"']?({IMAGE})")
_PULLED = lazily(rf"(?:Unable to find image '|newer image for |Pulling from |docker pull |docker://)({IMAGE})")
_FAILED = lazily(
    r"did not complete successfully|failed to solve|returned a non-zero code|executor failed running|failed to build"
    r"|=> ERROR \[[^\]]{1,60}\] (?:RUN|COPY|ADD) "
)
_PIN = lazily(r"\btorch==(\d[\w.+]*)")
_INDEX = lazily(r"/whl/(?:test/|nightly/)?((?:cu|rocm)\d[\d.]*|cpu|xpu)\b")
_INSTALL = lazily(r"\binstall\b")
_TORCH = lazily(r"(?<![\w./-])torch(?![\w-])")
_CONDA = lazily(r"[\s\"']pytorch={1,2}(\d[\w.]{1,20})")
_CONDA_CUDA = lazily(r"\bpytorch-cuda={1,2}(\d{1,2})\.(\d)")
_RUN_ASKS = lazily(r"\s(?:--gpus|--runtime[= ]nvidia|--device[= ]\S*(?:nvidia|kfd|dri|dxg))")
_SERVICE = lazily(r"\s+(?:image|build):")
_COMPOSE_ASKS = lazily(
    r"\s*(?:-\s+)?(?:gpus:|runtime:\s*nvidia|driver:\s*nvidia|capabilities:.{0,40}gpu|device_ids:|extends:|<<:"
    r"|[\"']?/dev/(?:nvidia|kfd|dri|dxg)|[\"']?nvidia\.com/gpu)"
)
_MOST_FILE = 200  # lines of a Compose file
_MOST_LINES = 60  # of one RUN, joined by backslashes


def _base_image(spot: Spot) -> Iterator[Said]:
    """The image that the last stage of a recipe starts from; all its FROM lines are read at the first of them."""
    document = spot.document
    given = dict(_arguments(spot))
    lines = [
        (place, match)
        for place in _from_lines(spot)
        if (
            match := _FROM.match(
                _REFERENCE.sub(lambda name: given.get(name[1] or name[2], name[0]), document.texts[place])
            )
        )
    ]
    if not lines or lines[0][0] != spot.index:
        return
    stages = {match[3].lower(): (place, match) for place, match in lines if match[3]}
    place, match = lines[-1]
    for _ in lines:  # a stage may start from one before it
        place, match = stages.get(match[2].lower(), (place, match))
    source = document.at(place)
    yield Said("place.container", "docker", source)
    yield Said("os.name", "linux", source)
    yield from machine_said(match[1] or "", source)
    pinned = any(_PIN.search(_joined(spot, later)) for later in _installs(spot, place))
    said = image_said(match[2], source, spot.tables)
    yield from (item for item in said if not (pinned and item.path.startswith("torch.")))


def _arguments(spot: Spot) -> Iterator[tuple[str, str]]:
    """The defaults of a recipe's arguments, which its FROM lines may use."""
    for place in spot.document.lines_with("ARG "):
        if match := _ARGUMENT.match(spot.document.texts[place]):
            yield match[1], match[2]


def _from_lines(spot: Spot) -> list[int]:
    return [place for place in spot.document.lines_with("FROM ") if place >= spot.index]


def _installs(spot: Spot, start: int) -> list[int]:
    return [place for place in spot.document.lines_with("RUN ") if place > start]


def _joined(spot: Spot, start: int) -> str:
    """A line with those that a backslash joins to it."""
    lines = []
    for line in spot.document.texts[start : start + _MOST_LINES]:
        lines.append(line.rstrip("\\"))
        if not line.endswith("\\"):
            break
    return " ".join(lines)


def _recipe_install(spot: Spot) -> Iterator[Said]:
    """``RUN pip install torch==X --index-url .../whl/cu130``: what the image holds."""
    text = _joined(spot, spot.index)
    if not _INSTALL.search(text):
        return
    if conda := _CONDA.search(text):
        yield from torch_said(conda[1], spot.source)
        yield Said("torch.owner", "conda", spot.source)
        if cuda := _CONDA_CUDA.search(text):
            yield Said("torch.cuda", CudaVersion(int(cuda[1]), int(cuda[2])), spot.source)
        return
    if not _TORCH.search(text):
        return
    pin, index = _PIN.search(text), _INDEX.search(text)
    if pin:
        yield from torch_said(pin[1], spot.source)
    if index and (build := build_of(index[1])):
        yield Said("torch.installed", True, spot.source)
        yield Said("torch.build", build, spot.source)
        yield Said("torch.origin", "pytorch", spot.source)


def _named(spot: Spot) -> Iterator[Said]:
    """``image: X`` of a manifest, ``Unable to find image 'X' locally`` and the like."""
    if match := _PULLED.search(spot.text) or _NAMED.match(spot.text.lstrip("- ")):
        said = list(image_said(match[1], spot.source, spot.tables))
        if said:
            yield Said("place.container", _kind(spot.text), spot.source)
            yield from said


def _kind(text: str) -> str:
    if "docker://" in text:
        return "apptainer"
    return "docker" if _PULLED.search(text) else "container"


def _run(spot: Spot) -> Iterator[Said]:
    """``docker run ... IMAGE COMMAND``; an image that is only asked for nvidia-smi is a test of Docker itself."""
    if re.search(r"\bnvidia-smi\b", spot.text):
        return
    words = spot.text.split()
    if platform := next((word.partition("=")[2] for word in words if word.startswith("--platform=")), ""):
        yield from machine_said(platform, spot.source)
    for word in words:
        said = list(image_said(word, spot.source, spot.tables)) if ":" in word and re.fullmatch(IMAGE, word) else []
        yield from said
        if said:
            return


def _asks_in_command(spot: Spot) -> Iterator[Said]:
    """Whether ``docker run`` asks for a GPU; of a command on several lines the first tells of no absence."""
    asks = bool(_RUN_ASKS.search(spot.text))
    if asks or not spot.text.endswith(("\\", "`", "^")):
        yield Said("place.container_asks_gpu", asks, spot.source)


def _compose(spot: Spot) -> Iterator[Said]:
    """A Compose file: its services, and whether one of them reserves a GPU."""
    block = list(
        takewhile(lambda line: not line.strip() or line[0] in " \t#" or line[0] == "x", spot.following(_MOST_FILE))
    )
    if not any(_SERVICE.match(line) for line in block):
        return
    yield Said("place.container", "docker", spot.source)
    yield Said("place.container_asks_gpu", any(map(_COMPOSE_ASKS.match, block)), spot.source)


def _build_failed(spot: Spot) -> Iterator[Said]:
    """A build that fails says so itself; no GPU is visible in one."""
    if _FAILED.search(spot.text):
        yield Said("place.image_build", True, spot.source)
        yield Said("place.container", "docker", spot.source)


_PULLS = ("Unable to find image", "newer image for", "Pulling from", "docker pull ", "docker://")
_FAILURES = (
    "executor failed running",
    "failed to solve",
    "returned a non-zero code: ",
    'process "/bin/sh -c ',
    "=> ERROR [",
)
_RUNS = ("docker run", "podman run", "nvidia-docker run")
_FIRST = r"(?:.{0,120}?[$#>%]\s+)?(?:sudo )?(?:docker|podman|nvidia-docker) run\s"
RECOGNISERS = (
    Recogniser(rf"\s*{_STEP}FROM\s+\S", _base_image, "from", words=("] FROM ", " : FROM ")),
    Recogniser(r"RUN\s", _recipe_install, "run"),
    Recogniser(
        r".{0,200}?(?:find image|image for|Pulling from|docker pull|docker:)[\s/]", _named, words=_PULLS, keeps=True
    ),
    Recogniser(r"\s*(?:-\s+)?(?:[iI]mage|container):\s+\S", _named, "image container"),
    Recogniser(rf"\s*{_FIRST}", _run, words=_RUNS, keeps=True),
    Recogniser(rf"\s*{_FIRST}", _asks_in_command, words=_RUNS, keeps=True),
    Recogniser(r"services:\s*$", _compose, "services", keeps=True),
    Recogniser(r"", _build_failed, words=_FAILURES, keeps=True),
)
