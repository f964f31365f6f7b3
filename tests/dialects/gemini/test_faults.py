"""What Google's client sees of the faults of a stream, and what goes over the wire."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from google import genai
from google.genai import types

from mockserver.testing import MockServer

MODEL, TEXT = "gemini-2.5-flash", "One two three four."
HELLO = {"contents": [{"parts": [{"text": "Hello"}]}]}
Json = Any


@pytest.fixture(scope="module")
def server() -> Iterator[MockServer]:
    with MockServer() as started:
        yield started


def seen(server: MockServer, fault: Json) -> tuple[str, Json]:
    """The text that came, and how it ended: the finish reason, or the exception."""
    server.reset()
    server.on("Hello").then({"text": TEXT, "faults": [fault]})
    text, ended = "", None
    with httpx.Client(trust_env=False) as own:
        http = types.HttpOptions(base_url=server.base_url("gemini"), httpx_client=own, timeout=2000)
        try:
            client = genai.Client(api_key="k", http_options=http)
            for event in client.models.generate_content_stream(model=MODEL, contents="Hello"):
                text += event.text or ""
                ended = event.candidates and event.candidates[0].finish_reason
        except Exception as error:
            return text, type(error).__name__
    return text, ended and ended.value


SEEN: dict[str, tuple[Json, str, Json]] = {
    "none": ("crlf", TEXT, "STOP"),
    "cut": ({"cut": {"after_tokens": 2}}, "One two", None),
    "cut before the last event": ("cut", "One two three four", None),
    "disconnect": ({"disconnect": {"after_tokens": 2}}, "One two", "RemoteProtocolError"),
    "stall": ({"stall": {"after_tokens": 2, "for": "9s"}}, "One two", "ReadTimeout"),
    "error": ({"error_event": {"after_tokens": 2}}, "One two", "ServerError"),
    "refusal": ({"error_event": {"after_tokens": 2, "reason": "rate_limit"}}, "One two", "ClientError"),
    "early error": ({"error_event": {"at_start": True, "reason": "overloaded"}}, "", "ServerError"),
    "malformed": ({"malformed_json": {"after_tokens": 2}}, "One two", "UnknownApiResponseError"),
    "comments": ("keepalive", "", "UnknownApiResponseError"),
    "split": ("split_frame", TEXT, "STOP"),
    "usage": ("drop_usage", TEXT, "STOP"),
    "twice": ({"duplicate": {"after_tokens": 1}}, "One two two three four.", "STOP"),
}


@pytest.mark.parametrize(("fault", "text", "ended"), SEEN.values(), ids=SEEN.keys())
def test_what_the_client_sees(server: MockServer, fault: Json, text: str, ended: Json) -> None:
    assert seen(server, fault) == (text, ended)


def post(server: MockServer, verb: str, faults: Json, then: Json) -> httpx.Response:
    server.reset()
    server.on("Hello").then({**then, "faults": [faults]})
    body = {**HELLO, "tools": [{"functionDeclarations": [{"name": "get"}]}]}
    return httpx.post(f"{server.base_url('gemini')}/v1beta/models/{MODEL}:{verb}", json=body, trust_env=False)


@pytest.mark.parametrize("verb", ["generateContent", "streamGenerateContent?alt=sse", "streamGenerateContent"])
def test_usage_is_dropped_from_the_bytes(server: MockServer, verb: str) -> None:
    answer = post(server, verb, "drop_usage", {"text": TEXT})
    assert "four" in answer.text
    assert "usageMetadata" not in answer.text


def test_an_error_is_an_element_of_an_array(server: MockServer) -> None:
    answer = post(server, "streamGenerateContent", {"error_event": {"after_tokens": 2}}, {"text": TEXT})
    *said, last = json.loads(answer.text)
    assert [each["candidates"][0]["content"]["parts"][0]["text"] for each in said] == ["One", " two"]
    assert last["error"]["status"] == "INTERNAL"


def test_bad_arguments_are_malformed_calls(server: MockServer) -> None:
    call = {"tool_calls": [{"name": "get", "arguments": {"a": 1}}]}
    for verb in ("generateContent", "streamGenerateContent"):
        answer = post(server, verb, "bad_tool_arguments", call).json()
        (candidate,) = (answer[-1] if isinstance(answer, list) else answer)["candidates"]
        assert candidate["finishReason"] == "MALFORMED_FUNCTION_CALL"
        assert candidate["finishMessage"].startswith("Malformed function call: get(")


def test_keep_alives_leave_an_array_whole(server: MockServer) -> None:
    answer = post(server, "streamGenerateContent", "keepalive", {"text": "One two."})
    assert answer.text.startswith("\n[{")
    assert len(answer.json()) == 3


def test_a_body_that_is_too_large() -> None:
    with MockServer(max_body="1KB") as server:
        url = f"{server.base_url('gemini')}/v1beta/models/{MODEL}:generateContent"
        refused = httpx.post(url, content=b" " * 2000, trust_env=False)
    assert refused.status_code == 413
    assert refused.json()["error"]["message"] == "Request payload size exceeds the limit: 1000 bytes."
