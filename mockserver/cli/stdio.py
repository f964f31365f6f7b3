"""`mockserver mcp`: an MCP server on standard input and output, one message a line (wire/mcp.md 4, stdio)."""

import asyncio
import json
import os
import sys
from base64 import b64encode
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import click

from mockserver.cli.options import add_setting_flags, find_sources, rules_option
from mockserver.config.errors import ConfigError
from mockserver.core.json import Json
from mockserver.core.mcp_messages import find_data
from mockserver.core.mcp_server import INTERNAL_ERROR

ADDRESS = "MOCKSERVER_URL"
_META = "io.modelcontextprotocol/protocolVersion"
Send = Callable[[bytes, Mapping[str, str]], Awaitable[bytes]]  # a message and its headers to the answer


@click.command(name="serve")
@click.argument("name")
@rules_option
@add_setting_flags("unmatched", "seed", "cassette", "cassettes")
def serve_command(name: str, rules: tuple[Path, ...], **flags: Json) -> None:
    """Serve the MCP server NAME to a client that starts a command and speaks over standard input and output.

    With MOCKSERVER_URL in the environment, as `mockserver run` and the fixture set it, messages go to that server,
    whose rules answer and whose journal has the calls. Else the rules files answer.
    """
    address = os.environ.get(ADDRESS)
    if address and not rules:
        asyncio.run(_serve(_make_pipe(f"{address.rstrip('/')}/mcp/{name}")))
    else:
        asyncio.run(_serve(_make_server(name, rules, flags)))


async def _serve(send: Send) -> None:
    """Answer each line of standard input, several at once, until it ends."""
    answering = set[asyncio.Task[None]]()
    while line := await asyncio.to_thread(sys.stdin.buffer.readline):
        if line.strip():
            task = asyncio.create_task(_answer(line, send))
            answering.add(task)
            task.add_done_callback(answering.discard)
    await asyncio.gather(*answering)


async def _answer(line: bytes, send: Send) -> None:
    try:
        answer = await send(line, _make_headers(line))
    except ConfigError as error:
        print(f"mockserver: {error}", file=sys.stderr, flush=True)
        answer = _make_error(line, str(error))
    for message in _list_messages(answer):
        sys.stdout.buffer.write(message.replace(b"\r", b"").replace(b"\n", b"") + b"\n")
    sys.stdout.buffer.flush()


def _list_messages(answer: bytes) -> list[bytes]:
    """Return the messages of an answer: those of a stream's events, or the only one."""
    if answer.lstrip()[:1] in (b"{", b""):
        return [answer] if answer.strip() else []
    found = [find_data(event) for event in answer.replace(b"\r\n", b"\n").split(b"\n\n")]
    return [data for data in found if data.strip()]


def _make_error(line: bytes, message: str) -> bytes:
    """Return the error that answers a message, if it wants an answer."""
    try:
        name = json.loads(line).get("id")
    except (ValueError, RecursionError, AttributeError):
        name = None
    if name is None:
        return b""
    return json.dumps({"jsonrpc": "2.0", "id": name, "error": {"code": INTERNAL_ERROR, "message": message}}).encode()


def _make_headers(line: bytes) -> dict[str, str]:
    """Return the headers that a message would have over HTTP."""
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    try:
        message = json.loads(line)
        params = message.get("params") or {}
        version = (params.get("_meta") or {}).get(_META)
    except (ValueError, RecursionError, AttributeError):
        return headers
    if isinstance(version, str):
        target = params.get("uri" if message.get("method") == "resources/read" else "name")
        headers |= {"mcp-protocol-version": version, "mcp-method": str(message.get("method"))}
        headers |= {"mcp-name": f"=?base64?{b64encode(str(target).encode()).decode()}?="} if target else {}
    return headers


def _make_pipe(url: str) -> Send:
    """Return what sends messages to a server over HTTP."""
    from urllib.error import HTTPError, URLError
    from urllib.request import ProxyHandler, Request, build_opener

    opener = build_opener(ProxyHandler({}))  # the server is on this machine, or named on purpose

    def post(line: bytes, headers: Mapping[str, str]) -> bytes:
        try:
            with opener.open(Request(url, line, dict(headers), method="POST")) as answered:  # noqa: S310  # of the user
                body: bytes = answered.read()
        except HTTPError as error:
            body = error.read()
        except (URLError, OSError) as error:
            raise ConfigError(f"{ADDRESS}: no server answers at {url}: {getattr(error, 'reason', error)}") from error
        return body

    async def send(line: bytes, headers: Mapping[str, str]) -> bytes:
        return await asyncio.to_thread(post, line, headers)

    return send


def _make_server(name: str, rules: tuple[Path, ...], flags: Mapping[str, Json]) -> Send:
    """Return what has rules files answer messages. Raises MockserverError, also if they define no such server."""
    from mockserver.core.action import Cut, Wait, Write
    from mockserver.core.http import HttpRequest
    from mockserver.dialects._mcp import DIALECT
    from mockserver.server.deliver import list_actions
    from mockserver.server.live import start
    from mockserver.server.respond import Responder

    live = start(find_sources(rules, {**flags, "record": "none"}))
    if name not in (servers := {*live.engine.servers, *live.player.recorded_servers}):
        known = ", ".join(sorted(servers)) or "none; define one under mcp:, or name its cassette"
        raise ConfigError(f'the rules files define no MCP server "{name}"; there are: {known}')
    responder = Responder(live, DIALECT, {operation.method: operation for operation in DIALECT.operations})

    async def send(line: bytes, headers: Mapping[str, str]) -> bytes:
        fields = [(key.encode(), value.encode()) for key, value in headers.items()]
        path = f"{DIALECT.mounts[0]}/{name}"
        request = HttpRequest("POST", path, headers=fields, body=line, path_params={"server": name})
        visit = responder.admit("POST", path, request.namespace)
        visit.in_process = True
        response = await responder.respond(request, visit)
        pieces: list[bytes] = []
        for action in list_actions(responder, response, visit):
            if isinstance(action, Wait):
                await asyncio.sleep(min(action.seconds, _LONGEST_WAIT))
            elif isinstance(action, Write):
                pieces.append(action.data)
            elif isinstance(action, Cut):
                sys.exit(0)  # there is no other connection to break than that of the process
        visit.end("complete")
        return b"".join(pieces)

    return send


_LONGEST_WAIT = 10**8  # seconds: some three years, and less than timers take
