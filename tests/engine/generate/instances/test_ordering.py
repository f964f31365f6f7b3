"""Alternatives and types in the order in which they are tried."""

from typing import Any

from mockserver.core.seed import Seed
from mockserver.model.arguments import NOTHING
from mockserver.model.schema.compiled import compiled
from mockserver.model.schema.maker import Maker, Work, after_trouble, kinds_in_order, ordered
from mockserver.model.schema.making import Place

DEEP: Any = {"type": "object", "properties": {"a": {"type": "object"}}, "required": ["a"]}
OPTIONS: Any = [(DEEP,), ({"type": "null"},), ({"const": None},), ({"type": "string"},)]


def maker(seed: int = 0, *, lean: bool = False) -> Maker:
    return Maker(compiled({"anyOf": [option[0] for option in OPTIONS]}), Seed(seed), NOTHING, Work(10), {}, lean)


def tried(seed: int = 0, *, lean: bool = False) -> list[Any]:
    one = maker(seed, lean=lean)
    return list(ordered(one, one.compiled.heights, Place(), OPTIONS))


def test_chance_decides_and_null_is_last() -> None:
    orders = [tried(seed) for seed in range(20)]
    assert all(order[2:] == OPTIONS[1:3] for order in orders)
    assert {str(order[0]) for order in orders} == {str(OPTIONS[0]), str(OPTIONS[3])}


def test_deep_down_what_ends_soonest_is_first() -> None:
    assert tried(lean=True) == [*OPTIONS[1:], OPTIONS[0]]


def test_after_trouble_others_come_first() -> None:
    assert after_trouble(Place(), ["a", "b"]) == ["a", "b"]  # type: ignore[list-item]
    assert after_trouble(Place(tries=1), ["a", "b"]) == ["b", "a"]  # type: ignore[list-item]
    assert after_trouble(Place(tries=1), []) == []


def test_types_in_order() -> None:
    assert kinds_in_order(maker(), ({"type": ["null", "string"]},), Place()) == ["string", "null"]
    assert kinds_in_order(maker(lean=True), ({"type": ["string", "null"]},), Place()) == ["null", "string"]
    assert kinds_in_order(maker(), ({"items": {}},), Place())[0] == "array"
    assert kinds_in_order(maker(), ({"type": ["integer", "string"]},), Place(tries=2)) == ["string", "integer"]
    assert kinds_in_order(maker(), ({"type": "string"}, {"type": "null"}), Place()) == []
