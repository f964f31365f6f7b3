"""`mockserver mcp record NAME -- CMD`: pass messages on between a client and an MCP server, and record them."""

import asyncio
import os
import re
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping, Sequence
from contextlib import suppress

import click
from msgspec import Struct

from mockserver.cli.cassette.folder import open_folder
from mockserver.cli.options import add_setting_flags, rules_option
from mockserver.config.errors import CassetteError, ConfigError
from mockserver.core.episode import Episode, Recorded, RecordedEvent, Sent
from mockserver.core.frames import Frame, write_event
from mockserver.core.json import Json, compact
from mockserver.core.mcp_messages import Message, find_response, is_response, read_message
from mockserver.core.seed import monotonic, wall
from mockserver.core.text import count_noun
from mockserver.dialects._mcp import DIALECT
from mockserver.server.programs import explain_start, find_command, read_exit_code
from mockserver.server.recording.cassette_store import CassetteStore
from mockserver.server.recording.player import Player
from mockserver.server.recording.recorded_calls import parse_sent
from mockserver.server.recording.recording_policy import RecordingPolicy

MAX_LINE = 1 << 26  # bytes of a message
GRACE = 3.0  # seconds that a server has to end by itself once its input has ended


@click.command(name="record")
@click.argument("name")
@click.argument("program", metavar="-- CMD", nargs=-1, required=True, type=click.UNPROCESSED)
@rules_option
@add_setting_flags("cassette", "cassettes", "scrub", "allow_secrets")
def record_command(name: str, program: tuple[str, ...], **flags: Json) -> None:
    """Start CMD, an MCP server on standard input and output, and record what a client asks it.

    Give this command to the client in place of CMD. The cassette is that of the settings, else NAME; equal requests
    replace those recorded before. To replay it, give the client `mockserver mcp NAME --cassette NAME`.

    \b
    mockserver mcp record files -- npx -y @modelcontextprotocol/server-filesystem .
    """
    settings = open_folder(flags).settings
    policy = RecordingPolicy(settings, {**os.environ, **find_named_arguments(program)})
    cassette = settings.cassette or name
    player = Player(CassetteStore(settings.cassettes, settings.match), policy=policy).choose(cassette, "all")
    sys.exit(asyncio.run(StdioRecorder(name, cassette, player).run(program)))


def find_named_arguments(program: Sequence[str]) -> Mapping[str, str]:
    """Return the values that a command names, as variables: `--api-key KEY`, `--token=KEY`, `-e API_KEY=KEY`.

    What their names call secret must not be recorded, wherever a server repeats it.
    """
    found: dict[str, str] = {}
    for before, argument in zip(("", *program), program, strict=False):
        named = _NAMED.fullmatch(argument)
        if named is not None:
            found[_make_variable(named[1])] = named[2].rpartition(" ")[2]
        elif before.startswith("--") and "=" not in before:
            found[_make_variable(before)] = argument
    return found


def _make_variable(name: str) -> str:
    variable = name.lstrip("-").replace("-", "_").upper()
    return "AUTHORIZATION_TOKEN" if variable == "AUTHORIZATION" else variable


_NAMED = re.compile(r"-{0,2}([\w-]+)(?:=|: )(.+)", re.DOTALL)


class Exchanged(Struct, frozen=True):
    """A request of the client and what the server answered, as it would be over HTTP."""

    request: bytes
    answer: Recorded


class _Waiting(Struct):
    """A request without its answer yet; `told`: what the server said meanwhile, and when."""

    line: bytes
    began: float
    token: Json
    told: list[RecordedEvent] = []


class StdioListener:
    """Joins the lines of a client and a server to requests with their answers; times are seconds of one clock."""

    def __init__(self) -> None:
        self._waiting: dict[str, _Waiting] = {}

    def hear_client(self, line: bytes, at: float) -> None:
        """Note what the client says."""
        message = read_message(line)
        if message is not None and "method" in message and "id" in message:
            meta = _read_table(_read_table(message.get("params")).get("_meta"))
            self._waiting[compact(message["id"])] = _Waiting(line.strip(), at, meta.get("progressToken"))

    def hear_server(self, line: bytes, at: float) -> Exchanged | None:
        """Note what the server says; return the exchange that it ends, if it does."""
        message = read_message(line)
        if message is None:
            return None
        if not is_response(message):
            about = self._find_subject(message)
            if about is not None:
                about.told.append((at - about.began, _write_event(line)))
            return None
        waiting = self._waiting.pop(compact(message.get("id")), None)
        if waiting is None:
            return None
        took = at - waiting.began
        if not waiting.told:
            return Exchanged(waiting.line, Recorded(200, _JSON, line.strip(), took=took))
        frames = (*waiting.told, (took, _write_event(line)))
        return Exchanged(waiting.line, Recorded(200, _STREAM, frames=frames, took=took))

    def _find_subject(self, message: Message) -> _Waiting | None:
        """Return the request that a message of the server belongs to: the one with its token, or the only one."""
        token = _read_table(message.get("params")).get("progressToken")
        if token is not None:
            return next((each for each in self._waiting.values() if each.token == token), None)
        return next(iter(self._waiting.values())) if len(self._waiting) == 1 else None


class StdioRecorder:
    """Passes lines on between this process's client and a server that it starts, and saves what is answered."""

    def __init__(self, name: str, cassette: str, player: Player) -> None:
        self._name = name
        self._cassette = cassette
        self._player = player
        self._listener = StdioListener()
        self._saving = set[asyncio.Task[None]]()
        self._order = asyncio.Lock()  # answers are saved as they came
        self._saved = 0

    async def run(self, program: Sequence[str]) -> int:
        """Relay until the server ends; return its exit code. Raises ConfigError if it cannot be started."""
        try:
            server = await asyncio.create_subprocess_exec(
                *find_command(program), stdin=PIPE, stdout=PIPE, limit=MAX_LINE
            )
        except (OSError, ValueError) as error:
            raise ConfigError(explain_start(program[0], error)) from None
        for number in (signal.SIGTERM, signal.SIGINT):
            with suppress(NotImplementedError):  # on Windows
                asyncio.get_running_loop().add_signal_handler(number, _end, server)
        feeding = asyncio.create_task(self._feed(server))
        await self._listen(server)
        feeding.cancel()
        code = await server.wait()
        await asyncio.gather(*self._saving)
        print(f"mockserver: {count_noun(self._saved, 'episode')} in {self._cassette}.yaml", file=sys.stderr, flush=True)
        sys.stdout.flush()
        os._exit(read_exit_code(code))  # a thread may still wait for a line of standard input

    async def _feed(self, server: Process) -> None:
        """Pass the client's lines on until they end; then the server has a while to end, too."""
        assert server.stdin is not None  # it is a pipe
        while line := await asyncio.to_thread(sys.stdin.buffer.readline):
            self._listener.hear_client(line, monotonic())
            with suppress(ConnectionError):
                server.stdin.write(line)
                await server.stdin.drain()
        server.stdin.close()
        await asyncio.sleep(GRACE)
        _end(server)

    async def _listen(self, server: Process) -> None:
        assert server.stdout is not None  # it is a pipe
        while line := await server.stdout.readline():
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()
            exchanged = self._listener.hear_server(line, monotonic())
            if exchanged is not None:
                task = asyncio.create_task(self._save(exchanged))
                self._saving.add(task)

    async def _save(self, exchanged: Exchanged) -> None:
        sent = Sent("POST", f"{DIALECT.mounts[0]}/{self._name}", query="", headers=_HEADERS, body=exchanged.request)
        call = parse_sent(DIALECT.name, sent)
        response = find_response(exchanged.answer)
        if call is None or call.mcp is None or call.mcp.is_housekeeping:
            return
        if call.mcp.is_handshake and response is not None and "error" in response:  # an older server refuses it
            return
        episode = Episode(
            DIALECT.name, call.operation, model=self._name, request=sent, reply=exchanged.answer, at=wall()
        )
        try:
            async with self._order:
                await self._player.save(self._cassette, episode)
            self._saved += 1
        except CassetteError as error:
            why = "; ".join(map(str, error.mistakes))
            print(f"mockserver: an answer is not recorded: {why}", file=sys.stderr, flush=True)


def _end(server: Process) -> None:
    with suppress(ProcessLookupError):
        server.terminate()


_HEADERS = (("accept", "application/json, text/event-stream"), ("content-type", "application/json"))


def _write_event(line: bytes) -> bytes:
    return write_event(Frame(line.strip(), "message"))


def _read_table(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, Mapping) else {}


_JSON = (("content-type", "application/json"),)
_STREAM = (("content-type", "text/event-stream"),)
