"""What a Realtime session holds beside speech and functions: sounds of rules, tools of MCP servers, images, its row."""

import wave
from array import array
from base64 import b64encode
from collections.abc import Iterator
from io import BytesIO
from itertools import pairwise
from math import pi, sin
from pathlib import Path
from typing import Any

import httpx
import pytest

from mockserver.media.samples import FORMATS
from mockserver.testing import MockServer
from tests.kit.control import API
from tests.kit.realtime import MANUAL, Talk, append, join_said, join_sound, respond, speech, talk, types, update, user

RULES = """
version: 1
mcp:
  docs:
    tools:
      - name: search
        description: Finds pages
        input: {type: object, properties: {query: {type: string}}}
        then: {text: "Page 7 of {{ arguments.query }}"}
      - name: delete
        then: {tool_error: Nobody may delete.}
rules:
  - when: {operation: realtime, last_user: hello}
    then: {audio: {file: hello.wav, text: Hello there}}
  - when: {operation: realtime, last_user: horn}
    then: {audio: horn.wav}
  - when: {operation: realtime, last_user: say}
    then: {audio: {text: Good morning, voice: sage}}
  - when: {operation: realtime, last_user: voice}
    then: {audio: {voice: sage}}
  - when: {operation: realtime, last_user: song}
    then: {audio: song.mp3}
  - when: {operation: realtime, images: 1}
    then: {text: A picture}
  - when: {last_user: find, last_message: find}
    then: {tool_calls: [{name: search, arguments: {query: tea}}]}
  - when: {last_user: delete, last_message: delete}
    then: {tool_calls: [{name: delete, arguments: {}}]}
  - when: {operation: realtime, tool_result: {exists: true}}
    then: {text: "Found: {{ tool_result.text }}"}
"""
TEXT: Any = {"output_modalities": ["text"]}


def write_horn(rate: int, channels: int) -> bytes:
    """A second of a tone as a WAV file."""
    file = BytesIO()
    with wave.open(file, "wb") as made:
        made.setnchannels(channels)
        made.setsampwidth(2)
        made.setframerate(rate)
        levels = [round(8_000 * sin(2 * pi * 300 * at / rate)) for at in range(rate)]
        made.writeframes(array("h", [level for level in levels for _ in range(channels)]).tobytes())
    return file.getvalue()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[MockServer]:
    (tmp_path / "rules.yaml").write_text(RULES)
    (tmp_path / "hello.wav").write_bytes(write_horn(24_000, 1))
    (tmp_path / "horn.wav").write_bytes(write_horn(16_000, 2))
    (tmp_path / "song.mp3").write_bytes(b"ID3 is no sound that can be played here")
    with MockServer(tmp_path / "rules.yaml", lint="off", unmatched="generate") as running:
        yield running


@pytest.fixture
def client(server: MockServer) -> Iterator[Talk]:
    with talk(server.url) as opened:
        yield opened


def test_a_file_of_a_rule_is_heard(client: Talk) -> None:
    events = client.tell(user("hello"), respond())
    assert join_said(events[-2]["response"]) == "Hello there"
    sound = join_sound(events)
    assert sound == array("h", [round(8_000 * sin(2 * pi * 300 * at / 24_000)) for at in range(24_000)]).tobytes()
    assert events[-2]["response"]["usage"]["output_token_details"]["audio_tokens"] == 20


@pytest.mark.parametrize("form", FORMATS)
def test_a_file_is_heard_at_the_rate_of_the_session(form: str, client: Talk) -> None:
    output = {"format": {"type": form}}
    client.tell(update(audio={"output": output}), until="session.updated")
    events = client.tell(user("horn"), respond())
    assert join_said(events[-2]["response"]) == ""
    levels = FORMATS[form].read_levels(join_sound(events))
    assert len(levels) == FORMATS[form].rate
    crossings = sum(before < 0 <= after for before, after in pairwise(levels))
    assert crossings in range(296, 304)  # 300 hertz


def test_a_text_is_said_in_the_voice_of_a_rule(client: Talk) -> None:
    events = client.tell(user("say"), respond())
    assert join_said(events[-2]["response"]) == "Good morning"
    assert join_sound(events) != join_sound(client.tell(user("x"), respond(instructions="Good morning")))
    assert join_said(client.ask("say", **TEXT)) == "Good morning"


@pytest.mark.parametrize("what", ["song", "voice"])
def test_a_sound_that_cannot_be_played_is_a_failed_response(what: str, server: MockServer, client: Talk) -> None:
    error = client.ask(what)["status_details"]["error"]
    assert {"song": "WAV files", "voice": "needs a text or a file"}[what] in error["message"]
    assert "rules.yaml:" in error["message"]
    server.reset()  # the failed call is meant


def offer(server: MockServer, **more: Any) -> dict[str, Any]:
    return {"type": "mcp", "server_label": "docs", "server_url": f"{server.url}/mcp/docs", **more}


def test_the_tools_of_a_server_are_listed_and_called(server: MockServer, client: Talk) -> None:
    tools = [offer(server, require_approval="never")]
    events = client.tell(update(tools=tools, **TEXT), until="conversation.item.done")
    assert types(events) == [
        "session.updated",
        "conversation.item.added",
        "mcp_list_tools.in_progress",
        "mcp_list_tools.completed",
        "conversation.item.done",
    ]
    assert [tool["name"] for tool in events[-1]["item"]["tools"]] == ["search", "delete"]
    events = client.tell(user("find"), respond())
    response = events[-2]["response"]
    assert [item["type"] for item in response["output"]] == ["mcp_call", "message"]
    called = response["output"][0]
    assert (called["name"], called["arguments"], called["output"]) == ("search", '{"query":"tea"}', "Page 7 of tea")
    assert join_said(response) == "Found: Page 7 of tea"
    told = [kind for kind in types(events) if "mcp" in kind]
    assert told == [
        "response.mcp_call_arguments.delta",
        "response.mcp_call_arguments.done",
        "response.mcp_call.in_progress",
        "response.mcp_call.completed",
    ]
    assert server.calls.of(lambda call: call.operation == "mcp_call")
    client.tell(update(tools=tools), until="session.updated")  # which lists nothing again
    assert types(client.tell(user("x"), respond()))[0] == "conversation.item.added"


def test_a_tool_that_fails_says_so(server: MockServer, client: Talk) -> None:
    client.tell(update(tools=[offer(server, require_approval="never")], **TEXT), until="conversation.item.done")
    events = client.tell(user("delete"), respond())
    called = events[-2]["response"]["output"][0]
    assert called["error"] == {"type": "tool_execution_error", "message": "Nobody may delete."}
    assert "response.mcp_call.failed" in types(events)


def test_a_call_waits_for_approval(server: MockServer, client: Talk) -> None:
    client.tell(update(tools=[offer(server)], **TEXT), until="conversation.item.done")
    (asked,) = client.ask("find")["output"]
    assert (asked["type"], asked["name"]) == ("mcp_approval_request", "search")
    approval = {"type": "mcp_approval_response", "approval_request_id": asked["id"], "approve": True}
    events = client.tell({"type": "conversation.item.create", "item": approval}, respond())
    called, message = events[-2]["response"]["output"]
    assert (called["type"], called["approval_request_id"]) == ("mcp_call", asked["id"])
    assert message["content"][0]["text"] == "Found: Page 7 of tea"


def test_a_server_that_nobody_defines_has_the_tools_that_are_allowed(client: Talk) -> None:
    tool = {"type": "mcp", "server_label": "far", "server_url": "https://far.example/mcp", "allowed_tools": ["a"]}
    events = client.tell(update(tools=[tool]), until="conversation.item.done")
    assert [each["name"] for each in events[-1]["item"]["tools"]] == ["a"]


def test_an_image_is_seen_by_rules_and_counted_apart(client: Talk) -> None:
    picture = b64encode(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + (512).to_bytes(4, "big") * 2).decode()
    content = [
        {"type": "input_text", "text": "What is it?"},
        {"type": "input_image", "image_url": f"data:image/png;base64,{picture}"},
    ]
    item = {"type": "message", "role": "user", "content": content}
    events = client.tell({"type": "conversation.item.create", "item": item}, respond(**TEXT))
    assert join_said(events[-2]["response"]) == "A picture"
    counted = events[-2]["response"]["usage"]["input_token_details"]
    assert counted["image_tokens"] == 255
    assert 0 < counted["text_tokens"] < 30


def test_a_session_is_a_row_of_the_journal(server: MockServer) -> None:
    with talk(server.url) as client:
        client.tell(update(**MANUAL), append(speech("hi")), user("hello"), respond())
        client.fail({"type": "response.cancel"})
    (session,) = server.service_calls
    assert session.operation == "realtime_session"
    found = httpx.get(f"{server.url}{API}calls/{session.row.seq}").json()
    assert (found["status"], found["ended"], found["model"]) == (101, "complete", "gpt-realtime")
    came = found["request"]["body"].splitlines()
    assert [kind for kind in ("session.update", "append", "response.create") if kind in found["request"]["body"]]
    assert '"audio":"<' in came[1]
    sent = [frame["data"] for frame in found["reply"]["frames"]]
    assert [event["type"] for event in sent[:3]] == ["session.created", "session.updated", "conversation.item.added"]
    assert sent[-1] == {"type": "websocket.close", "by": "client", "code": 1000}
    assert all("bytes>" in event["delta"] for event in sent if event["type"] == "response.output_audio.delta")
