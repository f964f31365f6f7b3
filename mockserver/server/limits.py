"""Limits that users configure, held against each request: how much its key may ask of its model, and how many at once.

They are held before anything is planned, so that a refused request has used up nothing. Knows no provider's words.
"""

import asyncio
import math
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from starlette.types import Receive

from mockserver.config.access import Key
from mockserver.config.settings import Settings
from mockserver.core.call import Call, fingerprint
from mockserver.core.http import Headers
from mockserver.core.plan import Answer, Embeddings, Failure, Outcome, Plan, Raw
from mockserver.core.rates import Kind, Limits, Rate, Rates, Standing, Standings, layered
from mockserver.core.seed import monotonic
from mockserver.core.store import Buckets, Draw
from mockserver.delivery.connection import departure
from mockserver.engine.answer import counted
from mockserver.engine.catalogue import Catalogue
from mockserver.engine.engine import Engine
from mockserver.engine.offload import apart
from mockserver.rules.answer.checks import ASKED
from mockserver.server.snapshot import ClientLeftError
from mockserver.state.memory import MemoryBuckets

_Place = asyncio.Future[None]  # in the queue


class CrowdedError(Exception):
    """A request may not wait for a slot, or no longer."""


class GoneError(Exception):
    """The client has left while its request waited for a slot."""


@dataclass(slots=True)
class Slots:
    """Who is at work and who waits, in each namespace; `limits` may change meanwhile."""

    limits: Limits
    _at_work: dict[str, int] = field(default_factory=dict)
    _waiting: dict[str, dict[_Place, None]] = field(default_factory=dict)  # in order of arrival

    def begin(self, namespace: str) -> bool:
        """Take a slot if one is free and nobody waits for it; `end` gives it back."""
        count = self._at_work.get(namespace, 0)
        if count >= self._most() or namespace in self._waiting:
            return False
        self._at_work[namespace] = count + 1
        return True

    def full(self, namespace: str) -> bool:
        """Whether a request that comes now may not even wait."""
        if self._at_work.get(namespace, 0) < self._most() and namespace not in self._waiting:
            return False
        return len(self._waiting.get(namespace, ())) >= self.limits.queue

    async def wait(self, namespace: str, gone: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Wait for a slot behind those who wait already; `end` gives it back.

        Raises CrowdedError and GoneError (`gone()` is over), and then there is no slot to give back.
        """
        if self.begin(namespace):  # one has become free since the caller asked
            return
        if self.full(namespace):
            raise CrowdedError
        place = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(namespace, {})[place] = None
        left = asyncio.create_task(gone())
        try:
            await asyncio.wait({place, left}, timeout=self.limits.patience, return_when=asyncio.FIRST_COMPLETED)
            if left.done():
                raise GoneError
            if not place.done():
                raise CrowdedError
        except BaseException:
            self._give_up(namespace, place)
            raise
        finally:
            left.cancel()

    def end(self, namespace: str) -> None:
        """Give a slot back, to whoever has waited longest."""
        count = self._at_work[namespace] - 1
        waiting = self._waiting.get(namespace)
        while waiting and count < self._most():
            place = next(iter(waiting))
            self._forget(namespace, place)
            place.set_result(None)
            count += 1
        if count:
            self._at_work[namespace] = count
        else:
            del self._at_work[namespace]

    def _give_up(self, namespace: str, place: _Place) -> None:
        """Leave the queue, or give back the slot that came just then."""
        if place.done():
            self.end(namespace)
        else:
            self._forget(namespace, place)

    def _forget(self, namespace: str, place: _Place) -> None:
        waiting = self._waiting[namespace]
        del waiting[place]
        if not waiting:
            del self._waiting[namespace]

    def _most(self) -> float:
        return math.inf if self.limits.concurrent is None else self.limits.concurrent


LIMITED = frozenset((*ASKED, "compact_response"))  # to look up what there is costs nothing
REFUSALS = frozenset({"rate_limit", "over_limit", "overloaded"})

Tell = Callable[[Standings], Headers]


@dataclass(slots=True)
class Ledger:
    """What requests have used of their limits, and who is at work or waits; a reload leaves it as it is."""

    buckets: Buckets = field(default_factory=MemoryBuckets)
    slots: Slots = field(default_factory=lambda: Slots(Limits()))

    async def clear(self, namespace: str) -> None:
        """Forget what requests of a namespace have used; who is at work stays so."""
        await self.buckets.clear(namespace)


@dataclass(frozen=True, slots=True)
class Limiter:
    """The limits of the settings, for keys and models, and what is used of them."""

    limits: Limits
    keys: Mapping[str, Key]
    models: Catalogue
    ledger: Ledger = field(default_factory=Ledger)

    def bill(self, key: str | None, model: str) -> "Bill":
        """What a request of this key to this model draws on; a model is the same under all its names."""
        known, entry = self.models.find(model), self.keys.get(key or "")
        rates = layered(self.limits.rates, known.stated.limits or (), (entry and entry.limits) or ())
        name = fingerprint(key or "", known.name)
        return Bill(rates, tuple(f"{rate.kind} {rate.window} {name}" for rate in rates))


def limiter(settings: Settings, models: Catalogue, ledger: Ledger) -> Limiter | None:
    """The limits that settings state anywhere; None where they state none."""
    ledger.slots.limits = settings.limits
    keys = settings.keys or {}
    stated = settings.limits.rates or settings.limits.concurrent is not None
    stated = stated or any(key.limits for key in keys.values())
    stated = stated or any(model.limits for model in (models.entries or {}).values())
    return Limiter(settings.limits, keys, models, ledger) if stated else None


@dataclass(frozen=True, slots=True)
class Bill:
    """What a request draws each time that it is made: `asked` tokens must be there, `spent` are taken.

    `stated`: the headers that its answer states itself, whatever is true.
    """

    rates: Rates
    buckets: tuple[str, ...]
    asked: int = 0
    spent: int = 0
    draws: tuple[Draw, ...] = ()
    too_large: Rate | None = None  # the rate that could never give so much at once
    stated: frozenset[str] = frozenset()

    @property
    def counts_tokens(self) -> bool:
        """Whether it matters how many tokens there are."""
        return any(rate.kind == "tokens" for rate in self.rates)

    def of(self, asked: int, spent: int, stated: Headers = ()) -> "Bill":
        """The bill for a prompt of so many tokens, which with its answer takes so many."""
        draws = tuple(self._drawn({"requests": (1, 1), "tokens": (asked, spent)}))
        names = frozenset(name.lower() for name, _ in stated)
        too_large = next((rate for rate in self.rates if rate.kind == "tokens" and asked > rate.limit), None)
        return replace(self, asked=asked, spent=spent, draws=draws, too_large=too_large, stated=names)

    def more(self, tokens: int, requests: int = 0) -> tuple[Draw, ...]:
        """Draws of so much on top, whatever is there; less than nothing gives back."""
        return tuple(self._drawn({"requests": (-math.inf, requests), "tokens": (-math.inf, tokens)}))

    def _drawn(self, amounts: Mapping[Kind, tuple[float, int]]) -> "list[Draw]":
        return [
            Draw(bucket, rate.seconds, needed * rate.refill(1), rate.refill(taken))
            for rate, bucket in zip(self.rates, self.buckets, strict=True)
            for needed, taken in (amounts[rate.kind],)
        ]


@dataclass(slots=True)
class Visit:
    """One request's way through the limits; `headers` then tell its client how it stands, if it gets an answer.

    `waited_until`: when it got a turn that it had to wait for, on the clock of `monotonic`. `patient`: whether it can
    wait for one at all.
    """

    limiter: Limiter
    namespace: str
    tell: Tell
    receive: Receive
    headers: Headers = ()
    waited_until: float | None = None
    patient: bool = True
    _at_work: bool = False

    async def enter(self, bill: Bill) -> None:
        """Draw what the bill says and wait for a slot.

        Raises Failure where there is not enough or too many wait, ClientLeftError when the client leaves meanwhile.
        """
        ledger, limited = self.limiter.ledger, self.limiter.limits.concurrent is not None
        if limited:
            self._at_work = ledger.slots.begin(self.namespace)
            if not self._at_work and (not self.patient or ledger.slots.full(self.namespace)):
                raise Failure("overloaded")
        if bill.draws:
            draws = bill.draws if bill.too_large is None else bill.more(0)
            drawn, waits = await ledger.buckets.draw(self.namespace, draws)
            self._tell(bill, waits, drawn=drawn)
        if self._at_work or not limited:
            return
        try:
            await ledger.slots.wait(self.namespace, lambda: departure(self.receive))
        except (CrowdedError, GoneError) as why:
            self.headers = ()
            await ledger.buckets.draw(self.namespace, bill.more(-bill.spent, -1))
            raise ClientLeftError if isinstance(why, GoneError) else Failure("overloaded") from why
        self._at_work, self.waited_until = True, monotonic()

    async def planned(self, call: Call, key: str | None, engine: Engine) -> tuple[Plan, Bill]:
        """What to answer within the limits, and the bill for it.

        What is refused for its model counts for nothing, any other failure does. Raises Failure, ClientLeftError.
        """
        engine.policy.models.admit(call.model)
        bill, tokens = self.limiter.bill(key, call.model), 0
        if bill.counts_tokens:
            call = counted(call, engine.policy.tokenizer(call.model))
            tokens = await apart(call, lambda: call.prompt_tokens)
        bill = bill.of(tokens, tokens)
        await self.enter(bill)
        try:
            plan = await engine.plan(call)
        except Failure as failure:
            plan = Plan(failure, "invalid")
        return plan, await self.settle(bill, plan.outcome)

    async def settle(self, bill: Bill, outcome: Outcome) -> Bill:
        """Draw what the answer took beyond its prompt; the bill for the same request from now on."""
        spent = _spent(outcome, bill.asked)
        if spent != bill.asked:
            _, waits = await self.limiter.ledger.buckets.draw(self.namespace, bill.more(spent - bill.asked))
            self.headers = self.tell(_standings(bill.rates, waits))
        as_made = isinstance(outcome, Failure | Raw)  # by a rule, say, which wants it so
        stated = self.headers if as_made else getattr(outcome, "headers", ())
        bill = bill.of(bill.asked, spent, stated)
        self._hide(bill.stated)
        return bill

    def leave(self) -> None:
        """The answer has gone out, or never will: its slot is another's."""
        if self._at_work:
            self._at_work = False
            self.limiter.ledger.slots.end(self.namespace)

    def _tell(self, bill: Bill, waits: Sequence[float], *, drawn: bool) -> None:
        """Have headers tell how the client stands now, or be part of the failure."""
        headers, larger = self.tell(_standings(bill.rates, waits)), bill.too_large
        if larger is not None:
            details = {"kind": larger.kind, "window": larger.window, "most": larger.limit, "asked": bill.asked}
            raise Failure("over_limit", details=details, headers=headers)
        if not drawn:
            raise _refused(bill, waits, headers)
        self.headers = headers
        if bill.stated:
            self._hide(bill.stated)

    def _hide(self, names: frozenset[str]) -> None:
        """Leave to the answer what it states itself."""
        self.headers = tuple(header for header in self.headers if header[0] not in names)


def _refused(bill: Bill, waits: Sequence[float], headers: Headers) -> Failure:
    """The failure that names the limit for which there is longest to wait."""
    wait, at = max(
        (wait + draw.needed - draw.window, -at) for at, (wait, draw) in enumerate(zip(waits, bill.draws, strict=True))
    )
    rate = bill.rates[-at]
    asked = bill.asked if rate.kind == "tokens" else 1
    used = rate.limit - rate.standing(waits[-at]).left
    details = {"kind": rate.kind, "window": rate.window, "most": rate.limit, "used": used, "asked": asked}
    # In whole milliseconds, as headers tell it, and never too short.
    return Failure("rate_limit", retry_after=math.ceil(wait * 1000) / 1000, details=details, headers=headers)


def _standings(rates: Rates, waits: Sequence[float]) -> Standings:
    """How a client stands: by minute and day, whichever leaves it less."""
    requests = tokens = None
    for rate, wait in zip(rates, waits, strict=True):
        standing = rate.standing(wait)
        if rate.kind == "requests":
            requests = standing if requests is None else _narrower(requests, standing)
        else:
            tokens = standing if tokens is None else _narrower(tokens, standing)
    return Standings(requests, tokens)


def _narrower(one: Standing, other: Standing) -> Standing:
    return min(one, other, key=lambda standing: (standing.left, -standing.reset))


def _spent(outcome: Outcome, asked: int) -> int:
    """The tokens that an outcome takes: none if it is a failure, those of the prompt if it does not say."""
    match outcome:
        case Answer():
            return outcome.usage.total
        case Embeddings():
            return outcome.prompt_tokens
        case Failure():
            return 0
    return asked
