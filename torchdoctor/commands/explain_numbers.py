"""What the tables say of a number: of CUDA, HIP, NCCL, NVML, Windows, of an Xid, of a process that ended."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from torchdoctor.errors import UsageError
from torchdoctor.tables import Tables
from torchdoctor.tables.exit_statuses import SHELL_ADDS, ExitStatuses
from torchdoctor.tables.numbered import NumberedError, NumberedErrors
from torchdoctor.tables.windows_errors import WindowsError

Answer = dict[str, Any]
_TABLES: Mapping[str, str] = {
    "cuda": "cuda_errors", "hip": "hip_errors", "rocm": "hip_errors", "nccl": "nccl_errors", "rccl": "nccl_errors",
    "nvml": "nvml_errors", "xid": "xids", "winerror": "windows_errors", "exit": "exit_statuses",
    "signal": "exit_statuses",
}  # fmt: skip
_NOISE = ("error", "code", "number", "status", "result", "kind")  # what people type between a kind and its number


def explained(kind: str, wanted: str, tables: Tables) -> tuple[str, list[Answer]]:
    """The answer as text and as data; raise ``UsageError`` where no row fits."""
    answers = list(KINDS[kind](kind, _bare(wanted), tables))
    return "\n".join(map(_text, answers)), answers


def _bare(wanted: str) -> str:
    words = wanted.split()
    while len(words) > 1 and words[0].casefold().strip(":") in _NOISE:
        del words[0]
    return " ".join(words).strip(" :,'\"")


def _number(text: str) -> int | None:
    """A number as people copy it: 804, -9, 0xC0000005."""
    try:
        return int(text, 0) if text.casefold().startswith("0x") else int(text)
    except ValueError:
        return None


def _by_number(kind: str, wanted: str, tables: Tables) -> Iterable[Answer]:
    table: NumberedErrors = getattr(tables, _TABLES[kind])
    rows = _rows(kind, wanted, table)
    if rows:
        return [_answer(kind, row) for row in rows]
    if kind in {"nccl", "rccl"} and _number(wanted) is None:
        from torchdoctor.commands.explain_errors import of_group

        found = of_group("distributed", wanted, tables)
        if found:
            return found
    raise UsageError(_no_row(kind, wanted, table))


def _rows(kind: str, wanted: str, table: NumberedErrors) -> tuple[NumberedError, ...]:
    number = _number(wanted)
    if number is None:
        row = table.named(wanted) or (table.named(f"SIG{wanted}") if kind == "signal" else None)
        return (row,) if row else table.quoted(wanted)
    if isinstance(table, ExitStatuses):
        row = table.signal(abs(number)) if kind == "signal" else table.shown(number)
    else:
        row = table.find(number)
    return (row,) if row else ()


def _no_row(kind: str, wanted: str, table: NumberedErrors) -> str:
    from difflib import get_close_matches

    codes = [row.code for row in table.rows]
    known = f"table {_TABLES[kind]} knows {len(codes)} numbers from {min(codes)} to {max(codes)}"
    number = _number(wanted)
    if not wanted:
        return f"explain {kind}: a number or a name is missing; {known}"
    if number is not None:
        near = [f"{code} ({row.names[-1]})" for code in table.near(number) if (row := table.find(code))]
    else:
        begun = [name for name in table.names() if name.casefold().startswith(wanted.casefold())]
        near = begun[:3] or get_close_matches(wanted, table.names(), n=3)
    hint = f"; near it: {', '.join(near)}" if near else "; for the text of an error: torchdoctor diagnose FILE or -"
    return f"explain {kind}: {wanted[:60]!r} is not known; {known}{hint}"


def _windows(kind: str, wanted: str, tables: Tables) -> Iterable[Answer]:
    table, number = tables.windows_errors, _number(wanted)
    rows = table.find(number) if number is not None else ()
    if rows:
        return [_windows_answer(kind, row) for row in rows]
    known = ", ".join(map(str, table.codes()))
    raise UsageError(f"explain {kind}: {wanted[:60]!r} is not known; table windows_errors knows: {known}")


def _entry(kind: str, wanted: str, tables: Tables) -> Iterable[Answer]:
    from torchdoctor.commands.explain_errors import by_id

    return by_id(kind, wanted, tables)


def _answer(kind: str, row: NumberedError) -> Answer:
    code = row.code - SHELL_ADDS if kind == "signal" else row.code
    return {
        "title": f"{kind} {code}: {row.name}",
        "code": row.code,
        "names": list(row.names),
        **_said(_TABLES[kind], row),
    }


def _windows_answer(kind: str, row: WindowsError) -> Answer:
    place = f" in {', '.join(row.library)}" if row.library else ""
    said = _said(_TABLES[kind], row)
    return {"title": f"{kind} {row.code}{place}", "code": row.code, "libraries": list(row.library), **said}


def _said(table: str, row: NumberedError | WindowsError) -> Answer:
    findings = [name for name in (row.finding, *row.also) if name]
    source = f"table {table}, row {row.key}, checked {row.checked}: {row.source}"
    return {"text": row.text, "cause": row.cause, "fix": row.fix, "findings": findings, "source": source}


def _text(answer: Answer) -> str:
    """One answer as lines: the title, the text as printed, then each part under its name."""
    lines = [answer["title"], *([f'"{answer["text"]}"'] if answer.get("text") else []), ""]
    for label, value in answer.items():
        if label in {"title", "text", "code", "names", "libraries", "id"} or not value:
            continue
        if label == "findings":
            lines += [f"{'finding' if place == 0 else 'or':9}{name}" for place, name in enumerate(value)]
            lines.append(f"{'see':9}torchdoctor explain {value[0]}")
        else:
            lines += [f"{label:9}{part}" for part in ([value] if isinstance(value, str) else value)]
    return "\n".join(lines) + "\n"


KINDS: Mapping[str, Callable[[str, str, Tables], Iterable[Answer]]] = {
    **dict.fromkeys(_TABLES, _by_number),
    "winerror": _windows,
    "error": _entry,
}
