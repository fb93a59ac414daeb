"""From a host and a wish to an answer: one way for this host and for each line of a batch."""

from __future__ import annotations

from typing import NamedTuple

from torchdoctor.findings import Text
from torchdoctor.prescribe.choose import Choice, already_right, choose
from torchdoctor.prescribe.conditions import Wish
from torchdoctor.prescribe.described import with_backend
from torchdoctor.prescribe.host import Host
from torchdoctor.prescribe.install import Install, install_of
from torchdoctor.prescribe.left import gone_of, in_the_way
from torchdoctor.prescribe.refuse import NO_GPU_SERVED
from torchdoctor.prescribe.unjudged import gap_beside, unjudged
from torchdoctor.prescribe.writers import choose_for
from torchdoctor.prescribe.writing import Writing
from torchdoctor.tables import Tables


class Decision(NamedTuple):
    """What was chosen, for which tool and out of which tables; ``gap`` is what is in the way of writing it.

    ``stays`` is an installed torch that nobody can judge: it is the answer, whatever was chosen.
    """

    choice: Choice
    wish: Wish
    writing: Writing
    tables: Tables
    stays: Install | None = None
    gap: tuple[Text, Text] | None = None

    def refusal(self, *, require_gpu: bool) -> tuple[Text, Text | None] | None:
        """Why nothing is printed, and what would change that; None where something is."""
        if self.gap:
            return self.gap
        is_for_cpu = require_gpu and self.choice.backend == "cpu"
        if is_for_cpu or not (self.choice.runs or self.stays):
            return self.choice.refusal or NO_GPU_SERVED, self.choice.change
        return None

    def install(self, *, explain: bool) -> Install:
        """The install object, where nothing was refused."""
        return self.stays or install_of(self.choice, self.wish, self.writing, self.tables, explain=explain)


def decide(host: Host, wish: Wish, writing: Writing, tables: Tables) -> Decision:
    """What is installed stays where it is right and nothing else was wished for; else the best that runs."""
    choice, writing, known = choose_for(writing, tables, lambda known: _choose(host, wish, known))
    may_stay = not host.lacking and (choice.jetson is None or wish == Wish())
    stays = unjudged(host, writing, known, wish) if may_stay else None
    gap = gap_beside(host, wish) if stays else None
    if writing.kept and not stays:
        from torchdoctor.prescribe.own_range import within  # of no use without a file of a project

        choice, wish = within(choice, wish, writing, lambda narrow: _choose(host, narrow, known))
    if choice.runs and not stays:
        gap = in_the_way(host, writing, gone_of(choice, wish, writing, known))
    return Decision(choice, with_backend(host, wish, known), writing, known, stays, gap)


def _choose(host: Host, wish: Wish, tables: Tables) -> Choice:
    return already_right(host, tables, wish) or choose(host, with_backend(host, wish, tables), tables)
