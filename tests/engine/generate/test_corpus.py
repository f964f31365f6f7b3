"""Every schema of the corpus gives a valid instance, at the first attempt where it is one of everyday use."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from mockserver.core.seed import Seed
from mockserver.model.arguments import NOTHING
from mockserver.model.schema import instance
from mockserver.model.schema.compiled import compiled
from mockserver.model.schema.maker import Maker, Work
from mockserver.model.schema.making import Place

CORPUS = Path(__file__).parents[2] / "corpus/schemas"
SCHEMAS = {
    f"{path.stem}: {name}": schema
    for path in sorted(CORPUS.glob("*.json"))
    for name, schema in json.loads(path.read_text(encoding="utf-8")).items()
}


@pytest.mark.parametrize("name", SCHEMAS)
def test_schemas_give_valid_instances(name: str) -> None:
    validator = jsonschema_rs.validator_for(SCHEMAS[name], validate_formats=True)
    for seed in range(20):
        found = instance(SCHEMAS[name], Seed(seed))
        assert validator.is_valid(found), found
        assert len(json.dumps(found, allow_nan=False)) < 20_000


@pytest.mark.parametrize("name", [name for name in SCHEMAS if name.startswith(("strict", "tools", "pydantic"))])
def test_everyday_schemas_take_one_attempt(name: str) -> None:
    ready = compiled(SCHEMAS[name])
    for seed in range(10):
        maker = Maker(ready, Seed(seed), NOTHING, Work(2_000), {})
        assert ready.validator.is_valid(maker.make((ready.document.root,), Place()))


@pytest.mark.parametrize("name", [name for name in SCHEMAS if name.startswith("strict")])
def test_strict_instances_have_all_properties(name: str) -> None:
    for schema, value in _tables(SCHEMAS[name], instance(SCHEMAS[name], Seed(1))):
        assert list(value) == schema["required"]


def _tables(schema: Any, value: Any) -> Iterator[tuple[Any, Any]]:
    """The objects that stand directly in objects, with their schemas."""
    yield schema, value
    for name, inner in schema["properties"].items():
        if inner.get("type") == "object":
            yield from _tables(inner, value[name])
