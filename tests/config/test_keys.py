"""What is written of keys, and what it comes to. Mistakes are told with their place."""

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from mockserver.config.errors import ConfigError
from mockserver.config.models_and_limits import Key, Keys
from mockserver.config.settings import assemble, settings_schema
from mockserver.config.source import Document, read

KEYS: TypeAdapter[Any] = TypeAdapter(Keys)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ([], {}),
        (["a", "b"], {"a": Key(), "b": Key()}),
        ("a, b,", {"a": Key(), "b": Key()}),
        ({"a": None, 7: {"models": "gpt*"}}, {"a": Key(), "7": Key(models=("gpt*",))}),
    ],
)
def test_keys(written: Any, meant: Any) -> None:
    assert KEYS.validate_python(written) == meant


@pytest.mark.parametrize("written", [7, [7], {"a": 7}, {"a": {"limits": {"queue": 1}}}])
def test_what_are_no_keys(written: Any) -> None:
    with pytest.raises(ValidationError):
        KEYS.validate_python(written)


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("keys: {a: 7}", "13: keys.a must be a table of what it may do, such as {} or {allowed: false}, not 7"),
        ("keys: {a: {allow: no}}", '14: unknown setting "allow"; did you mean "allowed"?'),
        ("keys: {a: {allowed: 3}}", "23: keys.a.allowed must be true or false, not 3"),
        (
            "keys: {a: {models: [b, 7]}}",
            "26: keys.a.models[1] must be text (in quotes, if it looks like a number), not 7",
        ),
        (
            "keys: {a: {limits: {request_per_minute: 1}}}",
            '23: unknown setting "request_per_minute"; did you mean "requests_per_minute"?',
        ),
        (
            "keys: {a: {limits: {concurrent_requests: 1}}}",
            '23: unknown setting "concurrent_requests"; keys.a.limits takes requests_per_minute, requests_per_day, '
            "tokens_per_minute, tokens_per_day",
        ),
    ],
)
def test_mistakes_are_told_with_their_place(setting: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        assemble({}, {}, [read(f"settings:\n  {setting}", "rules.yaml")])
    assert [str(mistake) for mistake in caught.value.mistakes] == [f"rules.yaml:2:{said}  [{setting}]"]


@pytest.mark.parametrize(
    ("settings", "good"),
    [
        ({"keys": {"a": {"allowed": False}, "b": None}}, True),
        ({"keys": {"a": {"models": ["b"], "limits": {"tokens_per_day": 3}}}}, True),
        ({"keys": {"a": {"models": "b"}}}, True),
        ({"keys": {"a": {"allow": False}}}, False),
    ],
)
def test_schema_agrees_with_the_reader(settings: dict[str, Any], good: bool) -> None:
    import jsonschema_rs

    assert jsonschema_rs.is_valid(settings_schema(), settings) is good
    if good:
        assemble({}, {}, [Document.of({"settings": settings}, "rules.yaml")])
