"""Tables of `when`: what they mean, and what is said about those that are wrong."""

from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver.core.call import Message
from mockserver.rules.json_schema import make_when_schema
from mockserver.rules.match.fields import FIELDS
from mockserver.rules.match.parse import compile_when
from mockserver.rules.match.predicates import PREDICATES
from tests.kit.calls import Web, call

ASKED = call(
    Message("system", "Be brief."),
    "What is the weather in Paris?",
    tools=("get_weather", "get_time"),
    web=Web({"x-id": "7"}),
    raw={"temperature": 0.5, "stop": ["a"], "format": {"type": "json"}, "zero": 0, "empty": []},
)


@pytest.mark.parametrize(
    ("when", "holds"),
    [
        # bare values
        ({"model": "gpt-4o"}, True),
        ({"model": "gpt-*"}, True),
        ({"model": ["o3", "gpt-*"]}, True),
        ({"turn": 0}, True),
        ({"stream": False}, True),
        ({"tools": "get_weather"}, True),
        ({"tools": "*_time"}, True),
        ({"tools": ["get_weather", "get_time"]}, True),
        ({"tools": ["get_weather"]}, False),
        ({"param.temperature": [0, 0.5]}, True),
        ({"param.stop": {"equals": ["a"]}}, True),
        ({"header.X-Id": "7"}, True),
        # tables
        ({"last_user": {"contains": "weather", "ends_with": "?"}}, True),
        ({"last_user": {"contains": "WEATHER", "ignore_case": True}}, True),
        ({"param.format": {"subset": {"type": "json"}}}, True),
        ({"param.temperature": {"gte": 0.5, "lt": 1}}, True),
        ({"tools": {"length": {"gte": 2}}}, True),
        ({"body": "temperature"}, True),
        ({"body": "empty"}, False),
        ({"body": {"stop[0]": "a", "temperature": {"lt": 1}}}, True),
        ({"tool_result": {"exists": False}}, True),
        ({"tool_result": {"name": "*"}}, False),
    ],
)
def test_meaning(when: dict[str, Any], holds: bool) -> None:
    assert mistakes(when) == []
    assert (compile_when(when, print).holds(ASKED) is not None) is holds


@pytest.mark.parametrize(
    ("when", "path", "message"),
    [
        ("model", (), 'expected a table of fields, not "model"; write {last_user: "*hello*"}'),
        ({"last_usr": "x"}, ("last_usr",), 'unknown field "last_usr"; did you mean "last_user"?'),
        ({"prompt": "x"}, ("prompt",), 'unknown field "prompt"; write "last_user"'),
        (
            {"temperature": 0},
            ("temperature",),
            'unknown field "temperature"; to match a field of the request body, write "param.temperature"',
        ),
        ({"param": {"n": 2}}, ("param",), 'unknown field "param"; write "param.NAME" for each, with a dot'),
        (
            {"header.x ж": "1"},
            ("header.x ж",),
            '"x ж" is not a valid header name: use only letters, digits and !#$%&\'*+.^_`|~-',
        ),
        ({"model": 4}, ("model",), '"model" is text, not 4; put it in quotes'),
        ({"model": ["a", 4]}, ("model",), '"in" expects a list of values, each text, not ["a", 4]'),
        ({"turn": "1*"}, ("turn",), '"turn" is a number, not "1*"'),
        (
            {"model": None},
            ("model",),
            "a value is missing here; to match an absent field, write {exists: false}",
        ),
        ({"model": {"contain": "x"}}, ("model", "contain"), 'unknown predicate "contain"; did you mean "contains"?'),
        (
            {"param.format": {"type": "json"}},
            ("param.format", "type"),
            'unknown predicate "type"; to compare an object, use subset: {...} or equals: {...}',
        ),
        (
            {"last_user": {"matches": "x"}},
            ("last_user", "matches"),
            'unknown predicate "matches"; choose one of equals, in, glob, contains, starts_with, ends_with, '
            "regex, exists, length",
        ),
        (
            {"last_user": {"not": "x"}},
            ("last_user", "not"),
            'unknown predicate "not"; put it around the field: not: {last_user: ...}',
        ),
        ({"operation": "chats"}, ("operation",), '"operation" is never "chats"; did you mean "chat"?'),
        ({"model": {"lt": 1}}, ("model", "lt"), '"lt" does not apply to "model", which is text'),
        (
            {"tools": {"contains": "x"}},
            ("tools", "contains"),
            '"contains" does not apply to "tools", which is a list of strings; did you mean "includes"?',
        ),
        ({"turn": {"lt": "1"}}, ("turn", "lt"), '"lt" expects a number, not "1"'),
        ({"model": {"equals": None}}, ("model", "equals"), '"model" is text, not null'),
        ({"model": {"regex": "a(b"}}, ("model", "regex"), "invalid regular expression: missing ) at position 3"),
        (
            {"model": {"exists": True, "ignore_case": True}},
            ("model", "ignore_case"),
            '"ignore_case" has no effect here, as no text is compared; remove it',
        ),
        (
            {"header.x": {"exists": False, "equals": "a"}},
            ("header.x", "exists"),
            'if "exists" is false, nothing else can hold; remove the rest',
        ),
        (
            {"tool_result": {"exists": False, "name": "x"}},
            ("tool_result", "exists"),
            'if "exists" is false, nothing else can hold; remove the rest',
        ),
        (
            {"last_user": {"length": {}}},
            ("last_user", "length"),
            '"length" expects a number, or a table of equals, lt, lte, gt, gte, not {}',
        ),
        (
            {"tools": {"length": "x"}},
            ("tools", "length"),
            '"length" expects a number, or a table of equals, lt, lte, gt, gte, not "x"',
        ),
        ({"any": []}, ("any",), '"any" expects a list of tables, each like "when" itself, not []'),
        ({"any": [{}, {"modl": "a"}]}, ("any", 1, "modl"), 'unknown field "modl"; did you mean "model"?'),
        ({"not": {}}, ("not",), '"not" without a condition never holds; add a condition'),
        (
            {"tool_result": "x"},
            ("tool_result",),
            '"tool_result" expects a table of name, text, json, exists, not "x"',
        ),
        ({"tool_result": {"nam": "x"}}, ("tool_result", "nam"), '"tool_result" has no "nam"; did you mean "name"?'),
        ({"tool_result": {"name": 1}}, ("tool_result", "name"), '"tool_result.name" is text, not 1; put it in quotes'),
        ({"body": 1}, ("body",), '"body" expects a JMESPath expression, or a table of them, not 1'),
        ({"body": "a["}, ("body",), "invalid JMESPath expression: Incomplete expression at column 2"),
    ],
)
def test_mistakes(when: Any, path: tuple[str | int, ...], message: str) -> None:
    assert mistakes(when) == [(path, message)]


def test_all_mistakes_are_told_at_once() -> None:
    when = {"modl": "a", "turn": {"lt": "x", "gtt": 1}, "any": [{"stream": "x"}], "body": "["}
    assert [path for path, _ in mistakes(when)] == [
        ("modl",),
        ("turn", "lt"),
        ("turn", "gtt"),
        ("any", 0, "stream"),
        ("body",),
    ]


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text("ab*([1\\", max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from([*PREDICATES, "ignore_case"]), inner, max_size=2)
    ),
    max_leaves=4,
)
NAMES = [name.replace("<name>", "x") for name in FIELDS]


@given(st.dictionaries(st.sampled_from([*NAMES, "any", "all", "not"]), ANYTHING, max_size=3))
def test_any_table_is_read_or_refused_and_never_fails_on_a_call(when: dict[str, Any]) -> None:
    condition = compile_when(when, lambda message, path: None)
    held, total = condition.count_held(ASKED)
    assert (condition.holds(ASKED) is not None) == (held == total)


def mistakes(when: Any) -> list[tuple[tuple[str | int, ...], str]]:
    found: list[tuple[tuple[str | int, ...], str]] = []
    compile_when(when, lambda message, path: found.append((path, message)))
    return found


SCHEMA = jsonschema_rs.validator_for(make_when_schema())

GOOD: list[Any] = [
    {},
    {"operation": "chat", "last_user": {"regex": r"weather in (?P<city>\w+)"}, "tools": {"includes": "get_weather"}},
    {"tool_result": {"json": {"subset": {"a": 1}}, "text": "*"}},
    {"model": ["a*", "b"], "turn": [0, 1], "stream": True, "tools": ["a"]},
    {"tools": {"includes": ["a", "b*"], "ignore_case": True}},
    {"model": {"contains": ["a", "b"], "ignore_case": True, "ignore_space": False}},
    {"param.temperature": {"gte": 0, "lt": 1}, "param.x.y": "z", "header.x-id": "1", "query.a": "b", "metadata.k": 1},
    {"param.a": {"schema": {"type": "string"}}, "param.b": {"equals": {"c": [1]}}},
    {"any": [{"model": "a"}, {"not": {"stream": True}}], "all": [{}]},
]

BAD: list[Any] = [
    "model",
    {"modl": "a"},
    {"model": None},
    {"model": {"contain": "a"}},
    {"model": {"length": {"les": 1}}},
    {"model": {"length": {}}},
    {"tool_result": {"exists": False, "name": "x"}},
    {"tools": {"contains": "a"}},
    {"param.a": {"type": "x"}},
    {"tool_result": "a"},
    {"body": 1},
    {"any": []},
]


@pytest.mark.parametrize("when", GOOD, ids=str)
def test_good(when: Any) -> None:
    assert SCHEMA.is_valid(when)
    assert accepted(when)


@pytest.mark.parametrize("when", BAD, ids=str)
def test_bad(when: Any) -> None:
    assert not SCHEMA.is_valid(when)
    assert not accepted(when)


VALUES = st.one_of(
    st.sampled_from(["a", "a*", 0, 1, 2.5, True, None, "a"]),
    st.lists(st.sampled_from(["a", 1, True]), max_size=2),
    st.dictionaries(st.sampled_from(["lt", "gt", "a", "equals"]), st.sampled_from([1, "a", None]), max_size=2),
)
TABLES = st.dictionaries(st.sampled_from([*PREDICATES, "ignore_case", "contain"]), VALUES, max_size=2)


@given(st.dictionaries(st.sampled_from([*NAMES, "any", "not"]), st.one_of(VALUES, TABLES), min_size=1, max_size=2))
def test_an_editor_never_complains_about_what_can_be_loaded(when: dict[str, Any]) -> None:
    if accepted(when):
        assert SCHEMA.is_valid(when)


def accepted(when: Any) -> bool:
    mistakes: list[str] = []
    compile_when(when, lambda message, path: mistakes.append(message))
    return not mistakes
