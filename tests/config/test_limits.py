"""What is written of limits, and what it comes to. Mistakes are told with their place."""

from typing import Any

import pytest
from pydantic import TypeAdapter

from mockserver.config.errors import ConfigError
from mockserver.config.models_and_limits import LimitsSetting
from mockserver.config.settings import assemble, settings_schema
from mockserver.config.source import Document, read
from mockserver.core.rates import UNLIMITED, Limits, Rate

LIMITS: TypeAdapter[Any] = TypeAdapter(LimitsSetting)


def test_limits() -> None:
    table = {"tokens_per_day": 5, "requests_per_minute": None, "concurrent_requests": 2, "queue_timeout": "2s"}
    rates = (Rate("requests", "minute", UNLIMITED), Rate("tokens", "day", 5))
    assert LIMITS.validate_python(table) == Limits(rates, 2, 0, 2.0)


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("limits: 7", "11: limits must be a table, not 7"),
        ("limits: {requests_per_minute: 0}", "33: limits.requests_per_minute must be at least 1, not 0"),
        ("limits: {requests_per_minute: 1.5}", "33: limits.requests_per_minute must be a whole number, not 1.5"),
        (
            "limits: {concurent_requests: 1}",
            '12: unknown setting "concurent_requests"; did you mean "concurrent_requests"?',
        ),
        ("limits: {queue: 3}", "11: limits: queue requires concurrent_requests"),
        (
            "limits: {concurrent_requests: 1, queue_timeout: soon}",
            '51: limits.queue_timeout must be a duration such as 300ms, 2s or 1m, not "soon"',
        ),
        (
            "models: {a: {limits: {tokens_per_hour: 1}}}",
            '25: unknown setting "tokens_per_hour"; did you mean "tokens_per_day"?',
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
        ({"limits": {"queue_timeout": "2s", "concurrent_requests": 1}}, True),
        ({"models": {"a": {"limits": {"requests_per_day": None}}}}, True),
        ({"limits": {"requests_per_minute": 0}}, False),
    ],
)
def test_schema_agrees_with_the_reader(settings: dict[str, Any], good: bool) -> None:
    import jsonschema_rs

    assert jsonschema_rs.is_valid(settings_schema(), settings) is good
    if good:
        assemble({}, {}, [Document.of({"settings": settings}, "rules.yaml")])
