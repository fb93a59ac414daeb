"""What of a driver is inside an image, and the driver it will meet: a cuda-compat libcuda, libraries of its own."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import NamedTuple

from torchdoctor.checks.compat_library import COMPAT_FOLDER
from torchdoctor.checks.registry import seen
from torchdoctor.facts import Driver, Facts, value_or
from torchdoctor.findings import Finding, Remedy, Row, Text, unsetting
from torchdoctor.predict.image import is_image
from torchdoctor.prescribe.host import Host
from torchdoctor.records import replace
from torchdoctor.tables import Tables
from torchdoctor.values import CudaVersion, DriverVersion

ID = "compat-library-problem"
_SHORT_LIVED = "new feature"  # a kind of driver_branches
_NUMBER = re.compile(r"libcuda\.so\.(\d{2,3}(?:\.\d{1,3}){1,2})$")


class Compat(NamedTuple):
    """The compat libcuda of an image: its file, the driver it belongs to, and whether the loader is told to take it."""

    path: str
    driver: DriverVersion
    cuda: CudaVersion | None
    forced: bool

    def is_used_on(self, driver: DriverVersion) -> bool:
        """Whether it stands in for the driver's own: always where it is forced, else only for an older driver.

        Beside the driver that it belongs to it is that driver's own.
        """
        return driver != self.driver and (self.forced or driver.branch < self.driver.branch)


def compat_of(facts: Facts, tables: Tables) -> Compat | None:
    """The compat libcuda that was found where no driver brings another one."""
    path = value_or(facts.driver.libcuda, "")
    match = _NUMBER.search(path)
    if COMPAT_FOLDER not in path or match is None:
        return None
    with suppress(ValueError):
        driver = DriverVersion.parse(match[1])
        branch = tables.driver_branches.of(driver, "linux")
        cuda = value_or(facts.driver.cuda_shown, None) or (branch.cuda if branch else None)
        forced = COMPAT_FOLDER in f"{value_or(facts.env.get('LD_LIBRARY_PATH'), '')}/".replace(":", "/:")
        return Compat(path, driver, cuda, forced)
    return None


def lent(driver: Driver, facts: Facts, host: Host, tables: Tables) -> Driver:
    """The target's driver, with the libcuda that the image lends it."""
    compat = compat_of(facts, tables)
    if compat is None or not isinstance(host.driver, DriverVersion) or not compat.is_used_on(host.driver):
        return driver
    return replace(driver, libcuda=compat.path, cuda_shown=compat.cuda)


def breaks(facts: Facts, image: Facts, host: Host, tables: Tables) -> Finding | None:
    """A compat libcuda that is older than the target's driver and is put in front of the driver's own."""
    compat = compat_of(image, tables)
    if compat is None or not isinstance(host.driver, DriverVersion) or host.gpus == ():
        return None
    if not compat.forced or host.driver <= compat.driver:
        return None
    return Finding(
        id=ID,
        severity="error",
        confidence="likely",
        summary=Text("the image's cuda-compat libcuda is older than driver {driver}", driver=host.driver),
        why=Text(
            "LD_LIBRARY_PATH puts the libcuda of driver {own} before the one of the host. Such a library serves "
            "drivers older than itself only; a newer kernel module refuses it, and CUDA reports error 803.",
            own=compat.driver,
        ),
        evidence=(
            seen(facts, "driver.libcuda", compat.path, image.source("driver.libcuda")),
            seen(facts, "env.LD_LIBRARY_PATH", image.env.values.get("LD_LIBRARY_PATH")),
        ),
        remedies=(Remedy(Text("Take the compat folder out of LD_LIBRARY_PATH"), (unsetting("LD_LIBRARY_PATH"),)),),
    )


def unserved_branch(facts: Facts, image: Facts, host: Host, tables: Tables) -> Finding | None:
    """A driver that needs the image's compat libcuda and is of a branch that such libraries do not serve."""
    compat, build = compat_of(image, tables), value_or(facts.torch.build, None)
    if compat is None or build is None or build.cuda is None or not isinstance(host.driver, DriverVersion):
        return None
    branch, floor = tables.driver_branches.of(host.driver, "linux"), tables.cuda_drivers.floor(build.cuda, "linux")
    is_needed = floor is not None and host.driver.reaches(floor) is False and compat.is_used_on(host.driver)
    if branch is None or not is_needed:
        return None
    told = tables.driver_branches.compat_from(compat.driver)
    is_too_old = told is not None and branch.branch < (told.compat_from or 0)
    if branch.kind != _SHORT_LIVED and not is_too_old:
        return None
    row = told if told and is_too_old else branch
    return Finding(
        id=ID,
        severity="error",
        confidence="likely",
        summary=Text("cuda-compat does not serve driver branch {branch}", branch=branch.branch),
        why=Text(
            "Such a library is made for some driver branches, named in it: long-lived ones and those for production, "
            "and no older than {oldest}. Elsewhere CUDA gives error 803. {build} needs driver {floor} without one.",
            oldest=told.compat_from if told else "those then in support",
            build=build,
            floor=floor,
        ),
        evidence=(
            seen(facts, "driver.version", host.driver),
            seen(facts, "driver.libcuda", compat.path, image.source("driver.libcuda")),
        ),
        remedies=(Remedy(Text("Update the driver to {floor} or newer", floor=floor), risk="changes-system"),),
        row=Row("driver_branches", row.key, row.source),
    )


def own_libraries(facts: Facts, image: Facts, host: Host) -> Finding | None:
    """Driver libraries installed in the image that are newer than the target's driver: the loader takes the newest."""
    version, where = value_or(image.driver.library_version, None), image.source("driver.library_version")
    is_of_image = is_image(image) and image.driver.version is None
    if version is None or not is_of_image or not isinstance(host.driver, DriverVersion) or host.gpus == ():
        return None
    if version <= host.driver:
        return None
    return Finding(
        id="driver-library-mismatch",
        severity="error",
        confidence="likely",
        summary=Text(
            "the image holds libraries of driver {own}; the target's is {driver}", own=version, driver=host.driver
        ),
        why=Text(
            "The container runtime brings the libraries of the host's driver, and the loader takes the newest that it "
            "finds. A driver cannot be brought by an image: its kernel module is the host's."
        ),
        evidence=(
            seen(facts, "driver.library_version", version, where),
            seen(facts, "driver.version", host.driver),
        ),
        remedies=(
            Remedy(
                Text("Remove the driver packages from the image; torch brings its own CUDA"),
                ("dpkg -l | grep -E 'nvidia-(utils|driver)|libnvidia-compute'",),
            ),
        ),
    )
