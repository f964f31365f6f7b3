"""However a request ends, it leaves nothing to Python's collector: nothing of mockserver's leads to itself."""

import asyncio
import gc
import json
import socket
import struct
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from types import CoroutineType, FrameType, FunctionType, MethodType
from typing import Any

import httpx
import pytest

import mockserver
from mockserver.server.app import Site
from mockserver.server.live import Live
from mockserver.server.run import Running
from mockserver.testing.clock import Clock
from mockserver.testing.transport import Transport
from tests.kit.entrances import ByAsgi, Request
from tests.kit.local import local
from tests.kit.raw import PATIENCE, Raw, post, write_chunked
from tests.kit.relaying import relaying
from tests.kit.sockets import socket as websocket

pytestmark = pytest.mark.usefixtures("frozen_heap")

RULES = """
rules:
  - when: {last_user: paced}
    then: {text: "one two three four", timing: {per_token: 5ms}}
  - when: {last_user: slow}
    then: {text: "one two three four", timing: {per_token: 10s}}
  - when: {last_user: too fast}
    then: {error: 429}
  - when: {last_user: cut}
    then: {text: "one two three", faults: [{cut: {after_tokens: 1}}]}
  - when: {last_user: reset}
    then: {text: "one two three", faults: [{reset: {after_tokens: 1}}]}
  - when: {last_user: stall}
    then: {text: "one two three", faults: [{stall: {after_tokens: 1, for: 5ms}}]}
mcp:
  files:
    tools: [{name: read, input: {path: string}, then: {text: "read"}}]
"""
MCP = "accept: application/json, text/event-stream", "mcp-protocol-version: 2025-06-18"
CONTROL = "x-mockserver-control: 1"
NO_WAIT = struct.pack("ii", 1, 0)  # a socket that is closed resets its connection


def write(text: str, **more: Any) -> bytes:
    """The body of a chat."""
    return json.dumps({"model": "gpt-4o", "messages": [{"role": "user", "content": text}], **more}).encode()


def chat(text: str, **more: Any) -> bytes:
    return post(write(text, **more))


def call_tool(name: str) -> bytes:
    params = {"name": name, "arguments": {"path": "x"}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return post(json.dumps(body).encode(), *MCP, path="/mcp/files")


def get(path: str, *headers: str) -> bytes:
    return post(b"", *headers, path=path).replace(b"POST", b"GET", 1)


ASKED = {
    "text": chat("hello"),
    "stream": chat("hello", stream=True),
    "paced text": chat("paced"),
    "paced stream": chat("paced", stream=True),
    "large": chat("hello" * 10_000),
    "refused": chat("hello", temperature="hot"),
    "refused, large": chat("hello" * 10_000, temperature="hot"),
    "scripted error": chat("too fast"),
    "cut": chat("cut"),
    "cut stream": chat("cut", stream=True),
    "reset": chat("reset"),
    "reset stream": chat("reset", stream=True),
    "stalled stream": chat("stall", stream=True),
    "no JSON": post(b"{"),
    "no path": get("/v1/nothing"),
    "no HTTP": b"GET / HTTP/9\r\n\r\n",
    "a bad header": b"GET /v1/models HTTP/1.1\r\nhost : x\r\n\r\n",
    "a bad chunk": post(b"zz\r\n", "transfer-encoding: chunked"),
    "chunks": post(write_chunked(write("hello")), "transfer-encoding: chunked"),
    "HTTP/1.0": chat("hello").replace(b"HTTP/1.1", b"HTTP/1.0"),
    "an embedding": post(b'{"model":"text-embedding-3-small","input":"x"}', path="/v1/embeddings"),
    "a tool of MCP": call_tool("read"),
    "an unknown tool of MCP": call_tool("write"),
    "calls": get("/__mockserver__/api/calls"),
    "a rule": post(b'{"then":{"text":"x"}}', CONTROL, path="/__mockserver__/api/rules?namespace=a"),
    "a bad rule": post(b'{"then":{"texts":"x"}}', CONTROL, path="/__mockserver__/api/rules?namespace=a"),
    "a reset": post(b"", CONTROL, path="/__mockserver__/api/reset?namespace=a"),
}
LEFT = {
    "a paced stream": chat("slow", stream=True),
    "before the answer": chat("slow"),
    "amid a body": chat("hello")[:-5],
    "amid a head": chat("hello")[:20],
    "MCP": get("/mcp/files", *MCP),
    "the feed of the inspector": get("/__mockserver__/api/calls/feed"),
}


class Server:
    """A server of this process, and how it is asked."""

    def __init__(self, running: Running, live: Live) -> None:
        self.live = live
        self.url = running.address
        self.port = int(self.url.rpartition(":")[2])
        self._connections = running._server.server_state.connections

    def ask(self, *sent: bytes) -> None:
        """Send each of these over a connection of its own, and receive the answers, which may be broken."""
        lines = [Raw(self.port).send(each) for each in sent]
        for line in lines:
            with line, suppress(OSError, AssertionError):
                line.receive()

    def leave(self, sent: bytes) -> None:
        """Send this, and leave once the server has seen it."""
        with Raw(self.port) as line:
            line.send(sent)
            time.sleep(0.01)
            line.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_WAIT)

    def wait_until_quiet(self) -> None:
        until = time.monotonic() + PATIENCE
        while self._connections or self.live.journal.open_calls:
            assert time.monotonic() < until, "a connection does not end"
            time.sleep(0.001)
        time.sleep(0.01)  # for what ends after its row


@contextmanager
def serve(rules: str = RULES, **settings: Any) -> Iterator[Server]:
    live = local(rules, port=0, **settings).live
    with Running(live) as running:
        yield Server(running, live)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serve() as running:
        yield running


def find_garbage(act: Callable[[], object], quieten: Callable[[], object]) -> Mapping[str, int]:
    """Return the objects of mockserver's that only Python's collector would free, after an act that was done before."""
    act()
    quieten()
    gc.collect()
    gc.disable()
    try:
        act()
        quieten()
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        return Counter(filter(None, map(describe_own, gc.garbage)))
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


def describe_own(thing: object) -> str | None:
    """Return what an object is, if it is mockserver's."""
    kind = type(thing)
    if kind is FunctionType or kind is MethodType:
        return f"{thing.__qualname__}()" if str(thing.__module__).startswith(NAME) else None  # type: ignore[attr-defined]
    if kind is CoroutineType or kind is FrameType:
        code = thing.cr_code if isinstance(thing, CoroutineType) else thing.f_code  # type: ignore[attr-defined]
        return code.co_qualname if code.co_filename.startswith(FOLDER) else None
    return f"{kind.__module__}.{kind.__qualname__}" if kind.__module__.startswith(NAME) else None


NAME = f"{mockserver.__name__}."
(FOLDER,) = mockserver.__path__


def test_what_leads_to_itself_is_found() -> None:
    def tie() -> None:
        clock = Clock()
        vars(clock)["now"] = clock.now

    assert find_garbage(tie, int) == {"mockserver.testing.clock.Clock": 1, "Clock.now()": 1}


@pytest.mark.parametrize("name", ASKED)
def test_requests(server: Server, name: str) -> None:
    assert find_garbage(lambda: server.ask(ASKED[name]), server.wait_until_quiet) == {}


@pytest.mark.parametrize("name", LEFT)
def test_clients_that_leave(server: Server, name: str) -> None:
    assert find_garbage(lambda: server.leave(LEFT[name]), server.wait_until_quiet) == {}


@pytest.mark.parametrize(
    "limits",
    [
        {"requests_per_minute": 9, "tokens_per_minute": 1000},
        {"requests_per_minute": 1},
        {"tokens_per_minute": 1},
        {"concurrent_requests": 1},
        {"concurrent_requests": 1, "queue": 1},
        {"concurrent_requests": 1, "queue": 1, "queue_timeout": "1ms"},
    ],
    ids=["within", "too many", "too large", "no room", "queued", "queued for long"],
)
def test_limits(limits: Mapping[str, Any]) -> None:
    with serve(limits=limits) as server:
        assert find_garbage(lambda: server.ask(chat("paced"), chat("hello")), server.wait_until_quiet) == {}


def test_the_queue_is_left() -> None:
    with serve(limits={"concurrent_requests": 1, "queue": 1}) as server:

        def leave_queue() -> None:
            with Raw(server.port) as line:
                line.send(chat("paced"))
                server.leave(chat("hello"))
                line.receive()

        assert find_garbage(leave_queue, server.wait_until_quiet) == {}


def test_responses_over_a_websocket(server: Server) -> None:
    def talk() -> None:
        with websocket(server.url) as client:
            client.ask("hello")

    assert find_garbage(talk, server.wait_until_quiet) == {}


def test_realtime_sessions(server: Server) -> None:
    content = [{"type": "input_text", "text": "hello"}]
    item = {"type": "conversation.item.create", "item": {"type": "message", "role": "user", "content": content}}
    turn = {"type": "response.create", "response": {"output_modalities": ["text"]}}

    def talk() -> None:
        with websocket(server.url, "/v1/realtime?model=gpt-realtime") as client:
            client.send(item, turn)
            while client.receive()["type"] != "response.done":
                pass

    assert find_garbage(talk, server.wait_until_quiet) == {}


@pytest.mark.parametrize("name", ["text", "paced stream", "cut stream", "refused", "scripted error"])
def test_forwarded_requests(server: Server, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "*")
    with relaying(f"{server.url}/v1") as relay:
        front = Server(relay.running, relay.live)
        assert find_garbage(lambda: front.ask(ASKED[name]), front.wait_until_quiet) == {}


def test_an_upstream_out_of_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "*")
    with socket.socket() as unheard:
        unheard.bind(("127.0.0.1", 0))
        with relaying(f"http://127.0.0.1:{unheard.getsockname()[1]}/v1") as relay:
            front = Server(relay.running, relay.live)
            assert find_garbage(lambda: front.ask(chat("hello")), front.wait_until_quiet) == {}


@pytest.mark.parametrize("body", [write("hello"), write("paced", stream=True), write("x", temperature="hot")])
def test_other_entrances(body: bytes) -> None:
    live = local(RULES).live
    by_asgi = ByAsgi(live)
    clock = Clock()
    transport = Transport(Site(live), clock, lambda: pytest.fail("no handshake is sent"))
    request = Request("/v1/chat/completions", body, {"content-type": "application/json"})

    def ask_transport() -> None:
        url = f"http://localhost{request.path}"
        response = transport.handle_request(httpx.Request("POST", url, headers=request.headers, content=body))
        assert b"".join(response.stream)

    with asyncio.Runner() as runner:
        assert find_garbage(lambda: runner.run(by_asgi._ask(request)), int) == {}
    assert find_garbage(ask_transport, int) == {}
