"""What Anthropic's client sees of the faults of a stream."""

import json
from collections.abc import Iterator
from typing import Any

import anthropic
import httpx
import pytest

from mockserver.testing import MockServer
from tests.kit.strict_messages import events as events_of

MODEL: Any = "claude-sonnet-5-5"
HELLO: Any = [{"role": "user", "content": "Hello"}]
TEXT = "One two three four."
Json = Any


@pytest.fixture(scope="module")
def server() -> Iterator[MockServer]:
    with MockServer() as started:
        yield started


def seen(server: MockServer, *faults: Json) -> tuple[str, Json]:
    """The text that came, and how it ended: the stop reason and the usage, or the exception."""
    server.reset()
    server.on("Hello").then({"text": TEXT, "faults": [*faults]})
    base, text, ended = server.base_url("anthropic"), "", None
    with anthropic.Anthropic(base_url=base, api_key="k", max_retries=0, timeout=2) as client:
        try:
            for event in client.messages.create(model=MODEL, max_tokens=99, messages=HELLO, stream=True):
                if event.type == "content_block_delta":
                    text += getattr(event.delta, "text", "")
                elif event.type == "message_delta":
                    ended = event.delta.stop_reason
        except Exception as error:
            return text, type(error).__name__
    return text, ended


SEEN: dict[str, tuple[Json, str, Json]] = {
    "none": ("crlf", TEXT, "end_turn"),
    "cut": ({"cut": {"after_tokens": 2}}, "One two", None),
    "disconnect": ({"disconnect": {"after_tokens": 2}}, "One two", "RemoteProtocolError"),
    "stall": ({"stall": {"after_tokens": 2, "for": "9s"}}, "One two", "ReadTimeout"),
    "error": ({"error_event": {"after_tokens": 2}}, "One two", "APIStatusError"),
    "early error": ({"error_event": {"at_start": True, "reason": "overloaded"}}, "", "APIStatusError"),
    "filter": ({"error_event": {"after_tokens": 2, "reason": "content_filter"}}, "One two", "APIStatusError"),
    "split": ("split_frame", TEXT, "end_turn"),
    "comments": ("keepalive", TEXT, "end_turn"),
    "usage": ("drop_usage", TEXT, "end_turn"),
}


@pytest.mark.parametrize(("fault", "text", "ended"), SEEN.values(), ids=SEEN.keys())
def test_what_the_client_sees(server: MockServer, fault: Json, text: str, ended: Json) -> None:
    assert seen(server, fault) == (text, ended)


def test_usage_is_dropped_from_the_bytes(server: MockServer) -> None:
    server.reset()
    server.on("Hello").then({"text": TEXT, "faults": ["drop_usage"]})
    for stream in (False, True):
        body = {"model": MODEL, "max_tokens": 99, "messages": HELLO, "stream": stream}
        assert "usage" not in httpx.post(f"{server.base_url('anthropic')}/v1/messages", json=body).text


@pytest.mark.parametrize("reason", ["overloaded", "content_filter"])
def test_errors_name_the_request(server: MockServer, reason: str) -> None:
    server.reset()
    server.on("Hello").then({"text": TEXT, "faults": [{"error_event": {"after_tokens": 2, "reason": reason}}]})
    body = {"model": MODEL, "max_tokens": 99, "messages": HELLO, "stream": True}
    answered = httpx.post(f"{server.base_url('anthropic')}/v1/messages", json=body)
    error = json.loads(answered.text.rpartition("data: ")[2])
    assert (error["type"], error["request_id"]) == ("error", answered.headers["request-id"])


def test_bad_arguments(server: MockServer) -> None:
    server.reset()
    tools = [{"name": "get", "input_schema": {"type": "object"}}]
    server.on("Hello").then({"tool_calls": [{"name": "get", "arguments": {"a": 1}}], "faults": ["bad_tool_arguments"]})
    body = {"model": MODEL, "max_tokens": 99, "messages": HELLO, "tools": tools, "stream": True}
    events = list(events_of(httpx.post(f"{server.base_url('anthropic')}/v1/messages", json=body).content))
    pieces = [event["delta"]["partial_json"] for event in events if event["type"] == "content_block_delta"]
    with pytest.raises(ValueError, match=r"Expecting|Unterminated"):
        json.loads("".join(pieces))
    assert events[-2]["delta"]["stop_reason"] == "tool_use"
