"""What follows from the facts and the tables: only what a row decides, and only where nobody said otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from torchdoctor.facts import Facts, Gpu, Unknown, is_known
from torchdoctor.readers.derive_offered import offered_follows
from torchdoctor.readers.derive_refused import refused_follows
from torchdoctor.readers.derive_torch import torch_follows
from torchdoctor.readers.gpu_words import vendor_of
from torchdoctor.readers.statement import Said
from torchdoctor.records import replace
from torchdoctor.tables import Tables
from torchdoctor.values import DriverVersion, Libc, PythonTag, Version, canonical_machine


def derive(facts: Facts, tables: Tables) -> Facts:
    """Fill unknown facts from the tables; a derived fact's source names the table."""
    facts = _filled(facts, _place_follows(facts, tables))
    facts = _filled(facts, _os_follows(facts, tables))
    facts = _filled(_canonical(facts), _python_follows(facts))
    facts = _filled(facts, offered_follows(facts, tables))
    facts = _filled(facts, refused_follows(facts, tables))
    facts = _filled(facts, _absent_follows(facts))
    facts = _with_gpus(facts, tables)
    return _filled(facts, torch_follows(facts, tables))


def _filled(facts: Facts, said: Iterable[Said]) -> Facts:
    sources = dict(facts.sources)
    for item in said:
        group, _, name = item.path.partition(".")
        if not is_known(getattr(getattr(facts, group), name)):
            facts = replace(facts, **{group: replace(getattr(facts, group), **{name: item.value})})
            sources[item.path] = item.source
    return replace(facts, sources=sources)


def _canonical(facts: Facts) -> Facts:
    """Facts that must agree: machine spelling and system, ABI and version, a Jetson and its wheels."""
    machine, name = facts.os.machine, facts.os.name
    if isinstance(machine, str) and isinstance(name, str):
        is_apple = name == "macos" and (_has_apple_chip(facts) or facts.place.rosetta is True)
        machine = canonical_machine(machine, name)
        if is_apple and machine == "x86_64":  # a program that is told so is translated
            facts = _filled(facts, [Said("place.rosetta", True, facts.source("os.machine"))])
            machine = "arm64"
        facts = replace(facts, os=replace(facts.os, machine=machine))
    version, tag = facts.python.version, facts.python.tag
    if isinstance(version, Version) and isinstance(tag, PythonTag) and _differ(version, tag):
        facts = replace(facts, python=replace(facts.python, tag=PythonTag(version.parts[0], version.parts[1])))
    if facts.torch.origin == "nvidia" and isinstance(facts.place.jetpack, str):
        facts = replace(facts, torch=replace(facts.torch, origin="jetson"))
    return facts


def _has_apple_chip(facts: Facts) -> bool:
    """Whether the processor is Apple's, whatever a translated Python is told."""
    return isinstance(facts.cpu.model, str) and facts.cpu.model.startswith("Apple M")


def _differ(version: Version, tag: PythonTag) -> bool:
    return len(version.parts) > 1 and version.parts[:2] != (tag.major, tag.minor)


def _place_follows(facts: Facts, tables: Tables) -> Iterator[Said]:
    """A Jetson's release from its L4T number or its own driver number; every Jetson runs Linux on Arm."""
    row = source = None
    if isinstance(facts.place.l4t, str):
        row, source = tables.jetpacks.by_l4t(facts.place.l4t), facts.source("place.l4t")
    elif isinstance(facts.driver.version, DriverVersion) and _shows_tegra(facts, tables):
        row = tables.jetpacks.by_driver(str(facts.driver.version))
    if row:
        source = source or f"jetpacks: {row.key}"
        yield Said("place.jetpack", row.jetpack, f"jetpacks: {row.key}")
    elif isinstance(facts.place.jetpack, str):
        source = facts.source("place.jetpack")
    elif isinstance(facts.os.kernel, str) and facts.os.kernel.endswith("-tegra"):
        source = facts.source("os.kernel")
    if source:
        yield Said("os.name", "linux", source)
        yield Said("os.machine", "aarch64", source)


def _shows_tegra(facts: Facts, tables: Tables) -> bool:
    gpus = facts.gpus if isinstance(facts.gpus, tuple) else ()
    models = (tables.gpu_models.by_name(gpu.name) for gpu in gpus if isinstance(gpu.name, str))
    return any(model is not None and model.tegra for model in models)


def _os_follows(facts: Facts, tables: Tables) -> Iterator[Said]:
    for path, holds in (
        ("place.wsl", isinstance(facts.place.wsl, int)),
        ("driver.device_nodes", isinstance(facts.driver.device_nodes, tuple) and bool(facts.driver.device_nodes)),
        ("os.libc", isinstance(facts.os.libc, Libc)),
    ):
        if holds:
            yield Said("os.name", "linux", facts.source(path))
    if isinstance(facts.os.distribution, str) and (libc := tables.os_releases.libc(facts.os.distribution)):
        yield Said("os.libc", libc, f"os_releases: {facts.os.distribution}")
    if isinstance(facts.python.machine, str) and facts.os.name in {"linux", "macos"}:
        machine = canonical_machine(facts.python.machine, str(facts.os.name))
        yield Said("os.machine", machine, facts.source("python.machine"))


def _python_follows(facts: Facts) -> Iterator[Said]:
    """The ABI of a plain version; Rosetta where an Apple chip runs a Python built for Intel."""
    version = facts.python.version
    if version is not None and not isinstance(version, Unknown) and len(version.parts) > 1:
        yield Said("python.tag", PythonTag(version.parts[0], version.parts[1]), facts.source("python.version"))
    if facts.os.name == "macos" and facts.os.machine == "arm64" and isinstance(facts.python.machine, str):
        yield Said("place.rosetta", facts.python.machine == "x86_64", facts.source("python.machine"))


def _absent_follows(facts: Facts) -> Iterator[Said]:
    """What a host of this system and machine cannot be."""
    if facts.os.name in {"windows", "macos"}:
        yield Said("place.wsl", None, facts.source("os.name"))
    if facts.os.name in {"windows", "linux"}:
        yield Said("place.rosetta", False, facts.source("os.name"))
    if facts.os.machine == "x86_64" or facts.os.name in {"windows", "macos"}:
        yield Said("place.jetpack", None, facts.source("os.machine") or facts.source("os.name"))
        yield Said("place.l4t", None, facts.source("os.machine") or facts.source("os.name"))


def _with_gpus(facts: Facts, tables: Tables) -> Facts:
    sources = dict(facts.sources)
    if not isinstance(facts.gpus, tuple):
        if facts.os.name != "macos" or facts.os.machine != "arm64":
            return facts
        sources["gpus"] = "every Apple silicon machine has one"
        return replace(facts, gpus=(Gpu(vendor="apple"),), sources=sources)
    gpus = []
    for place, gpu in enumerate(facts.gpus):
        known, source = _known_gpu(gpu, tables)
        gpus.append(known)
        if source:
            sources[f"gpus[{place}].{'gfx' if known.vendor == 'amd' else 'compute_capability'}"] = source
    return replace(facts, gpus=tuple(gpus), sources=sources)


def _known_gpu(gpu: Gpu, tables: Tables) -> tuple[Gpu, str]:
    """A GPU with the capability its PCI id or its name decides; a name shared by two chips decides nothing."""
    if not is_known(gpu.vendor) and isinstance(gpu.name, str):
        gpu = replace(gpu, vendor=vendor_of(gpu.name) or gpu.vendor)
    if gpu.vendor == "amd":
        gpu = _named_amd(gpu, tables)
    if gpu.vendor == "amd" and not is_known(gpu.gfx):
        return _known_amd(gpu, tables)
    if gpu.vendor == "intel":
        return _known_intel(gpu, tables), ""
    if gpu.vendor != "nvidia" and is_known(gpu.vendor):
        return gpu, ""
    by_id = tables.gpu_models.by_pci(gpu.pci_id) if isinstance(gpu.pci_id, str) else None
    model = by_id or (tables.gpu_models.by_name(gpu.name) if isinstance(gpu.name, str) else None)
    if model is None:
        return gpu, ""
    gpu = replace(
        gpu,
        vendor=gpu.vendor if is_known(gpu.vendor) else "nvidia",
        name=model.name if not is_known(gpu.name) or gpu.name is None else gpu.name,
    )
    if is_known(gpu.compute_capability) or model.compute_capability is None:
        return gpu, ""
    return replace(gpu, compute_capability=model.compute_capability), f"gpu_models: {model.key}"


def _known_amd(gpu: Gpu, tables: Tables) -> tuple[Gpu, str]:
    """An AMD GPU with the gfx id that its PCI id or its name decides."""
    name, pci = (text if isinstance(text, str) else "" for text in (gpu.name, gpu.pci_id))
    gfx = tables.amd_gpus.gfx(name, pci)
    return (replace(gpu, gfx=gfx), f"amd_gpus: {name or pci}") if gfx else (gpu, "")


def _named_amd(gpu: Gpu, tables: Tables) -> Gpu:
    """An AMD GPU with the name that its PCI id decides, else with that of its chip: the bus of Linux has none."""
    name = tables.amd_gpus.name_of(gpu.pci_id) if isinstance(gpu.pci_id, str) and not is_known(gpu.name) else ""
    return replace(gpu, name=name) if name else gpu


def _known_intel(gpu: Gpu, tables: Tables) -> Gpu:
    """An Intel GPU with the name that its PCI id decides, where nobody printed one: the bus of Linux has none."""
    row = tables.xpu_devices.by_id(gpu.pci_id) if isinstance(gpu.pci_id, str) and not is_known(gpu.name) else None
    return replace(gpu, name=row.name or f"Intel {row.family} ({row.codename})") if row else gpu
