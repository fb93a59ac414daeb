"""Proof in places that are not tidy: settings that name other indexes, odd folders, no pip, the newest torch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from proof_cells import HOSTS, NEWEST, PINS, TORCH, Cell, State, all_of, states_for
from proof_hosts import Environment, expect
from proof_runs import Proofs

pytest_plugins = ("proof_fixtures",)
pytestmark = pytest.mark.slow

NOTHING = State("nothing")
BOTH = ("--with", "torchvision,torchaudio")
ODD_FOLDER = "it's $HOME & a `folder`"


def pip(state: State, target: str, **fields: Any) -> Cell:
    return Cell("pip", state, target, "newest")._replace(**fields)


def uv(state: State, target: str, **fields: Any) -> Cell:
    return Cell("uv", state, target)._replace(**fields)


def from_settings() -> Iterator[Cell]:
    """An index that the user has configured holds the same torch in another build, or from PyPI."""
    cpu, cuda = State("cpu", (all_of("cpu"),)), State("cuda", (all_of("cu126"),))
    for other in ("cu126", "cu130"):
        target = "cpu" if other == "cu126" else "cu126"
        extra = (("PIP_EXTRA_INDEX_URL", f"{{url}}/whl/{other}"),)
        yield pip(NOTHING, target, more=extra)
    yield pip(cpu, "cu126", more=(("PIP_EXTRA_INDEX_URL", "{url}/whl/cu130"),))
    yield pip(NOTHING, "cu126", more=(("PIP_EXTRA_INDEX_URL", "{url}/simple"),))
    for variable, page in (("PIP_INDEX_URL", "whl/cpu"), ("PIP_FIND_LINKS", "whl/cpu/torch/")):  # keys of pip.conf, too
        yield pip(NOTHING, "cu128", more=((variable, f"{{url}}/{page}"),))
    yield uv(NOTHING, "cu128", more=(("UV_DEFAULT_INDEX", "{url}/whl/cpu"),))
    yield Cell("requirements", cuda, "cpu", "newest", torch=NEWEST, words=("--with", "torchvision"))
    for state, target, variable, page in (
        (NOTHING, "cu126", "UV_DEFAULT_INDEX", "simple"),
        (cuda, "cpu", "UV_DEFAULT_INDEX", "simple"),
        (NOTHING, "cu126", "UV_INDEX", "whl/cpu"),
        (cpu, "cu126", "UV_INDEX", "simple"),
        (NOTHING, "cu126", "UV_EXTRA_INDEX_URL", "simple"),
        (cuda, "cpu", "UV_EXTRA_INDEX_URL", "whl/cu130"),
    ):
        yield uv(state, target, more=((variable, f"{{url}}/{page}"),))
    # Torchvision of the newest torch has no label, and pip takes the highest build of any place.
    vision: dict[str, Any] = {"torch": NEWEST, "words": ("--with", "torchvision")}
    for state, target, variable, page in (
        (NOTHING, "cpu", "PIP_EXTRA_INDEX_URL", "whl/cu126"),
        (State("newest-cpu", (all_of("cpu", NEWEST),)), "cu126", "PIP_EXTRA_INDEX_URL", "whl/cu130"),
        (NOTHING, "cpu", "PIP_FIND_LINKS", "whl/cu126/torchvision/"),
    ):
        yield pip(state, target, more=((variable, f"{{url}}/{page}"),), **vision)
    wide = (("PIP_EXTRA_INDEX_URL", "{url}/whl/cu126"),)
    yield Cell("pip", NOTHING, "cpu", "oldest", more=wide, **vision)
    yield Cell("requirements", NOTHING, "cpu", "newest", more=wide, **vision)
    yield uv(NOTHING, "cpu", more=(("UV_INDEX", "{url}/whl/cu126"),), **vision)
    yield uv(NOTHING, "cpu", more=(("UV_FIND_LINKS", "{url}/whl/cu126/torchvision/"),), **vision)
    of_all = (("UV_INDEX", "{url}/whl/cu126"), ("UV_INDEX_STRATEGY", "unsafe-best-match"))
    yield uv(NOTHING, "cpu", more=of_all, **vision)
    yield uv(NOTHING, "cu126", more=(("UV_TORCH_BACKEND", "cpu"),))
    yield uv(cuda, "cpu", more=(("UV_TORCH_BACKEND", "auto"),))


def from_places() -> Iterator[Cell]:
    """A folder whose name the shell would read, an environment without a pip, companions asked for."""
    for make in (pip, uv):
        yield make(NOTHING, "cu126", folder=ODD_FOLDER)
        yield make(State("cpu", (all_of("cpu"),)), "cu126", folder=ODD_FOLDER)
        yield make(NOTHING, "cu126", words=BOTH)
        yield make(State("torch-right-alone", ((f"torch=={TORCH}+cu126", "whl/cu126"),)), "cu126", words=BOTH)
    yield Cell("auto", NOTHING, "cu126", words=BOTH)
    yield Cell("auto", State("cpu", (all_of("cpu"),)), "cu126")


def without_what_torch_loads() -> Iterator[Cell]:
    """The right torch, and not one of the libraries that it asks for: the line brings them."""
    alone = State("right-alone-without-libraries", ((f"--no-deps torch=={TORCH}+cu126", "whl/cu126"),))
    some = State("right-but-for-one", (all_of("cu126"),), ("nvidia-nccl-cu12",))
    for state in (alone, some):
        yield pip(state, "cu126", words=("--if-needed",))
        yield uv(state, "cu126", words=("--if-needed",))
    yield pip(alone, "cu126")._replace(pip="oldest")


def of_the_newest() -> Iterator[Cell]:
    """Companions whose wheels no longer say which build they are for, or stand on PyPI alone."""
    for make in (pip, uv):
        for target in ("cu126", "cu130", "cpu"):
            for state in states_for(target, NEWEST):
                if state.name in {"from-pypi", "another-cuda"} or (state.name == "cpu" and make is uv):
                    yield make(state, target, torch=NEWEST)
        yield make(NOTHING, "cu130", torch=NEWEST, words=BOTH)


@pytest.mark.parametrize(
    "cell", [*from_settings(), *from_places(), *without_what_torch_loads(), *of_the_newest()], ids=str
)
def test_untidy(cell: Cell, proofs: Proofs) -> None:
    proofs.wait_for(cell)


VISION = ("--torch", NEWEST, "--backend", "cpu", "--with", "torchvision", *HOSTS["cpu"])


@pytest.mark.parametrize(
    "settings",
    [
        "[[index]]\nname = 'x'\nurl = '{url}/whl/cu126'\n",
        "[[index]]\nname = 'x'\nurl = '{url}/whl/cu126'\ndefault = true\n",
        "[[index]]\nname = 'x'\nurl = '{url}/whl/cpu'\nexplicit = true\n",
        "index-strategy = 'unsafe-best-match'\n[[index]]\nname = 'x'\nurl = '{url}/whl/cu126'\n",
    ],
)
def test_the_index_of_the_line_wins_over_those_of_uvs_own_file(settings: str, environment: Environment) -> None:
    environment.make()
    (environment.folder / "uv.toml").write_text(settings.format(url=environment.served.url))
    lines, promised = environment.ask(
        "--python", environment.python, "--tool", "uv", "--index-base", environment.base, *VISION
    )
    environment.follow(lines)
    expect(environment, promised, {name: PINS[NEWEST][name] for name in ("torch", "torchvision")})
