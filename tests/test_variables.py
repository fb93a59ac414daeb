"""Single lines: variables, system tools, driver lines, ``Key: value`` lists, sessions, traces, installers, prose."""

from __future__ import annotations

import pytest
from reading import facts_from, seen, stored

from torchdoctor.tables import Tables

Row = tuple[str, dict[str, str]]


def env_of(text: str, tables: Tables) -> dict[str, str]:
    return dict(facts_from(text, tables=tables).env.values)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("CUDA_VISIBLE_DEVICES=1", {"CUDA_VISIBLE_DEVICES": "1"}),
        ('export LD_LIBRARY_PATH="/usr/local/cuda/lib64:"', {"LD_LIBRARY_PATH": "/usr/local/cuda/lib64:"}),
        ("ENV NVIDIA_VISIBLE_DEVICES all", {"NVIDIA_VISIBLE_DEVICES": "all"}),
        ("ENV NVIDIA_VISIBLE_DEVICES=all", {"NVIDIA_VISIBLE_DEVICES": "all"}),
        ("      - NVIDIA_DRIVER_CAPABILITIES=compute,utility", {"NVIDIA_DRIVER_CAPABILITIES": "compute,utility"}),
        ("      CUDA_VISIBLE_DEVICES: 0", {"CUDA_VISIBLE_DEVICES": "0"}),
        ("C:\\x> set CUDA_VISIBLE_DEVICES=-1", {"CUDA_VISIBLE_DEVICES": "-1"}),
        ("$env:PYTORCH_CUDA_ALLOC_CONF='expandable_segments:True'", {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}),
        ('os.environ["HSA_OVERRIDE_GFX_VERSION"] = "10.3.0"', {"HSA_OVERRIDE_GFX_VERSION": "10.3.0"}),
        ("$ CUDA_VISIBLE_DEVICES=1 python train.py --x", {"CUDA_VISIBLE_DEVICES": "1"}),
        ("$ echo $LD_LIBRARY_PATH\n/opt/x/lib", {"LD_LIBRARY_PATH": "/opt/x/lib"}),
        ('$ echo "$LD_LIBRARY_PATH"\n', {"LD_LIBRARY_PATH": ""}),
        # An empty answer may mean not set at all, and set to nothing hides every GPU: so it says nothing.
        ('$ echo "[$CUDA_VISIBLE_DEVICES]"\n[]', {}),
        ("$ echo $CUDA_VISIBLE_DEVICES\n$ ls", {}),
        ("PIP_INDEX_URL=https://me:secret@host/simple", {"PIP_INDEX_URL": "https://host/simple"}),
        ("For debugging consider passing CUDA_LAUNCH_BLOCKING=1", {}),
        ("Set TORCH_LOGS=\"+dynamo\" and TORCHDYNAMO_VERBOSE=1 for more", {}),
        ("MY_SECRET_TOKEN=abc", {}),
        ("export CUDA_HOME=$(dirname $(which nvcc))", {}),
        ("cuda_visible_devices=1", {}),
    ],
)
def test_variables(text: str, expected: dict[str, str], tables: Tables) -> None:
    assert env_of(text, tables) == expected


def test_the_environment_of_a_paste_is_never_complete(tables: Tables) -> None:
    assert not facts_from("CUDA_VISIBLE_DEVICES=1", tables=tables).env.complete


SYSTEM: list[Row] = [
    ("Linux box 6.8.0-45-generic #45-Ubuntu SMP Fri Aug 30 x86_64 x86_64 x86_64 GNU/Linux", {"os.kernel": "6.8.0-45-generic", "os.machine": "x86_64"}),
    ("Linux jetson 5.10.120-tegra #1 SMP PREEMPT aarch64 GNU/Linux", {"os.kernel": "5.10.120-tegra", "os.machine": "aarch64"}),
    ("$ uname -r\n5.15.133.1-microsoft-standard-WSL2", {"place.wsl": "2", "os.name": "linux"}),
    ("Kernel Version: 6.6.114.1-1", {"os.kernel": "6.6.114.1-1"}),
    ('PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"', {"os.distribution": "Debian GNU/Linux 12 (bookworm)", "os.libc": "glibc-2.36"}),
    ("Operating System: Ubuntu 22.04 LTS", {"os.version": "22.04", "os.libc": "glibc-2.35"}),
    ("Description:\tUbuntu 20.04.6 LTS", {"os.version": "20.04"}),
    ("ldd (Ubuntu GLIBC 2.31-0ubuntu9.9) 2.31", {"os.libc": "glibc-2.31", "os.name": "linux"}),
    ("musl libc (x86_64)", {"os.libc": "musl"}),
    ("Cuda compilation tools, release 12.6, V12.6.85", {"tools.nvcc": "12.6"}),
    ("bash: nvcc: command not found", {"tools.nvcc": "None"}),
    ("gcc (Ubuntu 13.3.0-6ubuntu2~24.04) 13.3.0", {"tools.gcc": "13.3.0"}),
    ("Ubuntu clang version 14.0.0-1ubuntu1.1", {"tools.clang": "14.0.0"}),
    ("Microsoft (R) C/C++ Optimizing Compiler Version 19.42.34435 for x64", {"tools.msvc": "1942"}),
    ("# df -h /dev/shm\nFilesystem      Size  Used Avail Use% Mounted on\nshm              64M   64M     0 100% /dev/shm", {"memory.shm": str(64 * 1024**2)}),
    ("tmpfs           7.8G     0  7.8G   0% /dev/shm", {"memory.shm": str(int(7.8 * 1024**3))}),
    ("Python 3.8.10 (default, Sep 11 2024, 16:02:53)\n[GCC 9.4.0] on linux", {"python.version": "3.8.10", "os.name": "linux"}),
    ("Python 3.12.6 (tags/v3.12.6:a4a2d2b) [MSC v.1940 64 bit (AMD64)]", {"os.name": "windows", "python.machine": "x86_64"}),
    ("# R36 (release), REVISION: 4.3, GCID: 38968081, BOARD: generic", {"place.l4t": "36.4.3", "place.jetpack": "6.2"}),
    ("ProductName:\tmacOS\nProductVersion:\t14.5", {"os.name": "macos", "os.version": "14.5"}),
    ("$ docker run --rm -it img bash", {"place.container": "docker"}),
    ("$ kubectl exec -it pod -- bash", {"place.container": "kubernetes"}),
    ("$ srun --gres=gpu:1 python x.py", {"place.scheduler": "slurm"}),
    ("SLURM_JOB_ID=12", {"place.scheduler": "slurm"}),
    ("Model name:                      QEMU Virtual CPU version 2.5+", {"place.virtual_machine": "QEMU"}),
    ("Hypervisor vendor:               KVM", {"place.virtual_machine": "KVM"}),
    ("PS D:\\work> dir", {"os.name": "windows"}),
]  # fmt: skip
DRIVER: list[Row] = [
    ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  440.33.01  Wed Nov 13", {"driver.version": "440.33.01", "driver.flavour": "proprietary"}),
    ("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build", {"driver.flavour": "open", "driver.version": "580.95.05"}),
    ("$ lsmod | grep nvidia\nnvidia_modeset  1196032  1\nnvidia  27090944  1 nvidia_modeset", {"driver.module_loaded": "True", "driver.uvm_loaded": "False"}),
    ("nvidia_uvm  1540096  0\nnvidia  27090944  2 nvidia_uvm", {"driver.uvm_loaded": "True"}),
    ("nouveau  2310144  1", {"driver.module_loaded": "False"}),
    ("modprobe: FATAL: Module nvidia not found in directory /lib/modules/6.3.7", {"driver.module_on_disk": "None", "driver.version": "None"}),
    ("$ ls /dev/nvidia*\n/dev/nvidia0  /dev/nvidiactl  /dev/nvidia-uvm", {"driver.device_nodes": "('/dev/nvidia-uvm', '/dev/nvidia0', '/dev/nvidiactl')"}),
    ("$ ls -l /dev/nvidia0\ncrw-rw---- 1 root video 195, 0 Jan 24 09:10 /dev/nvidia0", {"driver.device_nodes": "?"}),
    ("ls: cannot access '/dev/nvidia*': No such file or directory", {"driver.device_nodes": "()"}),
    ("ls: cannot access '/dev/nvidia-uvm': No such file or directory", {"driver.uvm_loaded": "False", "driver.device_nodes": "?"}),
    ("00:04.0 3D controller: NVIDIA Corporation GK210GL [Tesla K80] (rev a1)", {"gpus[0].compute_capability": "3.7", "gpus[0].pci_address": "0000:00:04.0", "gpus[0].driver_sees": "?"}),
    ("01:00.0 VGA compatible controller [0300]: NVIDIA Corporation AD102 [GeForce RTX 4090] [10de:2684] (rev a1)\n\tKernel driver in use: nouveau", {"gpus[0].pci_id": "2684", "gpus[0].kernel_driver": "nouveau", "gpus[0].compute_capability": "8.9"}),
    ("0a:00.0 VGA compatible controller: Advanced Micro Devices, Inc. [AMD/ATI] Navi 22 [Radeon RX 6700 XT] (rev c1)", {"gpus[0].vendor": "amd", "gpus[0].name": "Radeon RX 6700 XT"}),
    ("00:02.0 VGA compatible controller: Intel Corporation UHD Graphics 630", {"gpus[0].vendor": "intel", "gpus[0].name": "UHD Graphics 630"}),
    ("[ 1.2] NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.95.05", {"driver.version": "580.95.05", "driver.flavour": "open"}),
    ("[ 87.3] NVRM: The NVIDIA GPU 0000:03:00.0 (PCI ID: 10de:1bb3)\nNVRM: installed in this system is not supported by open\nNVRM: nvidia.ko because it", {"driver.flavour": "open", "gpus[0].pci_id": "1BB3"}),
    ("NVRM: The NVIDIA NVIDIA GeForce GTX 1050 GPU installed in this system is\nNVRM:  supported through the NVIDIA 580.xx Legacy drivers. Please\nNVRM:  information.  The 595.58.03 NVIDIA driver will ignore\nNVRM:  this GPU.", {"gpus[0].compute_capability": "6.1", "gpus[0].driver_sees": "False", "driver.module_on_disk": "595.58.03"}),
    ("fabric manager NVIDIA GPU driver interface version 590.48.01 don't match with driver version 580.126.09.", {"driver.version": "580.126.09"}),
    ("ii  libnvidia-compute-455:amd64  455.45.01-0ubuntu1  amd64  NVIDIA libcompute package", {"driver.library_version": "455.45.01"}),
    ("nvidia-utils 530.41.03-2", {"driver.library_version": "530.41.03"}),
    ("nvidia/550.54.14: added", {"driver.module_on_disk": "None"}),
    ("nvidia/535.183.01, 5.15.0-91-generic, x86_64: installed", {"driver.module_on_disk": "535.183.01"}),
    ("# ldconfig -p | grep libcuda.so.1\n\tlibcuda.so.1 (libc6,x86-64) => /usr/local/cuda/compat/libcuda.so.1\n\tlibcuda.so.1 (libc6,x86-64) => /usr/lib/libcuda.so.1", {"driver.libcuda": "/usr/local/cuda/compat/libcuda.so.1"}),
    ("$ ldconfig -p | grep libcuda\n$ ls", {"driver.libcuda": "None"}),
    ("libcuda.so.580.95.05", {"driver.library_version": "580.95.05"}),
    ("/usr/local/cuda/compat/libcuda.so.560.35.05", {"driver.library_version": "?"}),
]  # fmt: skip
FREE: list[Row] = [
    ("GPU: RTX 5090", {"gpus[0].vendor": "nvidia", "gpus[0].compute_capability": "12.0"}),
    ("GPUs: 4x NVIDIA RTX 3090", {"gpus[3].name": "NVIDIA RTX 3090"}),
    ("GPU: AMD Radeon(TM) 8060S Graphics (gfx1151)", {"gpus[0].gfx": "gfx1151", "gpus[0].vendor": "amd"}),
    ("GPU: 0", {"gpus": "?"}),
    ("Driver: 572.83", {"driver.version": "572.83"}),
    ("Driver: Adrenalin 26.5.2", {"driver.version": "?"}),
    ("Driver version: 32.0.15.9159", {"driver.version": "591.59"}),
    ("OS: Windows 11", {"os.name": "windows", "os.distribution": "Windows 11"}),
    ("OS: Windows 11, native Python (no WSL)", {"os.name": "windows", "place.wsl": "None"}),
    ("OS: Windows 11 + WSL2 Ubuntu 24.04", {"os.name": "linux", "place.wsl": "2", "os.version": "24.04"}),
    ("OS: Ubuntu 24.04 aarch64", {"os.machine": "aarch64", "os.distribution": "Ubuntu 24.04"}),
    ("- Platform: Linux-5.15.0-91-generic-x86_64-with-glibc2.35", {"os.kernel": "5.15.0-91-generic", "os.machine": "x86_64"}),
    ("- PyTorch version (GPU?): 2.1.2+cu121 (True)", {"torch.full": "2.1.2+cu121", "torch.cuda_available": "True"}),
    ("PyTorch Version: 2.0.1 (CUDA 11.8)", {"torch.build": "cu118", "torch.version": "2.0.1"}),
    ("torch: 2.8 2.9 2.10 2.11", {"torch.version": "?"}),
    ("| torch | 2.6.0+cu126 |", {"torch.full": "2.6.0+cu126"}),
    ("python: cpython-3.12.12-windows-x86-none", {"python.bits": "32", "python.version": "3.12.12", "os.name": "windows"}),
    ('    "platform_machine": "ARM64",\n    "os_name": "nt",', {"os.machine": "arm64", "os.name": "windows"}),
    ("WSL Version: 2.7.3.0\nWindows Driver Version: 610.47", {"place.wsl": "2", "driver.version": "610.47", "os.name": "linux"}),
    ("- **L4T**: 36.4.7", {"place.l4t": "36.4.7", "os.machine": "aarch64"}),
    ("- **CUDA Arch**: 8.7", {"gpus[0].compute_capability": "8.7"}),
    ("Name: cuda:0 NVIDIA GeForce GTX 1070 : cudaMallocAsync", {"gpus[0].compute_capability": "6.1"}),
    ("Name: Intel(R) Xeon(R) W-2102 CPU @ 2.90GHz", {"gpus": "?"}),
    ("name: train", {"gpus": "?"}),
    ("device: cuda", {"gpus": "?"}),
    ("python: can't open file", {"python.version": "?"}),
]  # fmt: skip
SESSIONS: list[Row] = [
    (">>> torch.__version__\n'2.4.1+cpu'", {"torch.full": "2.4.1+cpu", "torch.build": "cpu"}),
    (">>> torch.cuda.is_available()\nFalse", {"torch.cuda_available": "False", "torch.installed": "True"}),
    ('$ python -c "import torch; print(torch.__version__, torch.cuda.is_available())"\n2.9.1+cu128 True', {"torch.full": "2.9.1+cu128", "torch.cuda_available": "True"}),
    ('$ python -c "import torch; print(torch.__version__, torch.version.hip)"\n2.12.0+cu130 None', {"torch.hip": "None", "torch.full": "2.12.0+cu130"}),
    ("In [3]: torch.version.cuda\nOut[3]: '11.8'", {"torch.cuda": "11.8"}),
    ("torch.version.cuda 12.8", {"torch.cuda": "12.8"}),
    ("      torch.__version__  = 2.7.0+rocm6.3", {"torch.build": "rocm6.3"}),
    (">>> torch.cuda.get_arch_list()\n['sm_70', 'sm_75', 'compute_75']", {"torch.arch_list": "('sm_70', 'sm_75', 'compute_75')"}),
    (">>> torch.cuda.get_device_name(0)\n'NVIDIA A10'\n>>> torch.cuda.get_device_capability(0)\n(8, 6)", {"gpus[0].name": "NVIDIA A10", "gpus[0].compute_capability": "8.6"}),
    ('$ python -c "print(torch.cuda.is_available())"\nUserWarning: CUDA initialization: boom\n  return torch._C\nFalse\n$ x', {"torch.cuda_available": "False"}),
    (">>> torch.cuda.is_available()\n>>> 1", {"torch.cuda_available": "?"}),
    ("if torch.cuda.is_available(): print(1)", {"torch.cuda_available": "?"}),
    ("torch.__file__ C:\\x\\site-packages\\torch\\__init__.py", {"torch.locations": "('C:\\\\x\\\\site-packages\\\\torch',)", "os.name": "windows"}),
]  # fmt: skip
TRACES: list[Row] = [
    ('  File "/home/u/.venv/lib/python3.12/site-packages/torch/cuda/__init__.py", line 9', {"python.tag": "3.12", "os.name": "linux", "torch.installed": "True"}),
    ('  File "/Users/u/venv/lib/python3.13t/site-packages/torch/x.py", line 9', {"python.tag": "3.13t", "os.name": "macos"}),
    ('  File "C:\\Users\\u\\Programs\\Python\\Python312\\Lib\\site-packages\\torch\\__init__.py"', {"python.tag": "3.12", "os.name": "windows", "torch.installed": "True"}),
    ("PS D:\\x> python3.13t .\\main.py", {"python.tag": "3.13t"}),
    ("PS> py -3.14 -m venv e", {"python.tag": "3.14"}),
    ("NVIDIA GeForce RTX 5070 Ti with CUDA capability sm_120 is not compatible with the current PyTorch installation.", {"gpus[0].compute_capability": "12.0", "gpus[0].name": "NVIDIA GeForce RTX 5070 Ti"}),
    ("    Found GPU0 Tesla P100-PCIE-16GB which is of cuda capability 6.0.", {"gpus[0].compute_capability": "6.0"}),
    ("UserWarning: Found GPU0 NVIDIA GB10 which is of compute capability (CC) 12.1.", {"gpus[0].compute_capability": "12.1"}),
    ("The current PyTorch install supports CUDA capabilities sm_37 sm_50 sm_90 compute_37.", {"torch.arch_list": "('sm_37', 'sm_50', 'sm_90', 'compute_37')"}),
    ("The NVIDIA driver on your system is too old (found version 12080). Please", {"driver.cuda_shown": "12.8"}),
    ("The NVIDIA driver on your system is too old (found version 999). Please", {"driver.cuda_shown": "?"}),
    ("OS: Windows 11\nAssertionError: Torch not compiled with CUDA enabled", {"torch.cuda": "None", "torch.build": "cpu"}),
    ("    PyTorch 2.1.2+cu121 with CUDA 1201 (you have 2.1.2+cpu)", {"torch.full": "2.1.2+cpu"}),
    ("H:\\env\\Lib\\site-packages contains torch-2.11.0+rocm10.1.0.dist-info", {"packages.items[0].version": "2.11.0+rocm10.1.0"}),
]  # fmt: skip
INSTALLERS: list[Row] = [
    ("  Using cached https://MIRROR/85/torch-2.3.1-cp310-cp310-win_amd64.whl (159.8 MB)", {"torch.full": "2.3.1", "python.tag": "3.10", "os.name": "windows", "torch.build": "cpu"}),
    ("ERROR: torch-2.1.0-cp310-cp310-linux_x86_64.whl is not a supported wheel on this platform.", {"torch.full": "?", "os.name": "?"}),
    ("triton-3.2.0-cp311-cp311-win_amd64", {"os.name": "windows", "os.machine": "x86_64", "torch.full": "?"}),
    ("Successfully installed filelock-3.20.0 nvidia-cublas-cu12-12.8.4.1 torch-2.9.1 typing-extensions-4.15.0", {"torch.full": "2.9.1", "torch.build": "cu128"}),
    ("Requirement already satisfied: torch==2.3.1 in c:\\x\\lib\\site-packages (from a) (2.3.1)", {"torch.full": "2.3.1"}),
    (" + torch==2.9.1+cu130", {"torch.build": "cu130"}),
    ("FROM nvidia/cuda:13.0.1-cudnn-devel-ubuntu22.04\nRUN pip3 install torch==2.9.0 --index-url https://INDEX/whl/cu130", {"torch.build": "cu130", "torch.version": "2.9.0", "os.libc": "glibc-2.35", "place.container": "docker"}),
]  # fmt: skip
PROSE: list[Row] = [
    ("Jetson Xavier NX, JetPack 5.1.2 (L4T R35.4.1), Ubuntu 20.04 aarch64", {"place.jetpack": "5.1.2", "place.l4t": "35.4.1", "gpus[0].compute_capability": "7.2", "os.machine": "aarch64", "os.version": "20.04"}),
    ("I'm using Windows with WSL1", {"place.wsl": "1", "os.name": "linux"}),
    ("Windows 11, WSL 1.2.5.0 (WSL 2), kernel 5.15.90.1", {"place.wsl": "2"}),
    ("windows10 latest\ntorch2.6.0+cu126\npython3.11.9", {"os.name": "windows", "torch.full": "2.6.0+cu126", "python.version": "3.11.9"}),
    ("Intel Mac, Python 3.12", {"os.name": "macos", "os.machine": "x86_64", "python.tag": "3.12", "gpus": "?"}),
    ("MacBook M1", {"os.machine": "arm64", "gpus[0].vendor": "apple"}),
    ("runner image: macos-26 (arm64)", {"os.name": "macos", "os.version": "26", "os.machine": "arm64"}),
    ("Linux aarch64, NVIDIA GB10", {"os.name": "linux", "gpus[0].compute_capability": "12.1"}),
    ("Amazon Linux 2023, EC2 GPU node", {"os.distribution": "Amazon Linux 2023", "os.libc": "glibc-2.34"}),
    ("Debian GNU/Linux bookworm (12.2)", {"os.version": "12.2", "os.libc": "glibc-2.36"}),
    ("I tried Ubuntu 22.04 and Windows 11", {"os.name": "?"}),
    ("Ubuntu 22.04\nFedora 40", {"os.distribution": "?"}),
    ("torch 2.8 from the Jetson AI Lab index", {"torch.origin": "jetson", "torch.version": "?"}),
    ("AMD Radeon 890M (gfx1150)", {"gpus[0].gfx": "gfx1150"}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"), [*SYSTEM, *DRIVER, *FREE, *SESSIONS, *TRACES, *INSTALLERS, *PROSE], ids=lambda item: str(item)[:60]
)
def test_lines(text: str, expected: dict[str, str], tables: Tables) -> None:
    assert seen(facts_from(text, tables=tables), expected) == expected


def test_prose_is_not_read_out_of_a_log(tables: Tables) -> None:
    log = "\n".join(f"step {number} done" for number in range(100))
    assert seen(facts_from(f"Windows 11\n{log}", tables=tables), {"os.name": "?"}) == {"os.name": "?"}


def test_a_list_made_by_a_program(tables: Tables) -> None:
    expected = {
        "torch.full": "2.6.0+cu126", "python.version": "3.12.9", "os.name": "windows", "os.machine": "x86_64",
        "gpus[0].name": "NVIDIA GeForce RTX 5070 Ti",
    }  # fmt: skip
    assert seen(facts_from(stored("pasted/comfyui.txt"), tables=tables), expected) == expected


def test_rocminfo_lists_the_gpu_and_not_the_processor(tables: Tables) -> None:
    facts = facts_from(stored("pasted/rocminfo.txt"), tables=tables)
    expected = {"gpus[0].gfx": "gfx803", "gpus[0].name": "Radeon (TM) Pro WX 5100 Graphics", "gpus[0].vendor": "amd"}
    assert seen(facts, expected) == expected
    assert len(facts.gpus) == 1  # type: ignore[arg-type]  # known in this text


def test_flags_cut_off_at_the_end_prove_nothing(tables: Tables) -> None:
    flags = "Flags: " + " ".join(f"sse{number}" for number in range(20))
    assert seen(facts_from(flags, tables=tables), {"cpu.flags": "?"}) == {"cpu.flags": "?"}
    cpu = facts_from(f"{flags}\nNUMA node(s): 1\n", tables=tables).cpu
    assert isinstance(cpu.flags, frozenset)
    assert "avx" not in cpu.flags


def test_kernel_messages_are_kept_together(tables: Tables) -> None:
    facts = facts_from("[1.0] NVRM: Xid (PCI:0000:01:00): 79, GPU has fallen off the bus\nx\n[2.0] NVRM: second\n", tables=tables)
    assert facts.driver.kernel_log == ("[1.0] NVRM: Xid (PCI:0000:01:00): 79, GPU has fallen off the bus", "[2.0] NVRM: second")
    assert len(facts.messages) == 3
