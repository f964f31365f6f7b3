from time import monotonic

import pytest
from azure.core.exceptions import HttpResponseError

from app import minutes


@pytest.fixture(autouse=True)
def _no_backoff(monkeypatch):
    monkeypatch.setenv("MINUTES_BACKOFF", "0")


def test_it_tries_again_until_there_is_an_answer(mockserver):
    mockserver.on(attempt=[1, 2]).fail(503)
    mockserver.on(attempt=3).reply("Nothing was decided.")

    assert minutes("A: Well. B: Well.") == "Nothing was decided."
    assert [call.status for call in mockserver.calls] == [503, 503, 200]


def test_it_waits_as_long_as_it_is_told(mockserver):
    mockserver.on().fail(429, retry_after=0.3).times(1)
    mockserver.on().reply("Nothing was decided.")

    began = monotonic()
    assert minutes("A: Well.") == "Nothing was decided."
    assert monotonic() - began >= 0.3


def test_it_takes_another_model_where_the_first_fails(mockserver):
    mockserver.on(model="gpt-4o").fail(503)
    mockserver.on(model="mistral-small").reply("Nothing was decided.")

    assert minutes("A: Well.") == "Nothing was decided."
    mockserver.calls.assert_sequence(*[{"model": "gpt-4o"}] * 3, {"model": "mistral-small"})


def test_a_wrong_key_is_not_tried_again(mockserver):
    mockserver.on().fail("invalid_key").times(1)

    with pytest.raises(HttpResponseError) as caught:
        minutes("A: Well.")

    assert caught.value.status_code == 401
    mockserver.assert_called_once()


def test_it_gives_up(mockserver):
    mockserver.budget(max_calls=6)
    mockserver.on().fail(500)

    with pytest.raises(HttpResponseError):
        minutes("A: Well.")
