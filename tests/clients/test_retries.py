"""What the clients do on their own when a call fails, and what the server sees of it."""

import openai
import pytest
from openai import OpenAI

from tests.clients.payloads import MODEL, say
from tests.kit.capture import ResponseCapture
from tests.kit.served import Served


def seen(server: Served, capture: ResponseCapture) -> list[tuple[int, str]]:
    """Status and namespace of every call that the client made, by the server's own journal."""
    numbers = [received.number for received in capture.responses]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers))), "somebody else called meanwhile"
    return [(server.logged(number)["status"], server.logged(number)["namespace"]) for number in numbers]


@pytest.mark.parametrize(("model", "status"), [("busy-twice", 429), ("broken-twice", 500)])
@pytest.mark.parametrize("stream", [False, True])
def test_failing_twice_then_succeeding(
    client: OpenAI, server: Served, capture: ResponseCapture, *, model: str, status: int, stream: bool
) -> None:
    namespace = f"{model}-{stream}"
    own = client.with_options(base_url=server.base("openai", namespace))

    with own.chat.completions.with_streaming_response.create(model=model, messages=say("please"), stream=stream) as raw:
        raw.read()
        assert raw.retries_taken == 2

    assert capture.last.headers["x-mockserver-source"].endswith("after the failures")
    assert seen(server, capture) == [(status, namespace), (status, namespace), (200, namespace)]


def test_a_client_that_gives_up_earlier(client: OpenAI, server: Served, capture: ResponseCapture) -> None:
    own = client.with_options(base_url=server.base("openai", "impatient"), max_retries=1)

    with pytest.raises(openai.RateLimitError) as raised:
        own.chat.completions.create(model="busy-twice", messages=say("please"))

    assert raised.value.response.headers["retry-after"] == "0.01"
    assert raised.value.response.headers["retry-after-ms"] == "10"
    assert raised.value.response.headers["x-ratelimit-remaining-requests"] == "0"
    assert len(capture.responses) == 2


def test_a_rule_that_forbids_retries(client: OpenAI, capture: ResponseCapture) -> None:
    with pytest.raises(openai.RateLimitError):
        client.chat.completions.create(model="stubborn", messages=say("please"))

    assert capture.last.headers["x-should-retry"] == "false"
    assert len(capture.responses) == 1


def test_a_client_that_leaves_in_the_middle(client: OpenAI, server: Served, capture: ResponseCapture) -> None:
    stream = client.chat.completions.create(model=MODEL, messages=say("trickle"), stream=True)
    assert next(stream).choices[0].delta.role == "assistant"
    stream.close()

    assert server.logged(capture.last.number)["ended"] == "client left"
    completion = client.chat.completions.create(model=MODEL, messages=say("hello"))
    assert completion.choices[0].message.content == "Hello! How can I help you today?"
