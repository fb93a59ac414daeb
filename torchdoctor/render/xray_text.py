"""The device code of each library for people: a list, or a table of GPUs and libraries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from torchdoctor.render.line import Line, on_one_line

WORDS = {
    "native": "native",
    "ptx": "PTX",
    "partly": "partly",
    "ptx-unknown-driver": "PTX, if the driver can",
    "ptx-driver-too-old": "PTX, driver too old",
    "": "none",
}  # from the best to the worst
_LEGEND = {
    "partly": "partly: in fewer than half of the fat binaries of the library",
    "none": "none: in no fat binary of the library (some of NVIDIA's hold code in a form of their own)",
}
_STYLES = {"native": "", "ptx-driver-too-old": "fail", "": "fail"}
_WIDEST = 60


def render(report: Mapping[str, Any]) -> list[Line]:
    """Everything that was read, one package after the other, then what could not be read."""
    files = report["files"]
    lines = [Line(on_one_line(f"examined: {report['python']}, {report['files_read']} libraries"), "dim")]
    lines += list(_table(files, report["gpus"]) if report["gpus"] else _packages(files))
    lines += [Line(on_one_line(f"{row['library']}: {row['error']}"), "warning") for row in files if row["error"]]
    if report["cut"]:
        lines.append(Line(f"{report['cut']} (give it longer with --timeout)", "warning"))
    return lines if files else [*lines, Line("no device code was found")]


def _packages(files: Sequence[Mapping[str, Any]]) -> Iterator[Line]:
    """Each distribution with its libraries and what is in them."""
    last = None
    for row in files:
        title = " ".join(filter(None, (row["package"], row["version"]))) or "of no package"
        if title != last:
            yield Line(on_one_line(title), "info")
            last = title
        yield Line(on_one_line(f"  {row['library']}: {summary(row)}"))


def summary(row: Mapping[str, Any]) -> str:
    """The code of one library in a line: names, with a count behind what not every fat binary has."""
    total = row.get("fatbins", 0)
    kinds = (
        " ".join(_counted(row.get("sass"), total)),
        " ".join(_counted(row.get("gfx"), total)),
        "Metal, compiled where it runs" if row.get("format") == "metallib" else "",
        _ptx(row, total),
    )
    told = "; ".join(filter(None, kinds))
    if row["error"]:
        return f"{told}; not read to its end" if told else "not read"
    return f"{told} ({total} fat {'binary' if total == 1 else 'binaries'})" if total else told or "no device code"


def _ptx(row: Mapping[str, Any], total: int) -> str:
    names = " ".join(_counted(row.get("ptx"), total))
    version = f" version {row['ptx_isa']}" if row.get("ptx_isa") else ""
    return f"PTX{version} {names}" if names else ""


def _counted(counts: Mapping[str, int] | None, total: int) -> Iterator[str]:
    for name, count in (counts or {}).items():
        yield name if count >= total else f"{name}:{count}"


def _table(files: Sequence[Mapping[str, Any]], gpus: Sequence[str]) -> Iterator[Line]:
    """A row for each library, a column for each GPU."""
    known = [row for row in files if not row["error"]]
    if not known:
        return
    width = min(_WIDEST, max(len(row["library"]) for row in known))
    columns = [max(len(gpu), *(len(WORDS[row["serves"][gpu]]) for row in known)) for gpu in gpus]
    yield Line(_joined(" " * width, gpus, columns))
    order = list(WORDS)
    for row in known:
        served = [row["serves"][gpu] for gpu in gpus]
        style = _STYLES.get(max(served, key=order.index), "warning")
        yield Line(on_one_line(_joined(f"{row['library']:{width}}", [WORDS[how] for how in served], columns)), style)
    used = {WORDS[how] for row in known for how in row["serves"].values()}
    yield from (Line(text, "dim") for word, text in _LEGEND.items() if word in used)


def _joined(head: str, cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join((head, *(f"{cell:{width}}" for cell, width in zip(cells, widths, strict=True)))).rstrip()
