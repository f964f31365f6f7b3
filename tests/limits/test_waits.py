"""The wait that a refusal tells is true, whatever the limits: who comes then succeeds, who comes earlier does not."""

import asyncio
import json
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic_core import SchemaValidator

from mockserver.config.settings import LimitsSetting
from mockserver.config.tables import build_schema
from mockserver.core.http import HttpRequest
from mockserver.core.rates import Limits, LimitStore
from mockserver.core.row import COMPLETE
from mockserver.dialects import discover
from mockserver.server.limits import Limiter
from mockserver.server.respond import Responder
from mockserver.server.routes import find_routes
from mockserver.state.in_memory import MemoryLimitStore
from tests.kit.clock import HandClock
from tests.kit.local import Local, local

WORDS = 40
SAID = st.integers(1, WORDS)
LIMITS = st.fixed_dictionaries(
    {},
    optional={
        "requests_per_minute": st.integers(1, 50),
        "requests_per_day": st.integers(1, 100),
        "tokens_per_minute": st.integers(WORDS + 10, 2000),
        "tokens_per_day": st.integers(WORDS + 10, 2000),
    },
).filter(bool)


@cache
def answering() -> Local:
    rules = [{"when": {"last_user": str(n)}, "then": {"text": "word " * n}} for n in range(1, WORDS + 1)]
    return local(json.dumps({"rules": rules}))


@dataclass(frozen=True)
class Asking:
    limits: Limits
    store: LimitStore
    dialect: str
    body: bytes

    def ask(self) -> tuple[int, float]:
        return asyncio.run(self._asked())

    async def _asked(self) -> tuple[int, float]:
        place = find_routes("openai").find(f"{discover()[self.dialect].mounts[0]}/chat/completions")
        assert place is not None
        http = HttpRequest("POST", "/chat/completions", body=self.body, path_params=place.params)
        live = answering().live
        live.settings = live.settings.model_copy(update={"limits": self.limits})
        live.limiter = Limiter(self.store)
        responder = Responder(live, place.endpoint)
        visit = responder.admit(http)
        answer = await responder.respond(visit)
        visit.end(COMPLETE)
        return answer.reply.status, float(dict(answer.reply.headers).get("retry-after", 0))


def asking(stated: dict[str, Any], dialect: str, body: dict[str, Any], clock: HandClock) -> Asking:
    limits = SchemaValidator(build_schema(LimitsSetting)).validate_python(stated)
    return Asking(limits, MemoryLimitStore(clock.time), dialect, json.dumps({"model": "m", **body}).encode())


@pytest.mark.parametrize("dialect", ["openai", "skytells", "crazyrouter", "tzafon", "fireworks"])
@given(LIMITS, SAID, st.booleans(), st.lists(st.floats(0, 30), min_size=1, max_size=4))
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_the_told_wait_is_true(
    dialect: str, stated: dict[str, Any], said: int, stream: bool, rests: list[float]
) -> None:
    clock = HandClock()
    body = {"stream": stream, "messages": [{"role": "user", "content": str(said)}]}
    client = asking(stated, dialect, body, clock)
    refusals = 0
    for _ in range(300):
        status, wait = client.ask()
        if status == 429:
            refused, refusals = clock.now, refusals + 1
            assert wait > 0
            clock.now = refused + 0.9 * wait
            assert client.ask()[0] == 429
            clock.now = refused + max(wait - 0.002, 0.95 * wait)
            assert client.ask()[0] == 429
            clock.now = refused + wait
            assert client.ask()[0] == 200
            if refusals == len(rests):
                break
            clock.now += rests[refusals]
        else:
            assert status == 200
    assert refusals
