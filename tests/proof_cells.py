"""The cells of the matrix: tool, starting state and target, and how one of them is proved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from proof_hosts import FOR_ALL_BUILDS, Environment, expect

TORCH, NEWEST = "2.9.1", "2.14.1"
VERSIONS = ("2.8.0", TORCH, "2.13.0", NEWEST)
PINS: Mapping[str, Mapping[str, str]] = {
    TORCH: {"torch": TORCH, "torchvision": "0.24.1", "torchaudio": TORCH},
    NEWEST: {"torch": NEWEST, "torchvision": "0.29.1", "torchaudio": "2.11.1"},
}
# torchaudio 2.11.1 is one wheel for CUDA 13; beside any other build of the newest torch stands its predecessor.
BESIDE_OTHERS = {"torchaudio": "2.11.0"}
_CUDA = ("--driver", "580.65.06", "--gpu", "sm_86")
_NO_CUDA = ("--driver", "none", "--gpu", "none")
HOSTS: Mapping[str, tuple[str, ...]] = {
    "cpu": _NO_CUDA,
    "cu126": _CUDA,
    "cu128": _CUDA,  # PyPI's own for 2.9.1
    "cu130": _CUDA,
    "rocm6.4": ("--driver", "none", "--gpu", "gfx1100"),
    "xpu": _NO_CUDA,
}


class State(NamedTuple):
    """What is in an environment before: requirements and the page each comes from, then what is taken out again."""

    name: str
    steps: tuple[tuple[str, str], ...] = ()
    gone: tuple[str, ...] = ()

    def bring(self, environment: Environment) -> None:
        """Install and remove by uv."""
        for requirements, page in self.steps:
            environment.uv("install", "--default-index", f"{environment.served.url}/{page}", *requirements.split())
        if self.gone:
            environment.uv("uninstall", *self.gone)


class Cell(NamedTuple):
    """One proof. ``pip`` is the one in the environment, ``more`` are variables of the shell, ``words`` options."""

    tool: str
    state: State
    target: str
    pip: str = ""
    torch: str = TORCH
    words: tuple[str, ...] = ()
    more: tuple[tuple[str, str], ...] = ()
    has_mirror: bool = True
    folder: str = "project"

    def __str__(self) -> str:
        tool = f"{self.pip}-pip" if self.tool == "pip" else self.tool
        said = [tool, self.state.name, "to", self.target, *(name for name, _ in self.more)]
        said += [self.torch] * (self.torch != TORCH) + ["no-mirror"] * (not self.has_mirror)
        return "-".join([*said, *["odd-folder"] * (self.folder != "project"), *["with"] * bool(self.words)])

    def prove(self, environment: Environment) -> None:
        """Bring the state, ask, run what is printed; afterwards everything that moves with torch is as promised."""
        environment.make(self.pip)
        self.state.bring(environment)
        pins = dict(PINS[self.torch])
        asked = set(",".join(word for word in self.words if word.startswith("torch")).split(","))
        moving = {"torch", *environment.installed(*pins), *(asked & set(pins))}
        mirror = ("--index-base", environment.base) if self.has_mirror else ()
        lines, promised = environment.ask(
            "--python", environment.python, "--tool", self.tool, "--torch", self.torch, "--backend", self.target,
            *HOSTS[self.target], *mirror, *self.words,
        )  # fmt: skip
        assert (promised["torch"], promised["build"]) == (self.torch, self.target)
        self._follow(environment, lines, promised)
        if self.torch == NEWEST and not self.target.startswith("cu13"):
            pins |= BESIDE_OTHERS
        expect(environment, promised, {name: version for name, version in pins.items() if name in moving})

    def _follow(self, environment: Environment, lines: Sequence[str], promised: Mapping[str, Any]) -> None:
        """Run the lines; those for a file are put into it, and a Dockerfile's are run as its builder would."""
        if file := promised["file"]:
            text = "".join(f"{line}\n" for line in file["lines"])
            (environment.folder / file["name"]).write_text(text, encoding="utf-8")
            lines = promised["commands"]
            if file["name"] == "Dockerfile":
                lines = [line.removeprefix("RUN ") for line in file["lines"]]
        environment.follow(lines)


def states_for(target: str, torch: str = TORCH) -> Iterator[State]:
    """The starting states for a target such as ``cu126``."""
    pins = PINS[torch]
    other = "cu130" if target != "cu130" else "cu126"
    wrong = "cpu" if target != "cpu" else "cu126"
    right = (f"torch=={torch}+{target}", f"whl/{target}")
    yield State("nothing")
    yield State("cpu", (all_of("cpu", torch),))
    yield State("from-pypi", ((" ".join(f"{name}=={version}" for name, version in pins.items()), "simple"),))
    yield State("another-cuda", (all_of(other, torch),))
    yield State("right-already", (all_of(target, torch),))
    yield State("torch-alone", ((f"torch=={torch}", "simple"),))
    yield State(
        "torchvision-of-another-build", (right, (f"torchvision=={pins['torchvision']}+{wrong}", f"whl/{wrong}"))
    )
    yield State("torchvision-of-another-torch", (right, (f"--no-deps torchvision==0.23.0+{wrong}", f"whl/{wrong}")))
    yield State("newer-torch", (("torch==2.13.0+cu130 torchvision==0.28.0+cu130", "whl/cu130"),))
    yield State("older-torch", (("torch==2.8.0+cu126 torchvision==0.23.0+cu126", "whl/cu126"),))
    yield State("orphaned-libraries", (all_of(other, torch),), tuple(pins))
    yield State("without-libraries", ((f"--no-deps torch=={torch}+{other}", f"whl/{other}"),))


def all_of(build: str, torch: str = TORCH) -> tuple[str, str]:
    """Requirements of torch and what goes with it in one build, and their page."""
    named = {name: version for name, version in PINS[torch].items() if (name, version) not in FOR_ALL_BUILDS}
    return " ".join(f"{name}=={version}+{build}" for name, version in named.items()), f"whl/{build}"
