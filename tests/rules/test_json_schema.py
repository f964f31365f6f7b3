"""The JSON Schema of rules files says what the loader says, and says it of every key."""

import json
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from mockserver.config.errors import MockserverError
from mockserver.config.layers import assemble
from mockserver.config.source import Document, read
from mockserver.core.json import Json
from mockserver.delivery.faults import FAULTS
from mockserver.dialects import discover
from mockserver.rules.json_schema import make_rules_schema
from mockserver.rules.load import load
from mockserver.rules.match.predicates import LENGTHS
from tests.config import test_settings, test_timing
from tests.house.pages import find_blocks
from tests.rules import (
    test_answer_faults,
    test_checks,
    test_compile,
    test_content,
    test_errors,
    test_items,
    test_parse_when,
    test_predicates,
    test_schema,
)

ROOT = Path(__file__).parents[2]
SCHEMA = make_rules_schema(FAULTS, tuple(discover()))
VALID = jsonschema_rs.validator_for(SCHEMA)


def keys(schema: Json, path: str) -> Iterator[tuple[str, Mapping[str, Json]]]:
    """Yield each key of each table, with its own schema."""
    if not isinstance(schema, dict):
        return
    for kind in ("properties", "patternProperties"):
        for name, value in schema.get(kind, {}).items():
            if value is not False:
                yield f"{path}.{name}", value
                yield from keys(value, f"{path}.{name}")
    for name, value in schema.get("$defs", {}).items():
        yield from keys(value, name)
    options = (*schema.get("anyOf", ()), *schema.get("oneOf", ()))
    for inner in (*options, schema.get("items"), schema.get("additionalProperties")):
        yield from keys(inner, path)


KEYS = dict(keys(SCHEMA, ""))


def referred(schema: Mapping[str, Json]) -> Mapping[str, Json]:
    name = schema.get("$ref", "").rpartition("/")[2]
    return {**SCHEMA["$defs"].get(name, {}), **schema}


def test_every_key_has_a_description_and_an_example() -> None:
    assert len(KEYS) > 600
    assert SCHEMA["$defs"]["text_field"]["properties"]["length"]["properties"].keys() == LENGTHS.keys()
    assert [path for path, schema in KEYS.items() if not schema.get("description")] == []
    assert [path for path, schema in KEYS.items() if not referred(schema).get("examples")] == []


def test_every_example_is_valid() -> None:
    together = jsonschema_rs.validator_for({"properties": KEYS, "$defs": SCHEMA["$defs"]})
    examples = {path: referred(schema)["examples"][0] for path, schema in KEYS.items()}
    assert [f"{error.instance_path}: {error.message}" for error in together.iter_errors(examples)] == []


def test_every_example_of_a_condition_and_of_an_answer_loads() -> None:
    for name, schema in SCHEMA["$defs"]["when"]["properties"].items():
        loaded({"rules": [{"when": {name: schema["examples"][0]}, "then": {"raw": {}}}]})
    for name in ("text", "json", "refusal", "tool_calls", "items", "parts", "error", "generate", "moderation", "raw"):
        example = referred(SCHEMA["$defs"]["Then"]["properties"][name])["examples"][0]
        loaded({"rules": [{"then": {name: example}}]})


def loaded(content: Json) -> None:
    """Check a rules file as `mockserver check` does. Raises MockserverError."""
    document = Document.from_data(content, "r.yaml")
    load([document], KNOWN, faults=FAULTS, hosts=("groq", "acme"))
    assemble({}, {}, [document], dialects=tuple(discover()))


KNOWN = {name: frozenset(dialect.features) for name, dialect in discover().items()}


WRONG = [
    "version: 2",
    "rule: []",
    "rules: [{then: {text: a}, wen: {}}]",
    "rules: [{then: {items: [{type: drag}]}}]",
    "rules: [{then: {items: [{type: computer_call, action: {type: click, x: 1}}]}}]",
    "rules: [{then: {items: [{type: web_search_call, qury: a}]}}]",
    "rules: [{then: {text: a, failed: false}}]",
    "rules: [{when: {modle: a}, then: {text: a}}]",
    "rules: [{then: {error: {status: 99}}}]",
    "rules: [{then: {faults: [ct]}}]",
    "rules: [{then: {faults: [{cut: {after_token: 3}}]}}]",
]


def bad() -> Iterator[str]:
    thens = [*test_errors.BAD, *test_errors.NOT_BROKEN, *test_errors.BAD_RAW, *test_errors.BAD_TRIPS]
    thens += [*test_checks.BAD, *test_content.BAD, *test_items.BAD, *test_compile.BAD, *test_compile.BAD_DOCUMENTS]
    thens += [*test_schema.IN_THEN, *(f"{{{then}, faults: [unknown_tool]}}" for then in test_answer_faults.NO_CALL)]
    thens += [f"{{text: a, faults: [{fault}]}}" for fault in test_answer_faults.BAD]
    yield from (f"rules: [{{then: {then}}}]" for then in thens)
    yield from (f"rules: [{{when: {when}, then: {{text: a}}}}]" for when in test_checks.UNKNOWN)
    for when, (then, _) in test_checks.BAD_OPERATIONS.items():
        yield f"rules: [{{when: {when}, then: {then}}}]"
    of_settings = test_settings.test_mistakes_in_a_file_are_told_with_their_place
    for setting, _ in (*rows(of_settings), *rows(test_timing.test_mistakes_are_told_with_their_place)):
        yield f"settings: {{{setting}}}"
    yield from (*test_schema.IN_FILES, *WRONG)


def rows(test: Any) -> list[Any]:
    """Return the table that a test runs through."""
    (table,) = (mark.args[1] for mark in test.pytestmark if mark.name == "parametrize")
    return list(table)


def bad_tables() -> Iterator[tuple[str, Json]]:
    for text in bad():
        yield text, read(text, "r.yaml").data
    for when in (*(row[0] for row in rows(test_parse_when.test_mistakes)), *test_parse_when.BAD):
        yield str(when), {"rules": [{"when": when, "then": {"text": "a"}}]}
    for name, expected, *_ in rows(test_predicates.test_what_can_never_be_compared):
        field = "param.x" if name == "schema" else "model"
        yield f"{name}: {expected}", {"rules": [{"when": {field: {name: expected}}, "then": {"text": "a"}}]}


# What `check` refuses and a JSON Schema cannot: why, and words of the messages.
NOT_SAID: Mapping[str, tuple[str, ...]] = {
    "it compares no text with another": (
        "these pieces do not add up",
        "exact pieces need fixed text",
        "exact pieces apply to one text",
    ),
    "it knows no JSON Schema within a value without fetching one": ("invalid JSON Schema",),
    "it knows no notation: patterns are Python's, expressions JMESPath": (
        "invalid regular expression",
        "invalid JMESPath",
    ),
    "it does not evaluate conditions, such as any, all and wildcards": ("cannot answer the operation",),
    "it compares no name with names elsewhere": ("is already", "unknown profile", "unknown host", "starts from itself"),
    "it compares numbers, but not in texts": ('not "120%"',),
}


def test_what_check_refuses_the_schema_refuses() -> None:
    accepted, excused = list[str](), set[str]()
    for text, content in bad_tables():
        with pytest.raises(MockserverError) as caught:
            loaded(content)
        if VALID.is_valid(content):
            why = [why for why, words in NOT_SAID.items() if any(each in str(caught.value) for each in words)]
            excused.update(why)
            accepted += [] if why else [f"{text}: {caught.value}"]
    assert accepted == []
    assert excused == set(NOT_SAID)


ITEMS = [
    *test_items.HOSTED,
    *test_items.SAID,
    *(f"{{type: computer_call, action: {action}}}" for action in test_items.ACTIONS),
]
THENS = [
    *test_content.MADE, *test_content.ENDED, *test_errors.MADE, *test_errors.BROKEN, *test_errors.RAW,
    *test_checks.GOOD, *test_compile.STATED, *(f"{{items: [{item}]}}" for item in ITEMS),
    *(f"{{tool_calls: [{{name: a}}], faults: [{fault}]}}" for fault in test_answer_faults.MADE),
    *(
        f"{{{then}, faults: [unknown_tool, {{cut: {{in_tool_arguments: true}}}}]}}"
        for then in test_answer_faults.A_CALL
    ),
    "{text: a, finish: error, system_fingerprint: null}", "{text: a, system_fingerprint: fp_1}",
]  # fmt: skip


def good() -> Iterator[tuple[str, Json]]:
    for then in THENS:
        yield then, read(f"rules: [{{then: {then}}}]", "r.yaml").data
    for when in (*test_parse_when.GOOD, *(row[0] for row in rows(test_parse_when.test_meaning))):
        yield str(when), {"rules": [{"when": when, "then": {"text": "a"}}]}
    for name, value, _ in rows(test_settings.test_values_of_a_file):
        yield f"{name}: {value}", {"settings": {name: json.loads(json.dumps(value))}}
    for text in (
        "",
        "rules:",
        "settings:",
        "settings: {cors: 'https://a.test, *', scrub: {path: $.user}, keys: 'a,b'}",
    ):
        yield text, read(text, "r.yaml").data


def files() -> Iterator[tuple[str, Json]]:
    """Yield the rules of files, of blocks in pages, and of cases."""
    listed = subprocess.run(("git", "ls-files", "*.yaml", "*.yml", "*.md"), cwd=ROOT, capture_output=True, check=True)
    for name in listed.stdout.decode().split():
        text = (ROOT / name).read_text(encoding="utf-8")
        texts = (
            [text] if not name.endswith(".md") else [each.body for each in find_blocks(text) if each.language == "yaml"]
        )
        for content in (read(each, name).data for each in texts if "rules:" in each and "\n---" not in each):
            for case in content.values() if "/cases/" in name else [content]:
                if isinstance(case, dict) and isinstance(case.get("rules"), list):
                    yield name, {key: case[key] for key in ("version", "rules", "settings") if key in case}


@pytest.mark.needs("git")
def test_what_check_accepts_the_schema_accepts() -> None:
    for text, content in good():
        loaded(content)
        assert VALID.is_valid(content), (text, [error.message for error in VALID.iter_errors(content)])


def test_all_rules_of_this_repository_are_valid() -> None:
    accepted = 0
    for name, content in files():
        with suppress(MockserverError):  # pages show mistakes, too
            loaded(content)
            accepted += 1
            assert VALID.is_valid(content), (name, content, [error.message for error in VALID.iter_errors(content)])
    assert accepted > 250
