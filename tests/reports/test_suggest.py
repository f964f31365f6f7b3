"""Rules that would answer a call: they fit it, say no more than they must, and never a credential."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mockserver.cassettes.redaction.shown_secrets import Secrets
from mockserver.config.source import read
from mockserver.core.call import Call
from mockserver.reports.failures import Expectation, explain_sequence, explain_too_few
from mockserver.reports.suggest import (
    suggest_change,
    suggest_rule,
    write_python,
    write_python_rule,
    write_yaml,
    write_yaml_rule,
)
from mockserver.rules.match.parse import compile_when
from mockserver.rules.nearest import find_nearest
from mockserver.testing.assertions import compile_expectation
from tests.kit.calls import Web, call, tool_result
from tests.kit.received import make_received, rules

NONE = Secrets()
LONG = "Summarise the following text for me. " * 5 + "It was a dark night."
SECRET = "sk-very-secret-1234567"


def when(asked: Call, secrets: Secrets = NONE, **how: Any) -> dict[str, Any]:
    found = suggest_rule(asked, secrets, **how)
    assert found is not None
    return dict(found.when)


@pytest.mark.parametrize(
    ("asked", "wanted"),
    [
        (call("hello"), {"last_user": "hello"}),
        (call("2 * 3 \\ 4"), {"last_user": {"equals": "2 * 3 \\ 4"}}),
        (
            call(LONG),
            {
                "last_user": {
                    "starts_with": "Summarise the following text for me.",
                    "ends_with": "text for me. It was a dark night.",
                }
            },
        ),
        (call("hello", tools=("a",)), {"last_user": "hello", "turn": 0, "tools": "a"}),
        (call("hello", tools=("a", "b")), {"last_user": "hello", "turn": 0, "tools": ["a", "b"]}),
        (call("x", tools=tuple("abcdef")), {"last_user": "x", "turn": 0, "tools": {"includes": ["a", "b", "c", "d"]}}),
        (call("x", tools=("a*", "b")), {"last_user": "x", "turn": 0, "tools": {"length": 2}}),
        (call(*tool_result("Sunny.")), {"tool_result": {"name": "get_weather", "text": "Sunny."}}),
        (call("x", previous_response_id="resp_1"), {"last_user": "x"}),
        (call(model="o*"), {"model": {"equals": "o*"}, "operation": "chat"}),
        (call(model=""), {"model": "", "operation": "chat"}),
        (call("x", operation="info"), {"operation": "info", "path": "/chat/completions", "last_user": "x"}),
    ],
)
def test_what_tells_a_call_from_others(asked: Call, wanted: dict[str, Any]) -> None:
    assert when(asked) == wanted


@pytest.mark.parametrize(
    ("fields", "then"),
    [
        ({}, {"text": "..."}),
        ({"response_format": "json_schema"}, {"json": {}}),
        ({"operation": "embeddings"}, {"embedding": [0.1, 0.2, 0.3]}),
        ({"operation": "moderations"}, {"moderation": {"violence": 0.9}}),
        ({"operation": "rerank"}, {"rerank": [0.9, 0.1]}),
        ({"operation": "response"}, {"error": 404}),
    ],
)
def test_answers_are_of_the_kind_that_is_asked_for(fields: dict[str, Any], then: dict[str, Any]) -> None:
    found = suggest_rule(call("x", **fields), NONE)
    assert found is not None
    assert found.then == then


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        (f"My key is {SECRET}, is it safe?", {"starts_with": "My key is ", "ends_with": ", is it safe?"}),
        (f"{SECRET} and more", {"ends_with": " and more"}),
        (f"a{SECRET} in the middle {SECRET}", {"contains": " in the middle "}),
    ],
)
def test_credentials_stand_in_no_rule(said: str, wanted: dict[str, str]) -> None:
    assert when(call(said), Secrets((SECRET,))) == {"last_user": wanted}


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.text(max_size=200), st.lists(st.text(max_size=30), max_size=5), st.text(max_size=20))
def test_it_fits_whatever_is_asked(said: str, tools: list[str], model: str) -> None:
    for asked in (call(said, tools=tools, model=model), call(*tool_result(said), model=model)):
        condition = compile_when(when(asked), lambda message, path: pytest.fail(message))
        assert condition.holds(asked) is not None


def changed(table: dict[str, Any], asked: Call, secrets: Secrets = NONE, **rule: Any) -> str | None:
    [near] = find_nearest(rules({"when": table, **rule}), asked)
    return suggest_change(near, asked, secrets)


@pytest.mark.parametrize(
    ("table", "asked", "words"),
    [
        ({"last_user": "hello", "model": "o3"}, call("hello"), "change rules.yaml:1 to model: gpt-4o"),
        ({"last_user": "hullo"}, call("hello"), "change rules.yaml:1 to last_user: hello"),
        ({"last_user": "hello"}, call("hello there"), 'change rules.yaml:1 to last_user: "*hello*"'),
        (
            {"last_user": "/HEL+O/i"},
            call("hello there"),
            'change rules.yaml:1 to last_user: {regex: "HEL+O", ignore_case: true}',
        ),
        ({"last_user": "/snow/"}, call("hello"), None),
        ({"model": "gpt"}, call("hello"), "change rules.yaml:1 to model: gpt-4o"),
        ({"last_user": "HELLO"}, call("hello"), "change rules.yaml:1 to last_user: {equals: HELLO, ignore_case: true}"),
        (
            {"last_user": {"contains": "EL", "ends_with": "o"}},
            call("hello"),
            "change rules.yaml:1 to last_user: {contains: EL, ends_with: o, ignore_case: true}",
        ),
        ({"turn": {"gte": 2}}, call("x"), "change rules.yaml:1 to turn: 0"),
        ({"stream": True}, call("x"), "change rules.yaml:1 to stream: false"),
        ({"tools": "a"}, call("x", tools=("b", "c")), "change rules.yaml:1 to tools: [b, c]"),
        ({"tools": "a"}, call("x"), "change rules.yaml:1 to tools: {exists: false}"),
        ({"header.x": "1"}, call("x"), "remove header.x from rules.yaml:1"),
        ({"header.x": "1"}, call("x", web=Web({"x": "2"})), 'change rules.yaml:1 to header.x: "2"'),
        (
            {"header.authorization": "1"},
            call("x", web=Web({"authorization": "2"})),
            "remove header.authorization from rules.yaml:1",
        ),
        ({"key": "1"}, call("x", web=Web({"authorization": "Bearer 2"})), "remove key from rules.yaml:1"),
        (
            {"param.x": {"equals": {"a": 1}}},
            call("x", raw={"x": {"a": 2}}),
            "change rules.yaml:1 to param.x: {equals: {a: 2}}",
        ),
        ({"param.x": {"equals": {"a": 1}}}, call("x", raw={"x": {"a": "y" * 99}}), "remove param.x from rules.yaml:1"),
        ({"last_user": "snow"}, call("hello"), None),
        ({"last_user": "hullo", "model": "o3"}, call("hello"), None),
        ({"not": {"model": "gpt-4o"}}, call("hello"), None),
        ({"any": [{"model": "o3"}]}, call("hello"), None),
    ],
)
def test_what_is_changed_in_a_rule(table: dict[str, Any], asked: Call, words: str | None) -> None:
    assert changed(table, asked) == words


def steps(texts: str) -> list[Expectation]:
    return [compile_expectation({"last_user": text}) for text in texts]


def marks(said: str, want: str) -> str:
    """A letter for each row: o for one that is as wanted, x for another one, - for none, + for one besides."""
    lines = explain_sequence([make_received(call(text)) for text in said], steps(want)).splitlines()[2:]
    rows = [line for line in lines if line.startswith(("  ok  ", "  MISS"))]
    kinds = {"unexpected": "+", "no call": "-"}
    return "".join(
        "o" if row[2:4] == "ok" else next((kind for word, kind in kinds.items() if word in row), "x") for row in rows
    )


@pytest.mark.parametrize(
    ("said", "want", "rows"),
    [
        ("abc", "abd", "oox"),
        ("ac", "abc", "o-o"),
        ("abxc", "abc", "oo+o"),
        ("", "ab", "--"),
        ("ab", "", "++"),
        ("bcd", "abcd", "-ooo"),
        ("axxd", "abcd", "oxxo"),
        ("xyz", "abc", "xxx"),
    ],
)
def test_what_is_missing_moves_no_other(said: str, want: str, rows: str) -> None:
    assert marks(said, want) == rows


@pytest.mark.parametrize(
    ("when", "words"),
    [
        ({}, "expected 2 calls, got 1"),
        ({"last_user": "x", "param": {"n": 2}}, 'expected 2 calls with last_user="x", param={"n": 2}, got 0'),
        ({"last_user": "x" * 99}, f'expected 2 calls with last_user="{"x" * 48}…, got 0'),
    ],
)
def test_what_was_wanted_stands_as_it_is_written(when: dict[str, Any], words: str) -> None:
    assert explain_too_few([make_received()], compile_expectation(when), "2").splitlines()[0] == words


TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.floats(-1e9, 1e9) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(VALUES)
def test_what_is_written_is_read_back(value: Any) -> None:
    assert eval(write_python(value)) == value
    assert read(f"{{value: {write_yaml(value)}}}".encode(), "x.yaml").data["value"] == value
    assert write_python(value).isprintable()
    assert write_yaml(value).isprintable()


def test_a_rule_in_both_notations() -> None:
    when = {"last_user": "Hi!", "param.temperature": 0, "param.n": {"gt": 1}, "not": {"stream": True}}
    assert list(write_python_rule(when, {"text": "..."})) == [
        "mockserver.on(",
        '    last_user="Hi!",',
        '    param={"temperature": 0, "n": {"gt": 1}},',
        '    not_={"stream": True},',
        ').reply("...")',
    ]
    assert list(write_yaml_rule(when, {"text": "..."})) == [
        '- when: {last_user: "Hi!", param.temperature: 0, param.n: {gt: 1}, not: {stream: true}}',
        '  then: {text: "..."}',
    ]


def test_answers() -> None:
    assert [next(write_python_rule({}, then)) for then in ({"error": 429}, {"json": {}}, {"embedding": [0.5]})] == [
        "mockserver.on().fail(429)",
        "mockserver.on().reply(json={})",
        "mockserver.on().reply(embedding=[0.5])",
    ]
