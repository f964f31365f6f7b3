"""The configured limits, applied to each request: rates for keys and models, and how many requests run at once.

They apply before an answer is planned, so a refused request uses nothing.
"""

import asyncio
import gc
import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from threading import Lock
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace
from starlette.types import Receive

from mockserver.config.settings import KeySettings, Settings
from mockserver.core.call import Call, compute_fingerprint
from mockserver.core.http import HeaderLines, Headers
from mockserver.core.lazy import forget_remembered
from mockserver.core.plan import Answer, Artifact, Failure, Outcome, Raw
from mockserver.core.rates import (
    Bucket,
    Draw,
    Limits,
    LimitStore,
    Rates,
    Standing,
    Standings,
    Waits,
    layer_rates,
    make_bucket,
)
from mockserver.core.seed import monotonic
from mockserver.delivery.connection import wait_until_left
from mockserver.dialects._reply import merge_headers, put_standings
from mockserver.engine.answer import use_tokenizer
from mockserver.engine.catalogue import Catalogue
from mockserver.engine.offload import is_large, on_thread
from mockserver.engine.policy import Policy
from mockserver.kinds import OPERATIONS
from mockserver.server.snapshot import ClientLeftError
from mockserver.state.in_memory import MemoryLimitStore

LIMITED = frozenset(name for name, kind in OPERATIONS.items() if kind.is_limited)  # look-ups are free
LIMIT_REASONS = frozenset({"rate_limit", "over_limit", "overloaded"})

RateHeaders = Callable[[Standings], HeaderLines]


class Holder(Protocol):
    """What holds bytes of `max_unsent`: a request until it is answered, or a session until it ends."""

    held: int


class Unsent:
    """Bytes that requests and answers take until their clients have read them: the setting `max_unsent` bounds them.

    The sound and the items that sessions keep count with them.
    """

    __slots__ = ("_lock", "_released", "held")

    def __init__(self) -> None:
        self.held = 0
        self._lock = Lock()
        self._released = 0  # since garbage was last collected

    def take(self, holder: Holder, size: int, *, limit: int) -> None:
        """Take more for a holder, on any thread. Raises Failure if that is too much, unless it is the only one."""
        with self._lock:
            if self.held + size > limit and self.held > holder.held:
                raise Failure("overloaded", _UNREAD, retry_after=1.0)
            self.held += size
            holder.held += size

    def settle(self, holder: Holder, size: int) -> None:
        """Count a holder with what it turned out to hold."""
        self.add(size - holder.held)
        holder.held = size

    def add(self, size: int) -> None:
        """Count bytes that are written and unread; less than 0: that are read."""
        with self._lock:
            self.held += size

    def release(self, holder: Holder) -> None:
        """Count nothing for a holder any more; at times, forget all that was remembered of requests.

        What leads to itself, as errors do by their tracebacks, keeps what it holds until it is collected; and Python
        counts objects, not bytes.
        """
        self._released += holder.held
        self.settle(holder, 0)
        if self._released > MAX_GARBAGE:
            self._released = 0
            forget_remembered()
            gc.collect()


def estimate_parsed_size(body: bytes) -> int:
    """Return roughly how many bytes a JSON body takes once it is parsed."""
    marks = body.translate(None, _NO_MARKS)  # one pass, however many are counted
    return 3 * len(body) + 40 * marks.count(b",") + 60 * marks.count(b"[") + 400 * marks.count(b"{")


MAX_GARBAGE = 64_000_000  # bytes of large requests, about
_NO_MARKS = bytes(byte for byte in range(256) if byte not in b",[{")


_UNREAD = "Too much data is waiting for clients to read it (setting max_unsent). Please try again later."


class Limiter:
    """The limits of the settings: which a request draws from, and what it waits for."""

    def __init__(self, store: LimitStore | None = None) -> None:
        self.store: LimitStore = MemoryLimitStore() if store is None else store
        self.settings: Settings | None = None  # those that are applied
        self.configure(Limits(), None, Catalogue())

    def apply(self, settings: Settings, models: Catalogue) -> None:
        """Apply the limits of these settings from now on."""
        self.settings = settings
        self.configure(settings.limits, settings.keys, models)

    def configure(self, limits: Limits, keys: Mapping[str, KeySettings] | None, models: Catalogue) -> None:
        """Apply these limits from now on; what is drawn already stays in the store."""
        self.limits = limits
        stated = (limits.rates, *(key.limits for key in (keys or {}).values()))
        stated += tuple(model.limits for model in (models.entries or {}).values())
        self.active = limits.concurrent is not None or any(stated)  # there are limits at all
        find_buckets: Callable[[str | None, str], Buckets] = partial(_find_buckets, limits.rates, keys or {}, models)
        self.find_buckets = lru_cache(_MAX_REMEMBERED)(find_buckets)

    async def count_handshake(self, namespace: str, key: str | None, rate_headers: RateHeaders) -> None:
        """Count the handshake of a WebSocket as a request of a key, to no model. Raises Failure if it has none left."""
        buckets = self.find_buckets(key, "")
        draws = buckets.draw(tokens=0)
        if not draws:
            return
        admission = await self.store.enter(namespace, draws, Limits())
        if admission.result == "empty":
            failure = _make_refusal(buckets, 0, admission.waits, rate_headers=rate_headers)
            raise failure.replace(details={**failure.details, "model": "WebSocket connections"})


_MAX_REMEMBERED = 1000  # pairs of a key and a model


class Buckets(Struct, frozen=True):
    """Those that the requests of a key to a model draw from."""

    requests: tuple[Bucket, ...] = ()
    tokens: tuple[Bucket, ...] = ()
    request: tuple[Draw, ...] = ()  # what one request draws from `requests`

    def draw(self, tokens: int) -> Sequence[Draw]:
        """Return what a request with so many tokens draws."""
        return (*self.request, *self.draw_tokens(tokens))

    def draw_tokens(self, tokens: int) -> Sequence[Draw]:
        """Return draws of tokens only."""
        return [each.draw(tokens) for each in self.tokens]

    def find_standings(self, waits: Waits) -> Standings:
        """Return what remains of requests and of tokens."""
        return Standings(_find_standing(self.requests, waits), _find_standing(self.tokens, waits))


def _find_buckets(
    rates: Rates, keys: Mapping[str, KeySettings], models: Catalogue, key: str | None, model: str
) -> Buckets:
    """Return the buckets that a request of this key to this model draws from; all names of a model share theirs.

    Raises Failure for a model that does not exist.
    """
    models.admit(model)
    known = models.find(model)
    entry = keys.get(key or "")
    rates = layer_rates(rates, known.stated.limits or (), (entry and entry.limits) or ())
    name = compute_fingerprint(key or "", known.name)
    buckets = [make_bucket(rate, name) for rate in rates]
    requests = [each for each in buckets if each.rate.kind == "requests"]
    return Buckets(
        requests=tuple(requests),
        tokens=tuple([each for each in buckets if each.rate.kind == "tokens"]),
        request=tuple([each.draw(1) for each in requests]),
    )


def _find_standing(buckets: Sequence[Bucket], waits: Waits) -> Standing | None:
    """Return what remains in buckets of one kind: of minute and day the one that leaves less."""
    least: Standing | None = None
    for bucket in buckets:
        standing = bucket.find_standing(waits[bucket.name])
        if least is None or (standing.left, -standing.reset) < (least.left, -least.reset):
            least = standing
    return least


class Reservation(Struct):
    """One request's share of the limits."""

    limiter: Limiter
    namespace: str
    rate_headers: RateHeaders
    patient: bool = True  # it can wait
    waited_until: float | None = None  # the time of `monotonic` at which it got the slot that it waited for
    _place: str | None = None
    _buckets: Buckets = Buckets()
    _tokens: int = 0  # that are drawn
    _waits: Waits = {}  # of the buckets that it drew from, if what remains is to be told
    _stated: Headers = ()  # by the answer itself

    def tell(self, headers: Headers | HeaderLines) -> Headers | HeaderLines:
        """Return a reply's headers with what remains, once something is drawn, unless the answer states that itself."""
        if not self._waits:
            return headers
        standings = self._buckets.find_standings(self._waits)
        if not self._stated:
            return put_standings(headers, standings, self.rate_headers)
        stated = {name.lower() for name, _ in self._stated}
        remaining = [header for header in self.rate_headers(standings) if header[0] not in stated]
        return merge_headers(headers, tuple(remaining))

    async def reserve(self, call: Call, key: str | None, policy: Policy, *, receive: Receive) -> Call:
        """Take what a call of a key needs, and wait for a slot, until `receive` tells that the client has left.

        Return the call, with its tokens counted if limits count them. Raises Failure if it is refused, ClientLeftError
        if the client leaves.
        """
        buckets = self.limiter.find_buckets(key, call.model)
        tokens = 0
        if buckets.tokens:
            call = use_tokenizer(call, policy.tokenizer(call.model))
            tokens = await on_thread(getattr, call, "prompt_tokens") if is_large(call) else call.prompt_tokens
        await self.take(buckets, tokens, receive=receive)
        return call

    async def take(self, buckets: Buckets, tokens: int = 0, *, receive: Receive) -> None:
        """Draw a request with so many tokens, and wait for a slot. Raises Failure, ClientLeftError as `reserve`."""
        limits = self.limiter.limits
        store = self.limiter.store
        draws = buckets.draw(tokens)
        if not draws and limits.concurrent is None:
            return
        entry = await store.enter(self.namespace, draws, limits if self.patient else replace(limits, queue=0))
        if entry.result == "no_room":
            raise Failure("overloaded")
        if entry.result == "empty":
            raise _make_refusal(buckets, tokens, entry.waits, rate_headers=self.rate_headers)
        self._place = entry.place
        self._buckets = buckets
        self._tokens = tokens
        self._waits = entry.waits
        if entry.result != "queued":
            return
        try:
            await self._wait(entry.place or "", receive)
        except (Failure, ClientLeftError):
            self.release()
            self._waits = {}
            await store.take(self.namespace, [draw.bucket.draw(-draw.amount) for draw in draws])
            raise
        self.waited_until = monotonic()

    async def _wait(self, place: str, receive: Receive) -> None:
        limits = self.limiter.limits
        slot = asyncio.ensure_future(self.limiter.store.wait(self.namespace, place, limits))
        left = asyncio.create_task(wait_until_left(receive))
        try:
            await asyncio.wait({slot, left}, timeout=limits.patience, return_when=asyncio.FIRST_COMPLETED)
            if left.done():
                raise ClientLeftError
            if not slot.done():
                raise Failure("overloaded")
            slot.result()
        finally:
            slot.cancel()
            left.cancel()

    async def settle(self, outcome: Outcome) -> None:
        """Draw what the answer took beyond its prompt."""
        more = _count_spent(outcome, self._tokens) - self._tokens
        if more and self._buckets.tokens:
            draws = self._buckets.draw_tokens(more)
            self._waits = {**self._waits, **await self.limiter.store.take(self.namespace, draws)}
        if type(outcome) is Failure or type(outcome) is Raw:  # a rule's error, for example, has those that it states
            self._waits = {}
        else:
            self._stated = getattr(outcome, "headers", ())

    def release(self) -> None:
        """Give the slot back."""
        if self._place is not None:
            self.limiter.store.leave(self.namespace, self._place, self.limiter.limits)
            self._place = None


def _make_refusal(buckets: Buckets, tokens: int, waits: Waits, *, rate_headers: RateHeaders) -> Failure:
    """Return the failure of a request for so many tokens for which too little is left."""
    headers = tuple(rate_headers(buckets.find_standings(waits)))
    for bucket in buckets.tokens:
        rate = bucket.rate
        if tokens > rate.limit:
            details = {"kind": rate.kind, "window": rate.window, "most": rate.limit, "asked": tokens}
            return Failure("over_limit", details=details, headers=headers)

    def find_wait(draw: Draw) -> float:
        return waits[draw.bucket.name] + draw.seconds - draw.bucket.seconds

    draw = max(buckets.draw(tokens), key=find_wait)
    bucket = draw.bucket
    rate = bucket.rate
    used = rate.limit - bucket.find_standing(waits[bucket.name]).left
    details = {"kind": rate.kind, "window": rate.window, "most": rate.limit, "used": used, "asked": draw.amount}
    # Rounded up to whole milliseconds, the unit of the headers: a shorter wait would be refused again.
    return Failure("rate_limit", retry_after=math.ceil(find_wait(draw) * 1000) / 1000, details=details, headers=headers)


def _count_spent(outcome: Outcome, needed: int) -> int:
    """Return the tokens that an outcome takes: 0 if it is a failure, those of the prompt if it does not say."""
    if type(outcome) is Answer:  # first, as most are; a match takes far longer
        return outcome.usage.total
    match outcome:
        case Artifact(tokens=int(tokens)):
            return tokens
        case Failure():
            return 0
    return needed
