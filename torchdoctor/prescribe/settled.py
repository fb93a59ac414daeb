"""Settings of pip and uv that would have torch come from elsewhere than the command says, and what wins over them."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.errors import UsageError
from torchdoctor.findings import Text
from torchdoctor.prescribe.plan import Plan
from torchdoctor.prescribe.writing import Writing

_BACKEND, _STRATEGY, _LINKS = "UV_TORCH_BACKEND", "UV_INDEX_STRATEGY", "UV_FIND_LINKS"
_OF_PIP = ("PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS")
_MPS = "mps"


def pip_start(plan: Plan, writing: Writing) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What stands before the interpreter, and an option of pip: they close the further places that variables name.

    Pip pools all places, and takes the highest build of a version that has no label.
    """
    names = [name for name in _OF_PIP if name in writing.variables]
    if not names or not unlabelled(plan):
        return (), ()
    if len(writing.python) == 1 and writing.shell == "posix":
        return _without(names), ()
    return (), ("--isolated",)  # which has pip read no variable at all


def uv_start(plan: Plan, writing: Writing) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """How uv is started, and the options that have it ask the index that is named, and that one first."""
    backend, file = _backend(plan, writing), writing.settings.uv_backend
    if file and not backend:
        what = f"{file} sets torch-backend, and so uv would not ask {plan.index_url or 'the default index'}"
        raise UsageError(f"{what}: take that line out, or use --tool pip")
    is_posix = writing.shell == "posix"
    takes_backend = backend and (file or (_BACKEND in writing.variables and not is_posix))
    names = [_BACKEND] if _BACKEND in writing.variables and not takes_backend else []
    names += [_LINKS] if _LINKS in writing.variables and unlabelled(plan) else []
    has_strategy = writing.settings.uv_strategy or _STRATEGY in writing.variables
    strategy = ("--index-strategy", "first-index") if has_strategy and unlabelled(plan) else ()
    options = (*strategy, *(("--torch-backend", backend) if takes_backend else ()))
    return (*(_without(names) if names and is_posix else ()), "uv"), options


def said(plan: Plan, writing: Writing) -> Iterator[Text]:
    """What must be heard of settings that the command does not win over, and of an environment that is made."""
    if writing.warning:
        yield writing.warning
    is_uv, names = writing.tool == "uv", ", ".join(unlabelled(plan))
    is_left = is_uv and writing.shell != "posix"
    if is_left and _BACKEND in writing.variables and not _backend(plan, writing):
        yield Text("{name} is set here and overrules the index: clear it first", name=_BACKEND)
    file = writing.settings.pip_further if writing.tool in {"pip", "requirements"} else ""
    if is_uv:
        file = writing.settings.uv_links or (_LINKS if is_left and _LINKS in writing.variables else "")
    if file and names:
        text = "{file} names a further index: {names} of another build may come from there, so take that out first"
        yield Text(text, file=file, names=names)


def unlabelled(plan: Plan) -> tuple[str, ...]:
    """What comes from an index that is named, by a version that does not say which build it is."""
    due = [pin for pin in plan.pins if pin in plan.changes] if plan.changes else plan.pins
    return tuple(pin.name for pin in due if not pin.label) if plan.source else ()


def _without(names: list[str]) -> tuple[str, ...]:
    return ("env", *(word for name in names for word in ("-u", name)))


def _backend(plan: Plan, writing: Writing) -> str:
    """Uv's name for the build; empty where its backends mean another index than the plan, or a further one."""
    if plan.row is None or plan.pre or writing.index_base or plan.due(plan.elsewhere):
        return ""
    return "cpu" if plan.row.build.name == _MPS else plan.row.build.name
