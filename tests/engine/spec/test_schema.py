"""The editor's schema accepts what the loader accepts, and refuses what is plainly wrong."""

import json

import jsonschema_rs
import pytest

from mockserver.config.source import read
from mockserver.delivery.faults import FAULTS
from mockserver.rules.json_schema import rules_schema
from mockserver.rules.load import load
from tests.engine.then.test_contents import ENDED, MADE
from tests.engine.then.test_documents import STATED
from tests.engine.then.test_failures import BROKEN
from tests.engine.then.test_failures import MADE as FAILURES
from tests.engine.then.test_items import ACTIONS, HOSTED, SAID
from tests.engine.then.test_kinds import GOOD
from tests.engine.then.test_raw import MADE as RAW
from tests.kit.rules import KNOWN

SCHEMA = rules_schema(FAULTS)
VALID = jsonschema_rs.validator_for(SCHEMA)


ITEMS = [*HOSTED, *SAID, *(f"{{type: computer_call, action: {action}}}" for action in ACTIONS)]
THENS = [*MADE, *ENDED, *FAILURES, *BROKEN, *GOOD, *RAW, *STATED, *(f"{{items: [{item}]}}" for item in ITEMS)]


@pytest.mark.parametrize("then", THENS)
def test_what_loads_is_valid(then):
    document = read(f"rules: [{{then: {then}}}]", "r.yaml")
    assert load([document], KNOWN, faults=FAULTS)
    VALID.validate(document.data)


FILES = [
    "{version: 1, settings: {seed: 7}, rules: [{name: a, when: {model: 'a*'}, then: {text: x}, times: 2}]}",
    "rules: [{then: {text: x}, state: {is: a, becomes: b}}]",
    "rules:",
    "settings:",
    "{}",
]


@pytest.mark.parametrize("text", FILES)
def test_whole_files(text):
    document = read(text, "r.yaml")
    load([document], KNOWN)
    VALID.validate(document.data)


WRONG = [
    "version: 2",
    "rule: []",
    "rules: {}",
    "rules: [{}]",
    "rules: [{then: {text: a}, wen: {}}]",
    "rules: [{then: {items: [{type: drag}]}}]",
    "rules: [{then: {items: [{type: computer_call, action: {type: click, x: 1}}]}}]",
    "rules: [{then: {items: [{type: web_search_call, qury: a}]}}]",
    "rules: [{then: {moderation: {violens: 1}}}]",
    "rules: [{then: {text: a, failed: false}}]",
    "rules: [{when: {modle: a}, then: {text: a}}]",
    "rules: [{then: {txt: a}}]",
    "rules: [{then: {text: 3}}]",
    "rules: [{then: {text: null}}]",
    "rules: [{then: {text: a, finish: done}}]",
    "rules: [{then: {text: a, chunks: words}}]",
    "rules: [{then: {steps: [{txt: a}]}}]",
    "rules: [{then: {error: []}}]",
    "rules: [{then: {error: {status: 99}}}]",
    "rules: [{then: {echo: false}}]",
    "rules: [{times: 0, then: {text: a}}]",
]


@pytest.mark.parametrize("text", WRONG)
def test_what_is_plainly_wrong(text):
    assert not VALID.is_valid(read(text, "r.yaml").data)


def test_an_editor_has_something_to_show():
    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    then = SCHEMA["$defs"]["ThenSpec"]["properties"]
    assert then["text"] == {"type": "string", "description": "text, a template"}
    assert all("description" in field for field in then.values())
    assert '"null"' not in json.dumps({**SCHEMA, "$defs": {"then": then}}).replace('{"type": "null"}', "", 2)
