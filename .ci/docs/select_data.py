# noqa: INP001 - a script of the build, in no package
"""The answers of docs/select/: every combination that the page offers, through the solver, as compact JSON.

``data()`` is ``{"tables", "pythons", "tools", "systems", "names", "models", "texts", "answers"}``. A system's ``index``
has one number for each of its combinations, in the order GPU, driver, Python, tool; it is a place in ``answers``, whose
texts are places in ``texts``. docs/select/select.js reads it the same way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from torchdoctor.errors import UsageError
from torchdoctor.prescribe.conditions import Wish
from torchdoctor.prescribe.decide import Decision, decide
from torchdoctor.prescribe.described import describe
from torchdoctor.prescribe.writing import Writing
from torchdoctor.tables import Tables
from torchdoctor.toml import loads

OFFERED = Path(__file__).parents[2] / "docs" / "select" / "offered.toml"
NONE = "none"


class Interned:
    """Equal values stand once; each is named by its place."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._places: dict[str, int] = {}

    def place(self, value: Any) -> int:
        """The place of a value, which is added where it is new."""
        key = repr(value)
        if key not in self._places:
            self._places[key] = len(self.values)
            self.values.append(value)
        return self._places[key]


def data(tables: Tables | None = None) -> dict[str, Any]:
    """All that the page knows."""
    known, offered = tables or Tables(), loads(OFFERED.read_text(encoding="utf-8"))
    texts, answers = Interned(), Interned()
    pythons = [str(tag) for tag in known.pythons.current()]
    systems = [
        {**_shown(system, known), "index": [
            answers.place(_in_places(answer, texts)) for answer in _answers(system, pythons, offered["tools"], known)
        ]}
        for system in offered["system"]
    ]  # fmt: skip
    return {
        "tables": known.date, "pythons": pythons, "tools": offered["tools"], "systems": systems,
        "names": {**offered["names"], **offered["tool_names"]},
        "models": models(offered, known), "texts": texts.values, "answers": answers.values,
    }  # fmt: skip


def drivers_for(system: Mapping[str, Any], gpu: str) -> list[str]:
    """The drivers offered beside a GPU: NVIDIA's numbers matter to its own GPUs alone."""
    return list(system["drivers"]) if gpu.startswith("sm_") else [NONE]


def hosts(system: Mapping[str, Any], pythons: list[str]) -> Iterator[dict[str, Any]]:
    """Every host of a system, as a line of ``install-cmd --batch`` has it."""
    for gpu in system["gpus"]:
        for driver in drivers_for(system, gpu):
            for python in pythons:
                found = {"driver": None if driver == NONE else driver, "gpus": [] if gpu == NONE else [gpu]}
                yield {**system["host"], "python": python, **found}


def _answers(system: Mapping[str, Any], pythons: list[str], tools: list[str], tables: Tables) -> Iterator[Any]:
    for given in hosts(system, pythons):
        host = describe(given, tables)
        of_wheels = decide(host, Wish(), Writing(tool="pip", asked=True), tables)
        explained = _explained(of_wheels)
        for tool in tools:
            writing = Writing(tool=tool, asked=True)
            if tool == "conda":
                of_conda = decide(host, Wish(), writing, tables)
                yield {**_answer(of_conda), **_explained(of_conda)}
            else:  # what is chosen, and passed over, is the same for all that install wheels
                answer = _answer(of_wheels._replace(writing=writing))
                yield {**answer, **explained} if "torch" in answer else answer


def _answer(decision: Decision) -> dict[str, Any]:
    """What install-cmd says; of a refusal the reason, and the smallest change that helps where there is one."""
    if refusal := decision.refusal(require_gpu=False):
        return {"reason": [str(refusal[0])], "change": str(refusal[1] or "")}
    try:
        install = decision.install(explain=False)
    except UsageError as error:  # the tool cannot do it
        return {"reason": [str(error)]}
    return {
        "torch": install.torch or "", "build": install.build or "", "commands": list(install.commands),
        "file": install.file, "lines": list(install.lines), "reason": [str(text) for text in install.why],
    }  # fmt: skip


def _explained(decision: Decision) -> dict[str, Any]:
    """What ``install-cmd --explain`` alone says: more reasons, builds passed over, what a newer driver would allow."""
    if decision.refusal(require_gpu=False):
        return {}
    told, install = decision.install(explain=False).why, decision.install(explain=True)
    more = [str(text) for text in install.why[len(told) :]]
    passed_over = [f"torch {item.torch} {item.build}: {item.reason}" for item in install.rejected]
    newer = install.upgrade
    upgrade = f"{newer.min_driver} or newer: torch {newer.row.torch} {newer.row.build.name}" if newer else ""
    return {"more": more, "not": passed_over, "upgrade": upgrade}


def _in_places(answer: Mapping[str, Any], texts: Interned) -> dict[str, Any]:
    return {
        key: texts.place(value) if isinstance(value, str) else [texts.place(text) for text in value]
        for key, value in answer.items()
        if value
    }


def _shown(system: Mapping[str, Any], tables: Tables) -> dict[str, Any]:
    drivers = [[driver, _driver_label(driver, system, tables)] for driver in system.get("drivers", [NONE])]
    return {**{key: system[key] for key in ("id", "label", "host", "gpus")}, "drivers": drivers}


def _driver_label(driver: str, system: Mapping[str, Any], tables: Tables) -> str:
    """A driver as the page names it, with the CUDA that it speaks."""
    if driver == NONE:
        return "none installed"
    numbers_of_windows = system["host"]["os"] == "windows" or system["host"].get("wsl")
    for row in tables.driver_branches.rows:
        if str(row.windows_from if numbers_of_windows else row.branch) == driver:
            to = f" to {row.windows_to}" if numbers_of_windows and row.windows_to != row.windows_from else ""
            return f"{driver}{to} (CUDA {row.cuda})"
    raise ValueError(f"{OFFERED.name}: no driver branch of driver_branches.csv begins with {driver}")


def models(offered: Mapping[str, Any], tables: Tables) -> dict[str, str]:
    """The names of GPUs that the page finds, and what it chooses for each."""
    wanted = {gpu for system in offered["system"] for gpu in system["gpus"]}
    names = [name for row in tables.gpu_models.rows for name in (row.name, *row.other_names)]
    codes = {name: _code_of(name, tables) for name in (*names, *(row.name for row in tables.amd_gpus.rows))}
    return {name: code for name, code in sorted(codes.items()) if code in wanted}


def _code_of(name: str, tables: Tables) -> str:
    """The compute capability or gfx number that a name alone decides; empty where it does not, and of a Jetson."""
    chips = tables.amd_gpus.named(name)
    if len(chips) == 1:
        return str(next(iter(chips)))
    model = tables.gpu_models.by_name(name)
    return model.compute_capability.sm if model and model.compute_capability and not model.tegra else ""
