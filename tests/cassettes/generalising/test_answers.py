"""What a recorded answer says becomes the `then` of a rule, no more and no less."""

from typing import Any

import pytest

from mockserver.cassettes.convert.rules import UnsupportedError, literal, then_of
from mockserver.cassettes.parse_response import ParsedChoice, ParsedPart, ParsedResponse, ParsedToolCall

TEXT = ParsedPart("text", "a")
SAFE = {"hate": {"filtered": False, "severity": "safe"}}
TRIPPED = {"violence": {"filtered": True, "severity": "high"}, "hate": {"filtered": False, "severity": "low"}}

ANSWERS: list[tuple[ParsedResponse, Any]] = [
    (ParsedResponse((ParsedChoice((TEXT,), "stop"),)), {"text": "a"}),
    (ParsedResponse((ParsedChoice((TEXT,), "length"),)), {"text": "a", "finish": "length"}),
    (ParsedResponse((ParsedChoice((), "stop"),)), {"text": ""}),
    (ParsedResponse((ParsedChoice((ParsedPart("reasoning", "r"), TEXT)),)), {"reasoning": "r", "text": "a"}),
    (
        ParsedResponse((ParsedChoice((TEXT, ParsedPart("reasoning", "r"))),)),
        {"parts": [{"text": "a"}, {"reasoning": "r"}]},
    ),
    (ParsedResponse((ParsedChoice((TEXT, TEXT)),)), {"parts": [{"text": "a"}, {"text": "a"}]}),
    (
        ParsedResponse(
            (
                ParsedChoice(
                    (
                        ParsedPart("call", call=ParsedToolCall("f", '{"a":1}')),
                        ParsedPart("call", call=ParsedToolCall("g", '{"a": 1}')),
                    ),
                    "tool_calls",
                ),
            )
        ),
        {"tool_calls": [{"name": "f", "arguments": {"a": 1}}, {"name": "g", "arguments": '{"a": 1}'}]},
    ),
    (
        ParsedResponse((ParsedChoice((ParsedPart("call", call=ParsedToolCall("f", "x", custom=True)),)),)),
        {"tool_calls": [{"name": "f", "input": "x"}]},
    ),
    (
        ParsedResponse(
            (ParsedChoice((ParsedPart("item", item={"type": "web_search_call", "id": "ws_1", "query": "{{"}), TEXT)),)
        ),
        {"items": [{"type": "web_search_call", "query": '{{ "{" }}{'}], "text": "a"},
    ),
    (
        ParsedResponse((ParsedChoice((TEXT,)), ParsedChoice((TEXT,), "length"))),
        {"choices": [{"text": "a"}, {"text": "a", "finish": "length"}]},
    ),
    (
        ParsedResponse((ParsedChoice((TEXT,), "content_filter", filters=TRIPPED),), prompt_filters=SAFE),
        {
            "text": "a",
            "content_filter": {"on": "completion", "category": "violence", "severity": "high"},
            "annotate": {"completion": {"hate": "low"}},
        },
    ),
    (ParsedResponse((ParsedChoice((TEXT,), "error"),)), {"text": "a", "finish": "content_filter"}),
    (
        ParsedResponse((ParsedChoice((TEXT,)),), error={"code": "c", "message": "m"}, broken=True),
        {"text": "a", "failed": {"code": "c", "message": "m"}},
    ),
    (ParsedResponse((ParsedChoice((TEXT,)),), error="no", broken=True), {"text": "a", "failed": True}),
    (
        ParsedResponse(status=429, error={"message": "{{ a", "type": None, "code": 3}),
        {"error": {"status": 429, "message": '{{ "{" }}{ a', "code": 3}},
    ),
    (ParsedResponse(status=502, error="<html>", body="<html>"), {"raw": {"status": 502, "body": "<html>"}}),
    (
        ParsedResponse(status=400, error={"message": "m", "innererror": {"content_filter_result": TRIPPED}}),
        {"content_filter": {"on": "prompt", "category": "violence", "severity": "high"}},
    ),
]


@pytest.mark.parametrize(("said", "made"), ANSWERS, ids=range(len(ANSWERS)))
def test_what_is_said_becomes_then(said: ParsedResponse, made: Any) -> None:
    assert then_of(said) == made


def test_when_to_come_back() -> None:
    busy = ParsedResponse(status=429, error={"message": "m"})
    assert then_of(busy, "2")["retry_after"] == "2s"
    assert "retry_after" not in then_of(busy, "Thu, 09 Oct 2025 08:53:20 GMT")
    assert then_of(ParsedResponse(status=429, error="no", body="no"), "2")["raw"]["headers"] == {"retry-after": "2"}


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (ParsedResponse(), "its answer has no content that a rule can give"),
        (ParsedResponse((ParsedChoice((TEXT,)),), complete=False), "its stream breaks off"),
        (ParsedResponse((ParsedChoice((TEXT,), "bored"),)), "no rule can end with the reason bored"),
        (
            ParsedResponse((ParsedChoice((ParsedPart("call", call=ParsedToolCall("", "{}")),)),)),
            "it calls a tool without a name",
        ),
    ],
)
def test_what_no_rule_gives(said: ParsedResponse, why: str) -> None:
    with pytest.raises(UnsupportedError, match=why):
        then_of(said)


def test_what_would_open_a_tag_is_given_as_text() -> None:
    assert literal("{a} {{b}} {%c%} {#d#}") == '{a} {{ "{" }}{b}} {{ "{" }}%c%} {{ "{" }}#d#}'
