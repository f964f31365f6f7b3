"""What AWS's client sees of the faults of a stream, and what goes over the wire."""

import json
from collections.abc import Iterator
from typing import Any

import boto3
import httpx
import pytest
from botocore.config import Config

from mockserver.core.event_stream import is_prelude, read_message, split_messages
from mockserver.testing import MockServer

MODEL, TEXT = "us.anthropic.claude-opus-4-8", "One two naïve four."
HELLO = {"messages": [{"role": "user", "content": [{"text": "Hello"}]}]}
CLAUDE = {
    "anthropic_version": "bedrock-2023-05-31",
    "max_tokens": 99,
    "messages": [{"role": "user", "content": "Hello"}],
}
Json = Any


@pytest.fixture(scope="module")
def server() -> Iterator[MockServer]:
    with MockServer() as started:
        yield started


def seen(server: MockServer, fault: Json) -> tuple[str, Json]:
    """The text that came, and how it ended: the stop reason, or the exception."""
    server.reset()
    server.on("Hello").then({"text": TEXT, "faults": [fault]})
    config = Config(retries={"total_max_attempts": 1}, read_timeout=2, proxies={})
    client = boto3.client(
        "bedrock-runtime",
        endpoint_url=server.base_url("bedrock"),
        region_name="us-east-1",
        aws_access_key_id="any",
        aws_secret_access_key="any",
        config=config,
    )
    text, ended, stream = "", None, None
    try:
        stream = client.converse_stream(modelId=MODEL, **HELLO)["stream"]
        for event in stream:
            text += event.get("contentBlockDelta", {}).get("delta", {}).get("text", "")
            ended = event.get("messageStop", {}).get("stopReason", ended)
    except Exception as error:
        return text, type(error).__name__
    finally:
        if stream is not None:
            stream.close()
        client.close()
    return text, ended


SEEN: dict[str, tuple[Json, str, Json]] = {
    "none": ("join_frames", TEXT, "end_turn"),
    "cut": ({"cut": {"after_tokens": 2}}, "One two", None),
    "cut before the end": ("cut", TEXT, None),
    "cut in a message": ({"cut": {"after_bytes": 300}}, "One", None),
    "disconnect": ({"disconnect": {"after_tokens": 2}}, "One two", "ProtocolError"),
    "stall": ({"stall": {"after_tokens": 2, "for": "9s"}}, "One two", "ReadTimeoutError"),
    "error": ({"error_event": {"after_tokens": 2}}, "One two", "EventStreamError"),
    "unmodelled error": ({"error_event": {"after_tokens": 2, "reason": "forbidden"}}, "One two", "EventStreamError"),
    "early error": ({"error_event": {"at_start": True, "reason": "overloaded"}}, "", "EventStreamError"),
    "malformed": ({"malformed_json": {"after_tokens": 2}}, "One two four.", "end_turn"),  # which it takes for empty
    "wrong checksum": ({"wrong_checksum": {"after_tokens": 2}}, "One two", "ChecksumMismatch"),
    "comments": ("keepalive", TEXT, "end_turn"),
    "line ends": ("crlf", TEXT, "end_turn"),
    "split": ("split_frame", TEXT, "end_turn"),
    "split characters": ("split_utf8", TEXT, "end_turn"),
    "usage": ("drop_usage", TEXT, "end_turn"),
    "a field": ({"missing_field": {"field": "/delta"}}, "", "end_turn"),
    "twice": ({"duplicate": {"after_tokens": 1}}, "One two two naïve four.", "end_turn"),
    "empty": ("empty_body", "", None),
}


@pytest.mark.parametrize(("fault", "text", "ended"), SEEN.values(), ids=SEEN.keys())
def test_what_the_client_sees(server: MockServer, fault: Json, text: str, ended: Json) -> None:
    assert seen(server, fault) == (text, ended)


@pytest.mark.parametrize("fault", ["keepalive", "crlf"])
def test_faults_of_lines_have_no_effect(server: MockServer, fault: str) -> None:
    seen(server, fault)
    assert server.calls[0].row.unaffected


def post(server: MockServer, verb: str, body: Json, then: Json) -> httpx.Response:
    server.reset()
    server.on("Hello").then(then)
    return httpx.post(f"{server.base_url('bedrock')}/model/{MODEL}/{verb}", json=body, trust_env=False)


@pytest.mark.parametrize(("verb", "body"), [("converse", HELLO), ("invoke", CLAUDE)])
def test_usage_is_dropped_from_bodies(server: MockServer, verb: str, body: Json) -> None:
    assert "usage" not in post(server, verb, body, {"text": TEXT, "faults": ["drop_usage"]}).json()


STREAMS = [("converse-stream", HELLO), ("invoke-with-response-stream", CLAUDE)]


@pytest.mark.parametrize(("verb", "body"), STREAMS)
def test_what_faults_change_has_right_checksums(server: MockServer, verb: str, body: Json) -> None:
    faults = ["drop_usage", {"missing_field": {"field": "/delta/text"}}]
    answer = post(server, verb, body, {"text": TEXT, "faults": faults})
    messages = [read_message(data) for data in split_messages(answer.content)]
    assert None not in messages
    texts = [message.text for message in messages if message is not None]
    assert not any("usage" in text or "naïve" in text for text in texts)
    assert all(json.loads(text) for text in texts)


@pytest.mark.parametrize(("verb", "body"), STREAMS)
def test_arguments_are_cut_within_a_message(server: MockServer, verb: str, body: Json) -> None:
    call = {"tool_calls": [{"name": "get", "arguments": {"city": "Oslo"}}], "chunks": {"size": 99}}
    answer = post(server, verb, body, {**call, "faults": [{"cut": {"in_tool_arguments": True}}]})
    *whole, last = split_messages(answer.content)
    assert all(read_message(each) is not None for each in whole)
    assert is_prelude(last) or read_message(last) is not None


def test_other_streams_have_no_checksum(server: MockServer) -> None:
    server.reset()
    server.on("Hello").then({"text": TEXT, "faults": ["wrong_checksum"]})
    chat = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "Hello"}]}
    answer = httpx.post(f"{server.base_url('openai')}/chat/completions", json=chat, trust_env=False)
    assert answer.text.endswith("data: [DONE]\n\n")
    assert server.calls[0].row.unaffected


@pytest.mark.parametrize("path", ["converse", "converse-stream", "invoke", "count-tokens"])
def test_a_body_that_is_too_large(path: str) -> None:
    with MockServer(max_body="1KB") as server:
        url = f"{server.base_url('bedrock')}/model/{MODEL}/{path}"
        refused = httpx.post(url, content=b" " * 2000, trust_env=False)
    assert refused.status_code == 413
    assert refused.headers["x-amzn-errortype"].startswith("RequestEntityTooLargeException:")
