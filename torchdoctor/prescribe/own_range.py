"""The torch that the project's own file asks for: it is kept to where a build in it runs, and else it is spoken of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from torchdoctor.findings import Text
from torchdoctor.prescribe.bystanders import counts, read_requirement
from torchdoctor.prescribe.choose import Choice, choose
from torchdoctor.prescribe.conditions import Wish
from torchdoctor.prescribe.host import Host
from torchdoctor.prescribe.writing import Writing
from torchdoctor.tables import Tables

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet


class Range(NamedTuple):
    """The versions that are allowed, and what the file says of them."""

    specifier: SpecifierSet
    words: str

    def holds(self, choice: Choice) -> bool:
        """Whether the chosen build is one of them."""
        row = choice.row
        return row is None or self.specifier.contains(f"{row.torch}+{row.build}", prereleases=True)


def range_of(writing: Writing, host: Host) -> Range | None:
    """What all lines of the project's file together allow on this host; None where none of them says anything."""
    if writing.kept is None or not (lines := writing.kept.torchs):
        return None
    read = ((line, read_requirement(line)) for line in lines)
    found = [(line, requirement) for line, requirement in read if requirement and counts(requirement, host)]
    if not found:
        return None
    specifier = found[0][1].specifier
    for _, requirement in found[1:]:
        specifier &= requirement.specifier
    words = dict.fromkeys(line.partition(";")[0] for line, _ in found)
    return Range(specifier, " and ".join(words))


def within(choice: Choice, wish: Wish, writing: Writing, again: Callable[[Wish], Choice]) -> tuple[Choice, Wish]:
    """The best build that the project asks for and the wish for it, where it serves as many GPUs; else both as given.

    ``again`` chooses for another wish. Whoever names a torch, or asks for a nightly, means to change the file.
    """
    if wish.torch is not None or wish.nightly or choice.row is None:
        return choice, wish
    own = range_of(writing, choice.host)
    if own is None or own.holds(choice):
        return choice, wish
    narrow = wish._replace(torch=own.specifier)
    kept = again(narrow)
    is_as_good = kept.row is not None and kept.backend == choice.backend and len(kept.hidden) <= len(choice.hidden)
    return (kept, narrow) if is_as_good else (choice, wish)


def said_of_range(choice: Choice, wish: Wish, writing: Writing, tables: Tables) -> Iterator[Text]:
    """That the line takes the place of what the file says, or that what it says holds a newer torch back."""
    own, row = range_of(writing, choice.host), choice.row
    if own is None or row is None or wish.nightly:
        return
    if not own.holds(choice):
        text = "the project asks for {wanted}: torch {torch} breaks that, and takes its place"
        yield Text(text, wanted=own.words, torch=row.torch)
    elif wish.torch == own.specifier:
        free = choose(choice.host, wish._replace(torch=None), tables)
        if free.row and free.row.torch > row.torch and free.backend == choice.backend:
            text = "torch {newer} {build} would run, but the project asks for {wanted} (--torch {newer} moves it)"
            yield Text(text, newer=free.row.torch, build=free.row.build, wanted=own.words)
