"""Rules as people write them: what is read back is what was meant."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver.config.source import read
from mockserver.reports.expected import field_in_python, field_in_yaml, in_python, in_yaml, python, yaml

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.floats(-1e9, 1e9) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


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
        ('say "hi"\\\n\t\u2028\x00\U000e0001', '"say \\"hi\\"\\\\\\n\\t\\u2028\\u0000\\U000e0001"'),
        ("Grüße, 日本 🎉", '"Grüße, 日本 🎉"'),
    ],
)
def test_texts_of_yaml(text: str, written: str) -> None:
    assert yaml(text) == written


def test_a_rule_in_both_notations() -> None:
    when = {"last_user": "Hi!", "param.temperature": 0, "param.n": {"gt": 1}, "not": {"stream": True}}
    assert list(in_python(when, {"text": "..."})) == [
        "mockserver.on(",
        '    last_user="Hi!",',
        '    param={"temperature": 0, "n": {"gt": 1}},',
        '    not_={"stream": True},',
        ').reply("...")',
    ]
    assert list(in_yaml(when, {"text": "..."})) == [
        '- when: {last_user: "Hi!", param.temperature: 0, param.n: {gt: 1}, not: {stream: true}}',
        '  then: {text: "..."}',
    ]


def test_answers() -> None:
    assert [next(in_python({}, then)) for then in ({"error": 429}, {"json": {}}, {"embedding": [0.5]})] == [
        "mockserver.on().fail(429)",
        "mockserver.on().reply(json={})",
        "mockserver.on().reply(embedding=[0.5])",
    ]


def test_what_is_too_wide_takes_several_lines() -> None:
    when = {"last_user": "x" * 60, "tools": ["y" * 20, "z" * 20]}
    written = list(in_python(when, {"text": "..."}))
    assert (written[0], written[1][:16], written[-1]) == ("mockserver.on(", '    last_user="x', ').reply("...")')
    assert [line.partition(":")[0] for line in in_yaml(when, {"text": "..."})] == [
        "- when",
        "    last_user",
        "    tools",
        "  then",
    ]


def test_single_conditions() -> None:
    assert field_in_python("header.x-id", "a") == 'header={"x-id": "a"}'
    assert field_in_yaml("header.x-id", "a") == "header.x-id: a"
