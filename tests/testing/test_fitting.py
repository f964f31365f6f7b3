"""What an assertion wants of a call."""

import pytest

from mockserver.config.errors import ConfigError
from mockserver.core.call import Call
from mockserver.core.http import HttpRequest
from mockserver.testing.calls import expectation

CALL = Call("openai", "chat", "gpt-4o", HttpRequest("POST", "/v1/chat/completions"), {})


def test_keywords_are_a_condition() -> None:
    asked = expectation({"model": "gpt*", "not_": {"stream": True}})
    assert asked.matches(CALL)
    assert not asked.matches(None)
    assert not expectation({"model": "o3"}).matches(CALL)
    assert asked.when == {"model": "gpt*", "not": {"stream": True}}
    assert [finding.ok for finding in expectation({"model": "o3", "stream": False}).results(CALL)] == [False, True]


def test_without_any_every_call_fits() -> None:
    assert expectation({}).matches(CALL)


def test_mistakes_stand_in_the_line_of_the_caller() -> None:
    line = test_mistakes_stand_in_the_line_of_the_caller.__code__.co_firstlineno + 3
    with pytest.raises(ConfigError, match=rf"tests/testing/test_fitting.py:{line}:9: .*turn"):
        expectation({"turn": {"contains": "x"}})
