"""AMD GPUs that this process may not open, that pass for others, or that compute wrong numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torchdoctor.checks.installed import gpu_evidence, gpu_names
from torchdoctor.checks.other_vendors import for_amd
from torchdoctor.checks.places import KUBERNETES
from torchdoctor.checks.registry import check, seen
from torchdoctor.checks.runtime.rocm import DISGUISE, code_of, has_computed, named, of_known_target, target_of
from torchdoctor.facts import Facts, Gpu, NotKnownError, known, need, value_or
from torchdoctor.findings import Finding, Remedy, Row, Severity, Text, unsetting
from torchdoctor.tables import Tables
from torchdoctor.tables.hsa_overrides import HsaOverride
from torchdoctor.values import GfxId

_AMDGPU = "amdgpu"
_UNSET = Remedy(Text("Take the variable away and start the program anew"), (unsetting(DISGUISE),))
_ON_CPU = Remedy(
    Text("Compute on the processor: take torch's build for it"), ("torchdoctor install-cmd --backend cpu",)
)
_EFFECTS = {"crashes": "is known to crash", "hangs": "is known to hang the machine", "wrong": "computes wrong numbers"}
_SAME_ARE = 2  # leading digits of a gfx id without its minor and stepping: the major number


@check("rocm-computes-wrong", severity="error")
def rocm_computes_wrong(facts: Facts, tables: Tables) -> Iterator[Finding]:
    """A ROCm build runs on this GPU and its results are wrong."""
    if need(facts.torch.build).backend != "rocm":
        return
    for gpu in of_known_target(facts):
        row = tables.amd_routes.computes_wrong(gpu.gfx)
        if row is None:
            continue
        yield Finding(
            summary=Text("{gpu} computes wrong numbers with every ROCm build", gpu=named([gpu])),
            why=Text(
                "The wheels install and is_available() is True; training then ends in wrong numbers or NaN, with an "
                "override and with builds made for this chip alike. Tests that only look forward may pass."
            ),
            evidence=gpu_evidence(facts, [gpu], "gfx"),
            remedies=(_ON_CPU,),
            row=Row("amd_routes", row.key, row.source),
        )


@check("rocm-permission", severity="error", by_admin=True)
def rocm_permission(facts: Facts, _tables: Tables) -> Iterator[Finding]:
    """The AMD GPU's device files deny access."""
    if need(facts.torch.build).backend != "rocm" or value_or(facts.torch.cuda_available, False):
        return
    if need(facts.os.name) != "linux" or value_or(facts.place.wsl, 0):
        return
    gpus = [gpu for gpu in known(facts.gpus) or () if value_or(gpu.vendor, "") == "amd"]
    if not gpus or value_or(facts.place.image_build, False):
        return
    kfd = known(facts.compute.kfd)
    if kfd == "closed" or value_or(facts.compute.render, "") == "closed":
        yield _closed(facts, gpus, "/dev/kfd" if kfd == "closed" else "/dev/dri/renderD*")
    elif kfd is None:
        yield _absent(facts, gpus)


def _closed(facts: Facts, gpus: Sequence[Gpu], node: str) -> Finding:
    path = "compute.kfd" if node == "/dev/kfd" else "compute.render"
    return Finding(
        summary=Text("{node} of {gpu} is closed to this user", node=node, gpu=gpu_names(gpus)),
        why=Text(
            "ROCm opens /dev/kfd and the render node for reading and writing; both belong to groups, most often "
            "render and video. rocm-smi reads other files and shows the GPU all the same."
        ),
        evidence=(seen(facts, path, "closed"),),
        remedies=(_pass_in(facts) or _join_groups(),),
        fixable_by="admin",
    )


def _absent(facts: Facts, gpus: Sequence[Gpu]) -> Finding:
    """No /dev/kfd: in a container it was not passed in; elsewhere no amdgpu driver is loaded for the GPU."""
    container, loaded = _pass_in(facts), any(gpu.kernel_driver == _AMDGPU for gpu in gpus)
    bound = ", ".join(dict.fromkeys(value_or(gpu.kernel_driver, "") or "none" for gpu in gpus))
    summary = Text("no kernel driver amdgpu holds {gpu}: {bound} does", gpu=gpu_names(gpus), bound=bound)
    if container:
        summary = Text("the container was given no /dev/kfd for {gpu}", gpu=gpu_names(gpus))
    elif loaded:
        summary = Text("there is no /dev/kfd for {gpu}", gpu=gpu_names(gpus))
    return Finding(
        summary=summary,
        why=Text(
            "ROCm reaches the GPU through /dev/kfd alone. The kernel driver amdgpu makes it, and a container sees it "
            "only when it is passed in. No package of Python and no other torch can bring it."
        ),
        evidence=(seen(facts, "compute.kfd", None), seen(facts, "gpus[].kernel_driver", bound, facts.source("gpus"))),
        remedies=(container or Remedy(Text("See why amdgpu is not loaded"), ("sudo dmesg | grep -iE 'amdgpu|kfd'",)),),
        fixable_by="admin",
    )


def _pass_in(facts: Facts) -> Remedy | None:
    kind = value_or(facts.place.container, "") or ""
    if kind == KUBERNETES:
        return Remedy(Text("Ask for the GPU in the pod's resources.limits (amd.com/gpu: 1)"))
    if kind == "apptainer":
        return Remedy(Text("Start the container with AMD's GPUs"), ("apptainer exec --rocm IMAGE PROGRAM",))
    if not kind:
        return None
    tool = "podman" if kind == "podman" else "docker"
    device = f'{tool} run --device /dev/kfd --device /dev/dri --group-add "$(stat -c %g /dev/kfd)" IMAGE'
    return Remedy(Text("Start the container with the GPU's devices and their group, from the host"), (device,))


def _join_groups() -> Remedy:
    return Remedy(
        Text("Have an administrator add the user to both groups, then log in again"),
        ('sudo usermod -aG render,video "$USER"',),
        risk="changes-system",
    )


@check("hsa-override", severity="error", after=("rocm-computes-wrong",))
def hsa_override(facts: Facts, tables: Tables) -> Iterator[Finding]:
    """HSA_OVERRIDE_GFX_VERSION passes the AMD GPU off as another."""
    value = known(facts.env.get(DISGUISE))
    if value is None or need(facts.torch.build).backend != "rocm":
        return
    if not value.strip():
        yield _empty(facts)
        return
    for gpu in of_known_target(facts):
        yield from _disguised(facts, tables, gpu, value.strip())


def _empty(facts: Facts) -> Finding:
    return Finding(
        summary=Text("{name} is set to nothing", name=DISGUISE),
        why=Text(
            "Some ROCm releases read an empty value as the number of a GPU that does not exist, and find no code."
        ),
        evidence=(seen(facts, f"env.{DISGUISE}", ""),),
        remedies=(_UNSET,),
        severity="warning",
        confidence="likely",
    )


def _disguised(facts: Facts, tables: Tables, gpu: Gpu, value: str) -> Iterator[Finding]:
    gfx, target = need(gpu.gfx), target_of(value)
    if target == gfx:
        return
    harm, native = tables.hsa_overrides.harm(gfx, value), _has_native_code(facts, tables, gfx)
    if harm and harm.effect == "wrong":
        return  # a finding of its own
    is_foreign = target is None or _major(target) != _major(gfx)
    if not (harm or native or is_foreign):
        yield _tolerated(facts, tables, gpu, value)
        return
    severity: Severity = "error" if (harm or is_foreign) else "warning"
    yield Finding(
        summary=Text("{name}={value} passes {gpu} off as another", name=DISGUISE, value=value, gpu=named([gpu])),
        why=_why(harm, native=native),
        evidence=(seen(facts, f"env.{DISGUISE}", value), *gpu_evidence(facts, [gpu], "gfx")),
        remedies=(_UNSET, *(() if native else (for_amd(facts, tables, [gpu]),))),
        severity="info" if has_computed(facts) and not harm else severity,
        confidence="certain" if harm else "likely",
        row=Row("hsa_overrides", harm.key, harm.source) if harm else None,
    )


def _why(harm: HsaOverride | None, *, native: bool) -> Text:
    if harm:
        text = "This value {effect} on this GPU: {notes}. Nobody supports the variable."
        return Text(text, effect=_EFFECTS[harm.effect], notes=harm.notes)
    if native:
        return Text(
            "The build has code for this very GPU; the variable has the runtime load code for another one, which "
            "may fault, hang or compute nonsense. It is often left over from an older build or another machine."
        )
    return Text(
        "The value names a GPU of another generation, or none at all: its code does not run here, and newer runtimes "
        "refuse it."
    )


def _tolerated(facts: Facts, tables: Tables, gpu: Gpu, value: str) -> Finding:
    """A relative's code runs at one's own risk."""
    return Finding(
        summary=Text("{name}={value} passes {gpu} off as a relative", name=DISGUISE, value=value, gpu=named([gpu])),
        why=Text(
            "The build has no code for this GPU and runs a relative's. Many do so; nobody tests it, and a fault in "
            "some library is nobody's bug."
        ),
        evidence=(seen(facts, f"env.{DISGUISE}", value), *gpu_evidence(facts, [gpu], "gfx")),
        remedies=(for_amd(facts, tables, [gpu]),),
        severity="info",
        confidence="likely",
    )


def _major(gfx: GfxId) -> str:
    return str(gfx)[:-_SAME_ARE]


def _has_native_code(facts: Facts, tables: Tables, gfx: GfxId) -> bool:
    try:
        return gfx in code_of(facts, tables).works
    except NotKnownError:
        return False
