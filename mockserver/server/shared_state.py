"""Joins a server to those that share a state in Redis, and writes kept answers into that state.

They are written and read as values of core only, so that nothing that others write into the state can run code here.
"""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import fields
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

from msgspec import Struct, msgpack

from mockserver.config.errors import ConfigError, explain_extra
from mockserver.core import call, episode, http, kept_objects, plan
from mockserver.core.plan import Failure, Kept
from mockserver.core.tokens import Tokenizer
from mockserver.media.large_data import DataOnDisk, read_data
from mockserver.server.compose import count_kept_on_disk
from mockserver.server.fleet import RedisFleet
from mockserver.server.live import Live
from mockserver.state.redis.client import Address, RedisClient, UnusableStateError, open_client, read_address
from mockserver.state.redis.stores import Codec, RedisCounters, RedisLimitStore, RedisValueStore


def join_fleet(live: Live) -> None:
    """Have a server share the state that its settings name, from now on. Raises ConfigError if it cannot be used."""
    from mockserver.server.control import Control

    settings = live.settings
    if settings.record != "none":
        raise ConfigError(f"record is {settings.record}, but recording needs one process; leave --state out")
    if live.control_token is not None and settings.control_token is None:
        raise ConfigError(f"servers that share a state need the same token at {settings.host}: set --control-token")
    state = check_state(settings.state)
    client = state.client
    codec = make_codec(lambda model: live.engine.policy.tokenizer(model))  # after reloads, too
    answers = RedisValueStore(client, codec, count=settings.stored_answers, size=settings.stored_bytes)
    fleet = RedisFleet(
        live, client, connect=state.address.make_connection, answer_request=Control(live).answer_question
    )
    live.join_fleet(fleet, counters=RedisCounters(client), answers=answers, limits=RedisLimitStore(client))


class SharedState(NamedTuple):
    """The address of a state, and the client that talks to it."""

    address: Address
    client: RedisClient


def check_state(url: str) -> SharedState:
    """Return the state that a URL names. Raises ConfigError if it cannot be used."""
    shown = "--state"
    try:
        where = read_address(url)
        shown = f"--state {where.shown}"
        return SharedState(where, open_client(where))
    except UnusableStateError as error:
        raise ConfigError(f"{shown}: {error}") from None
    except ImportError:
        raise ConfigError(f"{shown}: the package redis is missing; {explain_extra('redis')}") from None


def make_codec(tokenizer: Callable[[str], Tokenizer]) -> Codec[Kept]:
    """Return how to write and read kept answers and objects; `tokenizer` is that of a model, by name."""
    return Codec(
        encode=lambda kept: msgpack.encode(_simplify(kept)),
        decode=lambda data: _restore(msgpack.decode(data), tokenizer),
        measure=count_kept_on_disk,
    )


_LIST, _TUPLE, _SET, _INT, _TEXT = range(5)  # the first item of an array; that of an object is the name of its class


def _simplify(value: Any) -> Any:
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 64:
        return [_INT, str(value)]
    if isinstance(value, str) and not (value.isascii() or value.isprintable()):
        return [_TEXT, value.encode("utf-8", "surrogatepass")]
    if value is None or isinstance(value, str | int | float | bytes):
        return value
    if isinstance(value, DataOnDisk):
        return read_data(value)
    if isinstance(value, Struct):
        names = value.__struct_fields__
    elif isinstance(value, Failure):
        names = tuple(each.name for each in fields(value))
    elif isinstance(value, Mapping):
        return {key: _simplify(each) for key, each in value.items()}
    elif isinstance(value, AbstractSet):
        return [_SET, *map(_simplify, value)]
    elif isinstance(value, Sequence):
        return [_LIST if isinstance(value, list) else _TUPLE, *map(_simplify, value)]
    else:
        return f"{value.__module__}:{value.__qualname__}"  # how a dialect counts the tokens of a part
    return [type(value).__name__, {name: _simplify(getattr(value, name)) for name in names if name != "tokenizer"}]


def _restore(plain: Any, tokenizer: Callable[[str], Tokenizer]) -> Any:
    if isinstance(plain, dict):
        return {key: _restore(each, tokenizer) for key, each in plain.items()}
    if not isinstance(plain, list):
        return plain
    kind, *items = plain
    if kind == _INT:
        return int(items[0])
    if kind == _TEXT:
        return items[0].decode("utf-8", "surrogatepass")
    if isinstance(kind, int):
        return (list, tuple, frozenset)[kind](_restore(each, tokenizer) for each in items)
    known = {name: _restore(each, tokenizer) for name, each in items[0].items()}
    made = _list_classes()[kind]
    if "tokenizer" in getattr(made, "__struct_fields__", ()):
        known["tokenizer"] = tokenizer(known["model"])
    if "part_tokens" in known:
        known["part_tokens"] = _find_part_tokens(known["part_tokens"])
    return made(**known)


@cache
def _list_classes() -> Mapping[str, Any]:
    kinds = (each for module in (call, episode, http, kept_objects, plan) for each in vars(module).values())
    return {each.__name__: each for each in kinds if isinstance(each, type) and issubclass(each, Struct | Failure)}


@cache
def _find_part_tokens(name: str) -> Any:
    module, _, function = name.partition(":")
    if not module.startswith(("mockserver.dialects.", "mockserver.core.")) or not function.endswith("part_tokens"):
        raise ValueError(f"unknown tokenizer {name}")
    return getattr(import_module(module), function)
