"""Realtime sessions: their events in order, turns, interruptions, errors, limits, and how they begin and end."""

import json
import time
from base64 import b64decode
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.exceptions import ConnectionClosed, ConnectionClosedError, ConnectionClosedOK
from websockets.sync.client import connect

from mockserver.media.samples import FORMATS
from mockserver.media.tone import read_tone
from mockserver.testing import MockServer
from tests.kit.realtime import (
    MANUAL,
    SILENCE,
    Talk,
    append,
    join_said,
    join_sound,
    respond,
    speech,
    talk,
    types,
    update,
    user,
)
from tests.kit.sockets import socket

RULES = """
version: 1
rules:
  - when: {last_user: slow*}
    then: {text: one two three four, timing: {per_token: 80ms}}
  - when: {last_user: "*weather*", tool_result: {exists: false}}
    then: {tool_calls: [{name: get_weather, arguments: {city: Oslo}}]}
  - when: {tool_result: {exists: true}}
    then: {text: It is sunny.}
  - when: {last_user: refuse}
    then: {error: 429}
  - when: {last_user: broken}
    then: {text: one two, failed: true}
  - when: {last_user: both}
    then: {text: Let me see., tool_calls: [{name: get_weather, arguments: {city: Oslo}}]}
  - when: {operation: realtime, last_user: hello}
    then: {text: "Hello there, friend."}
  - when: {last_user: history}
    then: {text: "{{ messages | map(attribute='text') | join('|') }}"}
"""
TOOL: Any = {
    "type": "function",
    "name": "get_weather",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
}
TEXT: Any = {"output_modalities": ["text"]}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[MockServer]:
    file = tmp_path / "rules.yaml"
    file.write_text(RULES)
    with MockServer(file, lint="off", timing=True, unmatched="generate") as running:
        yield running


@pytest.fixture
def client(server: MockServer) -> Iterator[Talk]:
    with talk(server.url) as opened:
        yield opened


SPOKEN = [
    "response.created",
    "response.output_item.added",
    "conversation.item.added",
    "response.content_part.added",
    *["response.output_audio_transcript.delta", "response.output_audio.delta"] * 5,
    "response.output_audio.done",
    "response.output_audio_transcript.done",
    "response.content_part.done",
    "conversation.item.done",
    "response.output_item.done",
    "response.done",
    "rate_limits.updated",
]
WRITTEN = [
    *SPOKEN[:4],
    "response.output_text.delta",
    "response.output_text.done",
    *SPOKEN[-5:],
]
CALLED = [
    *SPOKEN[:3],
    "response.function_call_arguments.delta",
    "response.function_call_arguments.done",
    *SPOKEN[-4:],
]
COMMITTED = ["input_audio_buffer.committed", "conversation.item.added", "conversation.item.done"]
DETECTED = ["input_audio_buffer.speech_started", "input_audio_buffer.speech_stopped", *COMMITTED]
TRANSCRIBED = [f"conversation.item.input_audio_transcription.{what}" for what in ("delta", "completed")]


# The order of events.


def test_a_written_answer(client: Talk) -> None:
    client.tell(update(**TEXT), user("hello"), until="conversation.item.done")
    events = client.tell(respond())
    assert types(events) == WRITTEN
    done = events[-2]["response"]
    assert join_said(done) == "Hello there, friend."
    assert (done["status"], done["status_details"], done["output_modalities"]) == ("completed", None, ["text"])
    assert done["output"][0]["content"] == [{"type": "output_text", "text": "Hello there, friend."}]
    assert events[3]["part"] == {"type": "text", "text": ""}


def test_a_spoken_answer_can_be_heard(client: Talk) -> None:
    client.tell(user("hello"), until="conversation.item.done")
    events = client.tell(respond())
    assert types(events) == SPOKEN
    sound = join_sound(events)
    assert read_tone(sound) == "Hello there, friend."
    assert len(sound) % 2400 == 0, "whole tokens of 50 ms"
    pieces = [b64decode(event["delta"]) for event in events if event["type"] == "response.output_audio.delta"]
    assert {len(piece) for piece in pieces[:-1]} == {12_000}
    done = events[-2]["response"]
    assert done["output"][0]["content"] == [{"type": "output_audio", "transcript": "Hello there, friend."}]
    usage = done["usage"]
    assert usage["output_token_details"]["audio_tokens"] == len(sound) // 2400
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]


def test_a_function_call_and_its_result(client: Talk) -> None:
    client.tell(update(tools=[TOOL]), user("What is the weather?"), until="conversation.item.done")
    events = client.tell(respond())
    assert types(events) == CALLED
    (call,) = events[-2]["response"]["output"]
    assert (call["type"], call["status"], call["arguments"]) == ("function_call", "completed", '{"city":"Oslo"}')
    result = {"type": "function_call_output", "call_id": call["call_id"], "output": "sunny"}
    events = client.tell({"type": "conversation.item.create", "item": result}, respond(**TEXT))
    assert join_said(events[-2]["response"]) == "It is sunny."


def test_a_message_and_a_call_come_one_after_the_other(client: Talk) -> None:
    client.tell(update(tools=[TOOL], **TEXT), user("both"), until="conversation.item.done")
    events = client.tell(respond())
    assert types(events) == [*WRITTEN[:-2], *CALLED[1:]]
    assert [item["type"] for item in events[-2]["response"]["output"]] == ["message", "function_call"]
    added = [event for event in events if event["type"] == "conversation.item.added"]
    assert added[1]["previous_item_id"] == added[0]["item"]["id"]


def test_a_turn_that_the_client_commits(client: Talk) -> None:
    client.tell(update(**MANUAL), until="session.updated")
    assert (
        types(
            client.tell(append(speech("hello")), {"type": "input_audio_buffer.commit"}, until="conversation.item.done")
        )
        == COMMITTED
    )
    events = client.tell(respond(**TEXT))
    assert join_said(events[-2]["response"]) == "Hello there, friend."
    tokens = events[-2]["response"]["usage"]["input_token_details"]
    assert tokens["audio_tokens"] > 0


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("detection", ["server_vad", "semantic_vad"])
def test_a_turn_that_is_heard(form: str, detection: str, client: Talk) -> None:
    sound = {"format": {"type": form}, "turn_detection": {"type": detection}, "transcription": {"model": "whisper-1"}}
    client.tell(update(audio={"input": sound, "output": {"format": {"type": form}}}), until="session.updated")
    kind = FORMATS[form]
    quiet, loud = kind.silence * kind.rate, speech("hello", form)
    events = client.tell(append(quiet + loud + quiet))
    assert types(events) == [*DETECTED, *TRANSCRIBED, *SPOKEN]
    started, stopped, committed = events[:3]
    assert started["audio_start_ms"] == 1000 - 300
    assert stopped["audio_end_ms"] - started["audio_start_ms"] > kind.measure(len(loud))
    assert started["item_id"] == stopped["item_id"] == committed["item_id"]
    assert next(event for event in events if "transcript" in event)["transcript"] == "hello"
    assert read_tone(kind.decode(join_sound(events))) == "Hello there, friend."


def test_speech_that_comes_in_pieces_is_the_same_as_at_once(client: Talk) -> None:
    sound = SILENCE + speech("hello") + SILENCE
    client.send(*[append(sound[at : at + 1_001]) for at in range(0, len(sound), 1_001)])
    assert types(client.until("rate_limits.updated")) == [*DETECTED, *SPOKEN]


def test_turns_are_heard_wherever_they_begin(client: Talk) -> None:
    client.tell(update(**TEXT), until="session.updated")
    for samples in range(0, 1_000, 97):
        client.send(append(bytes(2 * samples)))
        done = client.tell(append(speech("hello") + SILENCE))[-2]["response"]
        assert join_said(done) == "Hello there, friend.", samples


def test_silence_is_no_turn(client: Talk) -> None:
    client.send(append(SILENCE * 3), {"type": "input_audio_buffer.clear"})
    assert client.receive()["type"] == "input_audio_buffer.cleared"


def test_a_user_who_stays_silent_is_asked_again(client: Talk) -> None:
    detection = {"type": "server_vad", "idle_timeout_ms": 5_000}
    client.tell(update(**TEXT, audio={"input": {"turn_detection": detection}}), until="session.updated")
    client.send(append(SILENCE * 9))  # nothing was answered yet
    client.ask("hello")
    events = client.tell(append(SILENCE * 4), append(SILENCE))
    assert types(events)[:4] == [
        "input_audio_buffer.timeout_triggered",
        "input_audio_buffer.committed",
        "conversation.item.added",
        "conversation.item.done",
    ]
    triggered, committed = events[:2]
    assert (triggered["audio_start_ms"], triggered["audio_end_ms"]) == (9_000, 14_000)
    assert triggered["item_id"] == committed["item_id"]
    assert types(events)[-1] == "rate_limits.updated"
    assert types(client.tell(append(SILENCE * 5)))[0] == "input_audio_buffer.timeout_triggered"
    client.send(append(SILENCE * 4), append(speech("hello") + SILENCE))
    assert client.receive()["type"] == "input_audio_buffer.speech_started"


def test_the_socket_beside_a_call_has_its_session(server: MockServer) -> None:
    session = {"type": "realtime", "model": "gpt-realtime-mini", "instructions": "Be kind."}
    files = {"sdp": (None, "v=0\r\n", "application/sdp"), "session": (None, json.dumps(session), "application/json")}
    made = httpx.post(f"{server.url}/v1/realtime/calls", files=files)
    assert made.headers["content-type"] == "text/plain; charset=utf-8"
    name = made.headers["location"].rpartition("/")[2]
    httpx.post(f"{server.url}/v1/realtime/calls/{name}/accept", json={"output_modalities": ["text"]})
    with socket(server.url, f"/v1/realtime?call_id={name}") as opened:
        begun = Talk(opened.connection).receive()["session"]
    assert (begun["model"], begun["instructions"]) == ("gpt-realtime-mini", "Be kind.")
    assert begun["output_modalities"] == ["text"]


def test_a_transcription_session_answers_nothing(server: MockServer) -> None:
    with socket(server.url, "/v1/realtime?intent=transcription") as opened:
        client = Talk(opened.connection)
        session = client.receive()["session"]
        assert (session["type"], session["object"]) == ("transcription", "realtime.transcription_session")
        assert "create_response" not in session["audio"]["input"]["turn_detection"]
        changed = {"type": "transcription", "audio": {"input": {"transcription": {"model": "gpt-4o-transcribe"}}}}
        client.tell({"type": "session.update", "session": changed}, until="session.updated")
        events = client.tell(append(speech("hello you") + SILENCE), until=TRANSCRIBED[1])
        assert types(events) == [*DETECTED, *TRANSCRIBED]
        usage = events[-1]["usage"]
        assert (usage["type"], usage["output_tokens"]) == ("tokens", 2)
        assert client.fail(respond())["message"] == "A transcription session has no responses."


def test_a_rule_says_what_was_heard(server: MockServer) -> None:
    server.on(operation="transcriptions").reply(transcript="history")
    with talk(server.url) as client:
        events = client.tell(append(b"\x00\x40" * 24_000 + SILENCE))
        assert join_said(events[-2]["response"]) == "history"
    assert [call.operation for call in server.calls] == ["transcriptions", "realtime"]


def test_a_rule_that_fails_to_say_what_was_heard_fails_the_test(server: MockServer) -> None:
    server.on(operation="transcriptions").reply(transcript="{{ body.nothing.at }}")
    with talk(server.url) as client:
        client.tell(append(b"\x00\x40" * 24_000 + SILENCE))
    assert "`body.nothing` is undefined" in server.problems()[0].headline
    server.reset()  # or its end would fail


def test_a_session_that_mockserver_fails_in_fails_the_test(
    server: MockServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with talk(server.url) as client, monkeypatch.context() as patched:
        patched.setattr("mockserver.server.sockets.realtime_session.RealtimeSession.act", None)
        assert client.fail(respond())["message"] == "mockserver failed on this event; its log says how."
    assert server.problems()[0].headline.startswith("internal error of mockserver, please report it: TypeError: ")
    assert "internal error of mockserver on a WebSocket" in caplog.text
    server.reset()  # or its end would fail


def test_a_transcript_of_the_client_counts(client: Talk) -> None:
    part = {"type": "input_audio", "transcript": "hello", "audio": append(SILENCE)["audio"]}
    item = {"type": "message", "role": "user", "content": [part]}
    events = client.tell({"type": "conversation.item.create", "item": item}, respond(**TEXT))
    assert join_said(events[-2]["response"]) == "Hello there, friend."


def test_a_response_out_of_band_leaves_the_conversation_alone(client: Talk) -> None:
    client.tell(user("hello"), until="conversation.item.done")
    content = [{"type": "input_text", "text": "history"}]
    item = {"type": "message", "role": "user", "content": content}
    fields = {"conversation": "none", "input": [item], "metadata": {"topic": "x"}, "instructions": "Be brief."}
    events = client.tell(respond(**fields, **TEXT))
    assert not [kind for kind in types(events) if kind.startswith("conversation.")]
    done = events[-2]["response"]
    assert (join_said(done), done["conversation_id"], done["metadata"]) == ("Be brief.|history", None, {"topic": "x"})
    assert join_said(client.ask("history", **TEXT)) == "hello|history"


def test_a_response_may_see_items_of_the_conversation(client: Talk) -> None:
    name = client.tell(user("hello"), until="conversation.item.done")[-1]["item"]["id"]
    client.tell(user("history"), until="conversation.item.done")
    other = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "history"}]}
    events = client.tell(respond(input=[{"type": "item_reference", "id": name}, other], **TEXT))
    assert join_said(events[-2]["response"]) == "hello|history"


# Items.


def test_items_are_put_in_order_shown_and_deleted(client: Talk) -> None:
    first = client.tell(user("b"), until="conversation.item.done")[-1]
    assert first["previous_item_id"] is None
    front = client.tell(user("a", previous_item_id="root"), until="conversation.item.done")[-1]
    assert front["previous_item_id"] is None
    middle = client.tell(user("x", previous_item_id=front["item"]["id"]), until="conversation.item.done")[-1]
    assert middle["previous_item_id"] == front["item"]["id"]
    gone = {"type": "conversation.item.delete", "item_id": middle["item"]["id"]}
    assert client.tell(gone, until="conversation.item.deleted")[-1]["item_id"] == middle["item"]["id"]
    shown = client.tell(
        {**gone, "type": "conversation.item.retrieve", "item_id": first["item"]["id"]},
        until="conversation.item.retrieved",
    )
    assert shown[-1]["item"] == first["item"]
    assert join_said(client.ask("history", **TEXT)) == "a|b|history"


def test_what_was_said_and_heard_is_retrieved_with_its_sound(client: Talk) -> None:
    events = client.tell(append(speech("hello") + SILENCE))
    names = [event["item"]["id"] for event in events if event["type"] == "conversation.item.done"]
    for name, text in zip(names, ("hello", "Hello there, friend."), strict=True):
        client.send({"type": "conversation.item.retrieve", "item_id": name})
        (part,) = client.until("conversation.item.retrieved")[-1]["item"]["content"]
        assert read_tone(b64decode(part["audio"])) == text


def test_an_answer_is_cut_to_what_was_played(client: Talk) -> None:
    events = client.tell(user("hello"), respond())
    (item,) = events[-2]["response"]["output"]
    length = len(join_sound(events)) // 48
    cut = {"type": "conversation.item.truncate", "item_id": item["id"], "content_index": 0, "audio_end_ms": length // 2}
    told = client.tell(cut, until="conversation.item.truncated")[-1]
    assert {key: told[key] for key in cut if key != "type"} == {key: cut[key] for key in cut if key != "type"}
    assert join_said(client.ask("history", **TEXT)) == "hello|Hello ther|history"
    assert client.fail(cut | {"audio_end_ms": length})["message"] == (
        f"Audio content of {length // 2}ms is already shorter than {length}ms"
    )


# Interruptions.


def test_a_response_is_cancelled(client: Talk) -> None:
    client.tell(user("slow"), respond(), until="response.output_audio_transcript.delta")
    events = client.tell({"type": "response.cancel"})
    assert types(events)[-7:] == SPOKEN[-7:]
    done = events[-2]["response"]
    assert (done["status"], done["status_details"]) == (
        "cancelled",
        {"type": "cancelled", "reason": "client_cancelled"},
    )
    assert done["output"][0]["status"] == "incomplete"
    words = join_said(done)
    assert words
    assert "one two three four".startswith(words)
    assert join_said(client.ask("history", **TEXT)) == f"slow|{words}|history"


def test_the_user_interrupts(client: Talk) -> None:
    client.tell(user("slow"), respond(), until="response.output_audio_transcript.delta")
    events = client.tell(append(speech("hello")))
    assert "input_audio_buffer.speech_started" in types(events)
    assert events[-2]["response"]["status_details"]["reason"] == "turn_detected"
    events = client.tell(append(SILENCE))
    assert join_said(events[-2]["response"]) == "Hello there, friend."


def test_a_response_that_may_not_be_interrupted_goes_on(client: Talk) -> None:
    detection = {"type": "server_vad", "interrupt_response": False, "create_response": False}
    client.tell(update(audio={"input": {"turn_detection": detection}}), until="session.updated")
    client.tell(user("slow"), respond(**TEXT), until="response.created")
    events = client.tell(append(speech("hello") + SILENCE))
    assert join_said(events[-2]["response"]) == "one two three four"


def test_there_is_one_response_at_a_time_but_several_out_of_band(client: Talk) -> None:
    client.tell(user("slow"), respond(**TEXT), until="response.created")
    error = client.fail(respond())
    assert error["code"] == "conversation_already_has_active_response"
    assert "resp_" in error["message"]
    client.send(*[respond(conversation="none", **TEXT) for _ in range(3)])
    done = [event for _ in range(4) for event in client.until("response.done")][-1]
    assert done["response"]["status"] == "completed"


def test_at_most_sixteen_responses_are_made_at_once(client: Talk) -> None:
    client.tell(user("slow"), until="conversation.item.done")
    assert client.fail(*[respond(conversation="none", **TEXT)] * 17)["code"] == "too_many_active_responses"


# How a session is configured.


def test_an_update_changes_what_it_states_and_answers_with_all(client: Talk) -> None:
    before = client.tell(update(), until="session.updated")[-1]["session"]
    after = client.tell(update(instructions="x", audio={"output": {"voice": "sage"}}), until="session.updated")[-1][
        "session"
    ]
    assert after["audio"]["output"] == {**before["audio"]["output"], "voice": "sage"}
    assert after == {**before, "instructions": "x", "audio": after["audio"]}
    refused = client.fail(update(instructions="y", speed=3))
    assert refused["param"] == "session.speed"
    assert client.tell(update(), until="session.updated")[-1]["session"] == after


def test_a_voice_stays_once_it_was_heard(client: Talk) -> None:
    client.ask("hello")
    assert client.fail(update(audio={"output": {"voice": "sage"}}))["code"] == "cannot_update_voice"


def test_a_secret_opens_a_session_that_is_configured(tmp_path: Path) -> None:
    with MockServer(unmatched="generate", keys=["sk-right"]) as server:
        session = {"type": "realtime", "model": "gpt-realtime", "instructions": "Be brief."}
        made = httpx.post(
            f"{server.url}/v1/realtime/client_secrets",
            json={"session": session, "expires_after": {"anchor": "created_at", "seconds": 60}},
            headers={"authorization": "Bearer sk-right"},
        ).json()
        assert made["value"].startswith("ek_")
        assert made["session"]["instructions"] == "Be brief."
        with connect(
            f"ws{server.url[4:]}/v1/realtime",
            subprotocols=["realtime", f"openai-insecure-api-key.{made['value']}"],  # type: ignore[list-item]
        ) as opened:
            assert opened.subprotocol == "realtime"
            client = Talk(opened)
            assert client.receive()["session"]["instructions"] == "Be brief."
            assert client.ask("hello")["status"] == "completed"


def test_a_secret_shows_the_whole_session(server: MockServer) -> None:
    def make(**session: Any) -> Any:
        return httpx.post(f"{server.url}/v1/realtime/client_secrets", json={"session": session}).json()["session"]

    spoken = make(
        type="realtime",
        model="gpt-realtime",
        audio={"input": {"turn_detection": {"type": "semantic_vad"}}, "output": {"voice": {"id": "v_1"}}},
    )
    pcm = {"type": "audio/pcm", "rate": 24_000}
    heard = {"format": pcm, "transcription": None, "noise_reduction": None}
    turns = {"type": "semantic_vad", "eagerness": "auto", "create_response": True, "interrupt_response": True}
    assert spoken == {
        "type": "realtime",
        "object": "realtime.session",
        "id": spoken["id"],
        "model": "gpt-realtime",
        "output_modalities": ["audio"],
        "instructions": "",
        "tools": [],
        "tool_choice": "auto",
        "max_output_tokens": "inf",
        "tracing": None,
        "truncation": "auto",
        "prompt": None,
        "expires_at": 0,
        "audio": {
            "input": {**heard, "turn_detection": turns},
            "output": {"format": pcm, "voice": "v_1", "speed": 1},
        },
        "include": None,
    }
    written = make(type="transcription", audio={"input": {"transcription": {"model": "whisper-1"}}})
    detection = {"type": "server_vad", "threshold": 0.5, "prefix_padding_ms": 300, "silence_duration_ms": 200}
    assert written == {
        "type": "transcription",
        "object": "realtime.transcription_session",
        "id": written["id"],
        "expires_at": 0,
        "audio": {"input": {**heard, "transcription": {"model": "whisper-1"}, "turn_detection": detection}},
        "include": None,
    }


TURNED_AWAY: dict[str, tuple[dict[str, Any], int, str]] = {
    "a wrong key": ({"key": "sk-wrong"}, 3000, "invalid_api_key"),
    "no model": ({"query": ""}, 4000, "missing_model"),
    "an unknown model": ({"query": "?model=gpt-9"}, 4004, "model_not_found"),
    "the beta": ({"headers": {"OpenAI-Beta": "realtime=v1"}}, 4000, "beta_api_shape_disabled"),
}


@pytest.mark.parametrize("name", TURNED_AWAY)
def test_a_client_is_turned_away_in_the_session(name: str) -> None:
    options, code, error = TURNED_AWAY[name]
    query = options.pop("query", "?model=gpt-realtime")
    with (
        MockServer(keys=["sk-test"], models={"gpt-realtime": {}}) as server,
        socket(server.url, f"/v1/realtime{query}", **options) as client,
    ):
        told = client.receive()
        assert (told["type"], told["error"]["code"]) == ("error", error)
        with pytest.raises(ConnectionClosed) as closed:
            client.receive()
        assert closed.value.rcvd is not None
        assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (code, f"invalid_request_error.{error}")
        assert [call.status for call in server.calls] == [{3000: 401, 4000: 400, 4004: 404}[code]]


def test_a_session_ends_after_an_hour(server: MockServer) -> None:
    with talk(server.url) as client:
        server.clock.advance(3600)
        client.send(user("hello"))
        assert client.until("error")[-1]["error"]["code"] == "session_expired"
        with pytest.raises(ConnectionClosed, match="60 minutes"):
            client.receive()


def test_equal_sessions_are_equal(server: MockServer) -> None:
    def run() -> list[Any]:
        with talk(server.url) as client:
            return client.tell(append(speech("hello") + SILENCE))

    assert run() == run()


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("/openai/v1/realtime", "?model=gpt-realtime"),
        ("/ns/mine/v1/realtime", "?model=gpt-realtime"),
        ("/azure-openai/openai/v1/realtime", "?model=gpt-realtime"),
        ("/azure-openai/openai/realtime", "?api-version=2025-04-01-preview&deployment=gpt-realtime"),
    ],
)
def test_every_mount_has_sessions(path: str, query: str, server: MockServer) -> None:
    with talk(server.url, query, path=path, headers={"api-key": "k"}) as client:
        assert join_said(client.ask("hello", **TEXT)) == "Hello there, friend."


# What rules can do.


def test_each_response_is_a_call(server: MockServer) -> None:
    with talk(server.url) as client:
        client.ask("hello", **TEXT)
        client.ask("refuse")
    first, second = server.calls
    assert (first.operation, first.path, first.websocket, first.last_user) == (
        "realtime",
        "/v1/realtime",
        True,
        "hello",
    )
    assert (first.status, second.status) == (200, 429)


def test_what_a_rule_refuses_is_a_failed_response(client: Talk) -> None:
    failed = client.ask("refuse")
    assert failed["status"] == "failed"
    assert failed["status_details"]["error"]["code"] == "rate_limit_exceeded"
    assert client.ask("broken", **TEXT)["status"] == "failed"
    assert client.ask("hello", **TEXT)["status"] == "completed"


def test_a_request_that_no_rule_answers_is_an_error_event() -> None:
    with pytest.raises(AssertionError, match="no rule answered"), MockServer() as server, talk(server.url) as client:
        assert "no rule answers" in client.fail(user("hello"), respond())["message"]


def test_the_limit_of_tokens_ends_an_answer(client: Talk) -> None:
    done = client.ask("slow", max_output_tokens=2, **TEXT)
    assert (done["status"], done["status_details"]["reason"]) == ("incomplete", "max_output_tokens")
    assert join_said(done) == "one two"
    assert done["output"][0]["status"] == "incomplete"


FAULTS: dict[str, tuple[Any, type[Exception] | None]] = {
    "cut": ({"cut": {"after_tokens": 2}}, ConnectionClosedOK),
    "disconnect": ({"disconnect": {"after_tokens": 2}}, ConnectionClosedError),
    "close": ({"disconnect": {"after_tokens": 2, "code": 1011}}, ConnectionClosedError),
    "reset": ({"reset": {"after_tokens": 2}}, ConnectionClosedError),
    "stall": ({"stall": {"after_tokens": 2}}, TimeoutError),
    "malformed_json": ("malformed_json", ValueError),
    "duplicate": ({"duplicate": {"after_tokens": 1}}, None),
    "reorder": ("reorder", None),
    "split_frame": ("split_frame", None),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults(name: str, server: MockServer) -> None:
    fault, raised = FAULTS[name]
    server.on(last_user="hello").reply("one two three four", faults=[fault])
    seen: list[Any] = []
    with talk(server.url) as client:
        client.tell(user("hello"), respond(**TEXT), until="response.created")
        with pytest.raises(raised) if raised else nullcontext():
            while not seen or seen[-1]["type"] != "rate_limits.updated":
                seen.append(json.loads(client.connection.recv(timeout=0.5)))
    texts = [event["delta"] for event in seen if event["type"] == "response.output_text.delta"]
    wanted = {"duplicate": "one two two three four", "reorder": None, "malformed_json": "one", "split_frame": None}
    if wanted.get(name, "one two") is not None:
        assert "".join(texts) == wanted.get(name, "one two")


def test_an_error_in_the_middle_of_a_response(server: MockServer) -> None:
    server.on(last_user="hello").reply("one two", faults=[{"error_event": {"after_tokens": 1, "reason": "rate_limit"}}])
    with talk(server.url) as client:
        assert client.fail(user("hello"), respond(**TEXT))["code"] == "rate_limit_exceeded"
        assert client.ask("weather", **TEXT)["status"] == "completed"


# What clients do wrong.

ERRORS: dict[str, tuple[Any, str, str | None]] = {
    "no JSON": ("{", "invalid_json", None),
    "deep": ("[" * 100_000, "invalid_json", None),
    "no object": ("[]", "invalid_event", None),
    "binary": (b"\0", "invalid_event", None),
    "no type": ({}, "invalid_event", None),
    "an unknown type": ({"type": "x"}, "invalid_value", "type"),
    "a type that is no text": ({"type": 3}, "invalid_value", "type"),
    "of WebRTC": ({"type": "output_audio_buffer.clear"}, "invalid_value", "type"),
    "no session": ({"type": "session.update"}, "missing_required_parameter", "session"),
    "no type of a session": ({"type": "session.update", "session": {}}, "missing_required_parameter", "session.type"),
    "another type": ({"type": "session.update", "session": {"type": "transcription"}}, "invalid_value", "session.type"),
    "a name of the beta": (update(voice="alloy"), "unknown_parameter", "session.voice"),
    "a wrong format": (
        update(audio={"input": {"format": {"type": "pcm16"}}}),
        "invalid_value",
        "session.audio.input.format.type",
    ),
    "two modalities": (
        update(output_modalities=["text", "audio"]),
        "array_above_max_length",
        "session.output_modalities",
    ),
    "no item": ({"type": "conversation.item.create"}, "missing_required_parameter", "item"),
    "a wrong part": (
        {**user("x"), "item": {"type": "message", "role": "user", "content": [{"type": "text", "text": "x"}]}},
        "invalid_value",
        "item.content[0].type",
    ),
    "a long id": (user("x") | {"item": {**user("x")["item"], "id": "x" * 33}}, "string_above_max_length", "item.id"),
    "an unknown place": (user("x", previous_item_id="item_x"), "invalid_value", "previous_item_id"),
    "a result of no call": (
        {"type": "conversation.item.create", "item": {"type": "function_call_output", "call_id": "c", "output": ""}},
        "invalid_value",
        "item.call_id",
    ),
    **{
        f"an unknown item to {verb}": (
            {"type": f"conversation.item.{verb}", "item_id": "item_x"}
            | ({"content_index": 0, "audio_end_ms": 0} if verb == "truncate" else {}),
            f"item_{verb}_invalid_item_id",
            "item_id",
        )
        for verb in ("delete", "retrieve", "truncate")
    },
    "no base64": ({"type": "input_audio_buffer.append", "audio": "%"}, "invalid_value", "audio"),
    "no sound": ({"type": "input_audio_buffer.commit"}, "input_audio_buffer_commit_empty", None),
    "nothing to cancel": ({"type": "response.cancel"}, "response_cancel_not_active", None),
    "an unknown reference": (
        respond(input=[{"type": "item_reference", "id": "x"}]),
        "invalid_value",
        "response.input[0].id",
    ),
    "modalities of the beta": (respond(modalities=["text"]), "unknown_parameter", "response.modalities"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_is_an_event_and_the_session_goes_on(name: str, client: Talk) -> None:
    sent, code, param = ERRORS[name]
    if isinstance(sent, dict):
        sent = {**sent, "event_id": "event_of_client"}
    error = client.fail(sent)
    assert (error["code"], error["param"], error["type"]) == (code, param, "invalid_request_error")
    assert error["event_id"] == ("event_of_client" if isinstance(sent, dict) else None)
    assert client.ask("hello", **TEXT)["status"] == "completed"


def test_an_item_of_the_same_id_is_refused(client: Talk) -> None:
    item = {**user("x")["item"], "id": "mine"}
    client.tell({"type": "conversation.item.create", "item": item}, until="conversation.item.done")
    assert "already exists" in client.fail({"type": "conversation.item.create", "item": item})["message"]


def test_what_is_no_speech_of_the_assistant_is_not_cut(client: Talk) -> None:
    name = client.tell(user("x"), until="conversation.item.done")[-1]["item"]["id"]
    cut = {"type": "conversation.item.truncate", "item_id": name, "content_index": 0, "audio_end_ms": 0}
    assert client.fail(cut)["message"] == "Only model output audio messages can be truncated"


def test_sound_that_is_never_committed_does_not_heap_up(server: MockServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mockserver.server.sockets.realtime_input.MAX_BUFFERED", 100_000)
    with talk(server.url) as client:
        client.tell(update(**MANUAL), until="session.updated")
        assert client.fail(*[append(SILENCE)] * 3)["code"] == "input_audio_buffer_full"
        client.tell(update(audio={"input": {"turn_detection": {"type": "server_vad"}}}), until="session.updated")
        client.send(*[append(SILENCE)] * 3, {"type": "input_audio_buffer.clear"})
        assert client.receive()["type"] == "input_audio_buffer.cleared"


def test_items_do_not_heap_up(server: MockServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mockserver.server.sockets.realtime_conversation.MAX_BYTES", 10_000)
    monkeypatch.setattr("mockserver.server.sockets.realtime_conversation.MAX_SOUND", 50_000)
    with talk(server.url) as client:
        assert client.fail(user("x" * 10_000))["code"] == "conversation_too_large"
        client.tell(update(**MANUAL), until="session.updated")
        names = []
        for _ in range(2):
            client.send(append(SILENCE), {"type": "input_audio_buffer.commit"})
            names.append(client.until("conversation.item.done")[-1]["item"]["id"])
        shown = []
        for name in names:
            client.send({"type": "conversation.item.retrieve", "item_id": name})
            shown.append("audio" in client.until("conversation.item.retrieved")[-1]["item"]["content"][0])
        assert shown == [False, True]


def test_what_sessions_keep_counts_against_max_unsent() -> None:
    with MockServer(unmatched="generate", max_unsent=300_000) as server, talk(server.url) as second:
        second.tell(update(**MANUAL), until="session.updated")
        with talk(server.url) as first:
            first.tell(update(**MANUAL), until="session.updated")
            first.send(append(bytes(200_000)), user("x" * 90_000))
            first.until("conversation.item.done")
            refused = second.fail(append(bytes(50_000)))
            assert (refused["type"], "max_unsent" in refused["message"]) == ("server_error", True)
            assert "max_unsent" in second.fail(user("y" * 50_000))["message"]
            first.tell({"type": "input_audio_buffer.clear"}, until="input_audio_buffer.cleared")
            second.tell(user("y" * 50_000), until="conversation.item.done")
            assert "max_unsent" in second.fail(append(bytes(150_000)))["message"]
        deadline = time.monotonic() + 5
        while server.local.live.unsent.held > 60_000 and time.monotonic() < deadline:  # until the first has left
            time.sleep(0.02)
        second.send(append(bytes(150_000)), {"type": "input_audio_buffer.commit"})
        assert second.receive()["type"] == "input_audio_buffer.committed"


def test_a_message_that_is_too_large_ends_the_session(tmp_path: Path) -> None:
    with MockServer(unmatched="generate", max_body="1MB") as server, talk(server.url) as client:
        client.send(append(bytes(1_000_000)))
        with pytest.raises(ConnectionClosed) as closed:
            client.receive()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1009


def test_a_client_that_leaves_ends_its_response(server: MockServer) -> None:
    server.on(last_user="hello").reply("one two", faults=[{"stall": {"after_tokens": 1}}])
    with talk(server.url) as client:
        client.tell(user("hello"), respond(), until="response.created")
    deadline = time.monotonic() + 5
    while not server.calls[-1].ended and time.monotonic() < deadline:
        time.sleep(0.02)
    assert server.calls[-1].ended.startswith("client left")
