"""Waits of timings, as a whole server has them: plain and streamed, of every dialect, switched off and on."""

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from mockserver.core.action import Wait
from mockserver.core.http import HttpRequest
from mockserver.delivery.script import make_script
from mockserver.dialects import discover
from mockserver.engine.offload import LARGEST_IN_LOOP
from mockserver.server.respond import Responder
from mockserver.server.routes import Endpoint
from mockserver.server.visit import Response
from tests.kit.local import Local, local
from tests.kit.raw import HI, STREAM, Raw, post
from tests.kit.served import Served, served

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


def asked(server: Local, path: str, body: Any, **headers: str) -> Response:
    place = server.live.routes.find(path)
    assert place is not None
    named = tuple((name.replace("_", "-").encode(), value.encode()) for name, value in headers.items())
    body = json.dumps({"model": "gpt-4o", **body}).encode()
    http = HttpRequest("POST", path, body=body, headers=named, path_params=place.params)
    responder = Responder(server.live, place.endpoint)
    return asyncio.run(responder.respond(responder.admit(http)))


def waits(answer: Response) -> list[float]:
    return [action.seconds for action in make_script(answer.reply, answer.pace) if isinstance(action, Wait)]


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
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "x" * LARGEST_IN_LOOP}]}).encode()
    openai = discover()["openai"]
    responder = Responder(live, Endpoint(CHAT, openai, {"POST": openai.operations[0]}))
    request = HttpRequest("POST", CHAT, body=body)
    task = asyncio.create_task(responder.respond(responder.admit(request)))
    await asyncio.sleep(0)
    live.engine = other.engine
    assert not task.done()
    assert b'"before"' in (await task).reply.body
    assert b'"after"' in (await responder.respond(responder.admit(request))).reply.body


async def test_the_jitter_of_a_request_in_progress_is_that_of_its_own_seed() -> None:
    live, other = local(timing=JITTERY, seed=1).live, local(timing=JITTERY, seed=2).live
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "x" * LARGEST_IN_LOOP}]}).encode()
    openai = discover()["openai"]
    responder = Responder(live, Endpoint(CHAT, openai, {"POST": openai.operations[0]}))
    request = HttpRequest("POST", CHAT, body=body)
    before = (await responder.respond(responder.admit(request))).pace
    task = asyncio.create_task(responder.respond(responder.admit(request)))
    await asyncio.sleep(0)
    live.engine, live.settings = other.engine, other.settings
    assert not task.done()
    assert (await task).pace == before
    assert (await responder.respond(responder.admit(request))).pace != before


def test_a_longer_prompt_makes_the_first_token_later() -> None:
    server = local(timing={"prompt_per_1k": "1s"})
    short, long = (asked(server, CHAT, PATHS[CHAT]("word " * count)) for count in (10, 2010))
    first, later = (sum(waits(answer)) for answer in (short, long))
    tokens = [json.loads(answer.reply.body)["usage"]["prompt_tokens"] for answer in (short, long)]
    assert (first, later) == (pytest.approx(tokens[0] / 1000), pytest.approx(tokens[1] / 1000))
    assert tokens[1] - tokens[0] == pytest.approx(2000, rel=0.1)


@pytest.mark.parametrize(("header", "timed"), [("off", False), ("OFF", False), ("on", True), (None, None)])
def test_a_request_may_switch_its_waits_off(header: str | None, timed: bool | None) -> None:
    server = local(RULES, timing={"total": "5s"})
    named = {} if header is None else {"x_mockserver_timing": header}
    for stream in (False, True):
        answer = asked(server, CHAT, {**PATHS[CHAT]("thinks"), "stream": stream}, **named)
        assert answer.pace.at_once is (timed is False)


def test_a_namespace_may_switch_waits_off_except_for_requests_that_want_them() -> None:
    server = local(RULES, timing={"total": "5s"})
    server.live.namespaces.touch("default").timed = False
    assert asked(server, CHAT, PATHS[CHAT]("thinks")).pace.at_once
    assert not asked(server, CHAT, PATHS[CHAT]("thinks"), x_mockserver_timing="on").pace.at_once


def test_an_invalid_switch_is_refused_and_counts_nothing() -> None:
    server, body = local("rules: [{times: 1, then: {text: once}}]"), PATHS[CHAT]("x")
    refused = asked(server, CHAT, body, x_mockserver_timing="of").reply
    assert (refused.status, b"x-mockserver-timing must be on or off, not 'of'." in refused.body) == (400, True)
    assert [b'"once"' in asked(server, CHAT, body).reply.body for _ in range(2)] == [True, False]


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with served("rules: [{then: {text: a b c d, timing: {first_token: 100ms, per_token: 20ms}}}]") as running:
        yield running


@pytest.mark.parametrize("stream", [False, True])
def test_nothing_is_sent_early(server: Served, stream: bool) -> None:
    for _ in range(5):
        began = time.perf_counter()
        with Raw(server.port) as line:
            line.send(post(STREAM if stream else HI)).socket.recv(1)
            line._held = line.socket.recv(1 << 16)
            while stream and b'"a"' not in line._held:
                line._held += line.socket.recv(1 << 16)
            assert time.perf_counter() - began >= (0.1 if stream else 0.16)
            while stream and b"[DONE]" not in line._held:
                line._held += line.socket.recv(1 << 16)
            assert time.perf_counter() - began >= 0.16
