"""``install-cmd --online``: before a command is printed, ask the indexes whether what it wants is there now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchdoctor.commands.common import note
from torchdoctor.errors import UsageError
from torchdoctor.facts import Unknown
from torchdoctor.prescribe.host import Host
from torchdoctor.prescribe.install import Install

if TYPE_CHECKING:
    from torchdoctor.index.online import Online

_SECONDS = 20.0


def is_there(install: Install, host: Host, timeout: float | None) -> bool:
    """Ask for every wheel and say what each index answered; False where one of them surely lacks its wheel."""
    if not install.wheels:
        raise UsageError("--online asks an index for wheels of known versions: leave it out here")
    answers = [_asked(install, place, host, timeout or _SECONDS) for place in range(len(install.wheels))]
    for answer in answers:
        note(f"online: {answer.state}: {answer.reason}")
    if any(answer.state == "no" for answer in answers):
        note("nothing to install: an index lacks what the tables know (see: torchdoctor tables refresh --help)")
        return False
    return True


def _asked(install: Install, place: int, host: Host, timeout: float) -> Online:
    from torchdoctor.index.online import ask

    wheel = install.wheels[place]
    python = None if isinstance(host.python, Unknown) else host.python
    version = f"{wheel.version}+{wheel.label}" if wheel.label else wheel.version
    return ask(
        wheel.index_url,
        wheel.name,
        version,
        python=python,
        os=str(host.os),
        machine=str(host.machine),
        timeout=timeout,
    )
