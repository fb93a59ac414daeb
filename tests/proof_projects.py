"""Projects for the proofs: a pyproject.toml for each tool, the printed lines put into it, the lock that follows."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from proof_cells import BESIDE_OTHERS, HOSTS, NEWEST, PINS, TORCH
from proof_hosts import Environment, expect
from table_wheels import ONLY_ON_DEFAULT

_PROJECT = """[project]
name = "app"
version = "0.1"
requires-python = "{python}"
dependencies = [{dependencies}]
"""
# Another table than that of the project: what stands there, and the options by which it is synced; dev always is.
_ELSEWHERE: Mapping[str, str] = {
    "dev": "\n[dependency-groups]\ndev = [{dependencies}]\n",
    "gpu": "\n[project.optional-dependencies]\ngpu = [{dependencies}]\n",
    "last-apart": "\n[project.optional-dependencies]\nlast = [{dependencies}]\n",
    "two-alike": "\n[project.optional-dependencies]\na = [{dependencies}]\nb = [{dependencies}]\n",
}
_OPTIONS: Mapping[tuple[str, str], str] = {
    ("uv-project", "gpu"): " --extra gpu",
    ("pdm", "gpu"): " --group gpu",
    ("uv-project", "last-apart"): " --extra last",
    ("uv-project", "two-alike"): " --extra a",
}
OLD = "2.8.0"  # the last that has wheels for a Python that newer ones left
_PINS: Mapping[str, Mapping[str, str]] = {
    **PINS,
    OLD: {"torch": OLD, "torchvision": "0.23.0", "torchaudio": OLD},
}
# What makes the loopback index each tool's default, and the project one that has nothing to build.
_OF_TOOL: Mapping[str, str] = {
    "uv-project": '\n[[tool.uv.index]]\nname = "default"\nurl = "{url}/simple"\ndefault = true\n',
    "poetry": "\n[tool.poetry]\npackage-mode = false\n"
    '\n[[tool.poetry.source]]\nname = "default"\nurl = "{url}/simple"\n',
    "pdm": '\n[tool.pdm]\ndistribution = false\n\n[[tool.pdm.source]]\nname = "pypi"\nurl = "{url}/simple"\n',
    "hatch": "\n[tool.hatch.envs.default]\nskip-install = true\n",
}
_BRING: Mapping[str, Sequence[str]] = {
    "uv-project": ("uv sync --quiet",),
    "poetry": ("poetry lock --quiet", "poetry install --quiet"),
    "pdm": ("pdm install --quiet",),
    "hatch": ("hatch env create",),
}
# The lock fits the project, and the tool's own wish to tidy up changes nothing.
_AGAIN: Mapping[str, Sequence[str]] = {
    "uv-project": ("uv lock --check", "uv sync --quiet{options}", "uv run --quiet{options} python -c 'import torch'"),
    "poetry": ("poetry check --lock", "poetry lock --regenerate --quiet"),
    "pdm": ("pdm lock --check", "pdm sync --clean --quiet{options}"),
    "hatch": ("hatch run python -c 'import torch'",),
}


class Project(NamedTuple):
    """One proof: the tool, what the project depends on before, the builds it asks for one after the other."""

    tool: str
    targets: tuple[str, ...]
    before: tuple[str, ...] = ()
    drifted: bool = False  # somebody put a torch into the environment past the tool
    torch: str = TORCH
    nightly: bool = False  # which is asked for last
    at: str = ""  # the table that names torch, where it is another than that of the project
    pythons: str = ""  # which the project allows: that of the tests alone, unless said
    asked: str = ""  # the versions asked for, where several would do
    of_file: bool = False  # none are asked for: those of the project's own file are to be kept to
    more: tuple[tuple[str, str], ...] = ()
    folder: str = "project"

    def __str__(self) -> str:
        before = "from-" + "-".join(self.before) if self.before else "drifted" if self.drifted else "fresh"
        said = [self.torch] * (self.torch != TORCH) + ["nightly"] * self.nightly + ["as-the-file-says"] * self.of_file
        said += [f"in-{self.at}"] * bool(self.at) + [f"for-{self.pythons}"] * bool(self.pythons)
        return "-".join([self.tool, before, "to", *self.targets, *said])

    def prove(self, environment: Environment) -> None:
        """Make the project, ask and follow for each target; then the environment, the lock and a second run agree."""
        environment = environment._replace(more=_settings(environment))
        environment.folder.mkdir(parents=True)
        if self.tool != "hatch":  # which makes its own, with a pip inside
            environment.make()
        self._begin(environment)
        for target in self.targets:
            pins = {**_PINS[self.torch], **({} if self.torch != NEWEST or target.startswith("cu13") else BESIDE_OTHERS)}
            named = () if self.of_file else ("--torch", self.asked or self.torch)
            asked = (*named, "--backend", target, "--with", "torchvision,torchaudio")
            self._move(environment, target, *asked, pins=pins)
        if self.nightly:
            self._move(environment, "cpu", "--nightly", "--allow-inferred", pins=pins)

    def _begin(self, environment: Environment) -> None:
        place = {"": len(self.before), "last-apart": len(self.before) - 1}.get(self.at, 0)
        main, others = self.before[:place], self.before[place:]
        pythons = self.pythons or f"=={sys.version_info[0]}.{sys.version_info[1]}.*"
        text = _PROJECT.format(python=pythons, dependencies=_listed(ONLY_ON_DEFAULT, *main))
        text += _ELSEWHERE[self.at].format(dependencies=_listed(*others)) if self.at else ""
        text += _OF_TOOL[self.tool].format(url=environment.served.url)
        (environment.folder / "pyproject.toml").write_text(text, encoding="utf-8")
        if self.drifted:
            environment.uv("install", "--default-index", f"{environment.served.url}/whl/cpu", f"torch=={TORCH}+cpu")
        else:
            environment.follow(_BRING[self.tool])

    def _move(self, environment: Environment, target: str, *asked: str, pins: Mapping[str, str]) -> None:
        _, promised = environment.ask(
            "--python", environment.python, "--tool", self.tool, *asked, *HOSTS[target],
            "--index-base", environment.base,
        )  # fmt: skip
        if file := promised["file"]:
            path = environment.folder / file["name"]
            path.write_text(merged(path.read_text(encoding="utf-8"), file["lines"]), encoding="utf-8")
        environment.follow(promised["commands"])
        _is_there(environment, promised, pins)
        options = _OPTIONS.get((self.tool, self.at), "")
        environment.follow([line.format(options=options) for line in _AGAIN[self.tool]])
        _is_there(environment, promised, pins)


def _listed(*names: str) -> str:
    return ", ".join(f'"{name}"' for name in names)


def _is_there(environment: Environment, promised: Mapping[str, Any], pins: Mapping[str, str]) -> None:
    if promised["torch"]:
        expect(environment, promised, pins)
        return
    found = environment.installed(*pins)  # of a nightly no version is promised
    assert {".dev" in one.version for one in found.values()} == {True}, found
    environment.is_whole()


def _settings(environment: Environment) -> tuple[tuple[str, str], ...]:
    home = str(environment.folder.parent)
    return (
        ("POETRY_VIRTUALENVS_IN_PROJECT", "true"),
        ("POETRY_CACHE_DIR", f"{home}/cache-poetry"),
        ("POETRY_NO_INTERACTION", "1"),
        ("PDM_CHECK_UPDATE", "false"),
        ("PDM_CACHE_DIR", f"{home}/cache-pdm"),
        ("PDM_NON_INTERACTIVE", "1"),
        ("HATCH_ENV_TYPE_VIRTUAL_PATH", str(environment.folder / ".venv")),
        ("HATCH_DATA_DIR", f"{home}/hatch"),
        ("HATCH_CACHE_DIR", f"{home}/cache-hatch"),
    )


def merged(text: str, lines: Sequence[str]) -> str:
    """The file with the lines put in as a person would: into a table that is there already, else at the end."""
    for block in re.split(r"\n(?=\[)", "\n".join(lines)):
        header, *body = block.strip().splitlines()
        if header.startswith("[["):
            named = f"{header}\n{body[0]}\n"  # one of that name gives way
            text = "\n".join(part for part in re.split(r"\n(?=\[)", text) if not f"{part}\n".startswith(named))
        if f"\n{header}\n" in text and not header.startswith("[["):
            head, tail = text.split(f"\n{header}\n", 1)
            inside, *rest = re.split(r"(?m)^(?=\[)", tail, maxsplit=1)
            keys = {line.removeprefix("# no line for ").split("=")[0].split(":")[0].strip() for line in body}
            kept = [line for line in inside.splitlines() if line.split("=")[0].strip() not in keys]
            text = "\n".join([head, header, *body, *filter(None, kept), *([""] if rest else []), *rest])
        else:
            text = f"{text.rstrip()}\n\n{block.strip()}\n"
    return text
