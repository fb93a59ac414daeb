"""A policy: the keys that are set, each with its value and where it stands; and what of it a report is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from torchdoctor.facts import Request
from torchdoctor.intent import Ignore, Requirement
from torchdoctor.policy import schema
from torchdoctor.records import replace

_ADDED = {schema.IGNORE}  # what is said in several places holds together; of any other key one place counts


class Entry(NamedTuple):
    """A value as its kind reads it, and where it stands: a file, an option or a variable."""

    value: Any
    source: str


class Policy(NamedTuple):
    """What is set, by the dotted path of its key."""

    entries: Mapping[str, Entry] = {}

    def get(self, path: str) -> Entry | None:
        """The entry of a key, or None where it is not set."""
        return self.entries.get(path)

    def over(self, other: Policy) -> Policy:
        """This policy where it says something, and the other elsewhere."""
        merged = {**other.entries, **self.entries}
        for path in _ADDED & other.entries.keys() & self.entries.keys():
            first, more = self.entries[path], other.entries[path]
            sources = ", ".join(dict.fromkeys((first.source, more.source)))
            merged[path] = Entry((*first.value, *more.value), sources)
        return Policy(merged)

    def without_requirements(self, *, but_of: str) -> Policy:
        """The same but for what is required of the host, unless by options whose names begin so."""
        kept = {
            path: entry
            for path, entry in self.entries.items()
            if not path.startswith(("require.", "bench.")) or entry.source.startswith(but_of)
        }
        return Policy(kept)

    @property
    def requirements(self) -> tuple[Requirement, ...]:
        """What is required, in the order of the schema."""
        asked = (
            Requirement(path, in_words(entry.value), entry.source)
            for path, entry in self.entries.items()
            if path.startswith(("require.", "bench.")) and path not in {schema.REQUIRE_GPU, schema.BASELINE}
        )
        order = {key.path: number for number, key in enumerate(schema.KEYS)}
        return tuple(sorted(asked, key=lambda item: (order.get(item.key, len(order)), item.key)))

    @property
    def ignores(self) -> tuple[Ignore, ...]:
        """What is set aside, for good and up to a day."""
        return tuple(self._ignores())

    def _ignores(self) -> Iterator[Ignore]:
        if entry := self.get(schema.IGNORE):
            yield from (Ignore(name, entry.source) for name in entry.value)
        if entry := self.get(schema.UNTIL):
            yield from (replace(item, source=entry.source) for item in entry.value)

    @property
    def requires_gpu(self) -> bool:
        """Whether there has to be a GPU; what is said of its kind says so too."""
        entry = self.get(schema.REQUIRE_GPU)
        return bool(entry and entry.value) or any(path.startswith("require.gpus.") for path in self.entries)

    def request(self, *, today: str = "", baseline: object = None) -> Request:
        """The same as what is asked of a report."""
        select, gpu = self.get(schema.SELECT), self.get(schema.REQUIRE_GPU)
        return Request(
            require_gpu=self.requires_gpu,
            gpu_from=gpu.source if gpu else "",
            baseline=baseline,
            requires=self.requirements,
            ignores=self.ignores,
            select=select.value if select else (),
            today=today,
        )


def in_words(value: Any) -> str:
    """A value as a requirement holds it."""
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return f"{value:.12g}" if isinstance(value, float) else str(value)
