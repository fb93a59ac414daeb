"""The facts every check reads: what is on a host, whether it was asked live or pasted by a stranger.

A fact is a value, or ``None`` (looked: there is none), or ``Unknown`` (not in this recording). The dotted path of a
fact (``driver.version``, ``gpus[].compute_capability``) is its name in reports, policies and error tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from torchdoctor.known import NotKnownError, NotThereError, Unknown, is_known, known, need, value_or
from torchdoctor.records import field, record
from torchdoctor.values import Build, CudaVersion, DriverVersion, GfxId, GpuArch, Libc, PythonTag, Version

if TYPE_CHECKING:
    from torchdoctor.findings import Prediction
    from torchdoctor.inside import DeviceCode, Linked, OwnTable, Torn
    from torchdoctor.intent import Ignore, Requirement


# What torchdoctor.known defines is asked of this module too.
__all__ = [
    "FROM_OUTSIDE", "Compute", "Cpu", "Driver", "ErrorText", "Exhausted", "Facts", "Gpu", "Inside", "Memory",
    "NotKnownError", "NotThereError", "Os", "Package", "Packages", "Place", "Probe", "Python", "Quoted", "Request",
    "Toolkit", "Tools", "Torch", "Trial", "Unknown", "Variables", "is_known", "known", "need", "value_or",
    "without_digits",
]  # fmt: skip


@record(frozen=True, slots=True, kw_only=True)
class Os:
    """The operating system of the examined host."""

    name: str | None | Unknown = Unknown("operating system")  # linux, windows, macos
    version: str | None | Unknown = Unknown("operating system version")  # 22.04, 14.5, 10.0.22631
    distribution: str | None | Unknown = Unknown("operating system release name")  # Ubuntu 22.04.4 LTS
    kernel: str | None | Unknown = Unknown("kernel release")
    machine: str | None | Unknown = Unknown("machine architecture")  # x86_64, aarch64, arm64 (values.canonical_machine)
    libc: Libc | None | Unknown = Unknown("C library")
    vc_runtime: Version | None | Unknown = Unknown("Visual C++ runtime")  # 14.44.35211, as Windows registers it
    long_paths: bool | None | Unknown = Unknown("state of long paths in Windows")


@record(frozen=True, slots=True, kw_only=True)
class Place:
    """What kind of place the host is: these decide who can fix a fault and how."""

    container: str | None | Unknown = Unknown("container kind")  # docker, docker-desktop, podman, kubernetes ...
    container_asks_gpu: bool | None | Unknown = Unknown("GPU request of the container")
    image_build: bool | None | Unknown = Unknown("image build state")
    wsl: int | None | Unknown = Unknown("WSL version")  # 1 or 2
    jetpack: str | None | Unknown = Unknown("JetPack version")  # 6.2; None on anything but a Jetson
    l4t: str | None | Unknown = Unknown("Jetson Linux release")  # 36.4.3
    virtual_machine: str | None | Unknown = Unknown("hypervisor")
    scheduler: str | None | Unknown = Unknown("job scheduler")  # slurm, pbs, lsf: inside a job or on a node of one
    job_asks_gpu: bool | None | Unknown = Unknown("GPU request of the job")
    service: str | None | Unknown = Unknown("hosted service")  # colab-notebook, kaggle-notebook, github-runner
    sandbox: str | None | Unknown = Unknown("kind of sandbox")  # flatpak, snap, seatbelt
    rosetta: bool | None | Unknown = Unknown("state of Rosetta translation")
    project: str | None | Unknown = Unknown("tool of the project")  # uv-project, poetry, pdm, pixi, hatch, conda, uv
    project_folder: str | None | Unknown = Unknown("folder of the project")  # known where it is not the current one
    venvs: tuple[str, ...] | None | Unknown = Unknown("list of environments in the current folder")  # .venv, .venv-2
    venv: str | None | Unknown = Unknown("maker of the .venv")  # own: the examined Python; other; None: no environment


@record(frozen=True, slots=True, kw_only=True)
class Cpu:
    """The processor."""

    model: str | None | Unknown = Unknown("CPU model")
    flags: frozenset[str] | None | Unknown = Unknown("list of CPU instruction sets")
    count: int | None | Unknown = Unknown("CPU count")  # usable by this process
    quota: int | None | Unknown = Unknown("CPU quota of the control groups")  # whole processors, rounded up
    visible: int | None | Unknown = Unknown("count of visible CPUs")  # what programs count, whatever the quota
    nodes: int | None | Unknown = Unknown("count of NUMA nodes")


@record(frozen=True, slots=True, kw_only=True)
class Memory:
    """Host memory, in bytes."""

    total: int | None | Unknown = Unknown("size of the host memory")
    available: int | None | Unknown = Unknown("size of the free host memory")
    limit: int | None | Unknown = Unknown("cgroup memory limit")
    shm: int | None | Unknown = Unknown("size of /dev/shm")


@record(frozen=True, slots=True, kw_only=True)
class Python:
    """The examined interpreter."""

    version: Version | None | Unknown = Unknown("Python version")  # 3.12.3
    tag: PythonTag | None | Unknown = Unknown("Python ABI")  # 3.12, 3.13t
    implementation: str | None | Unknown = Unknown("Python implementation")  # cpython, pypy
    bits: int | None | Unknown = Unknown("Python word size")  # 64 or 32
    machine: str | None | Unknown = Unknown("architecture of the interpreter")
    executable: str | None | Unknown = Unknown("path of the interpreter")
    command: str | None | Unknown = Unknown("command that starts the interpreter")  # what --python was given
    environment: str | None | Unknown = Unknown("kind of environment")  # venv, conda, conda-base, system
    externally_managed: bool | None | Unknown = Unknown("externally-managed mark")
    has_pip: bool | None | Unknown = Unknown("presence of pip")
    chosen_because: str | None | Unknown = Unknown("reason for choosing the interpreter")
    other: str | None | Unknown = Unknown("list of other interpreters")
    prefix_length: int | None | Unknown = Unknown("length of the site-packages path")


@record(frozen=True, slots=True, kw_only=True)
class Torch:
    """The installed torch, read without importing it. ``installed`` False: looked, and there is none."""

    installed: bool | None | Unknown = Unknown("presence of torch")
    version: str | None | Unknown = Unknown("torch version")  # public part: 2.14.1, 2.10.0a0+... stays in `full`
    full: str | None | Unknown = Unknown("full torch version")  # as printed: 2.14.1+cu130
    build: Build | None | Unknown = Unknown("torch build")  # cu130, cpu, rocm7.2, xpu, mps
    cuda: CudaVersion | None | Unknown = Unknown("CUDA version of the torch build")
    hip: str | None | Unknown = Unknown("HIP version of the torch build")
    arch_list: tuple[str, ...] | None | Unknown = Unknown("architecture list of the torch build")  # sm_75 ...
    owner: str | None | Unknown = Unknown("installer of torch")  # pip, uv, conda, poetry ...
    origin: str | None | Unknown = Unknown("origin of the torch wheel")  # pypi, pytorch, nvidia, jetson, source
    locations: tuple[str, ...] | None | Unknown = Unknown("place of torch")  # every copy on the path, first wins
    shadowed_by: str | None | Unknown = Unknown("list of files that shadow torch")
    cuda_available: bool | None | Unknown = Unknown("answer of torch.cuda.is_available()")
    requires: tuple[str, ...] | None | Unknown = Unknown("requirement list of torch")  # Requires-Dist lines
    wheel_tag: str | None | Unknown = Unknown("wheel tag of torch")
    requested: str | None | Unknown = Unknown("torch version asked of an installer")  # not what is installed
    offered: tuple[str, ...] | None | Unknown = Unknown("list of offered torch versions")  # pip's "from versions:"
    indexes: tuple[str, ...] | None | Unknown = Unknown("list of asked package indexes")
    refused: str | None | Unknown = Unknown("reason why no torch was offered")  # index, python, system
    used_by: str | None | Unknown = Unknown("framework that uses torch")  # of those that accept one torch alone


@record(frozen=True, slots=True, kw_only=True)
class Driver:
    """The NVIDIA driver of the host. ``version`` None: looked, and no driver is loaded."""

    version: DriverVersion | None | Unknown = Unknown("NVIDIA driver version")  # the kernel's; in WSL that of Windows
    source: str | None | Unknown = Unknown("source of the driver version")  # nvml, nvidia-smi, proc, sys, pasted
    cuda_shown: CudaVersion | None | Unknown = Unknown("CUDA version of libcuda")  # a compat library changes it
    flavour: str | None | Unknown = Unknown("kind of kernel module")  # open, proprietary
    module_loaded: bool | None | Unknown = Unknown("state of the nvidia module")
    uvm_loaded: bool | None | Unknown = Unknown("state of the nvidia-uvm module")
    module_on_disk: DriverVersion | None | Unknown = Unknown("nvidia module on disk")  # built for the running kernel
    library_version: DriverVersion | None | Unknown = Unknown("version of the driver libraries")
    libcuda: str | None | Unknown = Unknown("path of libcuda")
    device_nodes: tuple[str, ...] | None | Unknown = Unknown("list of NVIDIA device nodes")
    device_access: bool | None | Unknown = Unknown("access to the NVIDIA device nodes")
    smi: str | None | Unknown = Unknown("outcome of nvidia-smi")  # an outcome of compat_tables/nvidia_smi_outcomes.csv
    secure_boot: bool | None | Unknown = Unknown("state of Secure Boot")
    kernel_log: tuple[str, ...] | None | Unknown = Unknown("kernel log of the GPU driver")
    fabric: str | None | Unknown = Unknown("state of the NVSwitch fabric")  # Completed, In Progress, Not Started ...
    linux_driver_in_wsl: bool | None | Unknown = Unknown("list of Linux driver packages inside WSL")


@record(frozen=True, slots=True, kw_only=True)
class Gpu:
    """One GPU of the host, known by its driver, by the PCI bus, or by name alone."""

    vendor: str | None | Unknown = Unknown("GPU vendor")  # nvidia, amd, intel, apple
    name: str | None | Unknown = Unknown("GPU name")
    compute_capability: GpuArch | None | Unknown = Unknown("compute capability")
    gfx: GfxId | None | Unknown = Unknown("gfx id")
    pci_id: str | None | Unknown = Unknown("PCI device id")  # four hex digits, upper case: 2684
    pci_address: str | None | Unknown = Unknown("PCI address")  # 0000:01:00.0
    memory: int | None | Unknown = Unknown("GPU memory")  # bytes
    memory_free: int | None | Unknown = Unknown("free GPU memory")  # when the tool was asked
    power_limit: int | None | Unknown = Unknown("power limit of the GPU")  # watts, in force
    clock_limit: int | None | Unknown = Unknown("highest clock of the GPU")  # MHz
    pcie_width: int | None | Unknown = Unknown("width of the GPU's PCIe link")  # lanes in use
    firmware: str | None | Unknown = Unknown("firmware of the GPU")  # version of its VBIOS
    kernel_driver: str | None | Unknown = Unknown("kernel driver bound to the GPU")  # nvidia, nouveau, vfio-pci, amdgpu
    driver_sees: bool | None | Unknown = Unknown("driver's view of this GPU")
    mig: str | None | Unknown = Unknown("MIG mode")  # enabled, disabled, enabled-without-instance
    sick: str | None | Unknown = Unknown("health of the GPU")  # ERR!, lost, requires reset; None = healthy


@record(frozen=True, slots=True, kw_only=True)
class Compute:
    """What GPUs of AMD's and Intel's need of the host. None: looked, and it is not there."""

    kfd: str | None | Unknown = Unknown("access to /dev/kfd")  # open, closed
    render: str | None | Unknown = Unknown("access to the render nodes")  # open, closed: one of them is
    amdgpu: str | None | Unknown = Unknown("version of AMD's kernel driver")  # of AMD's package; None: the kernel's own
    rocm: str | None | Unknown = Unknown("ROCm of the system")  # 7.2.0; wheels bring their own
    level_zero: str | None | Unknown = Unknown("Level Zero loader")  # path
    level_zero_driver: str | None | Unknown = Unknown("Level Zero driver")  # path of libze_intel_gpu


@record(frozen=True, slots=True, kw_only=True)
class Toolkit:
    """One CUDA toolkit found on the host."""

    cuda: CudaVersion
    path: str
    has_nvcc: bool = False


@record(frozen=True, slots=True, kw_only=True)
class Tools:
    """What is needed only to compile: CUDA toolkits and host compilers."""

    nvcc: CudaVersion | None | Unknown = Unknown("version of nvcc")  # the nvcc that wins
    nvcc_path: str | None | Unknown = Unknown("path of nvcc")
    toolkits: tuple[Toolkit, ...] | None | Unknown = Unknown("list of CUDA toolkits")
    gcc: Version | None | Unknown = Unknown("gcc version")
    clang: Version | None | Unknown = Unknown("clang version")
    msvc: int | None | Unknown = Unknown("MSVC version")  # the number behind _MSC_VER: 1942
    python_headers: bool | None | Unknown = Unknown("presence of Python headers")
    compiling: bool | None | Unknown = Unknown("intent to compile an extension")
    torch_compile: bool | None | Unknown = Unknown("intent to use torch.compile")


@record(frozen=True, slots=True, kw_only=True)
class Package:
    """One installed distribution."""

    name: str  # normalised: lower case, hyphens
    version: str
    owner: str | None | Unknown = Unknown("installer of the package")  # pip, conda, uv
    build: str | None | Unknown = Unknown("build string of the package")  # conda's
    location: str | None | Unknown = Unknown("place of the package")
    requires: tuple[str, ...] | None | Unknown = Unknown("requirement list of the package")  # Requires-Dist lines
    only_torchs: bool = False  # nothing but torch needs it, nobody asked for it: looked for where torch may be replaced


@record(frozen=True, slots=True)
class Packages:
    """Installed distributions; ``complete`` when the list names all of them."""

    items: tuple[Package, ...] = ()
    complete: bool = False

    def find(self, name: str) -> Package | None | Unknown:
        """Return the first package of that name; None only when the list is complete."""
        for item in self.items:
            if item.name == name:
                return item
        return None if self.complete else Unknown(f"presence of {name}")


@record(frozen=True, slots=True)
class Variables:
    """Environment variables of the allow-list; ``complete`` when a missing name means the variable is not set."""

    values: Mapping[str, str] = field(default_factory=dict)
    complete: bool = False

    def get(self, name: str) -> str | None | Unknown:
        """Return the value; None only when the environment itself was read."""
        if name in self.values:
            return self.values[name]
        return None if self.complete else Unknown(f"environment variable {name}")


@record(frozen=True, slots=True, kw_only=True)
class Probe:
    """One smoke test of one device: what it proves and how it went."""

    id: str
    device: str
    library: str = ""
    outcome: str = "passed"  # passed, failed, skipped
    seconds: float = 0.0
    error: str | None = None
    reason: str | None = None
    values: Mapping[str, object] = field(default_factory=dict)


# Signals that no crash sends: a user, a scheduler, a terminal that closed, or a limit of time or size.
FROM_OUTSIDE = frozenset({
    "SIGTERM", "SIGKILL", "SIGALRM", "SIGXCPU", "SIGXFSZ", "SIGHUP", "SIGINT", "SIGQUIT", "SIGUSR1", "SIGUSR2",
    "SIGVTALRM", "SIGPROF",
})  # fmt: skip


@record(frozen=True, slots=True, kw_only=True)
class Trial:
    """What happened when torch was imported and used in a child process; all unknown where nobody tried."""

    imported: bool | None | Unknown = Unknown("result of importing torch")
    import_seconds: float | None | Unknown = Unknown("duration of the import of torch")
    error: str | None | Unknown = Unknown("error of the import of torch")
    library: str | None | Unknown = Unknown("library that failed the import of torch")
    stage: str | None | Unknown = Unknown("stage in which the trial ended")  # None: it went through
    signal: str | None | Unknown = Unknown("signal that ended the trial")
    timed_out: bool | None | Unknown = Unknown("deadline of the trial")
    waited: float | None | Unknown = Unknown("time that the import was given")  # seconds, where it did not end
    interrupted: bool | None | Unknown = Unknown("interruption of the trial")
    oom_killed: bool | None | Unknown = Unknown("kill of the trial for want of memory")
    hidden_by: str | None | Unknown = Unknown("file that hides a standard module")
    init: str | None | Unknown = Unknown("result of starting the devices")  # passed, failed, no-device
    init_code: int | None | Unknown = Unknown("number that CUDA answered")
    init_error: str | None | Unknown = Unknown("error of starting the devices")
    probes: tuple[Probe, ...] | None | Unknown = Unknown("result of the smoke tests")
    repro: Mapping[str, object] | None | Unknown = Unknown("judgement of reproducibility")
    bench: tuple[Mapping[str, object], ...] | None | Unknown = Unknown("result of the benchmark")  # of target/bench.py


@record(frozen=True, slots=True, kw_only=True)
class Inside:
    """What the installed files themselves say, read without importing one; unknown where nobody looked."""

    code: tuple[DeviceCode, ...] | None | Unknown = Unknown("device code of the installed libraries")
    linked: tuple[Linked, ...] | None | Unknown = Unknown("list of libraries that the loader would find")
    torn: tuple[Torn, ...] | None | Unknown = Unknown("state of the installed files")  # of sound wheels no row
    own_table: OwnTable | None | Unknown = Unknown("table of device code in torch's source")


@record(frozen=True, slots=True, kw_only=True)
class Exhausted:
    """What an "out of memory" says of the GPU's memory, in bytes; torch counts its own cache as ``reserved``."""

    tried: int | None | Unknown = Unknown("size of the allocation")
    total: int | None | Unknown = Unknown("capacity of the GPU")
    free: int | None | Unknown = Unknown("free GPU memory at the failure")
    others: int | None | Unknown = Unknown("GPU memory of other processes")
    allocated: int | None | Unknown = Unknown("memory that torch allocated")
    reserved: int | None | Unknown = Unknown("memory that torch reserved")  # the allocated part included


def without_digits(text: str) -> str:
    """A text but for its digits."""
    return text.translate(dict.fromkeys(map(ord, "0123456789")))


@record(frozen=True, slots=True)
class ErrorText:
    """A known error quoted in a text: the entry of known_errors.toml, the line, where it stands, what it names.

    ``doubtful`` marks a quotation in documentation or in an answer to somebody else, not the error of this host.
    An error that says the same over and over is one, seen so many ``times``.
    """

    id: str
    text: str
    source: str
    values: Mapping[str, str] = field(default_factory=dict)  # the pattern's named groups
    doubtful: bool = False
    memory: Exhausted | None = None  # the numbers of an "out of memory"
    times: int = 1

    @property
    def wording(self) -> str:
        """The line but for its digits: steps, times and addresses make no other error of it."""
        return without_digits(self.text)


@record(frozen=True, slots=True)
class Quoted:
    """What a text quotes: the known errors in their order, and the last line that looks like an error."""

    errors: tuple[ErrorText, ...] = ()
    last_error: str = ""
    unread: int = 0  # bytes in the middle of a text that was too long


@record(frozen=True, slots=True, kw_only=True)
class Request:
    """What the user wants of this host: intent, not a fact of it."""

    require_gpu: bool = False
    gpu_from: str = ""  # the option, file or variable that requires it
    baseline: object = None  # a torchdoctor.benchmark_figures.BenchResult of an earlier run
    requires: tuple[Requirement, ...] = ()
    ignores: tuple[Ignore, ...] = ()
    select: tuple[str, ...] = ()  # patterns of ids; where there are any, other findings are set aside
    today: str = ""  # of ISO form
    targets: tuple[Prediction, ...] = ()  # what is foretold for the hosts that were asked about


@record(frozen=True, slots=True, kw_only=True)
class Facts:
    """Everything a check may know. ``sources`` maps a dotted path to where its value was read."""

    os: Os = Os()
    place: Place = Place()
    cpu: Cpu = Cpu()
    memory: Memory = Memory()
    python: Python = Python()
    torch: Torch = Torch()
    driver: Driver = Driver()
    compute: Compute = Compute()
    tools: Tools = Tools()
    trial: Trial = Trial()
    inside: Inside = Inside()
    gpus: tuple[Gpu, ...] | None | Unknown = Unknown("list of GPUs")  # () = looked, none
    packages: Packages = Packages()
    env: Variables = Variables()
    exhausted: Exhausted = Exhausted()
    quoted: Quoted = Quoted()
    request: Request = Request()
    sources: Mapping[str, str] = field(default_factory=dict)

    def source(self, path: str) -> str:
        """Where the fact of this dotted path was read, or an empty string."""
        return self.sources.get(path, "")
