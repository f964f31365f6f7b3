"""What is said of answers that a test has left open."""

import httpx
import pytest

from mockserver.testing import MockServer, MockServerWarning, Setup
from mockserver.testing.setup import left_open


def test_an_answer_that_is_left_open_is_named(server: MockServer) -> None:
    server.reset(Setup.of(timing=True))
    rule = server.on("slow").reply("a b c d", timing={"first_token": "1ms", "per_token": "30s"})
    body = {"model": "m", "messages": [{"role": "user", "content": "x"}], "stream": True}
    with httpx.stream("POST", server.base_url() + "/chat/completions", json=body):
        [warning] = left_open(server.close_open())
    assert isinstance(warning, MockServerWarning)
    assert str(warning).startswith(f'the test left an answer open, call 1: chat m "x" -> rule {rule.where} slow: read')
    assert list(left_open(server.close_open())) == []


def test_without_a_socket_it_is_broken_off_too() -> None:
    server = MockServer()  # which never runs
    server.on().stream(["one ", "two ", "three"])
    body = {"model": "m", "messages": [{"role": "user", "content": "x"}], "stream": True}
    with (
        httpx.Client(transport=server.transport()) as client,
        client.stream("POST", "https://api.openai.com/v1/chat/completions", json=body) as response,
    ):
        pieces = response.iter_raw()
        assert b"assistant" in next(pieces)
        [left] = server.close_open()
        assert left.ended == "client left after 1 frame"
        with pytest.raises(httpx.ReadError, match="reset by peer"):
            list(pieces)
    assert len(server.close_open()) == 0


def leave(client: httpx.Client) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "x"}], "stream": True}
    with MockServer(timing=True) as server:
        server.on().reply("a b c d", timing={"per_token": "30s"})
        client.send(client.build_request("POST", server.base_url() + "/chat/completions", json=body), stream=True)


def test_it_is_told_at_the_end_of_a_block() -> None:
    with httpx.Client() as client:
        with pytest.warns(MockServerWarning, match="left an answer open, call 1: chat m") as told:
            leave(client)
        assert told[0].filename == __file__
