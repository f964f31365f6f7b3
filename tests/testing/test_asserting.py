"""Assertions on calls: when they hold, and what they say when they do not."""

from collections.abc import Callable

import httpx
import pytest

from mockserver.config.errors import ConfigError
from mockserver.testing import MockServer


@pytest.fixture
def asked(server: MockServer) -> MockServer:
    """A server that was asked three times."""
    server.on().reply("ok")
    for model, text in (("gpt-4o", "plan"), ("gpt-4o", "act"), ("o3", "check")):
        body = {"model": model, "messages": [{"role": "user", "content": text}]}
        httpx.post(f"{server.url}/v1/chat/completions", json=body)
    return server


def test_what_holds(asked: MockServer) -> None:
    asked.assert_called()
    asked.assert_called(last_user="pl*")
    asked.assert_called_once(model="o3")
    asked.assert_called_times(2, model="gpt-4o")
    asked.assert_not_called(model="gpt-5")
    asked.assert_sequence("plan", {"last_user": "act", "model": "gpt-4o"}, {"model": "o3"})
    asked.calls.where(model="o3").assert_called_once_with(last_user="check")


def why(assertion: Callable[[], None]) -> str:
    with pytest.raises(AssertionError) as error:
        assertion()
    return str(error.value)


def test_what_does_not(asked: MockServer) -> None:
    assert why(lambda: asked.assert_called(last_user="acts")).splitlines()[:5] == [
        'expected at least 1 call with last_user="acts", got 0',
        f'  call 2: chat gpt-4o "act" -> {asked.calls[0].source}',
        '    MISS  last_user equals "acts"',
        '          got              "act"',
        "                               ^",
    ]
    assert why(lambda: asked.assert_called_times(3, model="gpt-4o")).startswith("expected 3 calls with model=")
    assert "2 calls received" in why(lambda: asked.assert_called_once(model="gpt-4o"))
    assert "3 calls received" in why(lambda: asked.assert_called_once_with(model="o3"))
    assert 'call 3: chat o3 "check"' in why(lambda: asked.assert_not_called(model="o3"))
    assert why(asked.calls[:0].assert_called).startswith(
        "expected at least 1 call, got 0\nno call came: does the client"
    )


def test_a_sequence_is_told_step_by_step(asked: MockServer) -> None:
    told = why(lambda: asked.assert_sequence("plan", "act now", "check", "report"))
    source = asked.calls[0].source
    assert told.splitlines() == [
        'wrong sequence at step 2: expected last_user="act now", got "act" (call 2)',
        "expected 4 calls, received 3:",
        f'  ok    1. call 1: chat gpt-4o "plan" -> {source}',
        f'  MISS  2. call 2: chat gpt-4o "act" -> {source}',
        '          MISS  last_user equals "act now"',
        '                got              "act"',
        "                                     ^",
        f'  ok    3. call 3: chat o3 "check" -> {source}',
        '  MISS  4. last_user="report": no call',
    ]
    assert "MISS  unexpected: call 2" in why(lambda: asked.assert_sequence("plan"))


def test_a_mistake_is_none_of_the_calls(asked: MockServer) -> None:
    with pytest.raises(ConfigError, match=r'test_asserting.py:\d+:\d+: unknown field "modle"; did you mean "model"'):
        asked.assert_not_called(modle="o3")
