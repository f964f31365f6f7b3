"""Response: its keys, its status, and that nothing in it contradicts that status."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from pydantic import ValidationError
from pydantic_core import to_json

from mockserver.core.plan import Answer, Broken, Item, Text
from mockserver.wire.responses import ResponseOptions, find_status, make_response, make_response_in_progress
from tests.kit.strict_responses import check_event, check_response, check_tzafon
from tests.wire.answers import BEHIND, EVERYTHING, ITEMS, OPENAI, PLAIN, TZAFON, answer, answers

HI = Text("Hi")
NOTHING = {"completed_at": None, "error": None, "incomplete_details": None}
TOO_LONG = {**NOTHING, "incomplete_details": {"reason": "max_output_tokens"}}
FILTERED = {**NOTHING, "incomplete_details": {"reason": "content_filter"}}

# What an answer came to: its status, what else says so, whether it has output, whether it has usage.
STATES: dict[str, tuple[Answer, str, dict[str, Any], bool, bool]] = {
    "whole": (answer(HI), "completed", {**NOTHING, "completed_at": 1_700_000_000}, True, True),
    "too long": (answer(HI, finish="length"), "incomplete", TOO_LONG, True, True),
    "filtered": (answer(HI, finish="content_filter"), "incomplete", FILTERED, True, True),
    "failed": (
        answer(HI, finish="length", broken=Broken("server_error", "No.")),
        "failed",
        {**NOTHING, "error": {"code": "server_error", "message": "No."}},
        True,
        False,
    ),
    "queued": (answer(HI, phase="queued"), "queued", NOTHING, False, False),
    "in progress": (answer(HI, phase="in_progress", broken=Broken()), "in_progress", NOTHING, False, False),
    "cancelled": (answer(HI, phase="cancelled", finish="length"), "cancelled", NOTHING, False, False),
}


@pytest.mark.parametrize("state", STATES)
def test_nothing_contradicts_the_status(state: str) -> None:
    whole, status, said, output, usage = STATES[state]
    body = make_response(whole, OPENAI, PLAIN)
    assert body["status"] == status == find_status(whole, OPENAI)
    assert {key: body[key] for key in NOTHING} == said
    assert (bool(body["output"]), body["usage"] is not None) == (output, usage)
    check_response(to_json(body))


def test_a_provider_without_a_queue() -> None:
    assert find_status(answer(phase="queued"), TZAFON) == "in_progress"
    assert make_response_in_progress(answer(), TZAFON, BEHIND, queued=True)["status"] == "in_progress"
    assert make_response_in_progress(answer(), OPENAI, BEHIND, queued=True)["status"] == "queued"


def test_the_request_is_repeated_but_never_wins() -> None:
    asked = ResponseOptions({"tools": [{"type": "custom"}], "status": "queued", "id": "resp_other", "other": 1})
    body = make_response(answer(HI), OPENAI, asked)
    assert (body["tools"], body["status"], body["id"]) == ([{"type": "custom"}], "completed", "resp_" + "ab" * 16)
    assert "other" not in body
    assert "instructions" not in body


@settings(max_examples=100, deadline=None)
@given(answers())
def test_clients_accept_every_answer(whole: Answer) -> None:
    for asked in (PLAIN, EVERYTHING):
        check_response(to_json(make_response(whole, OPENAI, asked)))
        if not any(isinstance(part, Item) and "actions" in part.body for part in whole.choices[0].parts):
            check_tzafon(to_json(make_response(whole, TZAFON, asked)))  # which knows single actions only


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.kind)
def test_clients_accept_every_kind_of_item(item: Any) -> None:
    for asked in (PLAIN, EVERYTHING):
        check_response(to_json(make_response(answer(item), OPENAI, asked)))
        if "actions" not in item.body:
            check_tzafon(to_json(make_response(answer(item), TZAFON, asked)))


def test_the_checks_can_fail() -> None:
    body = json.loads(to_json(make_response(answer(HI), OPENAI, PLAIN)))
    for wrong in ({**body, "surplus": 1}, {**body, "created_at": "now"}, {**body, "output": [{"type": "odd"}]}):
        with pytest.raises((ValidationError, AssertionError)):
            check_response(to_json(wrong))
    with pytest.raises(ValidationError):
        check_tzafon(to_json({**body, "status": "queued"}))
    with pytest.raises(ValidationError):
        check_event(b'{"type":"response.output_text.delta","sequence_number":1,"delta":"a"}')
