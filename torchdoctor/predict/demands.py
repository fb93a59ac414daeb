"""What an image demands of its host: the same system and machine, and the conditions of NVIDIA_REQUIRE_CUDA."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torchdoctor.checks.compat_library import CONSUMER_SEGMENTS
from torchdoctor.checks.registry import seen
from torchdoctor.facts import Facts, value_or
from torchdoctor.findings import Finding, Remedy, Text
from torchdoctor.predict.image import is_image
from torchdoctor.prescribe.host import Host
from torchdoctor.tables import Tables
from torchdoctor.values import DriverVersion, GpuArch, canonical_machine

_PREFIX = "NVIDIA_REQUIRE_"
_SWITCH = "NVIDIA_DISABLE_REQUIRE"
_TERM = re.compile(r"(cuda|driver|arch|brand)(<=|>=|!=|=|<|>)([\w.]+)")
_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "<=": operator.le, ">=": operator.ge, "!=": operator.ne, "=": operator.eq, "<": operator.lt, ">": operator.gt,
}  # fmt: skip
_CONSUMER_BRANDS = ("geforce", "titan")  # beginnings of the brands that a runtime gives to consumer GPUs
_PLATFORMS = {"x86_64": "amd64", "aarch64": "arm64"}  # as container tools name machines


def other_platform(facts: Facts, host: Host) -> Finding | None:
    """The target's system or machine is not the one that this environment was made for."""
    own_os = value_or(facts.os.name, "")
    own_machine = _machine(value_or(facts.python.machine, "") or value_or(facts.os.machine, ""), own_os)
    machine = _machine(host.machine, own_os) if isinstance(host.machine, str) else ""
    is_other = isinstance(host.os, str) and own_os not in {"", host.os}
    differs = is_other or (machine and own_machine not in {"", machine})
    if not differs:
        return None
    there = " ".join(part for part in (host.os, host.machine) if isinstance(part, str))
    return Finding(
        id="os-unsupported",
        severity="error",
        summary=Text(
            "what is examined is for {own}, and the target is {there}", own=f"{own_os} {own_machine}", there=there
        ),
        why=Text(
            "Programs and wheels are made for one system and one machine; a container shares the kernel of its host."
        ),
        evidence=(seen(facts, "os.name", own_os), seen(facts, "os.machine", own_machine)),
        remedies=(_rebuilt(facts, host),),
    )


def _machine(text: str, os_name: str) -> str:
    return canonical_machine(text, os_name or None) if text else ""


def _rebuilt(facts: Facts, host: Host) -> Remedy:
    machine = _PLATFORMS.get(str(host.machine), "")
    if is_image(facts) and machine and not (isinstance(host.os, str) and host.os != "linux"):
        command = f"docker buildx build --platform linux/{machine} ."
        return Remedy(Text("Build the image for linux/{machine}", machine=machine), (command,))
    if is_image(facts) and host.os == "windows":
        return Remedy(Text("Windows runs such an image inside WSL: describe that as wsl=true"))
    return Remedy(Text("Make the environment anew on such a host"))


def unmet_requirement(facts: Facts, image: Facts, host: Host, tables: Tables) -> Finding | None:
    """A condition of NVIDIA_REQUIRE_* that the target's driver or GPU does not meet: the container does not start."""
    if not is_image(image) or host.gpus == () or not isinstance(host.driver, DriverVersion):
        return None
    if value_or(image.env.get(_SWITCH), "").lower() in {"1", "true"}:
        return None
    for name, text in sorted(image.env.values.items()):
        if name.startswith(_PREFIX) and name != f"{_PREFIX}JETPACK" and text.strip():
            facts_there = _Known(facts, host, tables)
            if facts_there.meets(text) is False:
                return _unmet(facts, host, name, text)
    return None


class _Known:
    """What a condition may ask of the target; None where nothing tells."""

    def __init__(self, facts: Facts, host: Host, tables: Tables) -> None:
        driver = host.driver if isinstance(host.driver, DriverVersion) else None
        branch = tables.driver_branches.of(driver, host.driver_line) if driver else None
        self.cuda = branch.cuda.order if branch else None
        self.driver = driver.parts if driver else None
        self.archs = [gpu.compute_capability for gpu in value_or(facts.gpus, ())]
        self.gpus, self.tables = value_or(facts.gpus, ()), tables

    def meets(self, text: str) -> bool | None:
        """Whether one of the alternatives, parted by spaces, holds; None where none does and one is not known."""
        answers = [self._all(alternative.split(",")) for alternative in text.split()]
        return True if True in answers else None if None in answers else False

    def _all(self, terms: Sequence[str]) -> bool | None:
        answers = [self._term(term) for term in terms if term]
        return False if False in answers else None if None in answers else True

    def _term(self, term: str) -> bool | None:
        match = _TERM.fullmatch(term)
        if match is None:
            return None
        name, sign, value = match.groups()
        if name == "brand":
            return self._is_brand(value) if sign == "=" else None
        wanted = tuple(int(part) for part in value.split(".") if part.isdecimal())
        if name == "arch":
            known = [arch.order for arch in self.archs if isinstance(arch, GpuArch)]
            return all(_COMPARE[sign](order, wanted) for order in known) if known else None
        seen_ = self.cuda if name == "cuda" else self.driver
        return None if seen_ is None else _COMPARE[sign](*_padded(seen_, wanted))

    def _is_brand(self, brand: str) -> bool | None:
        """Consumer GPUs have brands of their own; which of the others a GPU has is not told by its name."""
        models = [self.tables.gpu_models.by_name(gpu.name) for gpu in self.gpus if isinstance(gpu.name, str)]
        if not models or None in models:
            return None
        is_consumer = all(model and model.segment.startswith(CONSUMER_SEGMENTS) for model in models)
        return None if is_consumer == brand.startswith(_CONSUMER_BRANDS) else False


def _padded(left: Sequence[int], right: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    size = max(len(left), len(right))
    return tuple(left) + (0,) * (size - len(left)), tuple(right) + (0,) * (size - len(right))


def _unmet(facts: Facts, host: Host, name: str, text: str) -> Finding:
    first = text.split(maxsplit=1)[0]
    return Finding(
        id="driver-too-old",
        severity="error",
        confidence="likely",
        summary=Text(
            "the image demands {condition}, and driver {driver} does not meet it", condition=first, driver=host.driver
        ),
        why=Text(
            "The container runtime compares {name} with the host before it starts the container, and refuses with "
            "'unsatisfied condition'. The variable comes from the base image; torch itself may need less.",
            name=name,
        ),
        evidence=(
            seen(facts, f"env.{name}", text if len(text) < 200 else f"{text[:200]} ...", "environment"),  # noqa: PLR2004 - a line
            seen(facts, "driver.version", host.driver),
        ),
        remedies=(
            Remedy(
                Text("Use a base image without it, since torch brings its own CUDA; or switch the comparison off"), ()
            ),
            Remedy(Text("In the Dockerfile"), (f"ENV {_SWITCH}=1",)),
        ),
    )
