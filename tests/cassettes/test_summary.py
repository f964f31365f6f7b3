"""A call in one line, from what all dialects have in common."""

import json
from dataclasses import replace

import pytest

from mockserver.cassettes.format import summary
from mockserver.core.json import Json
from tests.cassettes import samples


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"messages": [{"role": "user", "content": "One"}, {"role": "assistant", "content": "Two"}]}, '"One"'),
        (
            {"messages": [{"role": "user", "content": [{"type": "text", "text": "A"}, {"x": 1}, {"text": "B"}]}]},
            '"A B"',
        ),
        ({"messages": [{"role": "system", "content": "S"}]}, "POST /v1/chat/completions"),
        ({"input": "An input"}, '"An input"'),
        ({"input": ["one", "two"]}, '"one two"'),
        ({"input": [{"role": "user", "content": "In"}, {"type": "function_call_output"}]}, '"In"'),
        ({"prompt": "Once"}, '"Once"'),
        ({"prompt": [1, 2]}, "POST /v1/chat/completions"),
        ({"prompt": "a\n\t b\x00\x1b[31m\u2028c"}, '"a b [31m c"'),
        ({"prompt": "x" * 200}, '"' + "x" * 79 + '…"'),
        ({"prompt": "x" * 79 + " " * 400}, '"' + "x" * 79 + '…"'),
        ({"messages": {"role": "user"}}, "POST /v1/chat/completions"),
        ([1], "POST /v1/chat/completions"),
        ("no object", "POST /v1/chat/completions"),
    ],
)
def test_what_the_user_said_last(body: Json, said: str) -> None:
    episode = samples.plain()
    episode = replace(episode, request=replace(episode.request, body=json.dumps(body).encode()))
    assert summary(episode) == f"openai chat gpt-4o: {said} -> 200"


def test_calls_without_a_body_say_their_path() -> None:
    episode = samples.plain()
    request = replace(episode.request, method="GET", path="/v1/models", body=b"\xff")
    episode = replace(episode, operation="models", model="", request=request)
    assert summary(episode) == "openai models: GET /v1/models -> 200"


def test_streams_say_how_many_events_came() -> None:
    assert summary(samples.stream(events=11)) == (
        'openai chat gpt-4o, streamed: "What is the weather in Oslo?" -> 200, 12 events'
    )
    assert summary(samples.stream(events=0)).endswith("-> 200, 1 event")
