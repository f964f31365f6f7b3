"""Schemas meant to blow up, twice as large, do not cost many times as much: counted in calls, not in seconds."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mockserver.core.json import Json
from mockserver.core.plan import Failure
from mockserver.core.seed import Seed
from mockserver.model import schema
from mockserver.model.arguments import find_mentions
from mockserver.model.schema import generate_instance
from mockserver.model.schema.document import SchemaDocument, ValidationCost
from mockserver.model.schema.shape import CACHE, compile_schema
from tests.model.test_growth import steps

Wrap = Callable[[Any], Any]
SAID = find_mentions('Set a to "Oslo" and b to 42 for Ada Lovelace, with c and d')
ANY: Any = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
# What each definition makes of a reference to the next one.
DOUBLING: Mapping[str, Wrap] = {
    "anyOf": lambda next: {"anyOf": [next, next]},
    "oneOf": lambda next: {"oneOf": [next, next]},
    "allOf": lambda next: {"allOf": [next, next]},
    "if": lambda next: {"if": next, "then": next, "else": next},
    "not": lambda next: {"not": {"anyOf": [next, {"not": next}]}},
    "dependentSchemas": lambda next: {"dependentSchemas": {"a": next, "b": next}, "required": ["a", "b"]},
    "properties": lambda next: {"type": "object", "properties": {"a": next, "b": next}, "required": ["a", "b"]},
    "optional properties": lambda next: {"properties": {"a": {"anyOf": [next, next]}, "b": next}},
    "patternProperties": lambda next: {"patternProperties": {"^a": next, "a$": next}, "required": ["a"]},
    "additionalProperties": lambda next: {"additionalProperties": next, "required": ["a", "b"]},
    "propertyNames": lambda next: {"propertyNames": {"anyOf": [next, next]}, "minProperties": 1},
    "prefixItems": lambda next: {"type": "array", "prefixItems": [next, next], "minItems": 2},
    "contains": lambda next: {"type": "array", "contains": next, "items": next, "minItems": 2},
    "unevaluatedProperties": lambda next: {"anyOf": [next, next], "unevaluatedProperties": False},
    "unevaluatedItems": lambda next: {"anyOf": [next, next], "unevaluatedItems": False},
}
ENDS: Mapping[str, Any] = {
    "text": {"type": "string"},
    "object": ANY,
    "nothing": False,
    "no text": {"not": {"type": "string"}},
}


def doubled(wrap: Wrap, n: int, end: Any, **more: Any) -> Any:
    links = {f"d{at}": wrap({"$ref": f"#/$defs/d{at + 1}"}) for at in range(n)}
    return {"$ref": "#/$defs/d0", "$defs": {**links, f"d{n}": end}, **more}


def mutual(n: int) -> Any:
    """Definitions of which each may be, or holds, each other one."""
    names = [{"$ref": f"#/$defs/d{at}"} for at in range(n)]
    link = {"anyOf": names, "properties": {f"p{at}": name for at, name in enumerate(names)}}
    return {"$ref": "#/$defs/d0", "$defs": {f"d{at}": link for at in range(n)}}


WIDE: Mapping[str, Callable[[int], Any]] = {
    "mutual": lambda n: mutual(n // 100),
    "enum": lambda n: {"type": "array", "minItems": 300, "uniqueItems": True, "items": {"enum": [*range(n * 10)]}},
    "required": lambda n: {"type": "object", "required": [f"p{at}" for at in range(n)]},
    "required and contradictory": lambda n: {
        "required": [f"p{at}" for at in range(n)],
        "allOf": [{"anyOf": [{"minProperties": at}, {"minLength": 1}]} for at in range(20)],
        "anyOf": [{"type": "string", "properties": {"p0": {"type": "string"}}}, {"type": "array", "maxItems": -1 + 1}],
        "type": "object",
    },
    "properties": lambda n: {"type": "object", "properties": {f"p{at}": {"type": "string"} for at in range(n)}},
    "definitions": lambda n: {"$defs": {f"p{at}": {"type": "string"} for at in range(n)}},
    "chain": lambda n: doubled(lambda next: next, n, ANY),
    "alternatives": lambda n: {"oneOf": [{"type": "string", "minLength": at} for at in range(n)], "type": "integer"},
    "choices": lambda n: {
        "type": "integer",
        "allOf": [{"anyOf": [{"minimum": at}, {"maximum": -at}]} for at in range(n)],
    },
    "dependents": lambda n: {
        "properties": {f"p{at}": {} for at in range(n // 10)},
        "dependentRequired": {f"p{at}": [f"p{other}" for other in range(n // 10)] for at in range(n // 10)},
    },
    "views": lambda n: {
        "type": "object",
        "properties": {f"p{at}": {"anyOf": [{"$ref": "#/$defs/x"}] * 10} for at in range(n // 40)},
        "$defs": {"x": {"type": "object", "properties": {f"q{at}": {"type": "string"} for at in range(n // 2)}}},
    },
}


def calls(schema: Any) -> int:
    """How many calls of functions an instance takes."""

    def work() -> None:
        with suppress(Failure):
            generate_instance(schema, Seed(1), SAID)

    CACHE.schemas.clear()
    return steps(work)


FEW, GROWTH = 50_000, 5  # calls that do not matter; doubling the size costs at most its square
PART = 4  # a quarter of the budget is enough to see that a search ends with it
SEARCHED = {"oneOf", "not", "properties", "additionalProperties", "prefixItems", "contains"}  # until a budget is spent


@pytest.mark.parametrize("end", ["object", "no text"])
@pytest.mark.parametrize("keyword", DOUBLING)
def test_definitions_that_double(keyword: str, end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_MAX_WORK", "_MAX_WORK_PER_ATTEMPT"):
        monkeypatch.setattr(schema, name, getattr(schema, name) // PART)
    most = 2_000_000 // PART if keyword in SEARCHED else 100_000
    assert calls(doubled(DOUBLING[keyword], 24, ENDS[end])) < most


def test_a_search_ends_when_its_budget_is_spent() -> None:
    assert 2_000_000 // PART < calls(doubled(DOUBLING["properties"], 24, ENDS["no text"])) < 2_000_000


@pytest.mark.parametrize("kind", WIDE)
def test_wide_schemas(kind: str) -> None:
    small, large = (calls(WIDE[kind](n)) for n in (500, 1_000))
    assert large <= GROWTH * max(FEW, small)


@given(st.lists(st.sampled_from(sorted(DOUBLING)), min_size=2, max_size=4), st.sampled_from(sorted(ENDS)))
@settings(max_examples=6, deadline=None)
def test_mixtures_that_double(keywords: list[str], end: str) -> None:
    def mixed(n: int) -> Any:
        wraps = [DOUBLING[keyword] for keyword in keywords]
        links = {f"d{at}": wraps[at % len(wraps)]({"$ref": f"#/$defs/d{at + 1}"}) for at in range(n)}
        return {"$ref": "#/$defs/d0", "$defs": {**links, f"d{n}": ENDS[end]}}

    small, large = (calls(mixed(n)) for n in (24, 48))  # the budget is spent before that
    assert large <= GROWTH * max(FEW, small)


@pytest.mark.parametrize("keyword", ["unevaluatedProperties", "unevaluatedItems"])
def test_the_compiler_gets_no_schema_that_it_would_write_out(keyword: str) -> None:
    small, large = (SchemaDocument(doubled(DOUBLING[keyword], n, ANY)) for n in (5, 14))
    assert ValidationCost(small).estimate_compiling() < 1_000
    with pytest.raises(Failure, match="too many alternatives for its unevaluated properties or items"):
        generate_instance(large.root, Seed(1))


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"required": [str(at) for at in range(20_000)]}, "more than 2,000 required properties"),
        ({"properties": {f"p{at}": {} for at in range(20_001)}}, "more than 20,000 parts"),
        ({"$defs": {f"p{at}": {"$ref": "#"} for at in range(6_000)}}, "more than 5,000 references"),
        ({"enum": [*range(200_000)]}, "more than 200,000 values"),
        (
            {"properties": {f"p{at}": {"pattern": rf"(?=a)\w{{99}}{at}"} for at in range(29)}},
            "patterns repeat too much",
        ),
        ({"pattern": "|".join([r"\w\w"] * 6_000)}, "patterns repeat too much"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_is_too_large_is_named_before_any_work(schema: Any, why: str) -> None:
    with pytest.raises(Failure, match=rf"is not valid: .*{why}.* \(at #"):
        generate_instance(schema, Seed(1))
    assert calls(schema) < 100 * 20_000


def test_ordinary_schemas_are_answered() -> None:
    options: list[Json] = [
        {
            "type": "object",
            "properties": {
                "type": {"type": "string", "const": f"t{at}"},
                "v": {"type": "string"},
                "children": {"type": "array", "items": {"$ref": "#"}},
            },
            "required": ["type", "v", "children"],
            "additionalProperties": False,
        }
        for at in range(30)
    ]
    names = {f"x{at}": {"pattern": r"^(?!-)[\w-]{1,63}(?<!-)(\.[\w-]{1,63})*$"} for at in range(60)}
    for number in range(20):
        assert isinstance(generate_instance({"anyOf": options}, Seed(number)), dict)
    assert generate_instance({"type": "object", "properties": names}, Seed(1), find_mentions("")) is not None


def test_the_cost_of_a_schema_is_the_same_whatever_was_asked_before() -> None:
    back = {"properties": {"a": {"$ref": "#/$defs/d0"}}}
    chain = [doubled(lambda next: {"allOf": [next]}, 100, back, title=title) for title in ("cold", "warm")]
    cold, warm = map(compile_schema, chain)
    assert [warm.validator.estimate_cost(depth, 1) for depth in (1, 2, 3)][-1] == cold.validator.estimate_cost(3, 1)
