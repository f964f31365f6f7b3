"""The editor's schema accepts what the loader accepts, and refuses what is plainly wrong."""

from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver.rules.json_schema import when_schema
from mockserver.rules.match.fields import FIELDS
from mockserver.rules.match.parse import compile_when
from mockserver.rules.match.predicates import PREDICATES

SCHEMA = jsonschema_rs.validator_for(when_schema())

GOOD: list[Any] = [
    {},
    {"operation": "chat", "last_user": {"regex": r"weather in (?P<city>\w+)"}, "tools": {"includes": "get_weather"}},
    {"tool_result": {"name": "get_weather"}},
    {"tool_result": {"exists": True}},
    {"tool_result": {"json": {"subset": {"a": 1}}, "text": "*"}},
    {"model": ["a*", "b"], "turn": [0, 1], "stream": True, "tools": ["a"]},
    {"tools": "a"},
    {"tools": {"includes": ["a", "b*"], "ignore_case": True}},
    {"model": {"contains": ["a", "b"], "ignore_case": True, "ignore_space": False}},
    {"model": {"length": {"gt": 1}}, "conversation": {"length": 3}},
    {"param.temperature": {"gte": 0, "lt": 1}, "param.x.y": "z", "header.x-id": "1", "query.a": "b", "metadata.k": 1},
    {"param.a": {"schema": {"type": "string"}}, "param.b": {"equals": {"c": [1]}}},
    {"body": "length(messages)"},
    {"body": {"a": 1, "b": {"in": [1, 2]}}},
    {"any": [{"model": "a"}, {"not": {"stream": True}}], "all": [{}]},
]

BAD: list[Any] = [
    "model",
    {"modl": "a"},
    {"model": 1},
    {"model": None},
    {"model": {}},
    {"model": {"ignore_case": True}},
    {"model": {"contain": "a"}},
    {"model": {"lt": 1}},
    {"model": {"in": "a"}},
    {"model": {"in": []}},
    {"model": {"length": {"les": 1}}},
    {"turn": "1"},
    {"turn": {"ignore_case": True, "equals": 1}},
    {"stream": "yes"},
    {"tools": {"contains": "a"}},
    {"tools": [1]},
    {"header.": "a"},
    {"header.a": 1},
    {"param.a": {"type": "x"}},
    {"param.a": None},
    {"tool_result": "a"},
    {"tool_result": {}},
    {"tool_result": {"nam": "a"}},
    {"body": 1},
    {"body": {}},
    {"any": []},
    {"any": {"model": "a"}},
    {"any": [{"modl": "a"}]},
    {"not": {}},
]


@pytest.mark.parametrize("when", GOOD, ids=str)
def test_good(when: Any) -> None:
    assert SCHEMA.is_valid(when)
    assert accepted(when)


@pytest.mark.parametrize("when", BAD, ids=str)
def test_bad(when: Any) -> None:
    assert not SCHEMA.is_valid(when)
    assert not accepted(when)


def test_every_field_and_predicate_is_described() -> None:
    table = when_schema()["$defs"]["when"]
    assert len(table["properties"]) + len(table["patternProperties"]) == len(FIELDS) + len(["any", "all", "not"])
    assert all(shape["description"] for shape in [*table["properties"].values(), *table["patternProperties"].values()])
    assert set(when_schema()["$defs"]["json_field"]["anyOf"][-1]["properties"]) == {
        *PREDICATES,
        "ignore_case",
        "ignore_space",
    }


VALUES = st.one_of(
    st.sampled_from(["a", "a*", 0, 1, 2.5, True, None, "a"]),
    st.lists(st.sampled_from(["a", 1, True]), max_size=2),
    st.dictionaries(st.sampled_from(["lt", "gt", "a", "equals"]), st.sampled_from([1, "a", None]), max_size=2),
)
TABLES = st.dictionaries(st.sampled_from([*PREDICATES, "ignore_case", "contain"]), VALUES, max_size=2)
NAMES = [name.replace("<name>", "x") for name in FIELDS]


@given(st.dictionaries(st.sampled_from([*NAMES, "any", "not"]), st.one_of(VALUES, TABLES), min_size=1, max_size=2))
def test_an_editor_never_complains_about_what_can_be_loaded(when: dict[str, Any]) -> None:
    if accepted(when):
        assert SCHEMA.is_valid(when)


def accepted(when: Any) -> bool:
    mistakes: list[str] = []
    compile_when(when, lambda message, path: mistakes.append(message))
    return not mistakes
