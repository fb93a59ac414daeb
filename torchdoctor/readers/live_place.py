"""What kind of place a live host is: container, WSL, Jetson, virtual machine, cluster node, sandbox."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchdoctor.patterns import lazily
from torchdoctor.readers.answers import PYTHON, Answers
from torchdoctor.readers.live_env import ENV
from torchdoctor.readers.live_host import CPUINFO
from torchdoctor.readers.live_venv import VENV_MARK, kind_of_venv
from torchdoctor.readers.statement import Said
from torchdoctor.recording import Recording, Want

_CGROUP_WORDS = ("kubepods", "libpod", "docker", "containerd", "crio", "lxc", "buildkit")
DOCKERENV, APPTAINER, KANIKO = (
    Want("stat", ("/.dockerenv",)),
    Want("stat", ("/.singularity.d",)),
    Want("stat", ("/kaniko",)),
)
CONTAINERENV, SYSTEMD = Want("file", ("/run/.containerenv",)), Want("file", ("/run/systemd/container",))
CGROUP = Want("file", ("/proc/self/cgroup",), keep=_CGROUP_WORDS)
ROOT = Want("file", ("/proc/self/mountinfo",), keep=(" / rw", " / ro"))  # where the root folder comes from
HOSTS = Want("file", ("/etc/hosts",), keep=("buildkitsandbox",))  # the name BuildKit gives to the place of a build step
TEGRA = Want("file", ("/etc/nv_tegra_release",))
DMI = Want("files", ("/sys/class/dmi/id/sys_vendor",)), Want("files", ("/sys/class/dmi/id/product_name",))
XEN = Want("file", ("/sys/hypervisor/type",))
SLURM, PBS, LSF = (
    (Want("stat", ("/etc/slurm/slurm.conf",)), Want("stat", ("/run/slurm",)), Want("stat", ("/usr/bin/sinfo",))),
    (Want("stat", ("/etc/pbs.conf",)),),
    (Want("stat", ("/etc/lsf.conf",)),),
)
FLATPAK = Want("stat", ("/.flatpak-info",))
VENVS = Want("glob", ("./.venv*",))
WANTS = (
    PYTHON, ENV, CPUINFO, DOCKERENV, APPTAINER, KANIKO, CONTAINERENV, SYSTEMD, CGROUP, ROOT, HOSTS, TEGRA, *DMI, XEN,
    *SLURM, *PBS, *LSF, FLATPAK, VENVS, VENV_MARK,
)  # fmt: skip

# What a virtual machine's firmware calls itself -> its name here; metal of the same vendors has no hypervisor flag.
_HYPERVISORS = (
    ("vmware", "vmware"), ("virtualbox", "virtualbox"), ("innotek", "virtualbox"), ("parallels", "parallels"),
    ("amazon", "ec2"), ("google", "gce"), ("openstack", "openstack"), ("alibaba", "alibaba"), ("xen", "xen"),
    ("microsoft", "hyper-v"), ("bochs", "qemu"), ("kvm", "kvm"), ("qemu", "qemu"), ("digitalocean", "kvm"),
    ("apple virtualization", "apple"),
)  # fmt: skip
_JOBS = (("slurm", "SLURM_JOB_ID", SLURM), ("pbs", "PBS_JOBID", PBS), ("lsf", "LSB_JOBID", LSF))
_L4T = lazily(r"#\s*R(\d+)\s*\(release\),\s*REVISION:\s*([\d.]+)")


def read(recording: Recording) -> Iterator[Said]:
    """Every trait of the place that the host shows."""
    answers = Answers(recording)
    if answers.os_name == "linux":
        yield from _container(answers)
        yield from _wsl(answers)
        yield from _jetson(answers)
        yield from _virtual_machine(answers)
        yield from _scheduler(answers)
    else:
        for path in ("container", "wsl", "l4t", "jetpack", "scheduler"):
            yield Said(f"place.{path}", None, "interpreter")
    yield from _sandbox(answers)
    translated = (
        answers.os_name == "macos" and answers.said("machine") == "x86_64" and "ARM64" in answers.uname("version")
    )
    yield Said("place.rosetta", translated, "uname")
    if answers.looked(VENVS):
        yield Said("place.venvs", tuple(answers.names(VENVS)), "current folder")
    if answers.looked(VENV_MARK):
        yield Said("place.venv", kind_of_venv(answers), VENV_MARK.args[0])


def _container(answers: Answers) -> Iterator[Said]:
    kind, source = next(_container_signs(answers), ("", ""))
    if kind:
        yield Said("place.container", kind, source)
        build = next(_build_signs(answers), "")
        if build:
            yield Said("place.image_build", True, build)
    elif answers.looked(DOCKERENV) and answers.looked(CGROUP):
        yield Said("place.container", None, "/proc/self/cgroup")
        yield Said("place.image_build", False, "/proc/self/cgroup")


def _container_signs(answers: Answers) -> Iterator[tuple[str, str]]:
    env, cgroup = answers.texts(ENV), answers.text(CGROUP)
    if "KUBERNETES_SERVICE_HOST" in env or "kubepods" in cgroup:
        yield "kubernetes", "KUBERNETES_SERVICE_HOST" if "KUBERNETES_SERVICE_HOST" in env else "/proc/self/cgroup"
    if answers.table(APPTAINER) or any(
        name.startswith(("APPTAINER_", "SINGULARITY_")) and name.endswith(("_NAME", "_CONTAINER")) for name in env
    ):
        yield "apptainer", "/.singularity.d" if answers.table(APPTAINER) else "environment"
    if _there(answers, CONTAINERENV):
        yield "podman", CONTAINERENV.args[0]
    if answers.table(DOCKERENV) and not _root_is_a_disk(answers):
        yield "docker", DOCKERENV.args[0]
    yield from _words(cgroup, "/proc/self/cgroup")
    yield from _words(answers.text(SYSTEMD), SYSTEMD.args[0])
    yield from _words(env.get("container", ""), "container")
    yield from _words(answers.text(ROOT).partition(" - overlay ")[2], ROOT.args[0])
    if answers.text(HOSTS):
        yield "docker", HOSTS.args[0]


def _words(text: str, source: str) -> Iterator[tuple[str, str]]:
    """Container kinds by the folders and groups that their programs make."""
    kinds = (("libpod", "podman"), ("podman", "podman"), ("docker", "docker"), ("buildkit", "docker"), ("lxc", "lxc"))
    yield from ((kind, source) for word, kind in kinds if word in text)
    if any(word in text for word in ("containerd", "crio", "/containers/", "nspawn")):
        yield "container", source


def _root_is_a_disk(answers: Answers) -> bool:
    """Whether the whole root is a disk of its own: a virtual machine made of a container image keeps its files."""
    fields = answers.text(ROOT).split("\n")[-2:][0].split()
    source = fields[fields.index("-") + 2] if "-" in fields[:-2] else ""
    return source.startswith("/dev/") and "docker" not in source and fields[3] == "/"


def _build_signs(answers: Answers) -> Iterator[str]:
    if answers.text(HOSTS):
        yield HOSTS.args[0]
    if "buildkit" in answers.text(CGROUP):
        yield "/proc/self/cgroup"
    if answers.table(KANIKO):
        yield KANIKO.args[0]
    if "BUILDAH_ISOLATION" in answers.texts(ENV):
        yield "BUILDAH_ISOLATION"


def _there(answers: Answers, want: Want) -> bool:
    """Whether a file that may be empty is there."""
    answer = answers.recording.answer(want)
    return answer is not None and not answer.absent and not answer.error


def _wsl(answers: Answers) -> Iterator[Said]:
    release = answers.uname("release")
    if release:
        yield Said("place.wsl", (1 if release.endswith("-Microsoft") else 2) if answers.is_wsl else None, "uname")


def _jetson(answers: Answers) -> Iterator[Said]:
    match = _L4T.search(answers.text(TEGRA))
    if match:
        yield Said("place.l4t", f"{match[1]}.{match[2]}", TEGRA.args[0])
    elif answers.looked(TEGRA) and not answers.is_tegra:
        yield Said("place.l4t", None, TEGRA.args[0])
        yield Said("place.jetpack", None, TEGRA.args[0])


def _virtual_machine(answers: Answers) -> Iterator[Said]:
    firmware = " ".join(text.strip() for want in DMI for text in answers.texts(want).values())
    text = answers.texts(CPUINFO).get("/proc/cpuinfo", "")
    flagged = re.search(r"^flags\s*:.*\bhypervisor\b", text, re.MULTILINE) is not None
    name = next((name for word, name in _HYPERVISORS if word in firmware.lower()), "hyper-v" if answers.is_wsl else "")
    if flagged:
        yield Said(
            "place.virtual_machine",
            name or answers.text(XEN).strip() or "unnamed",
            "/sys/class/dmi/id" if name else "/proc/cpuinfo",
        )
    elif name in (
        "kvm",
        "qemu",
        "apple",
        "virtualbox",
        "vmware",
        "parallels",
    ):  # never made of metal; Arm has no such flag
        yield Said("place.virtual_machine", name, "/sys/class/dmi/id")
    elif re.search(r"^flags\s*:", text, re.MULTILINE):
        yield Said("place.virtual_machine", None, "/proc/cpuinfo")


def _scheduler(answers: Answers) -> Iterator[Said]:
    env = answers.texts(ENV)
    for name, variable, wants in _JOBS:
        node = next((want.args[0] for want in wants if answers.table(want)), "")
        if variable in env or node:
            yield Said("place.scheduler", name, variable if variable in env else node)
            return
    if answers.looked(ENV):
        yield Said("place.scheduler", None, "environment")


def _sandbox(answers: Answers) -> Iterator[Said]:
    env = answers.texts(ENV)
    if answers.table(FLATPAK) or "FLATPAK_ID" in env:
        yield Said("place.sandbox", "flatpak", FLATPAK.args[0])
    elif env.get("SNAP") and answers.said("executable").startswith((env["SNAP"], "/snap/")):
        yield Said("place.sandbox", "snap", "SNAP")
    elif env.get("CODEX_SANDBOX") == "seatbelt" or "APP_SANDBOX_CONTAINER_ID" in env:
        yield Said("place.sandbox", "seatbelt", "environment")
    elif answers.looked(ENV):
        yield Said("place.sandbox", None, "environment")
