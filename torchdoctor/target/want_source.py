"""Parts of a Python source, taken out by their names; nothing of it is run."""

from torchdoctor.target.paths import Absent, expand, read

MOST = 4000000  # bytes of a source


def want_assignments(args: "tuple[str, ...]", keep: "tuple[str, ...]") -> str:
    """The top-level assignments of these names in the first path that is there, as they are written."""
    import ast
    import os

    for path in expand(args[0]):
        if os.path.exists(path):
            text = read(path, MOST)
            found = [ast.get_source_segment(text, node) for node in ast.parse(text).body if name_of(node) in args[1:]]
            return "\n".join(part for part in found if part)
    raise Absent


def name_of(node: object) -> "str | None":
    """The name that a statement gives a value, if it is one alone."""
    targets = getattr(node, "targets", None) or [getattr(node, "target", None)]
    return getattr(targets[0], "id", None) if len(targets) == 1 else None
