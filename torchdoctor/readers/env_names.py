"""The environment variables that may be in a report: one list for live hosts and for pasted texts."""

from __future__ import annotations

# A star stands for the rest of a name. No family here holds accounts, hosts or secrets; of those that do, single names.
NAMES = (
    "CUDA_*", "NVIDIA_*", "CUBLAS_*", "CUDNN_*", "NCCL_*", "TORCH_*", "TORCHINDUCTOR_*", "PYTORCH_*", "TRITON_*",
    "XLA_*", "HSA_*", "HIP_*", "ROCR_*", "ROCM_*", "AMD_SERIALIZE_*", "MIOPEN_*", "ZE_*", "ONEAPI_*", "SYCL_*",
    "IPEX_*", "OMP_*", "KMP_*", "MKL_*", "OPENBLAS_*", "GPU_DEVICE_ORDINAL", "ACCELERATE_TORCH_DEVICE",
    "LD_LIBRARY_PATH", "LD_PRELOAD", "PYTHONPATH", "PYTHONHOME", "PYTHONNOUSERSITE", "VIRTUAL_ENV", "CONDA_PREFIX",
    "CONDA_DEFAULT_ENV", "CONDA_SHLVL", "CONDA_OVERRIDE_CUDA", "CC", "CXX", "CUDAHOSTCXX", "NVCC_*", "MAX_JOBS",
    "FORCE_CUDA", "SLURM_JOB_ID", "SLURM_JOB_GPUS", "SLURM_STEP_GPUS", "SLURM_GPUS", "SLURM_GPUS_ON_NODE",
    "SLURM_CPUS_PER_TASK", "SLURM_MEM_PER_NODE", "PBS_JOBID", "PBS_NGPUS", "LSB_JOBID", "LSB_GPU_ALLOC",
    "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_CONSTRAINT", "PIP_REQUIRE_VIRTUALENV",
    "PIP_BREAK_SYSTEM_PACKAGES", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL", "UV_INDEX", "UV_DEFAULT_INDEX",
    "UV_INDEX_STRATEGY", "UV_FIND_LINKS", "UV_TORCH_BACKEND", "CI", "KUBERNETES_SERVICE_HOST", "APPTAINER_CONTAINER",
    "APPTAINER_NAME", "APPTAINER_NV", "SINGULARITY_CONTAINER", "SINGULARITY_NAME", "SINGULARITY_NV", "WSL_DISTRO_NAME",
    "BUILDAH_ISOLATION", "FLATPAK_ID", "SNAP", "CODEX_SANDBOX", "APP_SANDBOX_CONTAINER_ID", "container",
)  # fmt: skip

_WHOLE = frozenset(name for name in NAMES if not name.endswith("*"))
_BEGINNINGS = tuple(name[:-1] for name in NAMES if name.endswith("*"))


def is_listed(name: str) -> bool:
    """Whether a variable of this name may be in a report."""
    return name in _WHOLE or name.startswith(_BEGINNINGS)
