"""The environments of Hatch in pyproject.toml: their dependencies, Python, and the indexes in their variables."""

from __future__ import annotations

import re
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
_MOST = 200  # environments
_DEEPEST = 8  # templates of templates
_ADDRESS = re.compile(r"https?://[^\s'\"]{1,500}")


def indexes_of_all(source: Source, hatch: dict[str, Any], finder: Finder) -> tuple[IndexUse, ...]:
    """The indexes that any environment names, in some of its matrix alone as well."""
    envs = table(hatch, "envs")
    found: list[IndexUse] = []
    for name in list(envs)[:_MOST]:
        whole, line = _with_template(envs, name), finder.header(f"tool.hatch.envs.{name}")
        found += _indexes(envs, whole, source, finder, line)
        for url in _ADDRESS.findall(str(table(whole, "overrides"))[:20_000]):
            found.append(IndexUse(url, "extra", Place(source.name, finder.text(url, line))))
    return tuple({use.url: use for use in reversed(found)}.values())


def groups(base: Group, always: list[Pin], source: Source, hatch: dict[str, Any], finder: Finder) -> list[Group]:
    """One group for each environment that names dependencies or an index, the project's own among them."""
    found = []
    envs = table(hatch, "envs")
    for name, environment in list(envs.items())[:_MOST]:
        wanted = [*texts(table(environment).get("dependencies")), *texts(table(environment).get("extra-dependencies"))]
        line = finder.header(f"tool.hatch.envs.{name}")
        pins = (pin_of(text, Place(source.name, finder.text(text, line))) for text in wanted)
        whole = _with_template(envs, name)
        own = () if whole.get("skip-install") is True else tuple(always)
        indexes = _indexes(envs, whole, source, finder, line)
        if not wanted and not (own and indexes):
            continue
        python = whole.get("python")
        found.append(
            base._replace(
                tool="hatch",
                pins=(*own, *(pin for pin in pins if pin)),
                indexes=indexes,
                elsewhere=() if indexes else base.elsewhere,
                bindings={},
                python=PythonWish(python, Place(source.name, finder.key("python", line)), is_one=True)
                if isinstance(python, str)
                else base.python,
            )
        )
    return found


def _with_template(envs: dict[str, Any], name: str) -> dict[str, Any]:
    """An environment with what it takes over from its template: the default one, unless it is detached."""
    whole: dict[str, Any] = {}
    for _ in range(_DEEPEST):
        own = table(envs, name)
        whole = {**own, **whole}
        if own.get("detached") is True:
            return {**whole, "skip-install": whole.get("skip-install", True)}
        template = own.get("template", "default")
        if template == name or not isinstance(template, str):
            break
        name = template
    return whole


def _indexes(
    envs: dict[str, Any], whole: dict[str, Any], source: Source, finder: Finder, line: int
) -> tuple[IndexUse, ...]:
    variables, prefix = table(whole, "env-vars"), _read_by(envs, whole)
    used = [(name, variables.get(name)) for name in VARIABLES if name.startswith(prefix)]
    return tuple(
        IndexUse(url, VARIABLES[name], Place(source.name, finder.text(url, line)))
        for name, value in used
        if isinstance(value, str)
        for url in value.split()
    )


def _read_by(envs: dict[str, Any], whole: dict[str, Any]) -> str:
    """How the variables begin that the environment's installer reads: uv reads none of pip's."""
    installer = whole.get("installer", table(envs, "default").get("installer"))
    return "UV_" if installer == "uv" else "PIP_"
