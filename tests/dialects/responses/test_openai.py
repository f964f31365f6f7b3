"""OpenAI's Response on the wire: every key in its order, its ids, its errors of look-ups."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from mockserver.core.plan import Answer, Choice, Failure, Text, Usage

ANSWER = Answer("resp_1", 1_700_000_000, "gpt-x", (Choice((Text("Hi"),)),), Usage(9, 2))


def test_the_object(speak: Callable[[str], Any]) -> None:
    openai = speak("openai")
    reply = openai.operation("responses").render(openai.responses({"model": "gpt-x", "input": "hi"}), ANSWER)
    item = json.loads(reply.body)["output"][0]["id"]
    assert reply.body.decode() == (
        '{"id":"resp_1","object":"response","created_at":1700000000,"status":"completed","completed_at":1700000000,'
        '"background":false,"error":null,"incomplete_details":null,"instructions":null,"max_output_tokens":null,'
        '"max_tool_calls":null,"model":"gpt-x","output":[{"id":"'
        + item
        + '","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"Hi",'
        '"annotations":[],"logprobs":[]}]}],"parallel_tool_calls":true,"previous_response_id":null,'
        '"reasoning":{"effort":null,"summary":null},"service_tier":"default","store":true,"temperature":1.0,'
        '"text":{"format":{"type":"text"}},"tool_choice":"auto","tools":[],"top_logprobs":0,"top_p":1.0,'
        '"truncation":"disabled","usage":{"input_tokens":9,"input_tokens_details":{"cached_tokens":0,'
        '"cache_write_tokens":0},"output_tokens":2,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":11},'
        '"user":null,"metadata":{}}'
    )
    headers = dict(reply.headers)
    assert headers["x-request-id"].startswith("req_")
    assert int(headers["x-ratelimit-remaining-tokens"]) < 2_000_000


@pytest.mark.parametrize(
    ("reason", "status", "code", "param"),
    [
        ("previous_not_found", 400, "previous_response_not_found", "previous_response_id"),
        ("not_cancellable", 400, None, None),
        ("not_found", 404, None, None),
    ],
)
def test_failed_look_ups(
    speak: Callable[[str], Any], reason: str, status: int, code: str | None, param: str | None
) -> None:
    reply = speak("openai").fail(Failure(reason))
    error = json.loads(reply.body)["error"]
    assert (reply.status, error["type"], error["code"], error["param"]) == (
        status,
        "invalid_request_error",
        code,
        param,
    )


def test_the_id_of_what_was_not_found_is_told(speak: Callable[[str], Any]) -> None:
    openai = speak("openai")
    call = openai.responses({"previous_response_id": "resp_7"})
    message = json.loads(openai.fail(Failure("previous_not_found"), call).body)["error"]["message"]
    assert message == "Previous response with id 'resp_7' not found."
