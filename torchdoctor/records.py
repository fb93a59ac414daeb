"""Frozen records: the part of dataclasses that this package uses, without its cost at every start.

``dataclasses`` imports inspect and compiles up to nine functions a class; for the sixty classes of a static check that
is half the time the whole check may take (benchmarks/budgets.py). To a type checker a record is a dataclass.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from dataclasses import dataclass as record
    from dataclasses import field, fields, replace
else:
    R = TypeVar("R")

    class Field:
        """One declared member: its name, its default or the maker of one, and what else is said about it."""

        __slots__ = ("default", "factory", "metadata", "name")

        def __init__(self, default: Any, factory: Callable[[], Any] | None, metadata: Mapping[str, Any]) -> None:
            self.default, self.factory, self.metadata, self.name = default, factory, metadata, ""

    _NONE = object()

    def field(*, default: Any = _NONE, default_factory: Any = None, metadata: Any = None) -> Field:
        """Declare a member with more than a default."""
        return Field(default, default_factory, metadata or {})

    def record(
        *,
        kw_only: bool = False,
        eq: bool = True,
        repr: bool = True,  # noqa: A002 - the standard library's own name
        **_for_the_type_checker: bool,
    ) -> Callable[[type[R]], type[R]]:
        """Make a frozen record of a class: every annotated name is a member, after those of a record it extends.

        ``eq`` False compares by identity.
        """

        def make(cls: type[R]) -> type[R]:
            inherited: dict[str, Field] = getattr(cls, "__record__", {})
            declared = (*inherited.values(), *(_declared(cls, name) for name in cls.__annotations__))
            cls.__record__ = {item.name: item for item in declared}
            cls._names = () if kw_only else tuple(cls.__record__)
            cls._defaults = {item.name: item.default for item in declared if item.default is not _NONE}
            cls._factories = {item.name: item.factory for item in declared if item.factory}
            cls.__key__ = attrgetter(*cls.__record__)
            cls.__init__, cls.__setattr__ = _init, _refuse
            if repr:
                cls.__repr__ = _repr
            if eq:
                cls.__eq__, cls.__hash__ = _equal, _hash
            return cls

        return make

    def _declared(cls: type, name: str) -> Field:
        value = cls.__dict__.get(name, _NONE)
        item = value if isinstance(value, Field) else Field(value, None, {})
        item.name = name
        if isinstance(value, Field):
            delattr(cls, name)
        return item

    def _init(self: Any, *args: Any, **given: Any) -> None:
        cls = type(self)
        if not given and len(args) == len(cls.__record__) == len(cls._names):  # the row of a table: the usual case
            self.__dict__.update(zip(cls._names, args, strict=True))
            return
        values = dict(zip(cls._names, args, strict=False))
        if len(args) > len(values) or not values.keys().isdisjoint(given):
            raise TypeError(f"{cls.__name__} takes no such positional values: {args!r}")
        values = {**cls._defaults, **values, **given}
        for name, make in cls._factories.items():
            if name not in values:
                values[name] = make()
        if values.keys() != cls.__record__.keys():
            raise TypeError(f"{cls.__name__}: missing or unknown {sorted(values.keys() ^ cls.__record__.keys())}")
        self.__dict__.update(values)

    def _equal(self: Any, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def _hash(self: Any) -> int:
        return hash(type(self).__key__(self))

    def _repr(self: Any) -> str:
        shown = ", ".join(f"{name}={self.__dict__[name]!r}" for name in type(self).__record__)
        return f"{type(self).__qualname__}({shown})"

    def _refuse(self: Any, name: str, _value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen: {name} cannot be set")

    def fields(thing: Any) -> tuple[Field, ...]:
        """The declared members of a record or its class, in order."""
        return tuple(thing.__record__.values())

    def replace(thing: R, /, **changes: Any) -> R:
        """The same record with some members changed."""
        return type(thing)(**{**{name: thing.__dict__[name] for name in type(thing).__record__}, **changes})


def is_record(thing: object) -> bool:
    """Whether this is a record, not a class of records."""
    return hasattr(type(thing), "__record__")


__all__ = ["field", "fields", "is_record", "record", "replace"]
