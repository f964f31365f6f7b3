"""Numbers in words, and the texts that may order something."""

import pytest

from mockserver.model.forms.prompt import Asked, number_of
from mockserver.model.prose.topic import topic


@pytest.mark.parametrize(
    ("word", "number"), [("3", 3), ("three", 3), ("Ten", 10), ("a", 1), ("twenty", 20), ("1000", 1000)]
)
def test_number_of(word: str, number: int) -> None:
    assert number_of(word) == number


def test_both() -> None:
    assert Asked("the user's", "the rules'", topic("x")).both == ("the user's", "the rules'")
