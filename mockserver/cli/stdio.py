"""`mockserver mcp`: an MCP server on standard input and output, one message a line (MCP, Transports: stdio)."""

import asyncio
import json
import os
import sys
from base64 import b64encode
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from threading import Lock, Thread
from urllib.parse import quote

import click

from mockserver.cli.options import add_setting_flags, find_sources, rules_option
from mockserver.config.errors import ConfigError
from mockserver.config.source import did_you_mean
from mockserver.core.json import Json
from mockserver.core.mcp_server import INTERNAL_ERROR, McpServer

ADDRESS = "MOCKSERVER_URL"
KEY = "MOCKSERVER_MCP_KEY"
_META = "io.modelcontextprotocol/protocolVersion"
Enter = Callable[[str | None], None]  # takes the session that an answer begins, if it does
Emit = Callable[[bytes], None]  # takes each message of the server


@click.command(name="serve")
@click.argument("name")
@rules_option
@add_setting_flags("unmatched", "seed", "cassette", "cassettes")
def serve_command(name: str, rules: tuple[Path, ...], **flags: Json) -> None:
    """Serve the MCP server NAME to a client that starts a command and speaks over standard input and output.

    With MOCKSERVER_URL in the environment, as `mockserver run` and the fixture set it, messages go to that server,
    whose rules answer and whose journal has the calls. If it asks for a key or a token, that is MOCKSERVER_MCP_KEY.
    Else the rules files answer.
    """
    address = os.environ.get(ADDRESS)
    if address and not rules:
        talk = _make_pipe(f"{address.rstrip('/')}/mcp/{quote(name)}", os.environ.get(KEY))
    else:
        talk = _make_server(name, rules, flags)
    asyncio.run(_Conversation(talk).run())


class _Message:
    """A message of the client, and the method with which it is sent over HTTP."""

    def __init__(self, line: bytes, verb: str = "POST") -> None:
        self.line = line
        self.verb = verb
        try:
            content = json.loads(line) if line else {}
        except (ValueError, RecursionError):
            content = {}
        self.content: Mapping[str, Json] = content if isinstance(content, dict) else {}
        self.method = self.content.get("method")
        self.id = self.content.get("id")

    @property
    def is_endless(self) -> bool:
        """Return whether its answer goes on until one of both sides ends."""
        return self.verb == "GET" or self.method == "subscriptions/listen"

    @property
    def headers(self) -> dict[str, str]:
        """Return the headers that the message would have over HTTP."""
        headers = {"accept": "application/json, text/event-stream"}
        if self.line:
            headers["content-type"] = "application/json"
        params = self.content.get("params")
        params = params if isinstance(params, dict) else {}
        meta = params.get("_meta")
        version = meta.get(_META) if isinstance(meta, dict) else None
        if isinstance(version, str):
            target = params.get("uri" if self.method == "resources/read" else "name")
            headers |= {"mcp-protocol-version": version, "mcp-method": str(self.method)}
            headers |= {"mcp-name": f"=?base64?{b64encode(str(target).encode()).decode()}?="} if target else {}
        return headers


# Sends a message with its headers, and hands over the session that begins before what is answered.
Talk = Callable[[_Message, Mapping[str, str], Enter, Emit], Awaitable[None]]


class _Conversation:
    """What goes in and out: many messages at once, and each of them a line."""

    def __init__(self, talk: Talk) -> None:
        self._talk = talk
        self._session: str | None = None
        self._tasks: dict[asyncio.Task[None], _Message] = {}
        self._asked: dict[str, asyncio.Task[None]] = {}  # what waits for an answer of the client, by the question's id
        self._cancelled = set[str]()
        self._is_over = False
        self._lock = Lock()

    async def run(self) -> None:
        """Answer each line of standard input until it ends."""
        while line := await asyncio.to_thread(sys.stdin.buffer.readline):
            if line.strip():
                await self._take(_Message(line))
        self._is_over = True
        for task, message in list(self._tasks.items()):
            if message.is_endless or task in self._asked.values():  # nothing can come any more
                task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        # For good: Python would abort if it ended while another thread writes. A client that reads no more may hold it.
        self._lock.acquire(timeout=_PATIENCE)

    async def _take(self, message: _Message) -> None:
        params = message.content.get("params")
        if message.method == "notifications/cancelled" and isinstance(params, dict):
            self._cancelled.add(json.dumps(params.get("requestId")))
        elif message.method is None and message.id is not None:
            self._asked.pop(json.dumps(message.id), None)
        self._begin(message)
        if message.method == "notifications/initialized":
            self._begin(_Message(b"", "GET"))  # to listen to what the server says by itself, if it has anything to say

    def _begin(self, message: _Message) -> None:
        task = asyncio.get_running_loop().create_task(self._answer(message))
        self._tasks[task] = message
        task.add_done_callback(lambda done: self._tasks.pop(done, None))

    async def _answer(self, message: _Message) -> None:
        task = asyncio.current_task()
        assert task is not None  # it runs in one
        loop = asyncio.get_running_loop()
        session = {} if self._session is None else {"mcp-session-id": self._session}
        try:
            await self._talk(
                message,
                {**message.headers, **session},
                self._enter,
                lambda data: self._write(data, message, task, loop),
            )
        except ConfigError as error:
            print(f"mockserver: {error}", file=sys.stderr, flush=True)
            self._write(_make_error(message, str(error)), message, task, loop)

    def _enter(self, session: str | None) -> None:
        """Send what comes from now on in this session."""
        self._session = session or self._session

    def _write(
        self, data: bytes, message: _Message, task: "asyncio.Task[None]", loop: asyncio.AbstractEventLoop
    ) -> None:
        """Write a message of the server as a line, unless its client does not want it any more."""
        if not data.strip() or (message.id is not None and json.dumps(message.id) in self._cancelled):
            return
        if b'"method"' in data and (asked := _Message(data)).method is not None and asked.id is not None:
            self._asked[json.dumps(asked.id)] = task
            if self._is_over:
                loop.call_soon_threadsafe(task.cancel)
                return
        with self._lock:
            sys.stdout.buffer.write(data.replace(b"\r", b"").replace(b"\n", b"") + b"\n")
            sys.stdout.buffer.flush()


def _make_error(message: _Message, why: str) -> bytes:
    """Return the error that answers a message, if it wants an answer."""
    if message.id is None:
        return b""
    error = {"code": INTERNAL_ERROR, "message": why}
    return json.dumps({"jsonrpc": "2.0", "id": message.id, "error": error}).encode()


def _make_pipe(url: str, token: str | None) -> Talk:
    """Return what talks to a server over HTTP."""
    from http.client import HTTPException
    from urllib.error import HTTPError, URLError
    from urllib.request import ProxyHandler, Request, build_opener

    opener = build_opener(ProxyHandler({}))  # the server is on this machine, or named on purpose
    own = {} if token is None else {"authorization": f"Bearer {token}"}

    def post(message: _Message, headers: Mapping[str, str], enter: Enter, emit: Emit) -> None:
        request = Request(url, message.line or None, {**headers, **own}, method=message.verb)  # noqa: S310  # the URL is the user's own
        try:
            with opener.open(request) as answered:
                enter(answered.headers.get("mcp-session-id"))
                if answered.headers.get_content_type() == "text/event-stream":
                    for line in answered:
                        if line.startswith(b"data:"):
                            emit(line.removeprefix(b"data:"))
                else:
                    emit(answered.read())
        except HTTPError as error:
            if message.verb == "POST":
                emit(error.read())
        except (URLError, OSError, HTTPException) as error:
            raise ConfigError(f"{ADDRESS}: no server answers at {url}: {getattr(error, 'reason', error)}") from error

    async def talk(message: _Message, headers: Mapping[str, str], enter: Enter, emit: Emit) -> None:
        loop = asyncio.get_running_loop()
        answered: asyncio.Future[None] = loop.create_future()

        def run() -> None:
            try:
                post(message, headers, enter, emit)
            except Exception as error:
                tell(answered.set_exception, error)
            else:
                tell(answered.set_result, None)

        def tell(settle: Callable[..., None], value: object) -> None:
            with suppress(RuntimeError):  # the loop is over
                loop.call_soon_threadsafe(lambda: None if answered.done() else settle(value))

        Thread(target=run, daemon=True).start()  # a pool would let slow calls keep others waiting
        await answered

    return talk


def _make_server(name: str, rules: tuple[Path, ...], flags: Mapping[str, Json]) -> Talk:
    """Return what has rules files answer messages. Raises MockserverError, also if they define no such server."""
    from msgspec.structs import replace

    from mockserver.core.action import Cut, Wait, Write
    from mockserver.core.frames import Frame
    from mockserver.core.http import HttpRequest
    from mockserver.dialects._mcp import DIALECT
    from mockserver.server.compose import start
    from mockserver.server.deliver import list_actions
    from mockserver.server.respond import Responder
    from mockserver.server.routes import Endpoint
    from mockserver.server.visit import Sender

    live = start(find_sources(rules, {**flags, "record": "none"}))
    servers = {each: McpServer(each) for each in live.player.recorded_servers} | {**live.engine.servers}
    if name not in servers:
        known = did_you_mean(name, servers) or f"; the rules files define {', '.join(sorted(servers))}"
        hint = known if servers else ": define it under mcp: in a rules file, or choose its recording: --cassette NAME"
        raise ConfigError(f'there is no MCP server "{name}"{hint}')
    # Whoever starts a command needs no key, and no login.
    live.engine = replace(live.engine, servers={name: replace(servers[name], login=None)})
    live.settings = live.settings.model_copy(update={"keys": None})
    path = f"{DIALECT.mounts[0]}/{name}"
    operations = {each.method: each for each in DIALECT.operations if each.path == "/{server}"}
    responder = Responder(live, Endpoint(path, DIALECT, operations))

    async def talk(message: _Message, headers: Mapping[str, str], enter: Enter, emit: Emit) -> None:
        fields = [(key.encode(), value.encode()) for key, value in headers.items()]
        request = HttpRequest(message.verb, path, headers=fields, body=message.line, path_params={"server": name})
        visit = responder.admit(request)
        visit.sender = Sender(in_process=True)
        response = await responder.respond(visit)
        if response.forwarded is not None:
            visit.end("complete")
            raise ConfigError(_NO_RELAY)
        if message.verb == "GET" and response.reply.status != 200:
            visit.end("complete")
            return
        enter(dict(response.reply.headers).get("mcp-session-id"))
        pieces: list[bytes] = []
        for action in list_actions(response, visit):
            if isinstance(action, Wait):
                await asyncio.sleep(min(action.seconds, _LONGEST_WAIT))
            elif isinstance(action, Write):
                pieces.append(action.data)
                if isinstance(action.frame, Frame):  # an event, which leaves by itself
                    _emit_events(b"".join(pieces), emit)
                    pieces = []
            elif isinstance(action, Cut):
                os._exit(0)  # there is no other connection to break than that of the process
        rest = b"".join(pieces)
        kind = dict(response.reply.headers).get("content-type", "")
        if "text/event-stream" in kind or rest.startswith((b"event:", b"data:")):
            _emit_events(rest, emit)
        else:
            emit(rest)
        visit.end("complete")

    return talk


def _emit_events(data: bytes, emit: Emit) -> None:
    for line in data.splitlines():
        if line.startswith(b"data:"):
            emit(line.removeprefix(b"data:"))


_NO_RELAY = f"a rule forwards this message; start mockserver serve, and set {ADDRESS} to its address"
_PATIENCE = 1.0  # seconds that a line which is being written may still take at the end
_LONGEST_WAIT = 10**8  # seconds: some three years, and less than timers take
