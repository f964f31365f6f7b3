"""The URL of a shared state: what it says, how to connect, and whether what listens there can keep the state."""

import re
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from msgspec import Struct

from mockserver.core.seed import token
from mockserver.core.text import hiding
from mockserver.state.redis.line import JOIN, SCHEMA, RedisLine, other_schema

if TYPE_CHECKING:
    from redis import Redis
    from redis.asyncio import Connection

PREFIX = "mockserver"
SCHEMES = ("redis", "rediss", "unix", "sentinel")
OLDEST = (6, 2)
CONNECT_WITHIN, REPLY_WITHIN = 2.0, 1.0  # seconds


class UnusableStateError(Exception):
    """A URL that cannot be read, or a server that cannot keep the state: what is wrong, and what to do."""


class Address(Struct, frozen=True):
    """Where a state is. `shown` is the URL without its password and options."""

    url: str
    prefix: str
    shown: str

    __repr__, __rich_repr__ = hiding("url")

    def connection(self) -> "Connection":
        """Return an asynchronous connection that is not connected yet. It repeats no command."""
        pool = _client(self.url, "redis.asyncio").connection_pool
        made: Connection = pool.make_connection()
        made.connection_pool = pool  # type: ignore[attr-defined]  # a weak reference of Sentinel's connections
        return made

    def client(self) -> "Redis":
        """Return a synchronous client."""
        made: Redis = _client(self.url, "redis")
        return made


def address(url: str) -> Address:
    """Read a URL. Raises UnusableStateError."""
    try:
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
    except ValueError:  # whose message may hold the password
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


def _client(url: str, module: str) -> Any:
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


def open_line(where: Address) -> RedisLine:
    """Check what listens there, take part in its state, and return the line to it. Raises UnusableStateError."""
    from redis import exceptions

    try:
        with where.client() as client:
            info: Mapping[str, Any] = client.info()
            if (why := unusable(info)) is not None:
                raise UnusableStateError(why)
            keys = [f"{where.prefix}:{name}" for name in ("schema", "epoch")]
            schema, epoch = client.eval(JOIN.text, 2, *keys, SCHEMA, token())
    except (exceptions.RedisError, OSError, TypeError, ValueError) as error:
        raise UnusableStateError(_reason(error)) from None
    if (why := other_schema(schema)) is not None:
        raise UnusableStateError(why)
    line = RedisLine(where.connection, where.prefix, epoch)
    line.warnings = tuple(_warnings(info))
    return line


def unusable(info: Mapping[str, Any]) -> str | None:
    """Why a server with this INFO cannot keep the state."""
    version = str(info.get("redis_version", "0"))
    if tuple(map(int, re.findall(r"\d+", version)[:2])) < OLDEST:
        return f"Redis {version} listens there; 6.2 or newer is needed"
    if info.get("cluster_enabled"):
        return "a Redis Cluster listens there; give the URL of a single server, or of Sentinel"
    return None


def _warnings(info: Mapping[str, Any]) -> list[str]:
    policy = info.get("maxmemory_policy", "noeviction")
    if not info.get("maxmemory") or policy == "noeviction":
        return []
    return [f"counts may vanish: Redis evicts keys when it is full (maxmemory-policy {policy}); set noeviction"]


def _reason(error: Exception) -> str:
    """What a failed start means; no message of redis-py, which may hold the password."""
    from redis import exceptions

    text = str(error)
    for kinds, pattern, reason in (
        (exceptions.AuthenticationError | exceptions.NoPermissionError, "", _LOGIN),
        (exceptions.ResponseError, "WRONGPASS|NOAUTH|NOPERM|invalid username|AUTH", _LOGIN),
        (exceptions.ResponseError, "DB index", "Redis has no database of this number"),
        (exceptions.ResponseError, "(?i)unknown command.*sentinel", "what listens there is no Sentinel"),
        (exceptions.InvalidResponse, "", "what listens there does not speak Redis"),
        (exceptions.RedisError, "(?i)protocol error", "what listens there does not speak Redis"),
        (exceptions.TimeoutError | TimeoutError, "", f"no answer in time; {_START}"),
        (exceptions.ConnectionError | OSError, "(?i)refused", f"connection refused; {_START}"),
        (exceptions.ConnectionError | OSError, "(?i)name or service|getaddrinfo|nodename|name resol", "unknown host"),
        (exceptions.ConnectionError | OSError, "(?i)no such file", f"there is no such socket; {_START}"),
        (exceptions.ConnectionError, "(?i)no master", _NO_PRIMARY),
        (TypeError | ValueError, "", "the URL has an option or a part that Redis clients do not know"),
    ):
        if isinstance(error, kinds) and re.search(pattern, text):
            return reason
    return f"{type(error).__name__} while connecting; {_START}"


_START = "start Redis there, or leave --state out"
_NO_URL = "this is not a URL; in a user or password, write / ? # [ ] @ as %2F %3F %23 %5B %5D %40"
_NO_PRIMARY = "no Sentinel answers there, or none knows a primary of this name"
_LOGIN = "the user or the password is wrong; give them as redis://USER:PASSWORD@HOST"
