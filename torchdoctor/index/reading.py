"""The whole index: the pages of torch and its companions, from one folder or from the folder of every build."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress

from torchdoctor.index.client import Client, IndexReadError, NoPageError, shown
from torchdoctor.index.observed import Passed, wheels_of
from torchdoctor.index.pages import DAY, IndexFile, project_files
from torchdoctor.index.wheel_names import WheelName
from torchdoctor.tables.cells import iso_date

TORCH = "torch"
COMPANIONS = ("torchvision", "torchaudio")
TRITON = "triton"
Files = tuple[IndexFile, ...]
Wheels = list[tuple[IndexFile, WheelName]]


class Index:
    """The wheels of every project of interest; ``passed`` counts what was not looked at."""

    def __init__(self, base: str, folders: tuple[str, ...], wheels: dict[str, Wheels], passed: Passed) -> None:
        self.base, self.folders, self.wheels, self.passed = base, folders, wheels, passed

    @property
    def without(self) -> list[str]:
        """The projects that the index has no page of."""
        return [name for name in (*COMPANIONS, TRITON) if name not in self.wheels]


def read_index(client: Client, base: str, builds: tuple[str, ...]) -> Index:
    """Read all pages; raise ``IndexReadError`` where there is none of torch, or one that cannot be read.

    ``builds`` are the folders to look into where the base itself holds no page of torch.
    """
    passed, (folders, torch) = Passed(), _torch(client, base, builds)
    pages = {TORCH: torch, **{name: _merged(_pages(client, base, folders, name)) for name in (*COMPANIONS, TRITON)}}
    wheels = {name: wheels_of(files, name, passed) for name, files in pages.items() if files}
    if not wheels.get(TORCH):
        raise IndexReadError(f"{shown(base)}: no wheel of a final release of torch")
    return Index(base, folders, wheels, passed)


def _torch(client: Client, base: str, builds: tuple[str, ...]) -> tuple[tuple[str, ...], list[IndexFile]]:
    """The files of torch, and the folders that hold them: the base itself, else those of the builds."""
    top = dict(_pages(client, base, ("",), TORCH))
    found = top or dict(_pages(client, base, tuple(f"/{build}" for build in builds), TORCH))
    if not found:
        raise NoPageError(f"{shown(base)}: no page of torch, neither there nor in the folder of a build")
    return tuple(found), _merged(found.items())


def _pages(client: Client, base: str, folders: tuple[str, ...], name: str) -> Iterator[tuple[str, Files]]:
    for folder in folders:
        with suppress(NoPageError):
            yield folder, _dated(project_files(client, f"{base}{folder}", name), f"{base}{folder}/{name}/")


def _dated(files: Files, page: str) -> Files:
    """The files; raise ``IndexReadError`` where one has a day of upload that is none: it would become a cell."""
    for file in files:
        try:
            is_day = not file.uploaded or len(iso_date(file.uploaded)) == DAY
        except ValueError:
            is_day = False
        if not is_day:
            raise IndexReadError(f"{shown(page)}: {file.name}: upload-time {file.uploaded!r} is not a date")
    return files


def _merged(pages: Iterable[tuple[str, Files]]) -> list[IndexFile]:
    """The files of several pages, each name once."""
    return list({file.name: file for _, files in pages for file in files}.values())
