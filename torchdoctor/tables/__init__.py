"""The knowledge: one module per table, each loaded and validated only when somebody asks for it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from torchdoctor.errors import TableError
from torchdoctor.tables.loading import find_root, newest_day, read_text

if TYPE_CHECKING:
    from pathlib import Path

    from torchdoctor.tables.amd_gpus import AmdGpus
    from torchdoctor.tables.amd_routes import AmdRoutes
    from torchdoctor.tables.companion_code import CompanionCode
    from torchdoctor.tables.companion_pins import CompanionPins
    from torchdoctor.tables.companions import Companions
    from torchdoctor.tables.conda_channels import CondaChannels
    from torchdoctor.tables.coverage import Coverage
    from torchdoctor.tables.cpu_levels import CpuLevels
    from torchdoctor.tables.cuda_drivers import CudaDrivers
    from torchdoctor.tables.cuda_errors import CudaErrors
    from torchdoctor.tables.device_code import DeviceCodes
    from torchdoctor.tables.driver_branches import DriverBranches
    from torchdoctor.tables.exit_statuses import ExitStatuses
    from torchdoctor.tables.gpu_models import GpuModels
    from torchdoctor.tables.gpu_peaks import GpuPeaks
    from torchdoctor.tables.hsa_overrides import HsaOverrides
    from torchdoctor.tables.indexes import Indexes
    from torchdoctor.tables.jetpacks import Jetpacks
    from torchdoctor.tables.known_bad_releases import KnownBadReleases
    from torchdoctor.tables.known_errors import KnownErrors
    from torchdoctor.tables.listed_packages import ListedPackages
    from torchdoctor.tables.mps_floors import MpsFloors
    from torchdoctor.tables.neighbours import Neighbours
    from torchdoctor.tables.ngc_images import NgcImages
    from torchdoctor.tables.numbered import NumberedErrors
    from torchdoctor.tables.os_releases import OsReleases
    from torchdoctor.tables.ptx_versions import PtxVersions
    from torchdoctor.tables.python_support import Pythons
    from torchdoctor.tables.smi_outcomes import SmiOutcomes
    from torchdoctor.tables.smoke_findings import SmokeFindings
    from torchdoctor.tables.toolkits import Toolkits
    from torchdoctor.tables.torch_builds import TorchBuilds
    from torchdoctor.tables.torch_requirements import TorchRequirements
    from torchdoctor.tables.windows_errors import WindowsErrors
    from torchdoctor.tables.windows_wheels import WindowsWheels
    from torchdoctor.tables.xids import Xids
    from torchdoctor.tables.xpu_devices import XpuDevices

__all__ = ["TableError", "Tables"]


class Tables:
    """Every table of one folder: the package's own, or ``root``. Raises ``TableError`` for a wrong or missing file.

    The CSV files of the folder ``over`` lie over them, row by key: tables/overlay.py finds that folder.
    """

    def __init__(self, root: Path | None = None, over: Path | None = None) -> None:
        self.root = root or find_root()
        self.over = over

    @cached_property
    def date(self) -> str:
        """The day on which the newest row was checked, as an ISO date."""
        from torchdoctor.tables.cells import iso_date

        try:
            own = iso_date(read_text(self.root, "DATE").strip())
        except ValueError as error:
            raise TableError(f"DATE:1: {error}") from None
        return own if self.over is None else max(own, newest_day(self.over))

    @property
    def edition(self) -> str:
        """The date, and whether rows of the user's own lie over the tables: ``2026-11-30+overlay``."""
        return self.date if self.over is None else f"{self.date}+overlay"

    @cached_property
    def torch_builds(self) -> TorchBuilds:
        """Official torch wheels."""
        from torchdoctor.tables.torch_builds import FILE, TorchBuilds

        return TorchBuilds(FILE.load(self.root, self.over))

    def of_conda(self) -> Tables:
        """The same tables, with the packages of conda-forge where the official wheels stand."""
        return self._of_conda

    @cached_property
    def _of_conda(self) -> Tables:
        from torchdoctor.tables.conda_builds import FILE, as_builds
        from torchdoctor.tables.torch_builds import TorchBuilds

        other = Tables(self.root, self.over)
        other.__dict__["torch_builds"] = TorchBuilds(as_builds(FILE.load(self.root, self.over)))
        return other

    @cached_property
    def companions(self) -> Companions:
        """Packages that must fit torch."""
        from torchdoctor.tables.companions import FILE, Companions

        return Companions(FILE.load(self.root, self.over))

    @cached_property
    def cpu_levels(self) -> CpuLevels:
        """The instruction sets of x86-64 processors by level."""
        from torchdoctor.tables.cpu_levels import FILE, CpuLevels

        return CpuLevels(FILE.load(self.root, self.over))

    @cached_property
    def cuda_drivers(self) -> CudaDrivers:
        """The drivers that CUDA releases need."""
        from torchdoctor.tables.cuda_drivers import FILE, CudaDrivers

        return CudaDrivers(FILE.load(self.root, self.over))

    @cached_property
    def driver_branches(self) -> DriverBranches:
        """What each driver branch speaks and drives."""
        from torchdoctor.tables.driver_branches import FILE, DriverBranches

        return DriverBranches(FILE.load(self.root, self.over))

    @cached_property
    def gpu_models(self) -> GpuModels:
        """NVIDIA GPUs by name and PCI id."""
        from torchdoctor.tables.gpu_models import FILE, GpuModels

        return GpuModels(FILE.load(self.root, self.over))

    @cached_property
    def amd_gpus(self) -> AmdGpus:
        """AMD GPUs by name and PCI id."""
        from torchdoctor.tables.amd_gpus import FILE, AmdGpus

        return AmdGpus(FILE.load(self.root, self.over))

    @cached_property
    def amd_routes(self) -> AmdRoutes:
        """Whose wheels serve AMD GPUs that the official builds do not."""
        from torchdoctor.tables.amd_routes import FILE, AmdRoutes

        return AmdRoutes(FILE.load(self.root, self.over))

    @cached_property
    def hsa_overrides(self) -> HsaOverrides:
        """What passing an AMD GPU off as another does."""
        from torchdoctor.tables.hsa_overrides import FILE, HsaOverrides

        return HsaOverrides(FILE.load(self.root, self.over))

    @cached_property
    def xpu_devices(self) -> XpuDevices:
        """Intel GPUs by PCI id."""
        from torchdoctor.tables.xpu_devices import FILE, XpuDevices

        return XpuDevices(FILE.load(self.root, self.over))

    @cached_property
    def mps_floors(self) -> MpsFloors:
        """The macOS that Apple's GPUs need."""
        from torchdoctor.tables.mps_floors import FILE, MpsFloors

        return MpsFloors(FILE.load(self.root, self.over))

    @cached_property
    def gpu_peaks(self) -> GpuPeaks:
        """What a GPU can do at best."""
        from torchdoctor.tables.gpu_peaks import FILE, GpuPeaks

        return GpuPeaks(FILE.load(self.root, self.over))

    @cached_property
    def coverage(self) -> Coverage:
        """Which code runs on which GPU."""
        from torchdoctor.tables.coverage import FILE, Coverage

        return Coverage(FILE.load(self.root, self.over))

    @cached_property
    def device_code(self) -> DeviceCodes:
        """The device code inside torch's libraries."""
        from torchdoctor.tables.device_code import FILE, DeviceCodes

        return DeviceCodes(FILE.load(self.root, self.over))

    @cached_property
    def companion_code(self) -> CompanionCode:
        """The device code inside companions."""
        from torchdoctor.tables.companion_code import FILE, CompanionCode

        return CompanionCode(FILE.load(self.root, self.over))

    @cached_property
    def companion_pins(self) -> CompanionPins:
        """The torch that releases of companions ask for."""
        from torchdoctor.tables.companion_pins import FILE, CompanionPins

        return CompanionPins(FILE.load(self.root, self.over))

    @cached_property
    def ptx_versions(self) -> PtxVersions:
        """The CUDA that compiles each version of PTX."""
        from torchdoctor.tables.ptx_versions import FILE, PtxVersions

        return PtxVersions(FILE.load(self.root, self.over))

    @cached_property
    def toolkits(self) -> Toolkits:
        """What each nvcc compiles for and with."""
        from torchdoctor.tables.toolkits import FILE, Toolkits

        return Toolkits(FILE.load(self.root, self.over))

    @cached_property
    def pythons(self) -> Pythons:
        """Which Python versions have torch wheels."""
        from torchdoctor.tables.python_support import FILE, Pythons

        return Pythons(FILE.load(self.root, self.over), self.torch_builds.versions(), self.date)

    @cached_property
    def indexes(self) -> Indexes:
        """Package indexes and their addresses."""
        from torchdoctor.tables.indexes import FILE, Indexes

        return Indexes(FILE.load(self.root, self.over))

    @cached_property
    def jetpacks(self) -> Jetpacks:
        """Jetson Linux and JetPack releases."""
        from torchdoctor.tables.jetpacks import FILE, Jetpacks

        return Jetpacks(FILE.load(self.root, self.over))

    @cached_property
    def smi_outcomes(self) -> SmiOutcomes:
        """How nvidia-smi fails."""
        from torchdoctor.tables.smi_outcomes import FILE, SmiOutcomes

        return SmiOutcomes(FILE.load(self.root, self.over))

    @cached_property
    def os_releases(self) -> OsReleases:
        """The C library of Linux distributions."""
        from torchdoctor.tables.os_releases import FILE, OsReleases

        return OsReleases(FILE.load(self.root, self.over))

    @cached_property
    def torch_requirements(self) -> TorchRequirements:
        """Known faults between torch and packages it does not declare."""
        from torchdoctor.tables.torch_requirements import FILE, TorchRequirements

        return TorchRequirements(FILE.load(self.root, self.over))

    @cached_property
    def known_bad_releases(self) -> KnownBadReleases:
        """Releases broken as published."""
        from torchdoctor.tables.known_bad_releases import FILE, KnownBadReleases

        return KnownBadReleases(FILE.load(self.root, self.over))

    @cached_property
    def neighbours(self) -> Neighbours:
        """Libraries beside torch with demands of their own."""
        from torchdoctor.tables.neighbours import FILE, Neighbours

        return Neighbours(FILE.load(self.root, self.over))

    @cached_property
    def conda_channels(self) -> CondaChannels:
        """Channels of conda that hold torch."""
        from torchdoctor.tables.conda_channels import FILE, CondaChannels

        return CondaChannels(FILE.load(self.root, self.over))

    @cached_property
    def listed_packages(self) -> ListedPackages:
        """Packages that projects list beside torch."""
        from torchdoctor.tables.listed_packages import FILE, ListedPackages

        return ListedPackages(FILE.load(self.root, self.over))

    @cached_property
    def cuda_errors(self) -> CudaErrors:
        """The numbers that CUDA answers."""
        from torchdoctor.tables.cuda_errors import FILE, CudaErrors

        return CudaErrors(FILE.load(self.root, self.over))

    @cached_property
    def xids(self) -> Xids:
        """The Xids of the NVIDIA kernel module."""
        from torchdoctor.tables.xids import FILE, Xids

        return Xids(FILE.load(self.root, self.over))

    @cached_property
    def nccl_errors(self) -> NumberedErrors:
        """The results that NCCL returns."""
        from torchdoctor.tables.nccl_errors import FILE
        from torchdoctor.tables.numbered import NumberedErrors

        return NumberedErrors(FILE.load(self.root, self.over))

    @cached_property
    def hip_errors(self) -> NumberedErrors:
        """The numbers that HIP answers."""
        from torchdoctor.tables.hip_errors import FILE
        from torchdoctor.tables.numbered import NumberedErrors

        return NumberedErrors(FILE.load(self.root, self.over))

    @cached_property
    def nvml_errors(self) -> NumberedErrors:
        """The numbers that NVML answers."""
        from torchdoctor.tables.numbered import NumberedErrors
        from torchdoctor.tables.nvml_errors import FILE

        return NumberedErrors(FILE.load(self.root, self.over))

    @cached_property
    def exit_statuses(self) -> ExitStatuses:
        """How a process ended."""
        from torchdoctor.tables.exit_statuses import FILE, ExitStatuses

        return ExitStatuses(FILE.load(self.root, self.over))

    @cached_property
    def windows_errors(self) -> WindowsErrors:
        """The numbers of Windows."""
        from torchdoctor.tables.windows_errors import FILE, WindowsErrors

        return WindowsErrors(FILE.load(self.root, self.over))

    @cached_property
    def windows_wheels(self) -> WindowsWheels:
        """What torch's wheels for Windows ask of it."""
        from torchdoctor.tables.windows_wheels import FILE, WindowsWheels

        return WindowsWheels(FILE.load(self.root, self.over))

    @cached_property
    def ngc_images(self) -> NgcImages:
        """What NVIDIA's monthly torch images hold."""
        from torchdoctor.tables.ngc_images import FILE, NgcImages

        return NgcImages(FILE.load(self.root, self.over))

    @cached_property
    def smoke_findings(self) -> SmokeFindings:
        """The finding of each smoke test that may fail."""
        from torchdoctor.tables.smoke_findings import FILE, SmokeFindings

        return SmokeFindings(FILE.load(self.root, self.over))

    @cached_property
    def known_errors(self) -> KnownErrors:
        """Texts of errors."""
        from torchdoctor.tables.known_errors import FILE, KnownErrors

        return KnownErrors(read_text(self.root, FILE))
