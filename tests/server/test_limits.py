"""Rates by a clock that is set by hand, and concurrency; what clients see: tests/limits."""

import asyncio
from typing import Any

import pytest

from mockserver.config.settings import Settings
from mockserver.core.plan import Answer, Choice, Failure, Outcome, Raw, Text
from mockserver.core.plan import Usage as Used
from mockserver.core.rates import Limits, Rate, Standings
from mockserver.dialects import discover
from mockserver.engine.catalogue import Catalogue, Model
from mockserver.kinds.embeddings import Embeddings
from mockserver.server.limits import Charge, Limiter, Reservation
from mockserver.server.snapshot import ClientLeftError
from mockserver.state.in_memory import MemoryLimitStore
from tests.state.test_buckets import Hand

RPM, TPM = Rate("requests", "minute", 3), Rate("tokens", "minute", 100)
MODELS = Catalogue({"*": Model(), "o3": Model(aliases=("o",)), "gpt": Model(limits=(Rate("requests", "minute", 9),))})


def limits(*rates: Rate, clock: Hand | None = None, **more: Any) -> Limiter:
    limiter = Limiter(MemoryLimitStore(clock or Hand()))
    limiter.configure(Limits(rates, **more), {}, MODELS)
    return limiter


async def stay() -> Any:
    return await asyncio.Future()


async def left() -> Any:
    return {"type": "http.disconnect"}


def reserve(limiter: Limiter) -> Reservation:
    return Reservation(limiter, "n", discover()["openai"].rate_limit_headers)


def answer(prompt: int, completion: int, **more: Any) -> Answer:
    return Answer("1", 1, "m", (Choice((Text("x"),)),), Used(prompt, completion), **more)


async def refused(limiter: Limiter, charge: Charge) -> Failure:
    with pytest.raises(Failure) as raised:
        await reserve(limiter).take(charge, stay)
    return raised.value


def test_rates_of_a_key_win_over_those_of_its_model_and_both_over_all() -> None:
    rich = Settings.model_validate({"keys": {"k": {"limits": {"requests_per_minute": 7}}}}).keys
    assert rich is not None
    limiter = Limiter()
    limiter.configure(Limits((RPM, TPM)), rich, MODELS)
    assert limiter.charge(None, "x").rates == (RPM, TPM)
    assert limiter.charge("other", "gpt").rates == (Rate("requests", "minute", 9), TPM)
    assert limiter.charge("k", "gpt").rates == (Rate("requests", "minute", 7), TPM)


def test_buckets_are_those_of_a_key_and_a_model_by_any_name() -> None:
    limiter = limits(RPM, TPM)
    charges = [
        limiter.charge(*of).buckets for of in ((None, "m"), ("k", "m"), ("k", "o3"), ("k", "o"), ("sk-secret", "m"))
    ]
    assert charges[2] == charges[3]
    assert len({bucket for charge in charges for bucket in charge}) == 8
    assert "secret" not in str(charges)


async def test_refusals_name_the_limit_with_the_longest_wait() -> None:
    clock = Hand()
    limiter = limits(RPM, TPM, clock=clock)
    charge = limiter.charge("k", "m").of(40, 40)
    for _ in range(2):
        await reserve(limiter).take(charge, stay)
    clock.at += 1
    failure = await refused(limiter, charge)
    assert failure.details == {"kind": "tokens", "window": "minute", "most": 100, "used": 79, "asked": 40}
    assert failure.retry_after == pytest.approx(11.0)
    await reserve(limiter).take(limiter.charge("k", "m").of(0, 0), stay)
    failure = await refused(limiter, limiter.charge("k", "m").of(0, 0))
    assert (failure.reason, failure.details["kind"], failure.details["used"]) == ("rate_limit", "requests", 3)
    assert failure.retry_after == pytest.approx(19.0)


@pytest.mark.parametrize(
    ("outcome", "spent"),
    [
        (answer(10, 30), 40),
        (answer(4, 2), 6),
        (Embeddings("m", ((0.1,),), 5), 5),
        (Failure("context_length"), 0),
        (Raw(200, ()), 10),
    ],
    ids=["answer", "less than asked", "embeddings", "failure", "raw"],
)
async def test_what_an_outcome_takes(outcome: Outcome, spent: int) -> None:
    limiter = limits(TPM)
    one = reserve(limiter)
    charge = limiter.charge("k", "m").of(10, 10)
    await one.take(charge, stay)
    settled = await one.settle(charge, outcome)
    assert (settled.needed, settled.spent) == (10, spent)
    standings = list[Standings]()
    other = Reservation(limiter, "n", lambda found: standings.append(found) or ())  # type: ignore[func-returns-value]
    await other.take(limiter.charge("k", "m").of(0, 0), stay)
    assert other.headers == ()  # they are made when they are read
    assert standings[0].tokens is not None
    assert standings[0].tokens.left == 100 - spent


async def test_a_settled_charge_draws_the_same_again_but_needs_only_its_prompt() -> None:
    limiter = limits(TPM)
    one = reserve(limiter)
    charge = limiter.charge("k", "m").of(10, 10)
    await one.take(charge, stay)
    charge = await one.settle(charge, answer(10, 30))
    for remaining in ("20", "0"):
        again = reserve(limiter)
        await again.take(charge, stay)
        assert dict(again.headers)["x-ratelimit-remaining-tokens"] == remaining
    await refused(limiter, charge)


async def test_leaving_the_queue_gives_back_what_was_drawn() -> None:
    limiter = limits(RPM, concurrent=1, queue=1)
    charge = limiter.charge("k", "m").of(0, 0)
    working = reserve(limiter)
    await working.take(charge, stay)
    with pytest.raises(ClientLeftError):
        await reserve(limiter).take(charge, left)
    working.release()
    working.release()
    last = reserve(limiter)
    await last.take(charge, stay)
    assert dict(last.headers)["x-ratelimit-remaining-requests"] == "1"


async def test_a_refusal_for_a_rate_keeps_no_slot() -> None:
    limiter = limits(RPM, concurrent=1)
    charge = limiter.charge("k", "m").of(0, 0)
    for _ in range(3):
        one = reserve(limiter)
        await one.take(charge, stay)
        one.release()
    one = reserve(limiter)
    with pytest.raises(Failure, match="rate_limit"):
        await one.take(charge, stay)
    one.release()
    other = reserve(limiter)
    await other.take(limiter.charge("k", "another").of(0, 0), stay)
    with pytest.raises(Failure, match="overloaded"):
        await reserve(limiter).take(limiter.charge("k", "another").of(0, 0), stay)


# --- concurrency


FREE = Charge((), ())


async def test_a_slot_that_comes_as_the_client_leaves_goes_to_the_next() -> None:
    limiter = limits(concurrent=1, queue=2)
    gone, working = asyncio.Event(), reserve(limiter)
    await working.take(FREE, stay)

    async def receive() -> Any:
        await gone.wait()
        return await left()

    first = asyncio.create_task(reserve(limiter).take(FREE, receive))
    await asyncio.sleep(0.01)
    second = asyncio.create_task(reserve(limiter).take(FREE, stay))
    await asyncio.sleep(0.01)
    gone.set()
    await asyncio.sleep(0)  # now the client has left
    working.release()
    with pytest.raises(ClientLeftError):
        await first
    await asyncio.wait_for(second, 5)


async def test_a_wait_that_is_cancelled_leaves_nothing() -> None:
    limiter = limits(concurrent=1, queue=1)
    working, one = reserve(limiter), reserve(limiter)
    await working.take(FREE, stay)
    waiting = asyncio.create_task(one.take(FREE, stay))
    await asyncio.sleep(0.01)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    one.release()
    working.release()
    await reserve(limiter).take(FREE, stay)


async def test_limits_may_be_lifted_while_some_wait() -> None:
    limiter = limits(concurrent=1, queue=2)
    working = reserve(limiter)
    await working.take(FREE, stay)
    waiting = [asyncio.create_task(reserve(limiter).take(FREE, stay)) for _ in range(2)]
    await asyncio.sleep(0.01)
    limiter.limits = Limits()
    working.release()
    await asyncio.gather(*waiting)
