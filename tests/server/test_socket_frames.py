"""Golden sequences of frames: what a client of OpenAI's Responses receives over a WebSocket, to the byte."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from mockserver.testing import MockServer
from tests.kit.sockets import LAST, create, socket

GOLDEN = Path(__file__).with_name("socket_frames.txt")
RULES = """
version: 1
rules:
  - {when: {last_user: text}, then: {text: One two three.}}
  - {when: {last_user: refusal}, then: {refusal: I cannot help with that.}}
  - {when: {last_user: function}, then: {tool_calls: [{name: get_weather, arguments: {city: Oslo}}]}}
  - {when: {last_user: reasoning}, then: {reasoning: Let me see., text: Done.}}
  - {when: {last_user: incomplete}, then: {text: One two three., finish: length}}
  - {when: {last_user: failed}, then: {text: One two., failed: true}}
  - {when: {last_user: limited}, then: {error: 429, retry_after: 2s}}
  - {when: {last_user: broken}, then: {error: 500}}
  - {when: {last_user: odd}, then: {raw: {status: 200, body: "{}"}}}
"""
TOOL = {"type": "function", "name": "get_weather", "parameters": {"type": "object", "properties": {}}, "strict": False}
SEQUENCES: dict[str, Sequence[Any]] = {
    "text": [create("text")],
    "text of a named lane": [create("text", stream_id="lane-1")],
    "refusal": [create("refusal")],
    "function call": [create("function", tools=[TOOL])],
    "reasoning": [create("reasoning", model="gpt-5", reasoning={"effort": "low", "summary": "auto"})],
    "incomplete": [create("incomplete")],
    "failed": [create("failed")],
    "warm-up": [create("text", generate=False)],
    "warm-up that prewarms the cache": [create("text", prompt_cache_options={"prewarm": True})],
    "two in a row": [create("text"), create("refusal")],
    "rate limit": [create("limited")],
    "rate limit of a named lane": [create("limited", stream_id="lane-1")],
    "server error": [create("broken")],
    "no events": [create("odd")],
    "bad field": [create("text", temperature=9)],
    "background": [create("text", background=True)],
    "bad lane": [create("text", stream_id="a b")],
    "no JSON": ["{"],
    "no type": [{}],
    "another type": [{"type": "session.update"}],
    "binary": [b"{}"],
    "steer": [{"type": "response.steer", "input": [], "previous_response_id": "resp_1"}],
    "a processed response, then text": [{"type": "response.processed", "response_id": "resp_1"}, create("text")],
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MockServer]:
    file = tmp_path_factory.mktemp("rules") / "rules.yaml"
    file.write_text(RULES)
    with MockServer(file, unmatched="generate", lint="off") as running:
        yield running


def collect_frames(server: MockServer, sent: Sequence[Any]) -> list[str]:
    """Every frame that the server sends: what it answers to a frame that is not JSON, sent last, ends them."""
    frames = list[str]()
    with socket(server.url) as client:
        for event in sent:
            client.send(event)
            wants_answer = not (isinstance(event, dict) and event.get("type") == "response.processed")
            while wants_answer:
                frame = client.connection.recv(timeout=10)
                assert isinstance(frame, str)
                frames.append(frame)
                if json.loads(frame).get("type", "{}") in (*LAST, "response.steer.failed", "{}"):
                    break
    return frames


def describe(name: str, frames: Sequence[str]) -> str:
    """A golden entry: the name, a line for each frame, and the hash of their bytes."""
    lines = [_describe_frame(json.loads(frame), len(frame.encode())) for frame in frames]
    return "\n".join((name, *lines, f"  sha256 {hashlib.sha256(chr(10).join(frames).encode()).hexdigest()}", ""))


def _describe_frame(event: Any, size: int) -> str:
    error = event.get("error") or {}
    said = [event.get("type", "-"), event.get("sequence_number"), event.get("delta"), event.get("status")]
    said += [error.get("code"), error.get("param"), event.get("stream_id")]
    return f"  {size:5} " + " ".join(str(each) for each in said if each is not None).rstrip()


def test_frames_are_golden(server: MockServer, update: bool) -> None:
    found = "\n".join(describe(name, collect_frames(server, sent)) for name, sent in SEQUENCES.items())
    again = "\n".join(describe(name, collect_frames(server, sent)) for name, sent in SEQUENCES.items())
    assert found == again, "equal requests get equal bytes"
    if update:
        GOLDEN.write_text(found)
    assert found == GOLDEN.read_text()
