"""Rules about the base image of a Dockerfile: its C library, its CUDA, and that a build sees no GPU."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchdoctor.findings import Finding, Remedy, Text
from torchdoctor.lint.knowledge import build_of, is_from_pypi, pypi_build, torch_versions
from torchdoctor.lint.model import Image, Pin, Run
from torchdoctor.lint.rules.registry import Judged, pinned, rule, written
from torchdoctor.values import Build, CudaVersion, Libc

_CODENAMES = ("buster", "bullseye", "bookworm", "trixie")
_DISTRIBUTIONS = {
    "ubuntu": "ubuntu",
    "debian": "debian",
    "centos": "centos",
    "rockylinux": "rocky linux",
    "almalinux": "almalinux",
    "amazonlinux": "amazon linux",
    "fedora": "fedora",
    "ubi": "red hat enterprise linux",
}
_IN_TAG = re.compile(r"(ubuntu|debian|centos|rockylinux|ubi|amazonlinux|fedora)(\d{1,2}(?:\.\d{2})?)")
_COMPAT = re.compile(r"/compat(?:/|:|$|\s)")
_AUTO = re.compile(r"--torch-backend[= ]auto\b|\bUV_TORCH_BACKEND=[\"']?auto\b")
_ASSERTS = re.compile(r"\bassert\s+torch\.cuda\.is_available\(\)|(?:^|&&|;)\s*nvidia-smi(?=\s*(?:$|&&|;|\n))")
_CUDA_WORDS = re.compile(
    r"\bnvcc\b|\bcmake\b|\bninja|setup\.py|--no-build-isolation|\bmake\b|CUDA_HOME|TORCH_CUDA_ARCH_LIST|git\+https|"
    r"\blibcudnn|\blibcublas|\blibnv|\bcuda-|\bcudnn|\btensorrt|_local\b"
)
# Installs of which the packages are not in the file.
_UNSEEN = re.compile(
    r"\b(?:uv|poetry|pdm|pixi|conda-lock)\s+(?:sync|install)\b|\benv\s+(?:create|update)\b|"
    r"\bpip[\d.]*\s+install\s+(?:-\S+\s+)*(?:[\"']?\.|-e\s|--editable)"
)
_CUDA_TAG = re.compile(r"(\d{1,2}\.\d{1,2})(?:\.\d+)?(?:-|$)")


def image_cuda(image: Image) -> CudaVersion | None:
    """The CUDA of a base image, by its name."""
    match = None
    if image.repository.endswith("nvidia/cuda"):
        match = _CUDA_TAG.match(image.tag)
    elif image.repository.endswith("pytorch/pytorch"):
        match = re.search(r"cuda(\d{1,2}\.\d{1,2})", image.tag)
    return CudaVersion.parse(match[1]) if match else None


def image_libc(image: Image, judged: Judged) -> Libc | None:
    """The C library of a base image, where its name tells the distribution."""
    releases, tag = judged.tables.os_releases, image.tag.lower()
    short = image.repository.rpartition("/")[2]
    if short == "alpine" or "alpine" in tag or "musllinux" in short:
        return releases.libc("alpine linux")
    found = _IN_TAG.search(tag)
    name, number = (found[1], found[2]) if found else (short, re.split(r"[-.]", tag)[0])
    if not found and short in {"ubuntu", "fedora"}:
        number = tag.partition("-")[0]
    if name in _DISTRIBUTIONS:
        return releases.libc(f"{_DISTRIBUTIONS[name]} {number}")
    code = next((word for word in _CODENAMES if word in tag), "")
    return releases.libc(f"debian {code}") if code else None


@rule("glibc-too-old", severity="error")
def image_with_an_old_libc(judged: Judged) -> Iterator[Finding]:
    """The base image's C library is older than torch's wheels need, or none that they know."""
    image = judged.group.image
    libc = image_libc(image, judged) if image and image.name else None
    if image is None or libc is None:
        return
    for pin in judged.group.find("torch"):
        versions = torch_versions(pin, judged.tables)
        rows = [row for row in judged.tables.torch_builds.for_host("linux", "x86_64") if row.torch in (versions or ())]
        least = min((row.glibc_min for row in rows if row.glibc_min), default=None)
        is_old = libc.version is not None and least is not None and libc.version < least
        if versions and least and (libc.kind == "musl" or is_old):
            yield Finding(
                summary=Text(
                    "{image} has {libc}; torch{spec} needs glibc {least}",
                    image=image.name,
                    libc=libc,
                    spec=pin.spec,
                    least=least,
                ),
                why=Text("the wheels are linked to that C library, and no newer one can be put into this image"),
                evidence=(written(f"FROM {image.name}", str(image.place)), pinned(pin)),
                remedies=(
                    Remedy(Text("Start from a Debian or Ubuntu image with glibc {least} or newer", least=least)),
                ),
                place=image.place,
            )


def torch_build(judged: Judged) -> tuple[Pin, Build] | None:
    """The torch that pip puts into a stage, and its build where that is known."""
    for world in judged.with_torch:
        pin = world.find("torch")
        if pin is None:
            continue
        build = build_of(pin, judged.group, world, judged.tables)
        if build is None and pin.exact and is_from_pypi(pin, judged.group, world, judged.tables):
            build = pypi_build(pin.exact, world, judged.tables)
        if build:
            return pin, build
    return None


@rule("base-image-cuda", severity="info")
def base_image_cuda(judged: Judged) -> Iterator[Finding]:
    """An image starts from CUDA's and installs torch wheels, which bring their own."""
    image = judged.group.image
    cuda = image_cuda(image) if image and image.repository.endswith("nvidia/cuda") else None
    pin = next(iter(judged.group.find("torch")), None)
    if image is None or cuda is None or pin is None or not image.is_last or _may_use_its_cuda(judged):
        return
    build = torch_build(judged)
    theirs = build[1].cuda if build else None
    is_higher = theirs is not None and cuda.major > theirs.major
    floor = judged.tables.cuda_drivers.exact(cuda, "linux")
    if image.env.get("NVIDIA_DISABLE_REQUIRE"):
        is_higher = False
    if is_higher:
        summary = Text(
            "CUDA {cuda} in the base image asks for a newer driver than torch's {build}",
            cuda=cuda,
            build=build[1] if build else "",
        )
    else:
        summary = Text("torch's wheels bring their own CUDA: that of {image} is not used", image=image.name)
    yield Finding(
        summary=summary,
        why=Text(
            "the image sets NVIDIA_REQUIRE_CUDA: a container of it does not start where the driver is older than CUDA "
            "{cuda} ({floor}), whatever torch needs",
            cuda=cuda,
            floor=f"driver {floor}" if floor else "its driver",
        ),
        evidence=(written(f"FROM {image.name}", str(image.place)), pinned(pin)),
        remedies=(
            Remedy(
                Text("Start from a plain Python or Ubuntu image; CUDA's is for what is compiled there"),
                (f"FROM python:{judged.group.python.spec if judged.group.python else _newest(pin, judged)}-slim",),
            ),
        ),
        severity="warning" if is_higher else "info",
        place=image.place,
    )


def _newest(pin: Pin, judged: Judged) -> str:
    """A Python for which the newest torch that the pin allows has wheels."""
    usual = judged.tables.pythons.current()[-2]
    newest = next(iter(torch_versions(pin, judged.tables) or ()), None)
    rows = judged.tables.torch_builds.for_host("linux", "x86_64")
    there = {tag for row in rows if row.torch == newest for tag in row.pythons if not tag.free_threaded}
    return str(usual if not there or usual in there else max(there))


def _may_use_its_cuda(judged: Judged) -> bool:
    """Whether anything in the stage may need the toolkit or the libraries of the image, or is not seen at all."""
    image = judged.group.image
    pins = (*judged.group.pins, *judged.group.beside)
    rows = (judged.tables.listed_packages.find(pin.name) for pin in pins)
    text = " ".join(one.text for one in image.lines) if image else ""
    named = any(row and (row.compiles or row.system_cuda) for row in rows)
    return named or not judged.group.is_complete or bool(_CUDA_WORDS.search(text) or _UNSEEN.search(text))


@rule("build-step-no-gpu", severity="warning")
def build_sees_no_gpu(judged: Judged) -> Iterator[Finding]:
    """A step of an image build looks for the GPU, and a build has none."""
    image = judged.group.image
    if image is None or not image.name:
        return
    variables = [
        Run(f"{name}={value}", place) for name, (value, place) in image.env.items() if name == "UV_TORCH_BACKEND"
    ]
    for one in (*image.lines, *variables):
        auto, asserts = _AUTO.search(one.text), _ASSERTS.search(one.text)
        found = auto or asserts
        if found is None or any("--device=" in line for _, line in one.lines):
            continue
        seen = found[0].strip("&; \n")
        yield Finding(
            summary=Text("{seen} in an image build, which has no GPU", seen=seen),
            why=Text("it takes the build for the CPU in silence") if auto else Text("the step fails on every builder"),
            evidence=(written(one.text, str(one.at(seen))),),
            remedies=(
                Remedy(Text("Name the build"), (f"--torch-backend={_default(judged)}",))
                if auto
                else Remedy(Text("Look at what is installed instead"), ("RUN torchdoctor check --static",)),
            ),
            severity="warning" if auto else "error",
            place=one.at(seen),
        )


def _default(judged: Judged) -> str:
    builds = judged.tables.torch_builds
    row = builds.pypi_default(builds.newest(), "linux", "x86_64")
    return row.build.name if row else "cpu"


@rule("compat-library-problem", severity="warning")
def compat_on_the_path(judged: Judged) -> Iterator[Finding]:
    """An image puts its forward-compatibility libcuda before the driver's own."""
    image = judged.group.image
    value, place = (image.env if image and image.name else {}).get("LD_LIBRARY_PATH", ("", None))
    if place and "cuda" in value and _COMPAT.search(value):
        yield Finding(
            summary=Text("LD_LIBRARY_PATH puts a cuda-compat library before the driver's own"),
            why=Text("on a GeForce, and with a driver newer than it, that library makes CUDA fail (804, 803, 100)"),
            evidence=(written(f"ENV LD_LIBRARY_PATH={value}", str(place)),),
            remedies=(Remedy(Text("Leave the folder out: NVIDIA's container runtime puts it there where it fits")),),
            place=place,
        )
