"""When a fact is missing: which one, and the command line that gives it."""

from __future__ import annotations

from typing import NamedTuple

from torchdoctor.facts import Unknown
from torchdoctor.findings import Text
from torchdoctor.prescribe.conditions import Judge
from torchdoctor.prescribe.host import Host
from torchdoctor.prescribe.shells import join
from torchdoctor.values import GpuArch


class Question(NamedTuple):
    """A fact without which nothing can be chosen honestly, and the option that gives it."""

    text: Text
    options: tuple[str, ...]

    def command(self, host: Host) -> Text:
        """The whole command line: what is known of the host, and a place for what is asked."""
        words = ["torchdoctor", "install-cmd", *_known(host, self.options), *self.options]
        return Text("{command}", command=join(words, "posix").replace("'", ""))


def missing(judge: Judge) -> Question | None:  # noqa: PLR0911 - one fact a line
    """The first fact that is missing, or None."""
    host = judge.host
    if isinstance(host.os, Unknown):
        return Question(Text("the operating system is unknown"), ("--os", "linux|windows|macos"))
    if isinstance(host.machine, Unknown):
        return Question(Text("the machine architecture is unknown"), ("--machine", "x86_64|aarch64"))
    if host.os == "macos":
        return None
    if isinstance(host.gpus, Unknown) and judge.wish.backend == "auto":
        return Question(Text("the GPUs are unknown (or say --backend cpu)"), ("--gpu", "NAME|sm_XX|gfxNNNN|none"))
    blank = next((gpu for gpu in judge.gpus if gpu.target is None), None)
    if blank:
        return Question(Text("the compute capability of {gpu} is unknown", gpu=blank.name), ("--gpu", "sm_XX"))
    if judge.gpus and isinstance(host.driver, Unknown) and isinstance(judge.gpus[0].target, GpuArch):
        return Question(Text("the NVIDIA driver version is unknown"), ("--driver", "VERSION|none"))
    return None


def _known(host: Host, asked: tuple[str, ...]) -> list[str]:
    pairs = {
        "--os": host.os,
        "--machine": host.machine,
        "--python-version": host.python,
        "--libc": host.libc,
        "--driver": host.driver,
        "--jetpack": host.jetpack,
    }
    words = [word for option, value in pairs.items() if _is_said(value, option, asked) for word in (option, str(value))]
    if host.wsl:
        words.append("--wsl")
    if "--gpu" not in asked and not isinstance(host.gpus, Unknown):
        words += [word for gpu in host.gpus if gpu.target for word in ("--gpu", _target(gpu.target))]
    return words


def _is_said(value: object, option: str, asked: tuple[str, ...]) -> bool:
    return value is not None and not isinstance(value, Unknown) and option not in asked


def _target(target: object) -> str:
    return target.sm if isinstance(target, GpuArch) else str(target)
