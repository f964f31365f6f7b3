"""The JSON Schema of settings says what the reader of settings says."""

from typing import Any

import pytest

from mockserver.config.errors import ConfigError
from mockserver.config.layers import assemble
from mockserver.config.settings import Settings
from mockserver.config.source import Document


def of_values(**values: Any) -> Settings:
    return assemble({}, {}, [Document.from_data({"settings": values}, "rules.yaml")])


def test_schema_describes_every_setting() -> None:
    schema = Settings.model_json_schema()
    assert set(schema["properties"]) == set(Settings.model_fields)
    assert schema["additionalProperties"] is False
    assert all(described.get("description") for described in schema["properties"].values())
    assert schema["properties"]["clock"]["default"] == "frozen"
    assert schema["$defs"]["TimingTable"]["title"] == "timing"


@pytest.mark.parametrize(
    ("settings", "good"),
    [
        ({"port": 1, "clock": "real", "models": {"a": None}, "timing": {"total": "3s", "jitter": "5%"}}, True),
        ({"models": ["a"], "keys": ["b"], "clock": 3, "max_body": "10MB"}, True),
        ({"timing": "slow", "profiles": {"a": "fast", "b": {"jitter": {"normal": "5%"}}}}, True),
        ({"models": {"a": {"timing": "slow"}, "b": {"timing": {"profile": "slow", "total": 3}}}}, True),
        ({"timing": {"jitter": {"normal": 0.1, "uniform": 0.2}}}, False),
        ({"keys": {"a": {"models": "b", "limits": {"tokens_per_day": 3}}, "b": None}}, True),
        ({"match": {"ignore": "a, b", "also": ["header.x"]}, "allow_secrets": "a,b"}, True),
        ({"match": {"also": ["header.x y"]}}, False),
        ({"match": {"also": "user, header."}}, False),
        ({"limits": {"queue_timeout": "2s", "concurrent_requests": 1}}, True),
        ({"keys": {"a": {"allow": False}}}, False),
        ({"timing": 3}, False),
        ({"prot": 1}, False),
        ({"timing": {"total": []}}, False),
        ({"log": "xml"}, False),
    ],
)
def test_schema_agrees_with_the_reader(settings: dict[str, Any], good: bool) -> None:
    import jsonschema_rs

    assert jsonschema_rs.is_valid(Settings.model_json_schema(), settings) is good
    if good:
        of_values(**settings)
    else:
        with pytest.raises(ConfigError):
            of_values(**settings)
