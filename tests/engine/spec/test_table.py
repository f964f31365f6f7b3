from typing import Annotated, Literal

import pytest
from pydantic import Field, Tag, ValidationError

from mockserver.config.types import Duration, Share
from mockserver.rules.table import Headers, Table, TextOrNumber, Whole, by_type, either


class Circle(Table):
    type: Literal["circle"]
    radius: int


class Square(Table):
    type: Literal["square"]
    side: int


class Sample(Table):
    nullable = frozenset(("anything",))

    text: str = ""
    wait: Duration = 0.0
    part: Share = 0.0
    count: Whole = 0
    code: TextOrNumber = ""
    headers: Headers = Field(default_factory=dict)
    anything: object = 1
    pick: Annotated[Annotated[str, Tag("<text>")] | Annotated[list[int], Tag("<list>")], either("a text or a list")] = (
        ""
    )
    shape: Annotated[Annotated[Circle, Tag("<circle>")] | Annotated[Square, Tag("<square>")], by_type] | None = None


GOOD = [
    ({"shape": {"type": "square", "side": 2}}, "shape", Square(type="square", side=2)),
    ({"text": "a", "anything": None}, "text", "a"),
    ({"wait": "300ms"}, "wait", 0.3),
    ({"wait": 2}, "wait", 2.0),
    ({"part": "20%"}, "part", 0.2),
    ({"count": 0}, "count", 0),
    ({"code": 7}, "code", 7),
    ({"code": "x"}, "code", "x"),
    ({"headers": {"a": 1, "b": "2"}}, "headers", {"a": 1, "b": "2"}),
    ({"pick": [1]}, "pick", [1]),
]

BAD = [
    ({"text": 1}, "string_type", ("text",)),
    ({"text": None}, "empty", ()),
    ({"other": 1}, "extra_forbidden", ("other",)),
    ({"wait": "soon"}, "expected", ("wait",)),
    ({"wait": None}, "empty", ()),
    ({"part": 2}, "expected", ("part",)),
    ({"count": -1}, "greater_than_equal", ("count",)),
    ({"count": True}, "int_type", ("count",)),
    ({"code": 1.5}, "int_type", ("code", "<number>")),
    ({"code": True}, "expected", ("code",)),
    ({"pick": {}}, "expected", ("pick",)),
    ({"pick": 1}, "expected", ("pick",)),
    ({"pick": ["a"]}, "int_type", ("pick", "<list>", 0)),
    ({"shape": {"type": "square", "radius": 2, "side": 1}}, "extra_forbidden", ("shape", "<square>", "radius")),
    ({"shape": {"type": "triangle"}}, "union_tag_invalid", ("shape",)),
    ({"shape": {"side": 1}}, "union_tag_not_found", ("shape",)),
    ({"shape": {"type": 3}}, "union_tag_not_found", ("shape",)),
    ({"shape": "circle"}, "union_tag_not_found", ("shape",)),
    ([], "model_type", ()),
]


@pytest.mark.parametrize(("table", "key", "value"), GOOD)
def test_what_fits(table, key, value):
    assert getattr(Sample.model_validate(table), key) == value


@pytest.mark.parametrize(("table", "kind", "path"), BAD)
def test_what_does_not_is_one_mistake(table, kind, path):
    with pytest.raises(ValidationError) as caught:
        Sample.model_validate(table)
    (error,) = caught.value.errors()
    assert (error["type"], error["loc"]) == (kind, path)


def test_a_table_that_was_read_is_written_again() -> None:
    read = Sample.model_validate({"shape": {"type": "circle", "radius": 3}, "pick": [1]})
    assert read.model_dump(exclude_unset=True) == {"shape": {"type": "circle", "radius": 3}, "pick": [1]}
