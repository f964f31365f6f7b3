"""`mockserver schema` describes rules files to editors."""

import json
from pathlib import Path

import jsonschema_rs

from mockserver.config.source import read
from tests.kit.program import run


def test_the_schema_accepts_what_ships_and_refuses_mistakes(root: Path) -> None:
    validator = jsonschema_rs.validator_for(json.loads(run("schema").out))
    for file in (root / "rules.yaml", root / "mockserver" / "cli" / "starter.yaml"):
        validator.validate(read(file.read_text(), file.name).data)
    for wrong in (
        {"rules": [{"then": {"txt": "a"}}]},
        {"rules": [{"when": {"modle": "a"}, "then": {"text": "a"}}]},
        {"setings": {}},
        {"settings": {"sed": 1}},
        {"settings": {"port": "high"}},
    ):
        assert not validator.is_valid(wrong)
