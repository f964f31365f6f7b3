"""What is said of answers that a test has left open."""

import httpx

from mockserver.testing import MockServer, MockServerWarning, Setup
from mockserver.testing.leftovers import left_open


def test_an_answer_that_is_left_open_is_named(server: MockServer) -> None:
    server.reset(Setup.of(timing=True))
    rule = server.on("slow").reply("a b c d", timing={"first_token": "1ms", "per_token": "30s"})
    body = {"model": "m", "messages": [{"role": "user", "content": "x"}], "stream": True}
    with httpx.stream("POST", server.base_url() + "/chat/completions", json=body):
        [warning] = left_open(server.close_open())
    assert isinstance(warning, MockServerWarning)
    assert str(warning).startswith(
        f'the test has left an answer open, call 1: chat m "x" -> rule {rule.where} slow: read'
    )
    assert list(left_open(server.close_open())) == []
