"""Calls compared with expectations, and conditions written as Python and YAML; whole texts are in tests/misses."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mockserver.config.source import read
from mockserver.reports.failures import Expectation, too_few, wrong_sequence
from mockserver.reports.suggest import python, rule_in_python, rule_in_yaml, yaml
from mockserver.testing.assertions import expectation
from tests.kit.calls import call
from tests.kit.received import received


def steps(texts: str) -> list[Expectation]:
    return [expectation({"last_user": text}) for text in texts]


def marks(said: str, want: str) -> str:
    """A letter for each row: o for one that is as wanted, x for another one, - for none, + for one besides."""
    lines = wrong_sequence([received(call(text)) for text in said], steps(want)).splitlines()[2:]
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
    assert too_few([received()], expectation(when), "2").splitlines()[0] == words


TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.floats(-1e9, 1e9) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(VALUES)
def test_what_is_written_is_read_back(value: Any) -> None:
    assert eval(python(value)) == value
    assert read(f"{{value: {yaml(value)}}}".encode(), "x.yaml").data["value"] == value
    assert python(value).isprintable()
    assert yaml(value).isprintable()


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("hello", "hello"),
        ("get_weather", "get_weather"),
        ("text-embedding-3.5", "text-embedding-3.5"),
        ("accounts/fireworks/models/x", "accounts/fireworks/models/x"),
        *(
            (word, f'"{word}"')
            for word in ("", "true", "Null", "no", "on", "7", "1e3", "a b", "a: b", "-x", "#", "*", "~")
        ),
        ('say "hi"\\\n\t\u2028\x00\U000e0001', '"say \\"hi\\"\\\\\\n\\t\\u2028\\x00\\U000e0001"'),
        ("Grüße, 日本 🎉", '"Grüße, 日本 🎉"'),
    ],
)
def test_texts_of_yaml(text: str, written: str) -> None:
    assert yaml(text) == written


def test_a_rule_in_both_notations() -> None:
    when = {"last_user": "Hi!", "param.temperature": 0, "param.n": {"gt": 1}, "not": {"stream": True}}
    assert list(rule_in_python(when, {"text": "..."})) == [
        "mockserver.on(",
        '    last_user="Hi!",',
        '    param={"temperature": 0, "n": {"gt": 1}},',
        '    not_={"stream": True},',
        ').reply("...")',
    ]
    assert list(rule_in_yaml(when, {"text": "..."})) == [
        '- when: {last_user: "Hi!", param.temperature: 0, param.n: {gt: 1}, not: {stream: true}}',
        '  then: {text: "..."}',
    ]


def test_answers() -> None:
    assert [next(rule_in_python({}, then)) for then in ({"error": 429}, {"json": {}}, {"embedding": [0.5]})] == [
        "mockserver.on().fail(429)",
        "mockserver.on().reply(json={})",
        "mockserver.on().reply(embedding=[0.5])",
    ]
