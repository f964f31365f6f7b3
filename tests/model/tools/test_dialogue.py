"""What the user answers when the assistant asked something."""

import pytest

from mockserver.core.call import Call, Message
from mockserver.model.tools.clauses import answers, reopened
from tests.kit.calls import call


def answered(asked: str, text: str) -> Call:
    return call("cancel an order", Message("assistant", asked), text)


@pytest.mark.parametrize("text", ["5512", "order 88, $20", "yes, go ahead", "the blue one"])
def test_values_and_consent_are_answers(text: str) -> None:
    assert answers(answered("Which order?", text))


@pytest.mark.parametrize("text", ["no thanks", "never mind", "show me all orders", "which are there?", "x" * 500])
def test_refusals_and_new_requests_are_none(text: str) -> None:
    assert not answers(answered("Which order?", text))


def test_without_a_question_there_is_no_answer() -> None:
    assert not answers(answered("It is cancelled.", "5512"))
    assert not answers(call("5512"))


def test_what_is_open_again() -> None:
    assert list(reopened(answered("Which order?", "5512"))) == ["cancel an order"]
    assert list(reopened(answered("Hm. Shall I cancel order 3?", "yes"))) == ["cancel order 3?", "cancel an order"]
    assert list(reopened(answered("Which order?", "no"))) == []
