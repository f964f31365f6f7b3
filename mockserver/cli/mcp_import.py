"""`mockserver mcp import`: write a definition of an MCP server that runs, at a URL or as a command."""

import asyncio
import json
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path

import click

from mockserver import __version__
from mockserver.cassettes.mcp_definition import RecordedMcpAnswer, define_servers
from mockserver.cassettes.to_rules import write_rules_file
from mockserver.cli.cassette.folder import write_output
from mockserver.config.errors import ConfigError
from mockserver.core.episode import Recorded
from mockserver.core.json import Json, find_table
from mockserver.core.mcp_messages import Message, find_response, is_response, read_message
from mockserver.core.mcp_server import LEGACY, META, MODERN
from mockserver.core.server_sent_events import split_events
from mockserver.core.text import count_noun
from mockserver.server.programs import explain_start, find_command

TIMEOUT = 60.0  # seconds for an answer
MAX_LINE = 1 << 26  # bytes of a message
MAX_PAGES = 1000
Exchange = Callable[[Message], Awaitable[Message | None]]  # a message to the response; None: of a notification


@click.command(name="import")
@click.argument("name")
@click.option("--output", "-o", type=click.Path(path_type=Path), help="The file to write [standard output].")
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@click.option("--header", "-H", "headers", multiple=True, metavar="'NAME: VALUE'", help="A header to send; repeatable.")
@click.argument("source", metavar="URL|-- CMD", nargs=-1, required=True, type=click.UNPROCESSED)
def import_command(
    name: str, source: tuple[str, ...], output: Path | None, force: bool, headers: tuple[str, ...]
) -> None:
    """Write a rules file that defines NAME as the MCP server at URL, or the one that CMD starts, defines itself.

    It has all tools with their schemas, resources and prompts, but no answers: these are generated, until you write
    rules. To have the answers too, record them: `mockserver mcp record`, or --upstream mcp/NAME=URL.

    \b
    mockserver mcp import --output files.yaml files -- npx -y @modelcontextprotocol/server-filesystem .
    mockserver mcp import -H "Authorization: Bearer $TOKEN" github https://api.githubcopilot.com/mcp/
    """
    is_url = len(source) == 1 and source[0].startswith(("http://", "https://"))
    if is_url:
        answers = asyncio.run(_ask_all(name, HttpConnection(source[0], dict(map(_split_header, headers))).exchange))
    else:
        answers = asyncio.run(_ask_command(name, source))
    defined = define_servers(answers)
    counted = [
        count_noun(len(entries), kind.removesuffix("s"))
        for kind, entries in defined[name].items()
        if isinstance(entries, list)
    ]
    summary = f'the MCP server "{name}" with {", ".join(counted) or "nothing"}'
    write_output(write_rules_file((), defined), output, summary, force=force)


def _split_header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon:
        raise ConfigError(f'--header takes "NAME: VALUE", not {name[:20]!r}')
    return name.strip(), value.strip()


async def _ask_command(name: str, program: Sequence[str]) -> Sequence[RecordedMcpAnswer]:
    try:
        server = await asyncio.create_subprocess_exec(*find_command(program), stdin=PIPE, stdout=PIPE, limit=MAX_LINE)
    except (OSError, ValueError) as error:
        raise ConfigError(explain_start(program[0], error)) from None
    try:
        return await _ask_all(name, StdioConnection(server).exchange)
    finally:
        if server.returncode is None:
            server.terminate()
        await server.wait()


async def _ask_all(name: str, exchange: Exchange) -> Sequence[RecordedMcpAnswer]:
    """Return all that a server says of itself. Raises ConfigError if it is not an MCP server."""
    catalogue = ServerCatalogue(name, exchange)
    try:
        async with asyncio.timeout(TIMEOUT):
            return await catalogue.read()
    except TimeoutError:
        raise ConfigError(f"the MCP server did not answer within {TIMEOUT:g} s") from None


class ServerCatalogue:
    """Reads what a server offers: after a handshake or, of servers that know none, without."""

    def __init__(self, name: str, exchange: Exchange) -> None:
        self._name = name
        self._exchange = exchange
        self._meta: Mapping[str, Json] = {}
        self._asked = 0

    async def read(self) -> Sequence[RecordedMcpAnswer]:
        """Return the answers to the handshake and to all lists. Raises ConfigError."""
        client = {"name": "mockserver", "version": __version__}
        asked = {"protocolVersion": LEGACY[0], "capabilities": {}, "clientInfo": client}
        begun = await self._ask("initialize", asked)
        if "result" in begun.response:
            await self._exchange({"jsonrpc": "2.0", "method": "notifications/initialized"})
        else:
            known = {"protocolVersion": MODERN[0], "clientCapabilities": {}, "clientInfo": client}
            self._meta = {"_meta": {f"{META}{key}": value for key, value in known.items()}}
            begun = await self._ask("server/discover", {})
        if "result" not in begun.response:
            raise ConfigError(f"it is not an MCP server: {_describe_error(begun.response)}")
        offered = begun.result.get("capabilities")
        kinds = offered if isinstance(offered, Mapping) else {}
        return [
            begun,
            *[page for kind in ("tools", "resources", "prompts") if kind in kinds async for page in self._list(kind)],
        ]

    async def _list(self, kind: str) -> AsyncIterator[RecordedMcpAnswer]:
        cursor: Json = None
        for _ in range(MAX_PAGES):
            page = await self._ask(f"{kind}/list", {} if cursor is None else {"cursor": cursor})
            yield page
            cursor = page.result.get("nextCursor")
            if cursor is None:
                return

    async def _ask(self, method: str, params: Mapping[str, Json]) -> RecordedMcpAnswer:
        self._asked += 1
        message = {"jsonrpc": "2.0", "id": self._asked, "method": method, "params": {**params, **self._meta}}
        response = await self._exchange(message)
        return RecordedMcpAnswer(self._name, method, params=params, response=response or {})


def _describe_error(response: Message) -> str:
    error = response.get("error")
    return str(error.get("message")) if isinstance(error, Mapping) else "it does not answer `initialize`"


class HttpConnection:
    """An MCP server at a URL, with its session."""

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        self._url = url
        self._headers = {
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            "user-agent": f"mockserver/{__version__}",
            **headers,
        }

    async def exchange(self, message: Message) -> Message | None:
        """Send a message; return the response. Raises ConfigError."""
        return await asyncio.to_thread(self._post, message)

    @property
    def _masked_url(self) -> str:
        from mockserver.cassettes.redaction.credential_fields import CredentialFields  # slow, as are its patterns

        return CredentialFields().redact_url(self._url)

    def _post(self, message: Message) -> Message | None:
        from urllib.error import HTTPError, URLError
        from urllib.request import Request, urlopen

        headers = {**self._headers, **_list_headers(message)}
        try:
            sent = Request(self._url, json.dumps(message).encode(), headers, method="POST")  # noqa: S310  # the URL is the user's own
            with urlopen(sent, timeout=TIMEOUT) as answered:  # noqa: S310
                body = answered.read()
                kind = answered.headers.get("content-type", "")
                if session := answered.headers.get("mcp-session-id"):
                    self._headers["mcp-session-id"] = session
        except HTTPError as error:
            if error.code in (401, 403):
                raise ConfigError(f"{self._masked_url}: {error.code}: set a key with --header") from None
            body = error.read()
            kind = error.headers.get("content-type", "")
        except (URLError, OSError, ValueError) as error:
            raise ConfigError(f"{self._masked_url}: {getattr(error, 'reason', error)}") from None
        if "event-stream" in kind:
            return find_response(Recorded(200, frames=tuple((0.0, event) for event in split_events(body))))
        return find_response(Recorded(200, body=body))


def _list_headers(message: Message) -> Mapping[str, str]:
    """Return the headers that repeat what a message says of itself."""
    meta = find_table(message, "params", "_meta")
    if not meta:
        return {}
    return {"mcp-protocol-version": str(meta[f"{META}protocolVersion"]), "mcp-method": str(message["method"])}


class StdioConnection:
    """An MCP server that speaks over the standard input and output of its process."""

    def __init__(self, server: Process) -> None:
        self._server = server

    async def exchange(self, message: Message) -> Message | None:
        """Send a message; return the response. Raises ConfigError if the server has ended."""
        server = self._server
        assert server.stdin is not None  # it is a pipe
        assert server.stdout is not None  # it is a pipe
        try:
            server.stdin.write(json.dumps(message).encode() + b"\n")
            await server.stdin.drain()
        except ConnectionError:
            raise ConfigError("the command has ended before it answered") from None
        while "id" in message:
            line = await server.stdout.readline()
            if not line:
                raise ConfigError("the command has ended before it answered")
            answer = read_message(line)
            if answer is not None and is_response(answer) and answer.get("id") == message["id"]:
                return answer
        return None
