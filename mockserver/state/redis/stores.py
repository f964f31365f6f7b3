"""Counters, kept answers and limits in Redis, as `core/state.py` promises; each step is one script."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Generic, NamedTuple

from msgspec.structs import replace

from mockserver.core.rates import Admission, Draw, Limits, Waits
from mockserver.core.seed import make_token
from mockserver.core.state import STATE, Precondition, StateLostError, Value, VersionedValue
from mockserver.state.redis.client import Argument, RedisClient, load_script

DAY = 86_400  # seconds after which what nobody used is forgotten
MAX_RECENT = 5_000  # counters in use; when there are as many, they are kept until there are as many again
MAX_BUCKETS = 10_000  # for each namespace
SLOT_LASTS = 2.0  # seconds
RENEWED_EVERY = 0.5  # seconds
LOOKED_EVERY = 0.02  # seconds

_OPEN, _COUNT, _KEEP, _LIMITS = map(load_script, ("open", "count", "keep", "limits"))
_ENTRIES = load_script("entries", writes=False)
_VALUES = load_script("values", writes=False)


class RedisCounters:
    """The counters of rules are kept as long as they are used; of others, the latest 5,000 to 10,000."""

    def __init__(self, client: RedisClient, *, recent: int = MAX_RECENT) -> None:
        self._client = client
        self._recent = recent

    async def open(self, namespace: str, preconditions: Sequence[Precondition], found: str | None) -> int | None:
        words = list[Argument]([_encode_state(found)])
        for counter, times, state, becomes in preconditions:
            words += counter, "" if times is None else times, _encode_state(state), _encode_state(becomes)
        index = await self._client.run(_OPEN, (self._client.make_key("c", namespace),), *words)
        return None if index < 0 else int(index)

    async def count(self, namespace: str, name: str) -> int:
        return int(await self._client.run(_COUNT, self._list_keys(namespace)[1:], name, self._recent))

    async def list_entries(self, namespace: str) -> Mapping[str, str]:
        words = await self._client.run(_ENTRIES, self._list_keys(namespace)[::-1])
        texts = [word.decode("utf-8", "surrogatepass") for word in words]
        return dict(zip(texts[::2], texts[1::2], strict=True))

    async def set_state(self, namespace: str, state: str) -> None:
        key = self._client.make_key("c", namespace)
        written = self._client.send("HSET", key, STATE, state)
        self._client.send("EXPIRE", key, DAY)
        await written

    async def forget(self, namespace: str, names: Sequence[str]) -> None:
        if names:
            await asyncio.gather(*[self._client.send("HDEL", key, *names) for key in self._list_keys(namespace)])

    async def clear(self, namespace: str) -> None:
        await self._client.send("DEL", *self._list_keys(namespace))

    def _list_keys(self, namespace: str) -> tuple[str, ...]:
        """Return the keys of the counters of rules, of others, and of those before them."""
        return tuple([self._client.make_key(name, namespace) for name in "cmn"])


def _encode_state(state: str | None) -> str:
    return "" if state is None else f"={state}"


class Codec(NamedTuple, Generic[Value]):
    """How values become bytes, and values again; `measure` tells how many bytes of one are on disk."""

    encode: Callable[[Value], bytes]
    decode: Callable[[bytes], Value]
    measure: Callable[[Value], int] = lambda value: 0


class RedisValueStore(Generic[Value]):
    """Values as bytes; of too many the oldest go, and one that is too large is not even read from the disk."""

    def __init__(self, client: RedisClient, codec: Codec[Value], *, count: int, size: int) -> None:
        self._client = client
        self._codec = codec
        self.most = count
        self._size = size

    @property
    def bounds_files(self) -> str:
        return "stored_bytes"

    async def get(self, namespace: str, key: str) -> VersionedValue[Value] | None:
        found = await self._client.send("HGET", self._client.make_key("a", namespace), key)
        return None if found is None else self._decode_entry(found)

    async def put(self, namespace: str, key: str, value: Value, *, size: int) -> None:
        size += self._codec.measure(value)
        encoded = self._codec.encode(value) if size <= self._size else b""  # it is too large to be kept
        await self._keep(namespace, key, encoded, size=size)

    async def change(self, namespace: str, key: str, value: VersionedValue[Value], *, size: int) -> bool:
        encoded = self._codec.encode(value.value)
        return await self._keep(namespace, key, encoded, size=size, version=str(value.version))

    async def list_values(self, namespace: str) -> tuple[Value, ...]:
        found = await self._client.run(_VALUES, self._list_keys(namespace)[:2])
        return tuple([self._decode_entry(each).value for each in found])

    async def count(self, namespace: str) -> int:
        return int(await self._client.send("ZCARD", self._client.make_key("o", namespace)))

    async def clear(self, namespace: str) -> None:
        await self._client.send("DEL", *self._list_keys(namespace))

    async def _keep(self, namespace: str, key: str, encoded: bytes, *, size: int, version: str = "") -> bool:
        """Keep a value, of a version only in place of that version; return whether that was possible."""
        words = (key, encoded, version, max(size, len(encoded)), self.most, self._size)
        return bool(await self._client.run(_KEEP, self._list_keys(namespace), *words))

    def _decode_entry(self, found: bytes) -> VersionedValue[Value]:
        version, _, value = found.partition(b" ")
        return VersionedValue(self._codec.decode(value), int(version))

    def _list_keys(self, namespace: str) -> tuple[str, ...]:
        return tuple([self._client.make_key(name, namespace) for name in "aoz"])


class RedisLimitStore:
    """Rate-limit buckets and concurrency slots, timed by Redis.

    The slots of a worker that ended are free after two seconds.
    """

    def __init__(self, client: RedisClient, *, max_buckets: int = MAX_BUCKETS) -> None:
        self._client = client
        self._max_buckets = max_buckets
        self._worker = make_token()
        self._places = 0
        self._held = dict[str, str]()  # place: namespace
        self._renewing: asyncio.Task[None] | None = None

    async def enter(self, namespace: str, draws: Sequence[Draw], limits: Limits) -> Admission:
        entry = await self._enter(namespace, draws, limits)
        if entry.result == "no_room":  # the client's own call before may be about to leave
            await asyncio.sleep(LOOKED_EVERY)
            entry = await self._enter(namespace, draws, limits)
        return entry

    async def wait(self, namespace: str, place: str, limits: Limits) -> None:
        while True:
            result, *_ = await self._send("look", namespace, limits, place)
            if result == b"entered":
                self._hold(namespace, place)
                return
            if result == b"no_room":
                raise StateLostError("the queue was lost")
            await asyncio.sleep(LOOKED_EVERY)

    async def take(self, namespace: str, draws: Sequence[Draw]) -> Waits:
        _, *waits = await self._send("take", namespace, Limits(), "", *_write_draws(draws))
        return _read_waits(draws, waits)

    def leave(self, namespace: str, place: str, limits: Limits) -> None:
        self._held.pop(place, None)
        self._send("leave", namespace, limits, place)

    async def clear(self, namespace: str) -> None:
        await self._client.send("DEL", self._client.make_key("b", namespace))

    async def _enter(self, namespace: str, draws: Sequence[Draw], limits: Limits) -> Admission:
        place = ""
        if limits.concurrent is not None:
            self._places += 1
            place = f"{self._worker} {self._places}"
        try:
            result, *waits = await self._send("enter", namespace, limits, place, *_write_draws(draws))
        except asyncio.CancelledError:  # it may have got a slot
            if place:
                self._send("leave", namespace, limits, place)
            raise
        entry = Admission(result.decode(), _read_waits(draws, waits))  # type: ignore[arg-type]
        if not place or entry.result not in ("entered", "queued"):
            return entry
        if entry.result == "entered":
            self._hold(namespace, place)
        return replace(entry, place=place)

    def _hold(self, namespace: str, place: str) -> None:
        self._held[place] = namespace
        if self._renewing is None or self._renewing.done():
            self._renewing = asyncio.create_task(self._renew())

    async def _renew(self) -> None:
        """Keep the slots of this worker, or take them again if it was stopped for so long that they ended."""
        while self._held:
            await asyncio.sleep(RENEWED_EVERY)
            for namespace in set(self._held.values()):
                places = [place for place, there in self._held.items() if there == namespace]
                self._send("renew", namespace, Limits(), "", *places)

    def _send(self, order: str, namespace: str, limits: Limits, *words: Argument) -> asyncio.Future[list[bytes]]:
        """Send an order with its place, and what follows that."""
        keys = [self._client.make_key(name, namespace) for name in "bwq"]
        most = -1 if limits.concurrent is None else limits.concurrent
        return self._client.run(_LIMITS, keys, order, most, limits.queue, SLOT_LASTS, self._max_buckets, *words)


def _write_draws(draws: Sequence[Draw]) -> Iterator[Argument]:
    for draw in draws:
        yield from (draw.bucket.name, draw.bucket.seconds, draw.seconds)


def _read_waits(draws: Sequence[Draw], waits: Sequence[bytes]) -> Waits:
    """Return the seconds until each bucket is full; Redis tells none if nothing was drawn for want of room."""
    return {draw.bucket.name: float(wait) for draw, wait in zip(draws, waits, strict=False)}
