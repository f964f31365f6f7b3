"""What a recorded answer says becomes the `then` of a rule, no more and no less."""

from typing import Any

import pytest

from mockserver.cassettes.convert.rules import UnfitError, literal, then
from mockserver.cassettes.parse_response import Part, Said, Told, Used

TEXT = Part("text", "a")
SAFE = {"hate": {"filtered": False, "severity": "safe"}}
TRIPPED = {"violence": {"filtered": True, "severity": "high"}, "hate": {"filtered": False, "severity": "low"}}

ANSWERS: list[tuple[Told, Any]] = [
    (Told((Said((TEXT,), "stop"),)), {"text": "a"}),
    (Told((Said((TEXT,), "length"),)), {"text": "a", "finish": "length"}),
    (Told((Said((), "stop"),)), {"text": ""}),
    (Told((Said((Part("reasoning", "r"), TEXT)),)), {"reasoning": "r", "text": "a"}),
    (Told((Said((TEXT, Part("reasoning", "r"))),)), {"parts": [{"text": "a"}, {"reasoning": "r"}]}),
    (Told((Said((TEXT, TEXT)),)), {"parts": [{"text": "a"}, {"text": "a"}]}),
    (
        Told(
            (Said((Part("call", used=Used("f", '{"a":1}')), Part("call", used=Used("g", '{"a": 1}'))), "tool_calls"),)
        ),
        {"tool_calls": [{"name": "f", "arguments": {"a": 1}}, {"name": "g", "arguments": '{"a": 1}'}]},
    ),
    (Told((Said((Part("call", used=Used("f", "x", custom=True)),)),)), {"tool_calls": [{"name": "f", "input": "x"}]}),
    (
        Told((Said((Part("item", item={"type": "web_search_call", "id": "ws_1", "query": "{{"}), TEXT)),)),
        {"items": [{"type": "web_search_call", "query": '{{ "{" }}{'}], "text": "a"},
    ),
    (Told((Said((TEXT,)), Said((TEXT,), "length"))), {"choices": [{"text": "a"}, {"text": "a", "finish": "length"}]}),
    (
        Told((Said((TEXT,), "content_filter", filters=TRIPPED),), prompt_filters=SAFE),
        {
            "text": "a",
            "content_filter": {"on": "completion", "category": "violence", "severity": "high"},
            "annotate": {"completion": {"hate": "low"}},
        },
    ),
    (Told((Said((TEXT,), "error"),)), {"text": "a", "finish": "content_filter"}),
    (
        Told((Said((TEXT,)),), error={"code": "c", "message": "m"}, broken=True),
        {"text": "a", "failed": {"code": "c", "message": "m"}},
    ),
    (Told((Said((TEXT,)),), error="no", broken=True), {"text": "a", "failed": True}),
    (
        Told(status=429, error={"message": "{{ a", "type": None, "code": 3}),
        {"error": {"status": 429, "message": '{{ "{" }}{ a', "code": 3}},
    ),
    (Told(status=502, error="<html>", body="<html>"), {"raw": {"status": 502, "body": "<html>"}}),
    (
        Told(status=400, error={"message": "m", "innererror": {"content_filter_result": TRIPPED}}),
        {"content_filter": {"on": "prompt", "category": "violence", "severity": "high"}},
    ),
]


@pytest.mark.parametrize(("said", "made"), ANSWERS, ids=range(len(ANSWERS)))
def test_what_is_said_becomes_then(said: Told, made: Any) -> None:
    assert then(said) == made


def test_when_to_come_back() -> None:
    busy = Told(status=429, error={"message": "m"})
    assert then(busy, "2")["retry_after"] == "2s"
    assert "retry_after" not in then(busy, "Thu, 09 Oct 2025 08:53:20 GMT")
    assert then(Told(status=429, error="no", body="no"), "2")["raw"]["headers"] == {"retry-after": "2"}


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (Told(), "its answer says nothing that a rule could"),
        (Told((Said((TEXT,)),), whole=False), "its stream breaks off"),
        (Told((Said((TEXT,), "bored"),)), "it ends for a reason that no rule gives: bored"),
        (Told((Said((Part("call", used=Used("", "{}")),)),)), "it calls a tool without a name"),
    ],
)
def test_what_no_rule_gives(said: Told, why: str) -> None:
    with pytest.raises(UnfitError, match=why):
        then(said)


def test_what_would_open_a_tag_is_given_as_text() -> None:
    assert literal("{a} {{b}} {%c%} {#d#}") == '{a} {{ "{" }}{b}} {{ "{" }}%c%} {{ "{" }}#d#}'
