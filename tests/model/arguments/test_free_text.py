"""The free text of a request: what to look for, what to say."""

import pytest

from mockserver.model.arguments.wording import announced, remainder


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        ("Search for cheap flights to Rome", "query", "cheap flights to Rome"),
        ("please look up the capital of Peru, please", "query", "the capital of Peru"),
        ("Can you search the web for rust traits?", "query", "rust traits"),
        ("tell Bob that we are late", "message", "we are late"),
        ("Reply: I agree. Really.", "message", "I agree. Really."),
        ("remind me to call mom", "task", "call mom"),
        ("cancel it because it broke", "reason", "it broke"),
        ("write a poem about the sea", "topic", "the sea"),
        ("What is this?", "message", None),
        ("Hello", "query", None),
    ],
)
def test_announced(text: str, kind: str, expected: str | None) -> None:
    place = announced(text, kind, ())
    assert (text[slice(*place)] if place else None) == expected


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        ("Who wrote Faust?", "question", "Who wrote Faust?"),
        ("Please calculate 3 apples less", "expression", "3 apples less"),
        ("Translate good morning", "text", "good morning"),
        ("could you play something calm", "", "something calm"),
        ("", "", None),
    ],
)
def test_remaining(text: str, kind: str, expected: str | None) -> None:
    place = remainder(text, kind, ())
    assert (text[slice(*place)] if place else None) == expected
