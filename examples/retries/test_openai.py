import pytest
from openai import OpenAI, RateLimitError


def ask(client):
    answer = client.chat.completions.create(model="gpt-4o", messages=[{"role": "user", "content": "Hello"}])
    return answer.choices[0].message.content


def test_the_client_tries_again(mockserver):
    mockserver.on().fail(503, retry_after=0.01).times(2)
    mockserver.on().reply("Hi!")

    assert ask(OpenAI()) == "Hi!"  # max_retries is 2
    assert [call.status for call in mockserver.calls] == [503, 503, 200]


def test_the_client_gives_up(mockserver):
    mockserver.on().fail(429, retry_after=0.01)

    with pytest.raises(RateLimitError):
        ask(OpenAI(max_retries=1))
    assert len(mockserver.calls) == 2


def test_without_retries_the_first_error_is_raised(mockserver):
    mockserver.on().fail(429).times(1)

    with pytest.raises(RateLimitError):
        ask(OpenAI(max_retries=0))
