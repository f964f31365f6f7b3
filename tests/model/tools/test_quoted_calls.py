"""Calls that a conversation quotes as text."""

import json

import pytest

from mockserver.core.call import Message
from mockserver.model.tools import with_quoted_calls
from tests.kit.calls import call

ASKED = Message("user", "What is the weather in Paris?")
QUOTED = """Calling tools:
[{'id': 'call_1', 'type': 'function', 'function': {'name': 'get_weather', 'arguments': {'city': "L'Aquila"}}}]"""
OBSERVED = Message("user", "Observation:\nsunny")


def test_what_is_quoted_is_told() -> None:
    _, asked, given = with_quoted_calls(
        call(ASKED, Message("assistant", QUOTED), OBSERVED, tools=["get_weather"])
    ).messages
    (made,) = asked.tool_calls
    assert (made.name, json.loads(made.arguments)) == ("get_weather", {"city": "L'Aquila"})
    assert (given.role, given.text, given.tool_call_id) == ("tool", "sunny", made.id)


@pytest.mark.parametrize(
    "said",
    [
        [ASKED],
        [OBSERVED],
        [ASKED, OBSERVED],
        [ASKED, Message("assistant", QUOTED)],
        [ASKED, Message("user", QUOTED), OBSERVED],
        [ASKED, Message("assistant", QUOTED), Message("user", "Thanks. Observation: sunny")],
        [ASKED, Message("assistant", "Calling tools:"), OBSERVED],
        [ASKED, Message("assistant", "Calling tools:\n[7, {'function': 7}, {'function': {'name': 7}}]"), OBSERVED],
        [ASKED, Message("assistant", "Calling tools:" + "[" * 100_000), OBSERVED],
    ],
)
def test_other_texts_stay_what_they_are(said: list[Message]) -> None:
    assert list(with_quoted_calls(call(*said, tools=["get_weather"])).messages) == said


def test_without_tools_nothing_is_a_call() -> None:
    said = (ASKED, Message("assistant", QUOTED), OBSERVED)
    assert with_quoted_calls(call(*said)).messages == said
