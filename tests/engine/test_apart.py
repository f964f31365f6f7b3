"""Large calls leave the others their turn; small ones are done at once."""

import asyncio
import json
import time
from threading import current_thread, main_thread
from typing import Any

import pytest

from mockserver.core.call import Call, Message
from mockserver.core.http import HttpRequest
from mockserver.core.plan import Failure
from mockserver.engine.apart import LARGE, apart, is_large
from tests.kit.asgi import app


def a_call(text: str = "", body: bytes = b"") -> Call:
    http = HttpRequest("POST", "/", body=body)
    return Call("openai", "chat", "m", http, {}, messages=(Message("user", text), Message("assistant", text)))


def in_main_thread() -> bool:
    return current_thread() is main_thread()


@pytest.mark.parametrize(
    ("call", "large"),
    [
        (a_call(), False),
        (a_call("x" * (LARGE // 2)), False),
        (a_call("x" * (LARGE // 2 + 1)), True),  # each of two messages
        (a_call(body=b"x" * LARGE), False),
        (a_call(body=b"x" * (LARGE + 1)), True),
    ],
    ids=["nothing", "half", "messages", "a body", "a larger body"],
)
def test_what_is_large_is_done_elsewhere(call: Call, large: bool) -> None:
    assert is_large(call) is large
    assert asyncio.run(apart(call, in_main_thread)) is not large


@pytest.mark.parametrize("text", ["", "x" * 2 * LARGE], ids=["small", "large"])
def test_what_fails_apart_fails_here(text: str) -> None:
    def refuse() -> None:
        raise Failure("bad_parameter", "No.")

    with pytest.raises(Failure, match="No"):
        asyncio.run(apart(a_call(text), refuse))


PROPERTIES = {f"p{at}": {"type": "string", "description": "a name"} for at in range(600)}
WIDE = {"type": "object", "properties": PROPERTIES, "required": list(PROPERTIES)}
HARD: dict[str, Any] = {
    "a wide schema": {
        "response_format": {"type": "json_schema", "json_schema": {"name": "wide", "schema": WIDE}},
        "n": 3,
    },
    "a wide tool": {
        "tools": [{"type": "function", "function": {"name": "make", "parameters": WIDE}}],
        "tool_choice": "required",
    },
    "a long prompt": {"messages": [{"role": "user", "content": "12:12 in Rome, named 'Ann', " * 20_000}]},
}


@pytest.mark.parametrize("hard", HARD.values(), ids=HARD)
def test_others_are_served_while_a_large_call_is_answered(hard: dict[str, Any]) -> None:
    """What one request takes of a processor, the others never wait for as a whole."""
    server = app()
    body = {"model": "m", "messages": [{"role": "user", "content": "One for Ann, 42"}], **hard}
    longest, turns = 0.0, 0

    async def others() -> None:
        nonlocal longest, turns
        while True:
            before = time.thread_time()
            await asyncio.sleep(0)
            longest = max(longest, time.thread_time() - before)
            turns += 1

    async def both() -> float:
        task = asyncio.create_task(others())
        await asyncio.sleep(0)
        began = time.process_time()
        answered = await server.answer("/v1/chat/completions", json.dumps(body).encode(), headers={})
        assert answered.status == 200
        task.cancel()
        return time.process_time() - began

    took = asyncio.run(both())
    assert turns > 20
    assert longest < took / 3
