"""``install-cmd`` for described hosts without an NVIDIA GPU: each answer, with the reason why it is right."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from torchdoctor.prescribe.choose import Choice, choose
from torchdoctor.prescribe.conditions import Wish
from torchdoctor.prescribe.described import describe, with_backend
from torchdoctor.prescribe.install import install_of
from torchdoctor.prescribe.plan import plan_of
from torchdoctor.prescribe.writing import Writing
from torchdoctor.tables import Tables

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HOSTS = tomllib.loads((Path(__file__).parent / "data" / "platform_hosts.toml").read_text(encoding="utf-8"))["host"]


def answer(entry: dict[str, Any], tables: Tables) -> tuple[Choice, Wish]:
    host = describe({"driver": None, "torch": None, **entry["host"]}, tables)
    wish = Wish(backend=entry.get("backend", "auto"), companions=tuple(entry.get("with", ())))
    wish = with_backend(host, wish, tables)
    return choose(host, wish, tables), wish


def reasons(choice: Choice, wish: Wish, tables: Tables) -> str:
    if not choice.runs:
        return "; ".join(str(text) for text in (choice.refusal, choice.change) if text)
    return "; ".join(map(str, install_of(choice, wish, Writing(), tables).why))


@pytest.mark.parametrize("entry", HOSTS, ids=[entry["id"] for entry in HOSTS])
def test_the_answer_is_the_right_one(entry: dict[str, Any], tables: Tables) -> None:
    choice, wish = answer(entry, tables)
    said = reasons(choice, wish, tables)
    assert entry.get("says", "") in said, said
    if "refusal" in entry:
        assert not choice.runs
        assert entry["refusal"] in said, said
    elif "index" in entry:
        plan = plan_of(choice, wish, tables)
        assert (plan.index_url, " ".join(pin.requirement for pin in plan.pins)) == (
            tables.indexes.url(entry["index"]),
            entry["wants"],
        )
    else:
        assert choice.row, said
        assert (str(choice.row.torch), choice.row.build.name) == (entry["torch"], entry["build"])


def test_the_table_is_long_and_each_answer_has_its_reason() -> None:
    assert len(HOSTS) >= 30
    assert all(entry["why"] for entry in HOSTS)
    assert len({entry["id"] for entry in HOSTS}) == len(HOSTS)


def test_a_command_of_amds_index_is_valid_in_its_shell(tables: Tables) -> None:
    choice, wish = answer(next(entry for entry in HOSTS if entry["id"] == "rx-6700-xt"), tables)
    (command,) = install_of(choice, wish, Writing(), tables).commands
    assert command == f"python -m pip install 'torch[device-gfx1031]' --index-url {tables.indexes.url('amd')}"
