"""The tables of PDM in pyproject.toml: sources, and development dependencies."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any

from torchdoctor.findings import Place
from torchdoctor.lint.model import Binding, Group, IndexUse, Pin, normal
from torchdoctor.lint.readers.toml_text import Finder, table, tables, texts
from torchdoctor.lint.readers.words import pin_of
from torchdoctor.lint.source import Source


def applied(base: Group, deps: dict[str, list[Pin]], source: Source, pdm: dict[str, Any], finder: Finder) -> Group:
    """The group under PDM's rules: a source serves the packages it includes, else all of them."""
    for name, wanted in table(pdm, "dev-dependencies").items():
        line = finder.header("tool.pdm.dev-dependencies", name)
        found = (pin_of(text, Place(source.name, finder.text(text, line))) for text in texts(wanted))
        deps.setdefault(name, []).extend(pin for pin in found if pin)
    uses: list[IndexUse] = []
    bindings: dict[str, tuple[Binding, ...]] = {}
    names = {pin.name for pins in deps.values() for pin in pins}
    for entry in tables(pdm.get("source")):
        url, included = entry.get("url"), texts(entry.get("include_packages"))
        if not isinstance(url, str):
            continue
        name = str(entry.get("name", ""))
        role = "explicit" if included else "main" if name == "pypi" else "first"
        use = IndexUse(url, role, Place(source.name, finder.text(url)), name)
        uses.append(use)
        for package in names if included else ():
            if any(fnmatchcase(package, normal(pattern.replace("*", "\0")).replace("\0", "*")) for pattern in included):
                bindings[package] = (*bindings.get(package, ()), Binding(use))
    tool = "pdm" if uses or "dev-dependencies" in pdm else base.tool
    return base._replace(tool=tool, indexes=(*base.indexes, *uses), bindings={**base.bindings, **bindings})
