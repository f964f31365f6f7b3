"""Waits of timings, as a whole server has them: plain and streamed, of every dialect, switched off and on."""

import asyncio
import json
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from mockserver.core.action import Wait
from mockserver.core.http import HttpRequest
from mockserver.core.plan import Timing
from mockserver.delivery.script import AT_ONCE, Pace, script
from mockserver.dialects import discover
from mockserver.server.handler import LARGE, Handler, _paced, timed_by
from mockserver.server.live import Live, Prepared
from mockserver.server.routes import find, places
from tests.kit.local import Local, local
from tests.kit.served import served

RULES = """
version: 1
settings:
  timing: mine
  profiles: {mine: {profile: slow, total: 5s}}
rules:
  - {when: {last_user: thinks}, then: {text: "Hello there, my friend.", reasoning: Let me see what that is.}}
  - {when: {last_user: refuses}, then: {refusal: I cannot help with that.}}
  - {when: {last_user: states}, then: {text: one two three, usage: {completion_tokens: 500}}}
  - {when: {last_user: pieces}, then: {text: naive words here, chunks: [na, ive words, " here"]}}
  - {when: {last_user: letters}, then: {text: naive words here, chunks: char}}
  - {when: {last_user: calls}, then: {tool_calls: [{name: get_weather, arguments: {city: Paris, unit: celsius}}]}}
  - {when: {last_user: nothing}, then: {text: ""}}
  - {when: {last_user: breaks}, then: {text: one two three, failed: true}}
  - {when: {last_user: trips}, then: {text: one two three four, content_filter: {on: completion, after_tokens: 2}}}
  - {when: {last_user: raw}, then: {raw: {frames: [a, b]}, timing: {per_token: 1s}}}
  - {when: {last_user: fails}, then: {error: 429, timing: {first_token: 2s}}}
"""
SAYS = ("thinks", "refuses", "states", "pieces", "letters", "calls", "nothing", "breaks", "trips", "tell me a story")
CHAT = "/v1/chat/completions"
PATHS: dict[str, Callable[[str], dict[str, Any]]] = {
    CHAT: lambda say: {"messages": [{"role": "user", "content": say}]},
    "/crazyrouter/v1/chat/completions": lambda say: {"messages": [{"role": "user", "content": say}]},
    "/v1/completions": lambda say: {"prompt": say},
    "/v1/responses": lambda say: {"input": say},
}
LIMITS = {"/v1/responses": {"max_output_tokens": 16}}
JITTERY: dict[str, Any] = {"first_token": 1, "per_token": 1, "jitter": {"lognormal": 0.5}}


def asked(server: Local, path: str, body: Any, **headers: str) -> Prepared:
    found = find(path, places(discover(), "openai"))
    assert found is not None
    place, params = found
    named = tuple((name.replace("_", "-").encode(), value.encode()) for name, value in headers.items())
    body = json.dumps({"model": "gpt-4o", **body}).encode()
    http = HttpRequest("POST", path, body=body, headers=named, path_params=params)
    return asyncio.run(Handler(server.live, place.dialect, place.operations).respond(http))


def waits(answer: Prepared) -> list[float]:
    return [action.seconds for action in script(answer.reply, answer.pace) if isinstance(action, Wait)]


@pytest.fixture(scope="module")
def jittery() -> Local:
    return local(RULES, timing=JITTERY)


@pytest.mark.parametrize("more", [{}, {"n": 3}, {"max_tokens": 4}], ids=["", "n", "limit"])
@pytest.mark.parametrize("say", SAYS)
@pytest.mark.parametrize("path", PATHS)
def test_a_plain_answer_waits_as_long_as_its_stream(jittery: Local, path: str, say: str, more: dict[str, Any]) -> None:
    more = LIMITS.get(path, {}) if path in LIMITS else more
    body = {**PATHS[path](say), **more}
    plain, stream = asked(jittery, path, body), asked(jittery, path, {**body, "stream": True})
    assert sum(waits(plain)) > 0
    assert sum(waits(plain)) == pytest.approx(sum(waits(stream)))


async def test_a_reload_amid_a_request_is_for_the_next() -> None:
    live, other = local("rules: [{then: {text: before}}]").live, local("rules: [{then: {text: after}}]").live
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "x" * LARGE}]}).encode()
    openai = discover()["openai"]
    operations = {each.method: each for each in openai.operations if each.name == "chat"}
    handler = Handler(live, openai, operations)
    task = asyncio.create_task(handler.respond(HttpRequest("POST", CHAT, body=body)))
    await asyncio.sleep(0)
    live.engine = other.engine
    assert not task.done()
    assert b'"before"' in (await task).reply.body
    assert b'"after"' in (await handler.respond(HttpRequest("POST", CHAT, body=body))).reply.body


def test_a_longer_prompt_makes_the_first_token_later() -> None:
    server = local(timing={"prompt_per_1k": "1s"})
    short, long = (asked(server, CHAT, PATHS[CHAT]("word " * count)) for count in (10, 2010))
    first, later = (sum(waits(answer)) for answer in (short, long))
    tokens = [json.loads(answer.reply.body)["usage"]["prompt_tokens"] for answer in (short, long)]
    assert (first, later) == (pytest.approx(tokens[0] / 1000), pytest.approx(tokens[1] / 1000))
    assert tokens[1] - tokens[0] == pytest.approx(2000, rel=0.1)


def delivered(server: Local, answer: Prepared) -> Pace:
    return _paced(answer, server.live, "default")


@pytest.mark.parametrize(
    ("header", "timed"), [("off", False), ("OFF", False), ("on", True), (None, None)], ids=lambda each: str(each)
)
def test_a_request_may_switch_its_waits_off(header: str | None, timed: bool | None) -> None:
    server = local(RULES, timing={"total": "5s"})
    named = {} if header is None else {"x_mockserver_timing": header}
    for body in (PATHS[CHAT]("thinks"), PATHS[CHAT]("thinks") | {"stream": True}):
        answer = asked(server, CHAT, body, **named)
        assert answer.timed is timed
        assert delivered(server, answer).at_once is (timed is False)


def test_a_namespace_may_switch_waits_off_but_for_requests_that_want_them(monkeypatch: pytest.MonkeyPatch) -> None:
    server = local(RULES)
    plain, insisting = (
        replace(asked(server, CHAT, PATHS[CHAT]("thinks")), pace=SLOW, timed=timed) for timed in (None, True)
    )
    assert delivered(server, plain) is SLOW
    monkeypatch.setattr(Live, "timed", lambda self, namespace: False)
    assert (delivered(server, plain), delivered(server, insisting)) == (AT_ONCE, SLOW)


SLOW = Pace(Timing(total=1.0))


def test_any_other_value_is_refused_in_words() -> None:
    answer = asked(local(RULES), CHAT, PATHS[CHAT]("thinks"), x_mockserver_timing="of")
    assert answer.reply.status == 400
    assert b"x-mockserver-timing must be on or off, not 'of'." in answer.reply.body
    assert timed_by(HttpRequest("GET", "/")) is None


def test_a_request_that_is_refused_for_its_switch_counts_for_nothing() -> None:
    server = local("rules: [{times: 1, then: {text: once}}]")
    body = PATHS[CHAT]("x")
    assert asked(server, CHAT, body, x_mockserver_timing="of").reply.status == 400
    assert [b'"once"' in asked(server, CHAT, body).reply.body for _ in range(2)] == [True, False]


SLOW_RULES = """
version: 1
rules:
  - {when: {last_user: plain}, then: {text: a b c d, timing: {first_token: 100ms, per_token: 20ms}}}
  - {when: {last_user: long}, then: {text: a b c d, timing: {first_token: 0s, per_token: 1h}}}
"""


@pytest.fixture(scope="module")
def address() -> Iterator[tuple[str, Callable[[int], Any]]]:
    with served(SLOW_RULES) as server:
        yield server.address, server.logged


def opened(address: str, say: str, *, stream: bool, header: str = "") -> socket.socket:
    host, _, port = address.removeprefix("http://").partition(":")
    body = json.dumps({"model": "m", "stream": stream, "messages": [{"role": "user", "content": say}]})
    sock = socket.create_connection((host, int(port)), timeout=30)
    sock.sendall(f"POST {CHAT} HTTP/1.1\r\nhost: x\r\n{header}content-length: {len(body)}\r\n\r\n{body}".encode())
    return sock


def received(sock: socket.socket, until: bytes) -> bytes:
    got = b""
    while until not in got:
        data = sock.recv(1 << 16)
        assert data, f"the connection ended after {got!r}"
        got += data
    return got


@pytest.mark.parametrize("stream", [False, True])
def test_nothing_comes_early(address: Any, stream: bool) -> None:
    for _ in range(5):
        began = time.perf_counter()
        with opened(address[0], "plain", stream=stream) as sock:
            received(sock, b'"a"' if stream else b"HTTP/1.1 200")
            assert time.perf_counter() - began >= (0.1 if stream else 0.16)
            received(sock, b"[DONE]") if stream else None
            assert time.perf_counter() - began >= 0.16
