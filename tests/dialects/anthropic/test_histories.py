"""Anthropic's own client sends back what it got, over a socket: plain and streamed, with tools and thinking."""

from collections.abc import Iterator
from typing import Any

import anthropic
import pytest

from mockserver.testing import MockServer

LOOK: Any = {
    "name": "look",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "number"}}},
}
MODELS = ["claude-fable-5-2", "claude-opus-4-8", "claude-haiku-5-5"]


@pytest.fixture(scope="module")
def server() -> Iterator[MockServer]:
    with MockServer(unmatched="error", replay="warn") as started:
        yield started


@pytest.fixture
def client(server: MockServer) -> Iterator[anthropic.Anthropic]:
    server.on("*weather*", turn=0).reply(
        parts=[
            {"reasoning": "Two looks:\n  «Zürich» and 🌧."},
            {"text": "I look. "},
            {"reasoning": "Ruhig…"},
            {"tool_call": {"name": "look", "arguments": {"city": 'Zürich "am See"', "days": 1.0}}},
            {"tool_call": {"name": "look", "arguments": {"days": 2, "city": "\n"}}},
        ]
    )
    server.on().reply(reasoning="  That is all.  ", text="Sunny.\n")
    base = server.base_url("anthropic")
    with anthropic.Anthropic(base_url=base, api_key="sk-x", max_retries=0) as created:
        yield created
    server.reset()


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("model", MODELS)
def test_no_remark_at_any_turn(client: anthropic.Anthropic, server: MockServer, model: str, stream: bool) -> None:
    system: Any = [{"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral"}}]
    messages: list[Any] = [{"role": "user", "content": "The weather?"}]
    for _ in range(4):
        asked: Any = {"model": model, "max_tokens": 999, "system": system, "tools": [LOOK], "messages": messages}
        if stream:
            with client.messages.stream(**asked) as streamed:
                message = streamed.get_final_message()
        else:
            message = client.messages.create(**asked)
        messages.append({"role": "assistant", "content": message.content})
        results = [
            {"type": "tool_result", "tool_use_id": block.id, "content": "Clear."}
            for block in message.content
            if block.type == "tool_use"
        ]
        messages.append({"role": "user", "content": results or "And then?"})
    assert [call.status for call in server.calls] == [200] * 4
    assert [call.remarks for call in server.calls] == [()] * 4
    assert any(block.type == "thinking" for block in messages[1]["content"])


def test_a_changed_thought(client: anthropic.Anthropic, server: MockServer) -> None:
    messages: list[Any] = [{"role": "user", "content": "Hi"}]
    message = client.messages.create(model=MODELS[1], max_tokens=999, messages=messages)
    thought, text = message.to_dict()["content"]  # type: ignore[misc]
    messages += [{"role": "assistant", "content": [thought | {"signature": "c2ln c2ln"}, text]}, messages[0]]
    client.messages.create(model=MODELS[1], max_tokens=999, messages=messages)
    (remark,) = server.calls[-1].remarks
    assert "messages.1.content.0: Invalid `signature` in `thinking` block" in remark
    assert server.calls[-1].history_remarks == (remark,)
    assert server.calls[-1].answer_remarks == ()
