"""What is recorded of Realtime sessions: each response, which the provider gives out of band, played in a session."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mockserver.cassettes.cassette_file import CassetteFile
from mockserver.cassettes.formats import parse_response
from mockserver.testing import MockServer
from tests.kit.realtime import SILENCE, Talk, append, join_said, join_sound, respond, speech, talk, types, user
from tests.kit.socket_upstream import socket_upstream

TEXT: Any = {"output_modalities": ["text"]}


@pytest.fixture
def provider() -> Iterator[MockServer]:
    with MockServer(lint="off", unmatched="generate") as running:
        running.on(last_user="hello").reply("one two three")
        running.on(last_user="again", conversation="*one two three*").reply("Once more")
        running.on(last_user="refuse").fail(429)
        yield running


def recorded_and_played(tmp_path: Path, provider: MockServer, ask: Callable[[Talk], Any]) -> None:
    """Record what a client asks, and play it again to the same client."""
    options: Any = {"cassettes": str(tmp_path), "cassette": "voice"}
    with (
        MockServer(record="all", upstream={"openai": f"{provider.url}/v1"}, **options) as recorder,
        talk(recorder.url) as client,
    ):
        recorded = ask(client)
        assert all(call.source == "forwarded" for call in recorder.calls), recorder.calls
    with MockServer(unmatched="error", **options) as player, talk(player.url) as client:
        assert ask(client) == recorded
        assert all(call.source.startswith("cassette ") for call in player.calls)


def test_a_conversation(tmp_path: Path, provider: MockServer) -> None:
    def ask(client: Talk) -> Any:
        first, second = client.ask("hello", **TEXT), client.ask("again")
        assert (join_said(first), join_said(second)) == ("one two three", "Once more")
        assert first["conversation_id"]
        return first, second

    recorded_and_played(tmp_path, provider, ask)
    assert [call.row.is_socket for call in provider.calls] == [True, True]
    (_, episode) = CassetteFile(tmp_path / "voice.yaml").load()
    read = parse_response(episode.reply, "realtime")
    assert [part.text for part in read.choices[0].parts] == ["Once more"]
    assert read.complete


@pytest.mark.parametrize("sound", [speech("hello"), bytes(range(1, 255)) * 300], ids=["heard", "unheard"])
def test_what_the_user_says_goes_to_the_provider_as_sound(sound: bytes, tmp_path: Path, provider: MockServer) -> None:
    def ask(client: Talk) -> Any:
        events = client.tell(append(sound + SILENCE))
        assert types(events)[-5:] == [
            "response.content_part.done",
            "conversation.item.done",
            "response.output_item.done",
            "response.done",
            "rate_limits.updated",
        ]
        return join_sound(events)

    recorded_and_played(tmp_path, provider, ask)


def test_what_the_provider_refuses_is_an_error_event(tmp_path: Path) -> None:
    error = {"type": "invalid_request_error", "code": "x", "message": "No.", "param": None, "event_id": None}
    with (
        socket_upstream(lambda line, _: line.send(json.dumps({"type": "error", "error": error}))) as upstream,
        MockServer(record="all", cassette="x", cassettes=str(tmp_path), upstream={"openai": upstream.base}) as server,
        talk(server.url) as client,
    ):
        assert client.fail(user("hello"), respond())["message"] == "No."
        (sent,) = map(json.loads, upstream.frames)
    assert sent["type"] == "response.create"
    assert sent["response"]["conversation"] == "none"
    assert "conversation_id" not in sent["response"]


@pytest.mark.filterwarnings("ignore:an answer was not recorded")
def test_a_provider_that_is_not_there_is_an_error_event(tmp_path: Path) -> None:
    nowhere = {"openai": "http://127.0.0.1:1/v1"}
    with (
        MockServer(record="all", cassette="x", cassettes=str(tmp_path), upstream=nowhere) as server,
        talk(server.url) as client,
    ):
        assert client.fail(user("hello"), respond())["type"] == "server_error"
        assert client.fail({"type": "response.cancel"})["code"] == "response_cancel_not_active"


@pytest.mark.filterwarnings("ignore:an answer was not recorded")
def test_a_provider_that_breaks_off_closes_the_connection(tmp_path: Path) -> None:
    created = {"type": "response.created", "response": {"id": "resp_1", "conversation_id": None}}

    def break_off(line: Any, _: str) -> None:
        line.send(json.dumps({"type": "session.created", "session": {}}))
        line.send(json.dumps(created))
        line.close(1011)

    with (
        socket_upstream(break_off) as upstream,
        MockServer(record="all", cassette="x", cassettes=str(tmp_path), upstream={"openai": upstream.base}) as server,
        talk(server.url) as client,
    ):
        events = client.tell(user("hello"), respond(), until="response.created")
        assert events[-1]["response"]["conversation_id"]
        with pytest.raises(Exception, match="1011"):
            client.receive()
