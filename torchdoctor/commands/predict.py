"""The hosts that ``check --for`` and ``diagnose --for`` ask about, read from options and files."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from torchdoctor.commands.common import note
from torchdoctor.errors import UsageError
from torchdoctor.predict.specs import Described, read_file, read_json, read_words
from torchdoctor.predict.targets import BROUGHT, Target, target_of
from torchdoctor.prescribe.described import DescriptionError
from torchdoctor.tables import Tables

_MOST_BYTES = 10_000_000
_MOST_TARGETS = 10_000
_MOST_SHOWN = 5


def targets_of(values: list[str], tables: Tables) -> tuple[Target, ...]:
    """Read every host asked about; the lines that cannot be read are one usage error."""
    targets: list[Target] = []
    errors: list[str] = []
    brought: set[str] = set()
    for item in (described for value in values for described in _described(value)):
        try:
            targets += () if item.error else (target_of(item.given, tables),)
        except DescriptionError as error:
            item = item._replace(error=str(error))  # noqa: PLW2901 - what was found out about it
        errors += (f"{item.place}: {item.error}",) if item.error else ()
        brought.update(key for key in BROUGHT if key in item.given)
    if brought:
        note(f"note: not heeded of a target: {', '.join(sorted(brought))}; what is examined brings its own")
    if errors:
        more = f" (and {len(errors) - _MOST_SHOWN} more)" if len(errors) > _MOST_SHOWN else ""
        raise UsageError("; ".join(errors[:_MOST_SHOWN]) + more)
    if not targets:
        raise UsageError(f"--for {' '.join(values)}: no host is described there")
    if len(targets) > _MOST_TARGETS:
        raise UsageError(f"--for: {len(targets)} hosts, and no more than {_MOST_TARGETS} are answered at once")
    return _told_apart(targets)


def _told_apart(targets: list[Target]) -> tuple[Target, ...]:
    """Targets of one name get a number."""
    seen: dict[str, int] = {}
    told = []
    for target in targets:
        seen[target.name] = seen.get(target.name, 0) + 1
        number = seen[target.name]
        told.append(target if number == 1 else target._replace(name=f"{target.name} ({number})"))
    return tuple(told)


def _described(value: str) -> Iterator[Described]:
    if value.lstrip().startswith("[") and not _is_file(value):
        yield from read_file("--for", value)
        return
    is_json = value.lstrip().startswith("{")
    if not value.strip() or (value != "-" and (is_json or "=" in value) and not _is_file(value)):
        place = "--for"
        try:
            yield Described(place, read_json(value) if is_json else read_words(value))
        except DescriptionError as error:
            yield Described(place, {}, str(error))
        return
    yield from read_file("stdin" if value == "-" else value, _text(value))


def _is_file(value: str) -> bool:
    try:
        return Path(value).is_file()
    except (OSError, ValueError):  # longer than a name may be, or with a zero byte
        return False


def _text(name: str) -> str:
    try:
        if name == "-":
            return sys.stdin.buffer.read(_MOST_BYTES).decode("utf-8-sig")
        path = Path(name)
        if path.stat().st_size > _MOST_BYTES:
            raise UsageError(f"--for {name}: longer than {_MOST_BYTES} bytes")
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"--for {name}: not UTF-8") from error
    except OSError as error:
        raise UsageError(
            f'--for {name}: cannot read it: {error.strerror or error} (a host is described as "driver=535.183 gpu=T4")'
        ) from error
