"""Live hosts in the states that an install may start from, and the whole way from their facts to the lines."""

from __future__ import annotations

from typing import NamedTuple

from torchdoctor.facts import Driver, Facts, Gpu, Os, Package, Packages, Place, Python, Torch, Unknown
from torchdoctor.prescribe.choose import Choice, already_right, choose
from torchdoctor.prescribe.conditions import Wish
from torchdoctor.prescribe.described import with_backend
from torchdoctor.prescribe.host import host_of
from torchdoctor.prescribe.install import Install, install_of
from torchdoctor.prescribe.writers import choose_for
from torchdoctor.prescribe.writing import UNNAMED, Writing, writing_for
from torchdoctor.tables import Tables
from torchdoctor.values import Build, DriverVersion, GfxId, GpuArch, Libc, PythonTag, Version

TABLES = Tables()
VENV_PYTHON = "/w/app/.venv/bin/python"
SYSTEMS = {
    "linux": Os(name="linux", machine="x86_64", libc=Libc.parse("glibc-2.35"), version="22.04"),
    "windows": Os(name="windows", machine="x86_64", libc=None, version="10.0.22631"),
    "macos": Os(name="macos", machine="arm64", libc=None, version="15.1"),
}
NVIDIA = Gpu(
    vendor="nvidia",
    name="NVIDIA GeForce RTX 4090",
    compute_capability=GpuArch.parse("8.9"),
    driver_sees=True,
    kernel_driver="nvidia",
)
RADEON = Gpu(vendor="amd", name="AMD Radeon RX 7900 XTX", gfx=GfxId.parse("gfx1100"))


class Live(NamedTuple):
    """A live host: what is installed is written as pip lists it; a star marks what nothing but torch needs.

    ``driver`` None: there is none, nor a GPU. ``project`` is the tool that was seen to keep the project.
    """

    packages: str = ""
    driver: str | None = "550.54.15"
    gpu: Gpu = NVIDIA
    os: str = "linux"
    build: str = ""  # of a torch whose version does not say
    owners: str = "pip"
    conda: str = ""  # conda's own packages
    environment: str = "venv"
    executable: str = VENV_PYTHON
    command: str = VENV_PYTHON
    has_pip: bool = True
    managed: bool = False
    project: str | None = None
    python: str = "3.12"
    left: bool = False  # torch is listed alone: its files are gone

    @property
    def facts(self) -> Facts:
        """What is known of it."""
        has_gpu = self.driver is not None or self.gpu.vendor != "nvidia"
        return Facts(
            os=SYSTEMS[self.os],
            place=Place(
                container=None, image_build=False, wsl=None, jetpack=None, l4t=None, scheduler=None, sandbox=None,
                project=self.project,
            ),
            python=Python(
                version=Version.parse(f"{self.python}.3"),
                tag=PythonTag.parse(self.python),
                executable=self.executable,
                command="\n".join(self.command.split(" ")),
                environment=self.environment,
                externally_managed=self.managed,
                has_pip=self.has_pip,
                other=None,
            ),
            torch=self.torch,
            driver=Driver(version=DriverVersion.parse(self.driver) if self.driver else None),
            gpus=(self.gpu,) if has_gpu else (),
            packages=Packages((*_packages(self.packages, self.owners), *_packages(self.conda, "conda")), complete=True),
        )  # fmt: skip

    @property
    def torch(self) -> Torch:
        """The torch of its packages; conda's where pip has none."""
        found = next((item for item in _packages(self.packages, self.owners) if item.name == "torch"), None)
        owner = self.owners if found else "conda"
        found = found or next((item for item in _packages(self.conda, "conda") if item.name == "pytorch"), None)
        if self.left:
            return Torch(installed=False, locations=())
        if found is None:
            return Torch(installed=False, version=None, full=None, build=None, owner=None)
        public, _, label = found.version.partition("+")
        build = Build.parse(label or self.build)
        full = found.version if label or not build.cuda or owner == "conda" else f"{public}+{build}"
        return Torch(installed=True, version=public, full=full, build=build, cuda=build.cuda, owner=owner)

    def install(
        self,
        tool: str = "",
        shell: str = "",
        wish: Wish | None = None,
        python: tuple[str, ...] = UNNAMED,
        taken: frozenset[str] | None = None,
    ) -> Install:
        """The whole way of install-cmd."""
        facts, wish = self.facts, wish or Wish()
        host = host_of(facts, TABLES)
        writing = writing_for(facts, Writing(python, tool, shell, asked=bool(tool), taken=taken))

        def chosen(known: Tables) -> Choice:
            return already_right(host, known, wish) or choose(host, with_backend(host, wish, known), known)

        choice, writing, known = choose_for(writing, TABLES, chosen)
        assert choice.runs, choice.refusal
        return install_of(choice, wish, writing, known)


def _packages(text: str, owner: str) -> tuple[Package, ...]:
    return tuple(_package(word.rstrip("*"), owner, is_spare=word.endswith("*")) for word in text.split())


def _package(pin: str, owner: str, *, is_spare: bool) -> Package:
    name, version = pin.split("==")
    build = Unknown("build string of the package")
    return Package(name=name, version=version, owner=owner, only_torchs=is_spare, build=build)
