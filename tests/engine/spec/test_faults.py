"""The table of each fault, and what an editor is told of it."""

import jsonschema_rs
import pytest

from mockserver.core.action import POSITIONS
from mockserver.delivery.faults import FAULTS
from mockserver.rules.answer.faults import ANSWER_FAULTS
from mockserver.rules.schema import BESIDE, fault_schema, fault_table
from tests.engine.then.test_faults import MADE
from tests.kit.rules import loaded

ALL = {**FAULTS, **ANSWER_FAULTS}


@pytest.mark.parametrize("name", ALL)
def test_every_table_is_described(name: str) -> None:
    fields = fault_table(name, ALL[name]).model_fields
    assert all(field.description for field in fields.values())
    assert set(BESIDE) <= set(fields)


@pytest.mark.parametrize("name", ALL)
def test_the_example_of_every_table_loads(name: str) -> None:
    example = fault_table(name, ALL[name]).example
    assert loaded(f"rules: [{{then: {{faults: [{example}]}}}}]")


def test_positions_that_are_allowed_are_keys() -> None:
    assert set(POSITIONS) <= set(fault_table("cut", FAULTS["cut"]).model_fields)
    assert "after_bytes" not in fault_table("keepalive", FAULTS["keepalive"]).model_fields


SCHEMA = jsonschema_rs.validator_for({"type": "array", "items": fault_schema(ALL)})


@pytest.mark.parametrize("fault", MADE)
def test_what_loads_is_valid(fault: str) -> None:
    (rule,) = loaded(f"rules: [{{then: {{faults: [{fault}]}}}}]")
    assert SCHEMA.is_valid(rule.spec["then"]["faults"])


@pytest.mark.parametrize(
    "document", ["ct", {"rest": {}}, 7, {"cut": 3}, {"cut": {"after_token": 3}}, {"cut": {}, "reset": {}}]
)
def test_what_does_not_load_is_not_valid(document: object) -> None:
    assert not SCHEMA.is_valid([document])
