"""What is recorded over a WebSocket: the stream that the provider sends over HTTP, played on either of them."""

import json
from pathlib import Path

import httpx

from mockserver.cassettes.cassette_file import CassetteFile
from mockserver.testing import MockServer
from tests.kit.sockets import create, socket, text_of


def test_a_recorded_answer_plays_over_a_socket_and_over_http(tmp_path: Path) -> None:
    options = {"cassettes": str(tmp_path), "cassette": "chat"}
    with MockServer(timing=True) as provider:
        provider.on(last_user="hello").reply("one two three", timing={"per_token": "40ms"})
        upstream = {"openai": f"{provider.url}/v1"}
        with MockServer(record="all", upstream=upstream, **options) as recorder, socket(recorder.url) as client:
            recorded = client.ask("hello")
        assert text_of(recorded) == "one two three"
        assert [call.path for call in provider.calls] == ["/v1/responses"]
    (episode,) = CassetteFile(tmp_path / "chat.yaml").load()
    times = [at for at, _ in episode.reply.frames or ()]
    assert times == sorted(times)
    assert times[-1] - times[0] >= 0.07  # two tokens after the first one, 40 ms each
    with MockServer(**options) as player:
        with socket(player.url) as client:
            assert client.ask("hello") == recorded
            sent = {**create("hello"), "stream": True}
            del sent["type"]
        answered = httpx.post(f"{player.url}/v1/responses", json=sent)
        events = [json.loads(event.partition("data: ")[2]) for event in answered.text.split("\n\n") if event]
    assert events == recorded
