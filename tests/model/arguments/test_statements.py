"""What sentences say of what they name."""

import pytest

from mockserver.model.arguments.reading import statements


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("The capital is Paris, in France.", [("capital", "Paris")]),
        ("Its formula is H2O and its colour is unknown.", [("formula", "H2O")]),
        ("the governing law is that of Delaware.", [("governing law", "Delaware")]),
        ("The total is 45.20 and the tip is 5.", [("total", "45.20"), ("tip", "5")]),
        ("Ottawa is the capital of Canada", [("capital", "Ottawa")]),
        ("It is the end of June", []),
        ("The customer is unhappy with this", []),
    ],
)
def test_names_and_numbers_are_given_to_what_is_named(text: str, told: list[tuple[str, str]]) -> None:
    assert [(mention.key, mention.value) for mention in statements(text)] == told
