"""What every dialect must be: found, mounted, complete."""

from typing import Any

import pytest

from mockserver.dialects import FEATURES, discover


def test_discovery_finds_every_file() -> None:
    assert list(discover()) == sorted(discover())
    assert {"azure", "crazyrouter", "openai", "skytells", "tzafon"} <= set(discover())


def test_places_are_nobody_elses() -> None:
    spoken = discover().values()
    mounts = [mount for dialect in spoken for mount in dialect.mounts]
    places = [
        (each.method, mount + each.path)
        for dialect in spoken
        for mount in dialect.mounts
        for each in dialect.operations
    ]
    assert len(places) == len(set(places))
    assert all(mount.startswith("/") and not mount.endswith("/") for mount in mounts)


def test_a_dialect_is_complete(anyone: Any) -> None:
    dialect = anyone.dialect
    assert dialect.mounts[0].startswith(f"/{dialect.name.replace('_', '-')}")
    assert dialect.features <= set(FEATURES)
    assert dialect.models
    assert {operation.name for operation in dialect.operations} >= {"chat"}
    places = [(operation.method, operation.path) for operation in dialect.operations]
    assert len(places) == len(set(places))


def test_bearer_is_understood_everywhere(anyone: Any) -> None:
    assert anyone.dialect.read_credential(anyone.request(headers={"authorization": "bearer k"})) == "k"
    assert anyone.dialect.read_credential(anyone.request(headers={})) is None


@pytest.mark.parametrize(
    ("feature", "operation"),
    [("embedding", "embeddings"), ("moderation", "moderations"), ("items", "responses"), ("failed", "responses")],
)
def test_features_of_an_operation_are_of_the_dialects_that_serve_it(feature: str, operation: str) -> None:
    able = {name for name, dialect in discover().items() if feature in dialect.features}
    serving = {name for name, dialect in discover().items() if operation in {one.name for one in dialect.operations}}
    if feature == "items":
        serving |= {"anthropic", "gemini"}  # whose chats have them
    if feature == "embedding":
        serving |= {"bedrock"}  # whose InvokeModel embeds, too
    assert able == serving
