"""Places that stand between a host's GPUs and this process: containers, job schedulers, sandboxes, virtual machines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torchdoctor.checks.drivers import gpu_nodes
from torchdoctor.checks.registry import seen
from torchdoctor.facts import Facts, Gpu, known, value_or
from torchdoctor.findings import Evidence, Remedy, Text

KUBERNETES = "kubernetes"
_JOB = {"slurm": "SLURM_JOB_ID", "pbs": "PBS_JOBID", "lsf": "LSB_JOBID"}
_ALLOCATED = ("SLURM_JOB_GPUS", "SLURM_STEP_GPUS", "LSB_GPU_ALLOC")  # which GPUs the job got
_COUNTED = ("SLURM_GPUS", "SLURM_GPUS_ON_NODE", "PBS_NGPUS")  # how many
_HIDDEN_MASKS = frozenset({"", "-1", "NoDevFiles"})
_REFUSED_OUTCOMES = frozenset({"no-devices", "permission", "blocked"})
_ASK_SCHEDULER = {
    "slurm": "srun --gpus=1 nvidia-smi -L",
    "pbs": "qsub -I -l select=1:ngpus=1",
    "lsf": "bsub -I -gpu num=1 nvidia-smi -L",
}
_DOCKER = (
    Text("Start the container with the host's GPUs (in a Compose file: deploy.resources.reservations.devices)"),
    "docker run --gpus all IMAGE nvidia-smi -L",
)
_GIVE_CONTAINER = {
    "docker": _DOCKER,
    "podman": (
        Text("Start the container with the host's GPUs"),
        "podman run --device nvidia.com/gpu=all IMAGE nvidia-smi -L",
    ),
    KUBERNETES: (
        Text("Request nvidia.com/gpu in the pod's resource limits; this shows what the nodes offer"),
        "kubectl describe nodes",
    ),
    "apptainer": (Text("Start the container with the host's driver"), "apptainer exec --nv IMAGE nvidia-smi -L"),
    "lxc": (Text("Pass the GPU to the container"), "lxc config device add CONTAINER gpu gpu"),
}
# What no-GPU errors advise for Docker on Linux, in the words of the other kinds.
_STARTED_WITH_GPU = {
    "docker-desktop": "Start the container with the GPU (--gpus all). Docker Desktop needs its WSL 2 backend and the "
    "NVIDIA driver in Windows, and nothing for it inside WSL or the container.",
    "podman": "On the host install the NVIDIA Container Toolkit and have it list the GPUs (sudo nvidia-ctk cdi "
    "generate --output=/etc/cdi/nvidia.yaml). Then start the container with --device nvidia.com/gpu=all.",
    "apptainer": "Start the container with --nv (apptainer exec --nv IMAGE COMMAND), which passes on the host's "
    "driver, on a machine where nvidia-smi shows the GPU.",
}
_CONFIGURE = {
    "docker": ("sudo nvidia-ctk runtime configure --runtime=docker", "sudo systemctl restart docker"),
    "podman": ("sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml",),
}
_LOOK = {
    "windows": (Text("List the display adapters that Windows sees"), "pnputil /enum-devices /class Display"),
    "macos": (Text("List the graphics devices that macOS sees"), "system_profiler SPDisplaysDataType"),
}


def in_job(facts: Facts, scheduler: str) -> bool:
    """Whether this process belongs to a job; skip when the environment does not tell."""
    return known(facts.env.get(_JOB.get(scheduler, _JOB["slurm"]))) is not None


def is_confined(facts: Facts) -> bool:
    """Whether a sandbox or a job may hide GPUs from this process; a node outside of any job is not confined."""
    scheduler = value_or(facts.place.scheduler, "")
    in_some_job = facts.env.get(_JOB.get(scheduler, _JOB["slurm"])) is not None
    return bool(value_or(facts.place.sandbox, "")) or (bool(scheduler) and in_some_job)


def has_allocation(facts: Facts) -> bool:
    """Whether the scheduler is known to have given the job a GPU."""
    listed = any(value_or(facts.env.get(name), "") for name in _ALLOCATED)
    return listed or any(value_or(facts.env.get(name), "0") not in {"", "0"} for name in _COUNTED)


def withheld(facts: Facts, gpus: Sequence[Gpu]) -> Evidence | None:
    """Return what shows that GPUs which are there are kept from this process; skip when nothing tells either way."""
    driver, mask = facts.driver, value_or(facts.env.get("CUDA_VISIBLE_DEVICES"), None)
    if value_or(driver.smi, "") in _REFUSED_OUTCOMES:
        return seen(facts, "driver.smi", driver.smi)
    if driver.device_access is False:
        return seen(facts, "driver.device_access", driver.device_access)
    if gpus and all(gpu.driver_sees is False for gpu in gpus):
        return seen(facts, "gpus[].driver_sees", value=False)
    if mask is not None and mask.strip() in _HIDDEN_MASKS:
        return seen(facts, "env.CUDA_VISIBLE_DEVICES", mask)
    return None if gpu_nodes(facts) else seen(facts, "driver.device_nodes", "none of a GPU")


def ask_scheduler(scheduler: str) -> Remedy:
    """How a job asks this scheduler for a GPU."""
    return Remedy(
        Text("Ask for a GPU when submitting the job"), (_ASK_SCHEDULER.get(scheduler, _ASK_SCHEDULER["slurm"]),)
    )


def give_container_gpu(kind: str, otherwise: Text | None = None) -> Remedy:
    """How a container of this kind is started with its GPUs, in other words where it is not known to be one."""
    text, command = _GIVE_CONTAINER.get(kind, _DOCKER)
    return Remedy(otherwise or text, (command,))


def started_with_gpu(facts: Facts) -> str:
    """How a container of this kind gets its NVIDIA GPUs, where that is not the way of Docker on Linux."""
    return _STARTED_WITH_GPU.get(value_or(facts.place.container, ""), "")


def in_container(facts: Facts, otherwise: Remedy, in_pod: Text, field: str) -> Remedy:
    """The remedy of a container engine; in a pod what its specification says instead, and the field that says it."""
    if facts.place.container != KUBERNETES:
        return otherwise
    return Remedy(in_pod, (f"kubectl explain pod.spec.{field}",))


def configure_runtime(kind: str) -> Iterator[Remedy]:
    """What the host's administrator does when a container engine refuses to give GPUs."""
    if kind in _CONFIGURE:
        text = Text("If that is refused, install and configure the NVIDIA Container Toolkit on the host")
        yield Remedy(text, _CONFIGURE[kind], risk="changes-system")


def show_gpu(facts: Facts) -> Remedy:
    """Return the one command that would show or give a GPU in this kind of place."""
    kind, scheduler = value_or(facts.place.container, ""), value_or(facts.place.scheduler, "")
    if value_or(facts.place.image_build, False):
        text = Text("Look in the started container; an image build has no GPU")
        return give_container_gpu(kind, text)
    if scheduler:
        return ask_scheduler(scheduler)
    if kind:
        return give_container_gpu(kind)
    if value_or(facts.place.wsl, 0):
        return Remedy(Text("Ask Windows, whose driver serves WSL too"), ("nvidia-smi.exe -L",))
    if value_or(facts.place.virtual_machine, ""):
        return Remedy(
            Text("Attach a GPU to the virtual machine or choose a type that has one; this lists its devices"),
            ("lspci -nn",),
        )
    text, command = _LOOK.get(
        value_or(facts.os.name, ""), (Text("List what the system sees on its buses"), "lspci -nn")
    )
    return Remedy(text, (command,))
