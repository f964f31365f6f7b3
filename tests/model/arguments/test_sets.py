"""One set of values for each object that a text speaks of."""

from typing import Any

import pytest

from mockserver.model.arguments import mentions

S, N = "string", "integer"


@pytest.mark.parametrize(
    ("text", "types", "expected"),
    [
        ("weather in Paris and in London", {"city": S}, [{"city": "Paris"}, {"city": "London"}]),
        ("Paris, London and Rome", {"city": S}, [{"city": "Paris"}, {"city": "London"}, {"city": "Rome"}]),
        ("weather in Paris", {"city": S}, [{"city": "Paris"}]),
        ("lookup(3) and lookup(4)", {"key": N}, [{"key": 3}, {"key": 4}]),
        ("add 2 and 3", {"a": N, "b": N}, [{"a": 2, "b": 3}]),
        ("add 2 and 3, then 4 and 5", {"a": N, "b": N}, [{"a": 2, "b": 3}, {"a": 4, "b": 5}]),
        (
            "flight from Paris to London",
            {"origin": S, "destination": S},
            [{"origin": "Paris", "destination": "London"}],
        ),
        (
            "add 2 apples and 3 pears",
            {"item": S, "quantity": N},
            [{"item": "apples", "quantity": 2}, {"item": "pears", "quantity": 3}],
        ),
        (
            '[{"name": "A", "age": 1}, {"name": "B", "age": 2}]',
            {"name": S, "age": N},
            [{"name": "A", "age": 1}, {"name": "B", "age": 2}],
        ),
        ("get user 5 and user 6", {"user_id": N}, [{"user_id": 5}, {"user_id": 6}]),
        ("What's the weather in Oslo? And in Rome?", {"city": S}, [{"city": "Oslo"}, {"city": "Rome"}]),
        ("", {"city": S}, [{}]),
    ],
)
def test_sets(text: str, types: dict[str, str], expected: list[dict[str, Any]]) -> None:
    properties = {name: {"type": kind} for name, kind in types.items()}
    sets = mentions(text).sets(properties)
    assert [said.assigned(properties, lambda name, value: True, required=list(types))[0] for said in sets] == expected


def test_the_example_of_a_description_is_one_of_several() -> None:
    properties = {"location": {"type": "string", "description": "The city and state, e.g. San Francisco, CA"}}
    sets = mentions("What's the weather in San Francisco, Tokyo, and Paris?").sets(properties)
    told = [said.assigned(properties, lambda name, value: True)[0]["location"] for said in sets]
    assert told == ["San Francisco", "Tokyo", "Paris"]


def test_what_is_shared_is_in_each_set_and_choices_go_with_theirs() -> None:
    properties = {
        "assignee": {"type": "string"},
        "priority": {"enum": ["low", "high"]},
        "due": {"type": "string", "format": "date"},
    }
    sets = mentions("create tickets for Alice (high) and Bob (low), due tomorrow").sets(properties)
    assert [said.assigned(properties, lambda name, value: True)[0] for said in sets] == [
        {"assignee": "Alice", "priority": "high", "due": "2023-11-15"},
        {"assignee": "Bob", "priority": "low", "due": "2023-11-15"},
    ]


def test_a_list_property_takes_all_in_one_set() -> None:
    properties = {"attendees": {"type": "array", "items": {"type": "string"}}}
    assert len(mentions("a meeting with Ann and Carl").sets(properties)) == 1


def test_a_bare_id_takes_the_number_of_anything() -> None:
    properties = {"id": {"type": "integer"}}
    parts = mentions("Get users 3, 4 and 5").sets(properties)
    assert [part.assigned(properties, lambda name, value: True, required=("id",))[0] for part in parts] == [
        {"id": 3},
        {"id": 4},
        {"id": 5},
    ]
