"""The environments of Hatch in pyproject.toml: their dependencies, Python, and the indexes in their variables."""

from __future__ import annotations

from typing import Any

from torchdoctor.findings import Place
from torchdoctor.lint.model import Group, IndexUse, Pin, PythonWish
from torchdoctor.lint.readers.toml_text import Finder, table, texts
from torchdoctor.lint.readers.words import pin_of
from torchdoctor.lint.source import Source

# A variable of pip or uv, and what it does with its index.
VARIABLES = {
    "PIP_INDEX_URL": "main",
    "PIP_EXTRA_INDEX_URL": "extra",
    "PIP_FIND_LINKS": "extra",
    "UV_DEFAULT_INDEX": "main",
    "UV_INDEX_URL": "main",
    "UV_INDEX": "first",
    "UV_EXTRA_INDEX_URL": "first",
}


def groups(base: Group, always: list[Pin], source: Source, hatch: dict[str, Any], finder: Finder) -> list[Group]:
    """One group for each environment that names dependencies, the project's own among them."""
    found = []
    for name, environment in table(hatch, "envs").items():
        wanted = [*texts(table(environment).get("dependencies")), *texts(table(environment).get("extra-dependencies"))]
        if not wanted:
            continue
        line = finder.header(f"tool.hatch.envs.{name}")
        pins = (pin_of(text, Place(source.name, finder.text(text, line))) for text in wanted)
        own = () if table(environment).get("skip-install") is True else tuple(always)
        variables = table(environment, "env-vars")
        prefix = _read_by(hatch, environment)
        used = [
            (variable, variables[variable])
            for variable in VARIABLES
            if variable.startswith(prefix) and isinstance(variables.get(variable), str)
        ]
        indexes = tuple(
            IndexUse(url, VARIABLES[variable], Place(source.name, finder.text(url, line)))
            for variable, value in used
            for url in value.split()
        )
        python = environment.get("python")
        found.append(
            base._replace(
                tool="hatch",
                pins=(*own, *(pin for pin in pins if pin)),
                indexes=indexes,
                bindings={},
                python=PythonWish(python, Place(source.name, finder.key("python", line)), is_one=True)
                if isinstance(python, str)
                else base.python,
            )
        )
    return found


def _read_by(hatch: dict[str, Any], environment: dict[str, Any]) -> str:
    """How the variables begin that the environment's installer reads: uv reads none of pip's."""
    installer = environment.get("installer", table(hatch, "envs", "default").get("installer"))
    return "UV_" if installer == "uv" else "PIP_"
