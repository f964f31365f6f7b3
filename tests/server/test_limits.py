"""Rates by a clock that is set by hand, and concurrency; what clients see: tests/limits."""

import asyncio
from typing import Any

import pytest

from mockserver.config.settings import Settings
from mockserver.core.plan import Answer, Choice, Failure, Outcome, Raw, Text
from mockserver.core.plan import Usage as Used
from mockserver.core.rates import Limits, Rate
from mockserver.dialects import discover
from mockserver.engine.catalogue import Catalogue, Model
from mockserver.kinds.embeddings import Embeddings
from mockserver.server.app import Site
from mockserver.server.explain import make_usual_request
from mockserver.server.limits import Buckets, Limiter, Reservation
from mockserver.server.snapshot import ClientLeftError
from mockserver.state.in_memory import MemoryLimitStore
from tests.kit.asgi import App
from tests.kit.local import local
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


async def refused(limiter: Limiter, buckets: Buckets, tokens: int = 0) -> Failure:
    with pytest.raises(Failure) as raised:
        await reserve(limiter).take(buckets, tokens, receive=stay)
    return raised.value


def read_remaining(one: Reservation, kind: str) -> str:
    return dict(one.tell(()))[f"x-ratelimit-remaining-{kind}"]


def test_rates_of_a_key_win_over_those_of_its_model_and_both_over_all() -> None:
    rich = Settings.model_validate({"keys": {"k": {"limits": {"requests_per_minute": 7}}}}).keys
    assert rich is not None
    limiter = Limiter()
    limiter.configure(Limits((RPM, TPM)), rich, MODELS)
    for key, model, requests in ((None, "x", 3), ("other", "gpt", 9), ("k", "gpt", 7)):
        buckets = limiter.find_buckets(key, model)
        assert [each.rate.limit for each in (*buckets.requests, *buckets.tokens)] == [requests, 100]


def test_buckets_are_those_of_a_key_and_a_model_by_any_name() -> None:
    limiter = limits(RPM, TPM)
    found = [limiter.find_buckets(*of) for of in ((None, "m"), ("k", "m"), ("k", "o3"), ("k", "o"), ("sk-secret", "m"))]
    assert found[2] == found[3]
    assert len({bucket for each in found for bucket in (*each.requests, *each.tokens)}) == 8
    assert "secret" not in str(found)


async def test_refusals_name_the_limit_with_the_longest_wait() -> None:
    clock = Hand()
    limiter = limits(RPM, TPM, clock=clock)
    buckets = limiter.find_buckets("k", "m")
    for _ in range(2):
        await reserve(limiter).take(buckets, 40, receive=stay)
    clock.at += 1
    failure = await refused(limiter, buckets, 40)
    assert failure.details == {"kind": "tokens", "window": "minute", "most": 100, "used": 79, "asked": 40}
    assert failure.retry_after == pytest.approx(11.0)
    await reserve(limiter).take(buckets, receive=stay)
    failure = await refused(limiter, buckets)
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
    buckets = limiter.find_buckets("k", "m")
    await one.take(buckets, 10, receive=stay)
    await one.settle(outcome)
    other = reserve(limiter)
    await other.take(buckets, receive=stay)
    assert read_remaining(other, "tokens") == str(100 - spent)


async def test_an_answer_may_take_more_than_is_left() -> None:
    limiter = limits(TPM)
    buckets = limiter.find_buckets("k", "m")
    for remaining in ("60", "20", "0"):
        one = reserve(limiter)
        await one.take(buckets, 10, receive=stay)
        await one.settle(answer(10, 30))
        assert read_remaining(one, "tokens") == remaining
    await refused(limiter, buckets, 10)


async def test_a_bucket_that_was_refilled_before_tokens_are_given_back_is_full() -> None:
    clock = Hand()
    limiter = limits(TPM, clock=clock)
    one = reserve(limiter)
    await one.take(limiter.find_buckets("k", "m"), 10, receive=stay)
    clock.at += 60
    await one.settle(answer(2, 3))
    assert read_remaining(one, "tokens") == "100"
    assert dict(one.tell(()))["x-ratelimit-reset-tokens"] == "0ms"


async def test_leaving_the_queue_gives_back_what_was_drawn() -> None:
    limiter = limits(RPM, concurrent=1, queue=1)
    buckets = limiter.find_buckets("k", "m")
    working = reserve(limiter)
    await working.take(buckets, receive=stay)
    with pytest.raises(ClientLeftError):
        await reserve(limiter).take(buckets, receive=left)
    working.release()
    working.release()
    last = reserve(limiter)
    await last.take(buckets, receive=stay)
    assert read_remaining(last, "requests") == "1"


async def test_a_refusal_for_a_rate_keeps_no_slot() -> None:
    limiter = limits(RPM, concurrent=1)
    buckets = limiter.find_buckets("k", "m")
    for _ in range(3):
        one = reserve(limiter)
        await one.take(buckets, receive=stay)
        one.release()
    one = reserve(limiter)
    with pytest.raises(Failure, match="rate_limit"):
        await one.take(buckets, receive=stay)
    one.release()
    other = reserve(limiter)
    await other.take(limiter.find_buckets("k", "another"), receive=stay)
    with pytest.raises(Failure, match="overloaded"):
        await reserve(limiter).take(limiter.find_buckets("k", "another"), receive=stay)


# --- concurrency


FREE = Buckets()


async def test_a_slot_that_comes_as_the_client_leaves_goes_to_the_next() -> None:
    limiter = limits(concurrent=1, queue=2)
    gone, working = asyncio.Event(), reserve(limiter)
    await working.take(FREE, receive=stay)

    async def receive() -> Any:
        await gone.wait()
        return await left()

    first = asyncio.create_task(reserve(limiter).take(FREE, receive=receive))
    await asyncio.sleep(0.01)
    second = asyncio.create_task(reserve(limiter).take(FREE, receive=stay))
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
    await working.take(FREE, receive=stay)
    waiting = asyncio.create_task(one.take(FREE, receive=stay))
    await asyncio.sleep(0.01)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    one.release()
    working.release()
    await reserve(limiter).take(FREE, receive=stay)


async def test_limits_may_be_lifted_while_some_wait() -> None:
    limiter = limits(concurrent=1, queue=2)
    working = reserve(limiter)
    await working.take(FREE, receive=stay)
    waiting = [asyncio.create_task(reserve(limiter).take(FREE, receive=stay)) for _ in range(2)]
    await asyncio.sleep(0.01)
    limiter.limits = Limits()
    working.release()
    await asyncio.gather(*waiting)


@pytest.mark.parametrize(
    ("dialect", "header"), [("anthropic", "-requests-limit"), ("openai", "x-ratelimit-limit-requ")]
)
def test_successes_and_refusals_tell_what_is_left_and_errors_of_rules_and_mistakes_do_not(
    dialect: str, header: str
) -> None:
    rules = "rules: [{when: {last_user: bad}, then: {error: 500}}]"
    server = App(Site(local(rules, limits={"requests_per_minute": 2}).live))
    asked = {text: make_usual_request(dialect, "chat", "m", text) for text in ("good", "bad")}
    answers = [server.ask(asked[text].path, asked[text].body) for text in ("good", "bad", "good")]
    answers.append(server.ask(asked["good"].path, {}))
    told = [(got.status, any(header in name for name in got.headers)) for got in answers]
    assert told == [(200, True), (500, False), (429, True), (400, False)]
