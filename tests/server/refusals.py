"""How a refusal looks, whatever was wrong: the dialect's own error with a 4xx, in time."""

import json
import time
from collections.abc import Mapping
from functools import cache
from typing import Any

from tests.dialects.features import URLS
from tests.dialects.invariants import a_body_is_one_line, has_shape
from tests.kit.asgi import App, app
from tests.kit.local import Answered

Json = Any
HI: Mapping[str, Json] = {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}
REFUSED: Mapping[str, tuple[int, ...]] = {"azure": (400, 422), "fireworks": (422,)}  # the others say 400
PATIENCE = 30.0  # seconds; what takes longest here takes one


@cache
def server() -> App:
    return app(max_body=200_000)


def ask(dialect: str, body: bytes | Json, **more: Any) -> Answered:
    """What a chat request gets, in time."""
    begun = time.perf_counter()
    answered = server().ask(more.pop("path", URLS[dialect]), body, **more)
    assert time.perf_counter() - begun < PATIENCE
    return answered


def assert_refused(answered: Answered, dialect: str, *statuses: int) -> None:
    """It is the dialect's own error, of one of these statuses, or of those that say that a body is wrong."""
    assert answered.status in (statuses or REFUSED.get(dialect, (400,))), answered.body
    a_body_is_one_line(answered)
    json.loads(answered.body.decode("utf-8"), parse_constant=_no_constant)
    has_shape(answered.json, dialect, "error")
    assert answered.source == "invalid"


def _no_constant(name: str) -> None:
    raise AssertionError(f"{name} is no JSON")


def assert_sound(answered: Answered, dialect: str) -> None:
    """It is an answer, or the dialect's own 4xx."""
    if answered.status != 200:
        assert_refused(answered, dialect, *range(400, 500))


def named(answered: Answered) -> str:
    """What the error says and which parameter it names."""
    if isinstance(details := answered.json.get("detail"), list):
        return str(details)
    error = answered.json.get("error")
    error = error if isinstance(error, dict) else answered.json
    return f"{error.get('param')} {error['message']} {error.get('detail')}"
