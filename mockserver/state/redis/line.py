"""The line to Redis: commands of one turn of the loop leave together, and no command that counts is sent twice."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from hashlib import sha1
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from mockserver.core.protocols import StateLostError
from mockserver.core.seed import token

if TYPE_CHECKING:
    from redis.asyncio import Connection

MAX_BATCH = 128  # commands that are sent at once
CLOSE_WITHIN = 1.0  # seconds
SCHEMA = "1"  # of keys and values; another release may have another
Argument = str | bytes | int | float

log = logging.getLogger("mockserver")


class Script(Struct, frozen=True):
    """A Lua script, which Redis runs as one step."""

    text: str
    sha: str
    writes: bool = True


# A full Redis refuses only commands that may need room, and those no more once a script has written anything, if only
# an EXPIRE. So every script that writes begins with a SET that changes nothing: it is refused before anything else.
_REFUSED_IF_FULL = "redis.call('SET', string.match(KEYS[1], '^[^:]+:') .. 'full', '', 'XX')\n"


def script(name: str, *, writes: bool = True) -> Script:
    """Return the script in the file of this name, beside this module."""
    text = Path(__file__).with_name(f"{name}.lua").read_text(encoding="utf-8")
    text = _REFUSED_IF_FULL + text if writes else text
    return Script(text, sha1(text.encode(), usedforsecurity=False).hexdigest(), writes)


JOIN = script("join", writes=False)  # a full Redis may be joined: it writes only where nothing is


class RedisLine:
    """Sends commands to Redis and returns their replies, or raises StateLostError.

    `connect` makes a connection; `epoch` is the word that Redis keeps with the state: another one means that the state
    was lost, and the functions in `on_anew` are called. `trips` counts the batches.
    """

    def __init__(self, connect: Callable[[], "Connection"], prefix: str, epoch: bytes = b"") -> None:
        self.prefix, self.epoch, self.lost, self.trips = prefix, epoch, False, 0
        self.warnings: tuple[str, ...] = ()
        self.on_anew = list[Callable[[], None]]()
        self._connect = connect
        self._connection: Connection | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting = list[_Command]()
        self._sender: asyncio.Task[None] | None = None

    def key(self, name: str, namespace: str) -> str:
        return f"{self.prefix}:{name}:{namespace}"

    def run(self, script: Script, keys: Sequence[str], *arguments: Argument) -> asyncio.Future[Any]:
        return self.send("EVALSHA", script.sha, len(keys), *keys, *arguments, script=script)

    def send(self, *command: Argument, script: Script | None = None) -> asyncio.Future[Any]:
        """Send a command with the others of this turn of the loop; return its reply to come."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:  # each loop needs a connection of its own
            self._loop, self._connection, self._sender, self._waiting = loop, None, None, []
        reply: asyncio.Future[Any] = loop.create_future()
        reply.add_done_callback(_retrieve_error)
        words = tuple([word.encode("utf-8", "surrogatepass") if isinstance(word, str) else word for word in command])
        self._waiting.append(_Command(words, reply, script))
        if self._sender is None:
            self._sender = loop.create_task(self._send_all())
        return reply

    async def close(self) -> None:
        """Close the connection, once what is waiting was sent: else it might be opened again."""
        if self._sender is not None:
            await asyncio.wait((self._sender,), timeout=CLOSE_WITHIN)
            if self._sender is not None:
                self._sender.cancel()
        if self._connection is not None:
            await disconnect(self._connection)

    async def _send_all(self) -> None:
        try:
            while self._waiting:
                batch, self._waiting = self._waiting[:MAX_BATCH], self._waiting[MAX_BATCH:]
                await self._send_batch(batch)
        finally:
            self._sender = None

    async def _send_batch(self, batch: "list[_Command]") -> None:
        from redis.exceptions import NoScriptError
        from redis.exceptions import TimeoutError as RedisTimeoutError

        try:
            if self.lost:
                await self._reopen()
            replies = await self._exchange([each.words for each in batch])
            again = [at for at, reply in enumerate(replies) if isinstance(reply, NoScriptError)]
            if again:  # Redis was restarted: these scripts did not run
                await self._reopen()
                texts = dict.fromkeys(each.script.text for at in again if (each := batch[at]).script is not None)
                await self._exchange([("SCRIPT", "LOAD", text) for text in texts])
                for at, reply in zip(again, await self._exchange([batch[at].words for at in again]), strict=True):
                    replies[at] = reply
        except Exception as error:
            if self._connection is not None:
                await self._connection.disconnect(nowait=True)
            if isinstance(error, TimeoutError | RedisTimeoutError):  # the others would wait as long
                batch, self._waiting = batch + self._waiting, []
            replies = [error] * len(batch)
        refused = next((reply for reply in replies if isinstance(reply, Exception)), None)
        if refused is not None:
            self._note_lost(refused)
        elif self.lost and any(each.script is not None and each.script.writes for each in batch):  # it is not full
            self.note_back(anew=False)
        for each, reply in zip(batch, replies, strict=True):
            if not each.reply.done():
                if isinstance(reply, Exception):
                    each.reply.set_exception(StateLostError(_why(reply)))
                else:
                    each.reply.set_result(reply)

    async def _exchange(self, commands: Sequence[Sequence[Argument]]) -> list[Any]:
        """Send commands at once and read their replies; one that Redis refuses has an exception."""
        from redis.exceptions import ResponseError

        connection = self._connection
        if connection is None:
            connection = self._connection = self._connect()
        await connection.connect()  # type: ignore[no-untyped-call]
        self.trips += 1
        await connection.send_packed_command(connection.pack_commands(commands))
        replies = list[Any]()
        for _ in commands:
            try:
                replies.append(await connection.read_response())
            except ResponseError as error:
                replies.append(error)
        return replies

    async def _reopen(self) -> None:
        self._check(*await self._exchange([self._join]))

    async def check(self) -> None:
        """Look whether this is still the state that was there before, and start over if not. Raises StateLostError."""
        self._check(await self.send(*self._join))

    @property
    def _join(self) -> tuple[Argument, ...]:
        return "EVAL", JOIN.text, 2, f"{self.prefix}:schema", f"{self.prefix}:epoch", SCHEMA, token()

    def _check(self, found: Any) -> None:
        if isinstance(found, Exception):
            raise found
        schema, epoch = found
        if (why := other_schema(schema)) is not None:
            raise StateLostError(why)
        if epoch != self.epoch:
            self.epoch = epoch
            self.note_back(anew=True)

    def _note_lost(self, error: Exception) -> None:
        if not self.lost:
            self.lost = True
            log.error("state lost: %s; what counts gets a 503 until it is back", _why(error))

    def note_back(self, *, anew: bool) -> None:
        """Note that the state can be reached; `anew`: Redis has lost what was there."""
        self.lost = False
        log.warning("state back" + (", but Redis had lost it: everything starts over" if anew else ""))
        for each in self.on_anew if anew else ():
            each()


class _Command(Struct, frozen=True):
    words: tuple[Argument, ...]
    reply: asyncio.Future[Any]
    script: Script | None


async def disconnect(connection: "Connection") -> None:
    """Close a connection, and those to the Sentinels that said where to connect."""
    await connection.disconnect(nowait=True)
    pool: Any = getattr(connection, "connection_pool", None)
    for sentinel in pool.sentinel_manager.sentinels if hasattr(pool, "sentinel_manager") else ():
        await sentinel.aclose()


def other_schema(found: bytes) -> str | None:
    """Why a state of this schema is not ours."""
    if found == SCHEMA.encode():
        return None
    theirs = found.decode("utf-8", "replace")
    return (
        f"it holds the state of another release (schema {theirs}, this one has {SCHEMA});"
        " give this one a place of its own with ?prefix=NAME"
    )


def _retrieve_error(reply: asyncio.Future[Any]) -> None:
    """Nobody may wait for a reply, such as that to a released slot: its error is no news then."""
    if not reply.cancelled():
        reply.exception()


def _why(error: Exception) -> str:
    return str(error).partition(" script: ")[0].rstrip(".") or type(error).__name__
