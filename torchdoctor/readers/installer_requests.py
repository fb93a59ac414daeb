"""What an installer was asked for, where it looked, and what it was offered: pip, uv, Poetry, conda."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from torchdoctor.facts import Package, Packages
from torchdoctor.patterns import lazily
from torchdoctor.readers.installer_lines import platform_tag_said
from torchdoctor.readers.platform_words import python_said
from torchdoctor.readers.recogniser import Recogniser, Spot
from torchdoctor.readers.statement import Said
from torchdoctor.readers.torch_words import VERSION, torch_said
from torchdoctor.values import Libc, PythonTag, Version

_INDEXES = lazily(r"Looking in (?:indexes|links): (\S.*)$")
_CREDENTIALS = lazily(r"://[^/\s@]+@")
_COLLECTING = lazily(rf"(?:Collecting|ERROR: No matching distribution found for) torch==({VERSION})(?=$|[\s,;])")
_OFFERED = lazily(
    r"Could not find a version that satisfies the requirement torch(?:==(\d[\w.+]{0,40}))?[^(]{0,120}"
    r"\(from versions: ([^)]{0,6000})\)"
)
_UNSUPPORTED = lazily(
    r"\btorch-(\d[\w.]{1,30}(?:(?:\+|%2B)[\w.]{1,30})?)-cp\d{2,4}-\w+\S*\.whl is not a supported wheel"
)
_OTHER_PYTHON = lazily(r"requires a different Python: (\d\.\d{1,2}\.\d{1,3})\S* not in ")
_PIP_ITSELF = lazily(r"pip \d[\w.]{1,20} from (\S.{0,300}) \(python (\d\.\d{1,2}t?)\)")
_USING = lazily(r"Using (?:C?Python|Python) (\d\.\d{1,2}(?:\.\d{1,3})?)\S*(?: environment| interpreter| \[|$)")
_YOUR_PYTHON = lazily(r"(?:You're using|You require) CPython \d\.\d{1,2}t? \(`(cp\d{2,4}t?)`\)")
_YOUR_PLATFORM = lazily(r"You're on \w+ \(`(\w{5,60})`\)")
_MANYLINUX = lazily(r"manylinux_(\d)_(\d{1,2})_")
_UV_ASKED = lazily(rf"(?:Because|you require|`|that) ?torch(?:==|` \(v)({VERSION})\b")
_UV_REFUSED = lazily(rf"Distribution `torch==({VERSION}) @ registry\+(\S{{3,200}}?)` can't be installed")
_POETRY_ASKED = lazily(rf"Unable to find installation candidates for torch \(({VERSION})\)")
_POETRY_ENVIRONMENT = lazily(r"[\\/]pypoetry[\\/].{0,200}?-py(3\.\d{1,2})\b")
_CONDA_ASKED = lazily(rf"package pytorch-({VERSION})-\S+ (?:requires|is excluded|has constraint|conflicts)")
_CONDA_PLAN = lazily(rf"\S{{1,80}}::pytorch-({VERSION})-([\w.]{{1,80}})(?=\s|$)")
_CONDA_EXPORT = lazily(rf"-\s+(?:\S+::)?pytorch=({VERSION})=([\w.]{{1,80}})$")
_MAMBA_PLAN = lazily(rf"\+ pytorch\s+({VERSION})\s+([\w.]{{1,80}})\s+\S")
_PINNED = lazily(r"-\s+python (3\.\d{1,2})(?:\.\*)?(?=\s|$)")
_HOST = lazily(r"^\w{1,10}://([^/\s]{1,200})(.*)$")


def _indexes(spot: Spot) -> Iterator[Said]:
    if match := _INDEXES.search(spot.text):
        yield from asked_indexes(match[1].split(","), spot)


def asked_indexes(links: Iterable[str], spot: Spot) -> Iterator[Said]:
    """The indexes; of one that is in no row, a mirror or a private one, the host is not told."""
    rows = spot.tables.indexes.rows
    known = {_HOST.sub(r"\1", row.url) if row.url else f"{row.id}.org" for row in rows}  # the default's own host
    stripped = (_CREDENTIALS.sub("://", link.strip()) for link in links if link.strip())
    told = (link if _HOST.sub(r"\1", link) in known else _HOST.sub(r"https://<mirror>\2", link) for link in stripped)
    if indexes := tuple(told):
        yield Said("torch.indexes", indexes, spot.source)


def asked_version(version: str, spot: Spot) -> Iterator[Said]:
    """The torch that an installer was asked for, which need not be the one that is there."""
    yield Said("torch.requested", version.replace("%2B", "+"), spot.source)


def _collecting(spot: Spot) -> Iterator[Said]:
    if match := _COLLECTING.search(spot.text):
        yield from asked_version(match[1], spot)


def _offered(spot: Spot) -> Iterator[Said]:
    """Pip lists every version that has a file for this interpreter, system and machine."""
    if not (match := _OFFERED.search(spot.text)):
        return
    if match[1]:
        yield from asked_version(match[1], spot)
    versions = tuple(version.strip() for version in match[2].split(","))
    if versions == ("none",):
        yield Said("torch.offered", (), spot.source)
    elif all(re.fullmatch(VERSION, version) for version in versions):
        yield Said("torch.offered", versions, spot.source)


def _unsupported(spot: Spot) -> Iterator[Said]:
    if match := _UNSUPPORTED.search(spot.text):
        yield from asked_version(match[1], spot)


def _other_python(spot: Spot) -> Iterator[Said]:
    if match := _OTHER_PYTHON.search(spot.text):
        yield from python_said(match[1], spot.source)


def _pip_itself(spot: Spot) -> Iterator[Said]:
    if match := _PIP_ITSELF.search(spot.text):
        yield Said("python.tag", PythonTag.parse(match[2]), spot.source)
        if re.match(r"[A-Za-z]:\\", match[1]):
            yield Said("os.name", "windows", spot.source)


def _using(spot: Spot) -> Iterator[Said]:
    if match := _USING.search(spot.text):
        yield from python_said(match[1], spot.source)


def _uv_hint(spot: Spot) -> Iterator[Said]:
    """Uv names the interpreter's ABI, and the platform tag that the C library or the system allows."""
    text = f"{spot.text} {spot.next_line()}"
    if match := _YOUR_PYTHON.search(text):
        yield Said("python.tag", PythonTag.parse(match[1]), spot.source)
    if match := _YOUR_PLATFORM.search(text):
        yield from _interpreter_said(match[1], spot.source)
        if libc := _MANYLINUX.match(match[1]):
            yield Said("os.libc", Libc("glibc", Version.parse(f"{libc[1]}.{libc[2]}")), spot.source)


def _interpreter_said(tag: str, source: str) -> Iterator[Said]:
    """The platform of the interpreter: on a Mac the machine may be another one."""
    for said in platform_tag_said(tag, source):
        yield Said("python.machine", said.value, source) if _is_macs_machine(tag, said) else said


def _is_macs_machine(tag: str, said: Said) -> bool:
    return tag.startswith("macosx") and said.path == "os.machine"


def _uv_asked(spot: Spot) -> Iterator[Said]:
    if match := _UV_ASKED.search(spot.text):
        yield from asked_version(match[1], spot)
    if match := _UV_REFUSED.search(spot.text):
        yield Said("torch.offered", (), spot.source)
        yield from asked_indexes([match[2]], spot)


def _poetry(spot: Spot) -> Iterator[Said]:
    if match := _POETRY_ASKED.search(spot.text):
        yield from asked_version(match[1], spot)
    elif match := _POETRY_ENVIRONMENT.search(spot.text):
        yield Said("python.tag", PythonTag.parse(match[1]), spot.source)


def _conda_asked(spot: Spot) -> Iterator[Said]:
    if match := _CONDA_ASKED.search(spot.text):
        yield from asked_version(match[1], spot)


def _conda_plan(spot: Spot) -> Iterator[Said]:
    """What conda is about to install: ``pytorch::pytorch-2.1.0-py3.10_cuda11.8_cudnn8.7.0_0``."""
    if planned := _CONDA_PLAN.findall(spot.text):
        version, build = planned[-1]
        yield from _conda_torch(version, build, spot)
    elif match := _CONDA_EXPORT.match(spot.text) or _MAMBA_PLAN.match(spot.text):
        yield from _conda_torch(match[1], match[2], spot)


def _conda_torch(version: str, build: str, spot: Spot) -> Iterator[Said]:
    package = Package(name="pytorch", version=version, owner="conda", build=build)
    yield Said("packages", Packages((package,)), spot.source)
    yield from torch_said(version, spot.source)
    yield Said("torch.owner", "conda", spot.source)


def _pinned(spot: Spot) -> Iterator[Said]:
    """What conda's solver holds on to is what is installed."""
    for line in spot.following(6):
        if match := _PINNED.match(line.strip()):
            yield Said("python.tag", PythonTag.parse(match[1]), spot.source)
            return


_ASKED = ("Because torch==", "that torch==", "`torch==", "`torch` (v")
_POETRY = r".{0,200}?(?:installation candidates for torch|pypoetry)"
RECOGNISERS = (
    Recogniser(r"\s*Looking in (?:indexes|links): ", _indexes, "looking", keeps=True),
    Recogniser(r".{0,40}?(?:Collecting|distribution found for) torch==", _collecting, words=(" torch==",), keeps=True),
    Recogniser(r".{0,80}?Could not find a version", _offered, words=("(from versions: ",), keeps=True),
    Recogniser(r".{0,300}?is not a supported wheel", _unsupported, words=("not a supported wheel",), keeps=True),
    Recogniser(r".{0,200}?requires a different Python: ", _other_python, words=("a different Python: ",), keeps=True),
    Recogniser(r"\s*pip \d\S* from ", _pip_itself, "pip"),
    Recogniser(r".{0,80}?Using C?Python \d", _using, words=("Using Python ", "Using CPython "), keeps=True),
    Recogniser(r".{0,80}?hint: ", _uv_hint, words=("hint: You",), keeps=True),
    Recogniser(r".{0,200}?torch(?:==|` \(v)\d", _uv_asked, words=_ASKED, keeps=True),
    Recogniser(_POETRY, _poetry, words=("candidates for torch", "pypoetry"), keeps=True),
    Recogniser(r".{0,80}?package pytorch-\d", _conda_asked, words=("package pytorch-",), keeps=True),
    Recogniser(r".{0,200}?::pytorch-\d", _conda_plan, words=("::pytorch-",), keeps=True),
    Recogniser(
        r"\s*(?:-\s+(?:\S+::)?pytorch=|\+ pytorch\s)", _conda_plan, "pytorch", words=("::pytorch=",), keeps=True
    ),
    Recogniser(r".{0,80}?Currently pinned specs:", _pinned, words=("Currently pinned specs",), keeps=True),
)
