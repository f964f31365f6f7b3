"""The client of a shared state: where it is, whether what listens there can keep it, and commands to it.

Commands of one turn of the loop leave together, and no command that counts is sent twice.
"""

import asyncio
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha1
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from msgspec import Struct

from mockserver.core.seed import make_token
from mockserver.core.state import StateLostError
from mockserver.core.text import make_reprs

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


def load_script(name: str, *, writes: bool = True) -> Script:
    """Return the script in the file of this name, beside this module."""
    text = Path(__file__).with_name(f"{name}.lua").read_text(encoding="utf-8")
    text = _REFUSED_IF_FULL + text if writes else text
    return Script(text, sha1(text.encode(), usedforsecurity=False).hexdigest(), writes)


JOIN = load_script("join", writes=False)  # a full Redis may be joined: it writes only where nothing is


class RedisClient:
    """Sends commands to Redis and returns their replies, or raises StateLostError.

    `connect` makes a connection; `epoch` is the word that Redis keeps with the state: another one means that the state
    was lost, and the functions in `on_start_over` are called. `trips` counts the batches.
    """

    def __init__(self, connect: Callable[[], "Connection"], prefix: str, epoch: bytes = b"") -> None:
        self.prefix = prefix
        self.epoch = epoch
        self.lost = False
        self.trips = 0
        self.warnings: tuple[str, ...] = ()
        self.on_start_over = list[Callable[[], None]]()
        self._connect = connect
        self._connection: Connection | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting = list[_Command]()
        self._sender: asyncio.Task[None] | None = None

    def make_key(self, name: str, namespace: str) -> str:
        """Return the key of something that a namespace has."""
        return f"{self.prefix}:{name}:{namespace}"

    def run(self, script: Script, keys: Sequence[str], *arguments: Argument) -> asyncio.Future[Any]:
        """Run a script with these keys and arguments; return its reply once it is there."""
        return self.send("EVALSHA", script.sha, len(keys), *keys, *arguments, script=script)

    def send(self, *command: Argument, script: Script | None = None) -> asyncio.Future[Any]:
        """Send a command with the others of this turn of the loop; return its reply to come."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:  # each loop needs a connection of its own
            self._loop = loop
            self._connection = None
            self._sender = None
            self._waiting = []
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
                batch = self._waiting[:MAX_BATCH]
                self._waiting = self._waiting[MAX_BATCH:]
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
                batch = batch + self._waiting
                self._waiting = []
            replies = [error] * len(batch)
        refused = next((reply for reply in replies if isinstance(reply, Exception)), None)
        if refused is not None:
            self._note_lost(refused)
        elif self.lost and any(each.script is not None and each.script.writes for each in batch):  # it is not full
            self.note_return(emptied=False)
        for each, reply in zip(batch, replies, strict=True):
            if not each.reply.done():
                if isinstance(reply, Exception):
                    each.reply.set_exception(StateLostError(_describe_error(reply)))
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
        last = b"%d" % self.trips
        await connection.send_packed_command(connection.pack_commands([*commands, (b"ECHO", last)]))
        replies = list[Any]()
        for _ in commands:
            try:
                replies.append(await connection.read_response())
            except ResponseError as error:
                replies.append(error)
        if await connection.read_response() != last:  # else every later command would get the reply to another one
            raise StateLostError("its replies do not belong to the commands")
        return replies

    async def _reopen(self) -> None:
        self._check(*await self._exchange([self._join]))

    async def check(self) -> None:
        """Look whether this is still the state that was there before, and start over if not. Raises StateLostError."""
        self._check(await self.send(*self._join))

    @property
    def _join(self) -> tuple[Argument, ...]:
        return "EVAL", JOIN.text, 2, f"{self.prefix}:schema", f"{self.prefix}:epoch", SCHEMA, make_token()

    def _check(self, found: Any) -> None:
        if isinstance(found, Exception):
            raise found
        schema, epoch = found
        if (why := explain_schema(schema)) is not None:
            raise StateLostError(why)
        if epoch != self.epoch:
            self.epoch = epoch
            self.note_return(emptied=True)

    def _note_lost(self, error: Exception) -> None:
        if not self.lost:
            self.lost = True
            log.error(
                "state lost: %s; requests that count something are refused until it is back", _describe_error(error)
            )

    def note_return(self, *, emptied: bool) -> None:
        """Note that the state can be reached; `emptied`: Redis has lost what was there."""
        self.lost = False
        log.warning("state back" + (", but Redis had lost it: everything starts over" if emptied else ""))
        for each in self.on_start_over if emptied else ():
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


def explain_schema(found: bytes) -> str | None:
    """Return why a state of this schema is not ours."""
    if found == SCHEMA.encode():
        return None
    theirs = found.decode("utf-8", "replace")
    return (
        f"it holds the state of another release (schema {theirs}, this one has {SCHEMA});"
        " give this one its own keys with ?prefix=NAME"
    )


def _retrieve_error(reply: asyncio.Future[Any]) -> None:
    """Look at an error for which nobody may wait, such as that of a released slot, so that none is reported."""
    if not reply.cancelled():
        reply.exception()


def _describe_error(error: Exception) -> str:
    text = str(error).partition(" script: ")[0].rstrip(".") or type(error).__name__
    return text + (_NOT_OURS if text.startswith("WRONGTYPE") else "")


_NOT_OURS = ", which another program has written: give this server its own keys with ?prefix=NAME"


if TYPE_CHECKING:
    from redis import Redis
    from redis.asyncio import Connection

PREFIX = "mockserver"
SCHEMES = ("redis", "rediss", "unix", "sentinel")
OLDEST = (6, 2)
CONNECT_WITHIN = 2.0  # seconds
REPLY_WITHIN = 1.0  # seconds


class UnusableStateError(Exception):
    """A URL that cannot be read, or a server that cannot keep the state: what is wrong, and what to do."""


class Address(Struct, frozen=True):
    """Where a state is. `shown` is the URL without its password and options."""

    url: str
    prefix: str
    shown: str

    __repr__, __rich_repr__ = make_reprs("url")

    def make_connection(self) -> "Connection":
        """Return an asynchronous connection that is not connected yet. It repeats no command."""
        pool = _make_client(self.url, "redis.asyncio").connection_pool
        made: Connection = pool.make_connection()
        made.connection_pool = pool  # type: ignore[attr-defined]  # a weak reference of Sentinel's connections
        return made

    def make_sync_client(self) -> "Redis":
        """Return a synchronous client."""
        made: Redis = _make_client(self.url, "redis")
        return made


def read_address(url: str) -> Address:
    """Read a URL. Raises UnusableStateError."""
    try:
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
    except ValueError:  # the message may hold the password
        raise UnusableStateError(_NO_URL) from None
    if parts.scheme not in SCHEMES or not (host or parts.path.strip("/")):
        raise UnusableStateError("must be memory, redis://HOST:6379/0, rediss://, unix:// or sentinel://")
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    rest = ("" if parts.scheme == "unix" else parts.path) + ("" if "password" in options else parts.query)
    if parts.fragment or "@" in rest:  # a password ended too early, and its end would be shown
        raise UnusableStateError(_NO_URL)
    if parts.scheme in ("redis", "rediss") and not re.fullmatch(r"/?[0-9]*", parts.path):
        raise UnusableStateError("the database must be a number: redis://HOST:6379/0")
    prefix = options.pop("prefix", PREFIX)
    if not re.fullmatch(r"[\w.-]{1,50}", prefix):
        raise UnusableStateError("?prefix= takes up to 50 letters, digits, dots, dashes and underscores")
    query = f"?{urlencode(options)}" if options else ""
    whole = f"{parts.scheme}://{parts.netloc}{parts.path}{query}"
    return Address(whole, prefix, f"{parts.scheme}://{host}{parts.path}")


def _make_client(url: str, module: str) -> Any:
    """Return a client that is made by a module, and that repeats no command."""
    from redis.backoff import NoBackoff

    options = {
        "socket_connect_timeout": CONNECT_WITHIN,
        "socket_timeout": REPLY_WITHIN,
        "retry": import_module(f"{module}.retry").Retry(NoBackoff(), 0),
        "protocol": 2,
    }
    parts = urlsplit(url)
    if parts.scheme != "sentinel":
        return import_module(module).Redis.from_url(url, **options)
    user, _, hosts = parts.netloc.rpartition("@")
    username, _, password = user.partition(":")
    name, _, number = parts.path.strip("/").partition("/")
    sentinels = [(host, int(port or 26379)) for host, _, port in (each.partition(":") for each in hosts.split(","))]
    known = import_module(f"{module}.sentinel").Sentinel(sentinels, sentinel_kwargs=options, **options)
    login = {"username": unquote(username) or None, "password": unquote(password) or None}
    return known.master_for(name or "mymaster", db=int(number or 0), **login)


def open_client(where: Address) -> RedisClient:
    """Check what listens there, take part in its state, and return a client of it. Raises UnusableStateError."""
    from redis import exceptions

    try:
        with where.make_sync_client() as client:
            info: Mapping[str, Any] = client.info()
            if (why := explain_unusable(info)) is not None:
                raise UnusableStateError(why)
            keys = [f"{where.prefix}:{name}" for name in ("schema", "epoch")]
            schema, epoch = client.eval(JOIN.text, 2, *keys, SCHEMA, make_token())
    except (exceptions.RedisError, OSError, TypeError, ValueError, *_NOT_REDIS) as error:
        raise UnusableStateError(_explain_failure(error)) from None
    if (why := explain_schema(schema)) is not None:
        raise UnusableStateError(why)
    client = RedisClient(where.make_connection, where.prefix, epoch)
    client.warnings = tuple(_list_warnings(info))
    return client


def explain_unusable(info: Mapping[str, Any]) -> str | None:
    """Return why a server with this INFO cannot keep the state."""
    version = str(info.get("redis_version", "0"))
    if tuple(map(int, re.findall(r"\d+", version)[:2])) < OLDEST:
        return f"Redis {version} listens there; 6.2 or newer is needed"
    if info.get("cluster_enabled"):
        return "a Redis Cluster listens there; give the URL of a single server, or of Sentinel"
    return None


def _list_warnings(info: Mapping[str, Any]) -> list[str]:
    policy = info.get("maxmemory_policy", "noeviction")
    if not info.get("maxmemory") or policy == "noeviction":
        return []
    return [f"counts may vanish: Redis evicts keys when it is full (maxmemory-policy {policy}); set noeviction"]


def _explain_failure(error: Exception) -> str:
    """Return what a failed start means; no message of redis-py, which may hold the password."""
    from redis import exceptions

    text = str(error)
    for kinds, pattern, reason in (
        (exceptions.AuthenticationError | exceptions.NoPermissionError, "", _LOGIN),
        (exceptions.ResponseError, "WRONGPASS|NOAUTH|NOPERM|invalid username|AUTH", _LOGIN),
        (exceptions.ResponseError, "DB index", "Redis has no database with this number"),
        (exceptions.ResponseError, "(?i)unknown command.*sentinel", "what listens there is not a Sentinel"),
        ((exceptions.InvalidResponse, *_NOT_REDIS), "", "what listens there does not speak Redis"),
        (exceptions.RedisError, "(?i)protocol error", "what listens there does not speak Redis"),
        (exceptions.TimeoutError | TimeoutError, "", f"no answer in time; {_START}"),
        (exceptions.ConnectionError | OSError, "(?i)refused", f"connection refused; {_START}"),
        (exceptions.ConnectionError | OSError, "(?i)name or service|getaddrinfo|nodename|name resol", "unknown host"),
        (exceptions.ConnectionError | OSError, "(?i)no such file", f"there is no such socket; {_START}"),
        (exceptions.ConnectionError, "(?i)no master", _NO_PRIMARY),
        (TypeError | ValueError, "", "the URL has a part or an option that is not supported"),
    ):
        if isinstance(error, kinds) and re.search(pattern, text):
            return reason
    return f"{type(error).__name__} while connecting; {_START}"


_NOT_REDIS = (AttributeError, LookupError, MemoryError)  # what redis-py raises for replies that cannot be
_START = "start Redis there, or leave --state out"
_NO_URL = "this is not a URL; in a user or password, write / ? # [ ] @ as %2F %3F %23 %5B %5D %40"
_NO_PRIMARY = "no Sentinel answers there, or none knows a primary with this name"
_LOGIN = "the user or the password is wrong; give them as redis://USER:PASSWORD@HOST"
