from __future__ import annotations

from collections.abc import Callable

import pytest

from torchdoctor.records import field, fields, is_record, record, replace


@record(frozen=True, slots=True, kw_only=True)
class Named:
    one: int
    two: str = "b"
    three: dict[str, int] = field(default_factory=dict)


@record(frozen=True, slots=True)
class Pair:
    left: int
    right: int = field(default=2, metadata={"unit": "mm"})


@record(frozen=True, slots=True)
class Longer(Pair):
    unit: str = "mm"


@record(frozen=True, slots=True, eq=False)
class Same:
    value: int


def test_values_defaults_and_makers_of_defaults() -> None:
    assert (Named(one=1).two, Named(one=1).three) == ("b", {})
    assert Named(one=1).three is not Named(one=1).three
    assert (Pair(1).right, Pair(1, 5).right) == (2, 5)


@pytest.mark.parametrize(
    ("make", "args", "given"),
    [
        (Named, (), {}),
        (Named, (1,), {}),
        (Pair, (1, 2, 3), {}),
        (Pair, (1,), {"left": 1}),
        (Pair, (1,), {"up": 3}),
    ],
)
def test_wrong_calls_are_refused(make: Callable[..., object], args: tuple[int, ...], given: dict[str, int]) -> None:
    with pytest.raises(TypeError):
        make(*args, **given)


def test_equality_hash_and_text() -> None:
    assert Pair(1) == Pair(1, 2)
    assert Pair(1) != Pair(2)
    assert len({Pair(1), Pair(2)}) == len([1, 2])
    assert len({Pair(1), Pair(1, 2)}) == 1
    assert repr(Pair(1)) == "Pair(left=1, right=2)"
    assert Same(1) != Same(1)


def test_a_record_is_frozen() -> None:
    with pytest.raises(AttributeError):
        Pair(1).left = 3  # type: ignore[misc]


def test_fields_replace_and_is_record() -> None:
    assert [item.name for item in fields(Pair)] == ["left", "right"]
    assert fields(Pair(1))[1].metadata == {"unit": "mm"}
    assert replace(Pair(1), right=9) == Pair(1, 9)
    assert is_record(Pair(1))
    assert not is_record(Pair)
    assert not is_record(3)


def test_a_record_that_extends_another_has_its_members_first() -> None:
    assert [item.name for item in fields(Longer)] == ["left", "right", "unit"]
    assert Longer(1) == Longer(1, 2, "mm")
    assert [item.name for item in fields(Pair)] == ["left", "right"]
