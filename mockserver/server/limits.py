"""The configured limits, applied to each request: rates for keys and models, and how many requests run at once.

They apply before an answer is planned, so a refused request uses nothing.
"""

import asyncio
import gc
import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from threading import Lock
from typing import NamedTuple, Protocol

from msgspec import Struct
from msgspec.structs import replace
from starlette.types import Receive

from mockserver.config.settings import KeySettings
from mockserver.core.call import Call, compute_fingerprint
from mockserver.core.http import Headers
from mockserver.core.lazy import forget_remembered
from mockserver.core.plan import Answer, Artifact, Failure, Outcome, Raw
from mockserver.core.rates import Draw, Kind, Limits, LimitStore, Rate, Rates, Standing, Standings, layer_rates
from mockserver.core.seed import monotonic
from mockserver.delivery.connection import wait_until_left
from mockserver.engine.answer import use_tokenizer
from mockserver.engine.catalogue import Catalogue
from mockserver.engine.offload import is_large, on_thread
from mockserver.engine.policy import Policy
from mockserver.kinds import OPERATIONS
from mockserver.server.snapshot import ClientLeftError
from mockserver.state.in_memory import MemoryLimitStore

LIMITED = frozenset(name for name, kind in OPERATIONS.items() if kind.is_limited)  # look-ups are free
LIMIT_REASONS = frozenset({"rate_limit", "over_limit", "overloaded"})

RateHeaders = Callable[[Standings], Headers]


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
        self.configure(Limits(), None, Catalogue())

    def configure(self, limits: Limits, keys: Mapping[str, KeySettings] | None, models: Catalogue) -> None:
        self.limits = limits
        self._keys = keys or {}
        self._models = models
        stated = (limits.rates, *(key.limits for key in self._keys.values()))
        stated += tuple(model.limits for model in (models.entries or {}).values())
        self.active = limits.concurrent is not None or any(stated)  # there are limits at all
        self.charge: Callable[[str | None, str], Charge] = lru_cache(_MAX_CHARGES)(self._charge_of)

    def _charge_of(self, key: str | None, model: str) -> "Charge":
        """Return the buckets that a request of this key to this model draws from; all names of a model share theirs."""
        known = self._models.find(model)
        entry = self._keys.get(key or "")
        rates = layer_rates(self.limits.rates, known.stated.limits or (), (entry and entry.limits) or ())
        name = compute_fingerprint(key or "", known.name)
        return Charge(
            rates,
            tuple([_make_bucket(rate, name) for rate in rates]),
            counts_tokens=any(rate.kind == "tokens" for rate in rates),
        )

    async def count_handshake(self, namespace: str, key: str | None, rate_headers: RateHeaders) -> None:
        """Count the handshake of a WebSocket as a request of a key, to no model. Raises Failure if it has none left."""
        charge = self.charge(key, "")
        if not charge.rates:
            return
        admission = await self.store.enter(namespace, charge.draws, Limits())
        if admission.result == "empty":
            left = rate_headers(_find_standings(charge.rates, admission.waits))
            failure = _limit_failure(charge, charge.draws, admission.waits, left)
            raise failure.replace(details={**failure.details, "model": "WebSocket connections"})


_MAX_CHARGES = 1000  # pairs of a key and a model


class Bucket(Struct, frozen=True):
    """Where a rate counts what is drawn; of most requests all but the tokens is known beforehand."""

    name: str
    rate: Rate
    counts_tokens: bool
    request: Draw  # of one request
    look: Draw  # draws nothing: it only looks

    def draw(self, needed: float, taken: int) -> Draw:
        return Draw(self.name, self.request.window, needed=needed * self.request.taken, taken=self.rate.refill(taken))


def _make_bucket(rate: Rate, name: str) -> Bucket:
    name = f"{rate.kind} {rate.window} {name}"
    window = rate.seconds
    one = rate.refill(1)
    counts_tokens = rate.kind == "tokens"
    return Bucket(
        name,
        rate,
        counts_tokens=counts_tokens,
        request=Draw(name, window, needed=one, taken=one),
        look=Draw(name, window, needed=-math.inf, taken=0.0),
    )


class Charge(Struct, frozen=True):
    """What a request draws each time it is sent."""

    rates: Rates
    buckets: tuple[Bucket, ...]
    counts_tokens: bool = False
    needed: int = 0  # tokens that must be available
    spent: int = 0  # tokens that are taken
    stated: frozenset[str] = frozenset()  # the limit headers that its answer sets itself

    def of(self, needed: int, spent: int, stated: frozenset[str] = frozenset()) -> "Charge":
        """Return the charge for a prompt of `needed` tokens that takes `spent` with its answer."""
        return Charge(
            self.rates, self.buckets, counts_tokens=self.counts_tokens, needed=needed, spent=spent, stated=stated
        )

    @property
    def draws(self) -> Sequence[Draw]:
        needed = self.needed
        spent = self.spent
        return [each.draw(needed, spent) if each.counts_tokens else each.request for each in self.buckets]

    @property
    def too_large(self) -> Rate | None:
        """The rate that never allows so many tokens at once."""
        for rate in self.rates:
            if rate.kind == "tokens" and self.needed > rate.limit:
                return rate
        return None

    def more(self, tokens: int, requests: int = 0) -> Sequence[Draw]:
        """Return draws of this much more, whatever is available; negative amounts give back."""
        amounts = [tokens if each.counts_tokens else requests for each in self.buckets]
        return [
            each.draw(-math.inf, amount) if amount else each.look
            for each, amount in zip(self.buckets, amounts, strict=True)
        ]


class ReservedCall(NamedTuple):
    """A call, with its tokens counted if limits count them, and what it draws."""

    call: Call
    charge: Charge


class Reservation(Struct):
    """One request's share of the limits."""

    limiter: Limiter
    namespace: str
    rate_headers: RateHeaders
    waited_until: float | None = None  # the time of `monotonic` at which it got the slot that it waited for
    patient: bool = True  # it can wait
    _place: str | None = None
    _drawn: tuple[Charge, Sequence[float]] | None = None  # and the seconds until each bucket is full
    _headers: Headers | None = None  # made of `_drawn` when they are read

    @property
    def headers(self) -> Headers:
        """What remains, once something is drawn, without the headers that the answer states itself."""
        if self._headers is None:
            self._headers = ()
            if self._drawn is not None:
                charge, waits = self._drawn
                made = self.rate_headers(_find_standings(charge.rates, waits))
                self._headers = _drop_headers(made, charge.stated) if charge.stated else made
        return self._headers

    async def reserve(self, call: Call, key: str | None, policy: Policy, *, receive: Receive) -> ReservedCall:
        """Take what a call of a key needs, and wait for a slot, until `receive` tells that the client has left.

        Raises Failure if it is refused, ClientLeftError if the client leaves.
        """
        policy.models.admit(call.model)
        charge = self.limiter.charge(key, call.model)
        tokens = 0
        if charge.counts_tokens:
            call = use_tokenizer(call, policy.tokenizer(call.model))
            tokens = await on_thread(getattr, call, "prompt_tokens") if is_large(call) else call.prompt_tokens
        charge = charge.of(tokens, tokens)
        await self.take(charge, receive)
        return ReservedCall(call, charge)

    async def take(self, charge: Charge, receive: Receive) -> None:
        """Draw a charge and wait for a slot. Raises Failure if refused, ClientLeftError if the client leaves."""
        limits = self.limiter.limits
        store = self.limiter.store
        if not charge.rates and limits.concurrent is None:
            return
        too_large = charge.too_large
        draws = charge.draws if too_large is None else charge.more(0)
        entry = await store.enter(self.namespace, draws, limits if self.patient else replace(limits, queue=0))
        self._place = entry.place
        if entry.result == "no_room":
            raise Failure("overloaded")
        if draws:
            if too_large is not None:
                raise _refuse_over_limit(too_large, charge, self._remaining(charge, entry.waits))
            if entry.result == "empty":
                raise _limit_failure(charge, draws, entry.waits, self._remaining(charge, entry.waits))
            self._drawn = (charge, entry.waits)
            self._headers = None
        if entry.result != "queued":
            return
        try:
            await self._wait(entry.place or "", receive)
        except (Failure, ClientLeftError):
            self.release()
            self._drawn = None
            await store.take(self.namespace, charge.more(-charge.spent, -1))
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

    async def settle(self, charge: Charge, outcome: Outcome) -> Charge:
        """Draw what the answer took beyond its prompt; return the charge for the same request from now on."""
        spent = _count_spent(outcome, charge.needed)
        waits: Sequence[float] = () if self._drawn is None else self._drawn[1]
        if charge.counts_tokens and spent != charge.needed:
            waits = await self.limiter.store.take(self.namespace, charge.more(spent - charge.needed))
        if type(outcome) is Failure or type(outcome) is Raw:  # a rule's error, for example, has those that it states
            stated = self._remaining(charge, waits)
        else:
            stated = getattr(outcome, "headers", ())
        names = frozenset([name.lower() for name, _ in stated]) if stated else _NO_NAMES
        charge = charge.of(charge.needed, spent, names)
        self._drawn = (charge, waits)
        self._headers = None
        return charge

    def release(self) -> None:
        if self._place is not None:
            self.limiter.store.leave(self.namespace, self._place, self.limiter.limits)
            self._place = None

    def _remaining(self, charge: Charge, waits: Sequence[float]) -> Headers:
        return self.rate_headers(_find_standings(charge.rates, waits))


def _drop_headers(headers: Headers, names: frozenset[str]) -> Headers:
    return tuple([header for header in headers if header[0] not in names])


def _refuse_over_limit(rate: Rate, charge: Charge, headers: Headers) -> Failure:
    details = {"kind": rate.kind, "window": rate.window, "most": rate.limit, "asked": charge.needed}
    return Failure("over_limit", details=details, headers=headers)


def _limit_failure(charge: Charge, draws: Sequence[Draw], waits: Sequence[float], headers: Headers) -> Failure:
    wait, at = max(
        (wait + draw.needed - draw.window, -at) for at, (wait, draw) in enumerate(zip(waits, draws, strict=True))
    )
    rate = charge.rates[-at]
    asked = charge.needed if rate.kind == "tokens" else 1
    used = rate.limit - rate.compute_standing(waits[-at]).left
    details = {"kind": rate.kind, "window": rate.window, "most": rate.limit, "used": used, "asked": asked}
    # Rounded up to whole milliseconds, the unit of the headers: a shorter wait would be refused again.
    return Failure("rate_limit", retry_after=math.ceil(wait * 1000) / 1000, details=details, headers=headers)


def _find_standings(rates: Rates, waits: Sequence[float]) -> Standings:
    """Return what remains of requests and of tokens; of minute and day the one that leaves less."""
    found: dict[Kind, Standing] = {}
    for rate, wait in zip(rates, waits, strict=True):
        standing = rate.compute_standing(wait)
        other = found.get(rate.kind)
        if other is None or (standing.left, -standing.reset) < (other.left, -other.reset):
            found[rate.kind] = standing
    return Standings(found.get("requests"), found.get("tokens"))


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


_NO_NAMES = frozenset[str]()
