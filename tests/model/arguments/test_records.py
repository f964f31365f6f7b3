"""Texts that list records are parted into them; others are not."""

from typing import Any

import pytest

from mockserver.model.arguments.assigning import read_properties
from mockserver.model.arguments.reading import read
from mockserver.model.arguments.records import records

TEXT, WHOLE, NUMBER = {"type": "string"}, {"type": "integer"}, {"type": "number"}


def told(text: str, properties: dict[str, Any], **options: bool) -> list[dict[str, Any]]:
    found = records(text, read(text), read_properties(properties), **options)
    return [{name: mention.value for name, mention in record.taken} for record in found]


@pytest.mark.parametrize(
    ("text", "properties", "expected"),
    [
        ("Add 2 apples and 3 pears", {"name": TEXT, "quantity": WHOLE}, [("apples", 2), ("pears", 3)]),
        ("Alice is 30 and Bob is 25.", {"name": TEXT, "age": WHOLE}, [("Alice", 30), ("Bob", 25)]),
        ("Ada (9 points), Eve (7 points)", {"name": TEXT, "points": WHOLE}, [("Ada", 9), ("Eve", 7)]),
        ("Grades: Lisa got 92, Omar got 78.", {"student": TEXT, "score": WHOLE}, [("Lisa", 92), ("Omar", 78)]),
        ("Team:\n- Mia Wong, 31\n- Leo Katz, 28", {"name": TEXT, "age": WHOLE}, [("Mia Wong", 31), ("Leo Katz", 28)]),
        (
            "4 x Mug at 5.50, 2 x Pan at 8.25",
            {"item": TEXT, "count": WHOLE, "price": NUMBER},
            [("Mug", 4, 5.5), ("Pan", 2, 8.25)],
        ),
    ],
)
def test_records_are_found(text: str, properties: dict[str, Any], expected: list[Any]) -> None:
    assert [tuple(record[name] for name in properties) for record in told(text, properties)] == expected


@pytest.mark.parametrize(
    "text",
    ["Ada is 36.", "Book a table for 2 at 7pm", "Meet Ann Lee and Tom Stone for 45 minutes", ""],
)
def test_one_object_is_no_list(text: str) -> None:
    assert told(text, {"name": TEXT, "age": WHOLE}) == []


def test_one_property_makes_no_record() -> None:
    assert told("Paris, Rome and Oslo", {"city": TEXT}) == []
