"""Rules of a body are read and named; nothing of the body is changed by that."""

import json

from mockserver.server.control.requests import ControlRequest
from mockserver.server.control.rules import rules_of
from mockserver.server.live import Sources, start


def asked(body: bytes, kind: str = "application/json") -> ControlRequest:
    return ControlRequest(start(Sources()), "default", body=body, kind=kind)


def test_rules_and_how_many_names_were_given() -> None:
    body = json.dumps(
        {"rules": [{"then": {"text": "a"}}, {"name": "b", "then": {"text": "b"}}, {"then": {"text": "c"}}]}
    )
    rules, given = rules_of(asked(body.encode()), 4)
    assert ([rule.name for rule in rules], given) == (["added 5", "b", "added 6"], 2)
    assert [rule.source for rule in rules] == ["rule api added 5", "rule api b", "rule api added 6"]


def test_yaml_keeps_its_lines_and_its_anchors() -> None:
    body = b"rules:\n  - &one\n    then: {text: a}\n  - *one\n"
    rules, given = rules_of(asked(body, "application/yaml; charset=utf-8"), 0)
    assert ([rule.name for rule in rules], given, rules[0].where) == (["added 1", "added 2"], 2, "api:2")


def test_json_may_hold_what_yaml_may_not() -> None:
    rules, _ = rules_of(asked('{"then":\t{"text": "\\ud83d\\ude00 \u2028"}}'.encode()), 0)
    assert rules[0].spec["then"] == {"text": "😀 \u2028"}
