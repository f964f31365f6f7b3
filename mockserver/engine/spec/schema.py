"""The JSON Schema of rules files for editors, made from the models and tables that also read them."""

from collections.abc import Mapping

from mockserver.core.call import Json
from mockserver.core.faults import Faults
from mockserver.engine.answer_faults import ANSWER_FAULTS
from mockserver.engine.spec.faults import fault_schema
from mockserver.engine.spec.models import RulesFile
from mockserver.engine.when.schema import when_schema


def rules_schema(faults: Faults) -> dict[str, Json]:
    """The JSON Schema (draft 2020-12) of a rules file; `faults` are those of delivery, by name."""
    schema: dict[str, Json] = _tidy(RulesFile.model_json_schema())
    when = when_schema()
    definitions = {**schema["$defs"], **when.pop("$defs")}
    for key in RulesFile.nullable:
        schema["properties"][key] = {"anyOf": [schema["properties"][key], {"type": "null"}]}
    definitions["ThenSpec"]["properties"]["faults"]["items"] = _tidy(fault_schema({**faults, **ANSWER_FAULTS}))
    rule = definitions["RuleSpec"]["properties"]
    rule["when"] = {**when, "description": rule["when"]["description"]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "mockserver rules",
        "$defs": definitions,
    }


def _tidy(schema: Json) -> Json:
    """Without generated titles, and without the null that stands for an absent key."""
    if isinstance(schema, list):
        return [_tidy(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: _tidy(value) for key, value in schema.items() if not _is_noise(key, value)}
    for union in ("anyOf", "oneOf"):
        if union in kept:
            kept |= _without_null(union, kept.pop(union))
    return kept


def _is_noise(key: str, value: Json) -> bool:
    return (key == "title" and isinstance(value, str)) or (key == "default" and value is None)


def _without_null(union: str, options: list[Mapping[str, Json]]) -> Mapping[str, Json]:
    real = [option for option in options if option != {"type": "null"}]
    return real[0] if len(real) == 1 else {union: real}
