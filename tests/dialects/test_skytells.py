"""Skytells on the wire, beyond its cases: its first chunks, its key header, its errors, streaming by query."""

from collections.abc import Callable
from typing import Any

import pytest

from mockserver.core.call import ToolCall
from mockserver.core.plan import Choice, Logprob, Refusal, Text, ToolUse


@pytest.fixture
def skytells(speak: Callable[[str], Any]) -> Any:
    return speak("skytells")


CALL = ToolUse(ToolCall("call_a", "f", "{}"))
FIRST = {"index": 0, "id": "call_a", "type": "function", "function": {"name": "f", "arguments": ""}}
ROLES: dict[str, tuple[Any, Any]] = {
    "call": ((CALL,), {"role": "assistant", "tool_calls": [FIRST]}),
    "refusal": ((Refusal("No"),), {"role": "assistant", "refusal": "No"}),
    "nothing": ((), {"role": "assistant", "content": ""}),
    "annotated": ((Text("Yes", annotations=({"type": "x"},)),), {"role": "assistant", "content": "Yes"}),
    "logprobs": (Choice((Text("Yes"),), logprobs=(Logprob("Yes", -1.0),)), {"role": "assistant", "content": "Yes"}),
}


@pytest.mark.parametrize(("choice", "delta"), ROLES.values(), ids=ROLES.keys())
def test_the_role_rides_on_the_second_chunk(skytells: Any, answer: Any, choice: Any, delta: Any) -> None:
    chunks = skytells.chunks(answer(choice))
    assert [one["choices"][0]["delta"] for one in chunks[:2]] == [{}, delta]
    for one in chunks:
        choice = one["choices"][0]
        assert choice["logprobs"] is None
        assert choice["delta"].get("content", "") is not None
        assert "annotations" not in choice["delta"]
        assert "role" not in choice["delta"] or one is chunks[1]


@pytest.mark.parametrize(
    ("headers", "key"),
    [
        ({"x-api-key": "k"}, "k"),
        ({"authorization": "Bearer b"}, "b"),
        ({"x-api-key": "k", "authorization": "Bearer b"}, "k"),
        ({"x-api-key": " "}, None),
        ({}, None),
    ],
)
def test_credential(skytells: Any, headers: dict[str, str], key: str | None) -> None:
    assert skytells.dialect.credential(skytells.request(headers=headers)) == key


@pytest.mark.parametrize(
    ("query", "body", "streams"),
    [
        ({"stream": "true"}, {}, True),
        ({"stream": "True"}, {"stream": False}, True),
        ({"stream": "true"}, {"stream_options": {"include_usage": True}}, True),
        ({"stream": "false"}, {}, False),
        ({"stream": "1"}, {}, False),
        ({}, {"stream": True}, True),
    ],
)
def test_stream_in_the_query(skytells: Any, query: dict[str, str], body: dict[str, Any], streams: bool) -> None:
    call = skytells.parse(body, query=query)
    assert call.stream is streams
    assert call.fingerprint == skytells.parse({}).fingerprint
