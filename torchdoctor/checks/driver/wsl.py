"""WSL: its GPU is driven by Windows, its libcuda comes from Windows, and it has limits of its own."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.checks.drivers import gpus_seen, looks_like_wsl, nvidia_gpus, severity, torch_sees_gpu
from torchdoctor.checks.registry import check, seen
from torchdoctor.facts import Facts, is_known, known, need, value_or
from torchdoctor.findings import Confidence, Evidence, Finding, Remedy, Severity, Text, setting
from torchdoctor.tables import Tables
from torchdoctor.values import visible_count

WITH_GPU = 2  # the version of WSL that has GPUs
TOO_MANY = 4  # from this many visible GPUs on, CUDA fails to start under WSL
WINDOWS_LIBRARIES = "/wsl/"  # part of the path under which WSL mounts the Windows driver's libraries
_FAILING = frozenset({"blocked", "no-driver", "no-nvml", "version-mismatch", "unknown-error"})


@check("wsl-driver", severity="error")
def wsl_driver(facts: Facts, tables: Tables) -> Iterator[Finding]:
    """Linux driver files stand before the Windows driver's in WSL, or Windows gives WSL no GPU."""
    smi = value_or(facts.driver.smi, "")
    if torch_sees_gpu(facts):
        return
    if not is_known(facts.place.wsl) and smi == "blocked":
        yield _blocked(facts, "likely") if looks_like_wsl(facts, tables) else _blocked_somewhere(facts)
        return
    if need(facts.place.wsl) != WITH_GPU:
        return
    shadow = _shadow(facts, tables)
    if shadow:
        yield _linux_files(facts, shadow, severity(facts), "likely")
    elif smi == "blocked":
        yield _blocked(facts, "certain")
    elif smi in {"no-driver", "no-nvml"}:
        yield _linux_files(facts, seen(facts, "driver.smi", smi), severity(facts), "likely")
    elif value_or(facts.driver.linux_driver_in_wsl, False):
        yield _linux_files(facts, seen(facts, "driver.linux_driver_in_wsl", value=True), "warning", "possible")
    else:
        known(facts.driver.smi)


@check("wsl-platform-limit", severity="error", parent="wsl-driver", after=("wsl-driver",))
def wsl_platform_limit(facts: Facts, _tables: Tables) -> Iterator[Finding]:
    """CUDA does not start under WSL with so many GPUs."""
    if need(facts.place.wsl) != WITH_GPU or torch_sees_gpu(facts):
        return
    gpus = nvidia_gpus(facts)
    mask = value_or(facts.env.get("CUDA_VISIBLE_DEVICES"), None)
    count = len(gpus) if mask is None else visible_count(mask, len(gpus))
    if count < TOO_MANY:
        return
    fails = facts.torch.cuda_available is False
    few = ",".join(str(number) for number in range(TOO_MANY - 1))
    yield Finding(
        summary=Text("CUDA does not start under WSL with {count} visible GPUs", count=count),
        why=Text(
            "From {limit} GPUs on, initialisation fails under WSL with 'out of memory' although every GPU is free. "
            "Batch size, other processes and the wheel have no part in it; more memory for WSL helps only some.",
            limit=TOO_MANY,
        ),
        evidence=(*gpus_seen(facts, gpus), seen(facts, "place.wsl", facts.place.wsl)),
        remedies=(
            Remedy(Text("Show fewer GPUs to a program"), (setting(CUDA_VISIBLE_DEVICES=few),)),
            Remedy(Text("Or run on Linux or Windows itself")),
        ),
        severity=severity(facts) if fails else "warning",
        confidence="likely",
    )


def _shadow(facts: Facts, tables: Tables) -> Evidence | None:
    """Return what shows that Linux driver files are in use inside WSL."""
    path, failing = value_or(facts.driver.libcuda, ""), value_or(facts.driver.smi, "") in _FAILING
    if WINDOWS_LIBRARIES in path and not failing:
        return None
    driver, library = value_or(facts.driver.version, None), value_or(facts.driver.library_version, None)
    branch = tables.driver_branches.of(driver, "windows") if driver else None
    if branch and library and library.branch != branch.branch:
        return seen(facts, "driver.library_version", library)
    if not value_or(facts.driver.linux_driver_in_wsl, False):
        return None
    if path and WINDOWS_LIBRARIES not in path:
        return seen(facts, "driver.libcuda", path)
    return seen(facts, "driver.linux_driver_in_wsl", value=True) if failing else None


def _linux_files(facts: Facts, sign: Evidence, how_bad: Severity | None, confidence: Confidence) -> Finding:
    version = value_or(facts.driver.version, None)
    return Finding(
        summary=Text("Linux driver files inside WSL take the place of the Windows driver's"),
        why=Text(
            "In WSL only the Windows driver drives the GPU, and WSL mounts its libcuda. NVIDIA driver packages "
            "installed inside the distribution, also as a dependency of another package, put an unsuited libcuda or "
            "nvidia-smi in front. Missing /dev/nvidia* nodes are normal in WSL."
        ),
        evidence=(sign, *([seen(facts, "driver.version", version)] if version else [])),
        remedies=(
            Remedy(
                Text("Remove the driver packages inside the distribution, then restart WSL"),
                (
                    "sudo apt purge 'nvidia-driver-*' 'nvidia-utils-*' 'libnvidia-compute-*'",
                    "sudo ldconfig",
                    "wsl.exe --shutdown",
                ),
                risk="changes-system",
            ),
            Remedy(Text("See that Windows itself has a working driver"), ("nvidia-smi.exe",)),
        ),
        severity=how_bad,
        confidence=confidence,
    )


def _blocked_somewhere(facts: Facts) -> Finding:
    """Say what blocks the GPU where nothing tells whether this is WSL."""
    return Finding(
        summary=Text("the operating system blocks access to the GPU"),
        why=Text(
            "nvidia-smi answers so in two places, and nothing here tells which: inside WSL, when the Windows driver is "
            "too old or not running or Linux driver packages stand in front of its files; and on Linux in a container, "
            "service or job whose device rules (control group) leave the GPU out."
        ),
        evidence=(seen(facts, "driver.smi", facts.driver.smi),),
        remedies=(
            Remedy(Text("See whether this is WSL: its kernel names microsoft"), ("uname -r",)),
            Remedy(
                Text("In WSL update it, and see that Windows itself has a working driver"),
                ("wsl.exe --update", "wsl.exe --shutdown", "nvidia-smi.exe"),
                risk="changes-system",
            ),
            Remedy(Text("In a container, service or job ask for the GPU anew when it is started")),
        ),
        fixable_by="admin",
        severity=severity(facts),
        confidence="likely",
    )


def _blocked(facts: Facts, confidence: Confidence) -> Finding:
    return Finding(
        summary=Text("Windows gives WSL no access to the GPU"),
        why=Text(
            "The driver inside WSL answers that the operating system blocks the GPU: the Windows driver is too old "
            "for WSL or not running, the GPU is in a mode (TCC) that WSL cannot use, or Linux driver packages stand "
            "in front of the Windows driver's files."
        ),
        evidence=(seen(facts, "driver.smi", facts.driver.smi),),
        remedies=(
            Remedy(
                Text("Update WSL and restart it, from Windows"),
                ("wsl.exe --update", "wsl.exe --shutdown"),
                risk="changes-system",
            ),
            Remedy(Text("See that Windows itself has a working driver, and update that one"), ("nvidia-smi.exe",)),
            Remedy(
                Text("List NVIDIA driver packages inside the distribution; none belongs there"),
                ("dpkg -l | grep -iE 'nvidia-(driver|utils)'",),
            ),
        ),
        severity=severity(facts),
        confidence=confidence,
    )
