"""Log probabilities of tokens."""

from math import exp

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver.core.plan import Logprob
from mockserver.core.seed import Seed
from mockserver.core.tokens import split
from mockserver.model.logprobs import make_logprobs


def weighed(text: str, top: int) -> tuple[Logprob, ...]:
    return make_logprobs(split(text), Seed(0).stream("logprobs"), top)


@given(st.text() | st.text("the an ,"), st.integers(0, 20))
def test_each_token_is_weighed(text: str, top: int) -> None:
    found = weighed(text, top)
    assert tuple(one.token for one in found) == split(text)
    for one in found:
        assert one.logprob <= 0
        assert len(one.top) == top
        assert len({token for token, _ in one.top}) == top
        assert sorted(one.top, key=lambda pair: -pair[1]) == list(one.top)
        assert top == 0 or one.top[0] == (one.token, one.logprob)
        assert sum(exp(logprob) for _, logprob in one.top) <= 1


@pytest.mark.parametrize("top", [1, 5, 20])
def test_more_alternatives_change_no_probability(top: int) -> None:
    text = "The same words as before."
    assert [one.logprob for one in weighed(text, top)] == [one.logprob for one in weighed(text, 0)]
    assert [one.top for one in weighed(text, top)] == [one.top[:top] for one in weighed(text, 20)]


def test_pinned_values() -> None:
    assert weighed("Hi there", 2) == (
        Logprob(token="Hi", logprob=-0.129831, top=(("Hi", -0.129831), ("an", -2.798884))),
        Logprob(token=" there", logprob=-0.23054, top=((" there", -0.23054), (" some", -2.273538))),
    )
