"""Sums."""

import pytest

from mockserver.model.prose.formats import computed


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("What is 2+3?", "2+3 = 5"),
        ("¿Cuánto es 5 + 7?", "5 + 7 = 12"),
        ("2 + 3 * (4 - 1) =", "2 + 3 * (4 - 1) = 11"),
        ("What's 7 times 6", "7 * 6 = 42"),
        ("What is 007 + 1.05?", "007 + 1.05 = 8.05"),
        ("Calculate 1 / 3", "1 / 3 = 0.3333333333"),
        ("how much is 1,000 - 0.5", "1,000 - 0.5 = 999.5"),
        ("What is the sum of 2 and 3?", "2 + 3 = 5"),
        ("Multiply 4 by 2.5", "4 * 2.5 = 10"),
        ("Subtract 2 from 5.", "5 - 2 = 3"),
        ("What is 10 ÷ 4?", "10 / 4 = 2.5"),
        ("What is 1/0?", "That cannot be computed: it divides by zero."),
    ],
)
def test_computed(text: str, answer: str) -> None:
    assert computed(text, bare=False) == answer
    assert computed(text, bare=True) == answer.rpartition("= ")[2]


@pytest.mark.parametrize(
    "text",
    [
        "On 2024-05-01 it was 3 degrees",
        "Can we meet on 5/12?",
        "Who ruled in 1990-1995?",
        "Call 555-1234",
        "Tell me about 9/11",
        "version 1.2.3",
        "2",
        "((((",
        "What is 2 +?",
        "What is (2 + 3?",
        "1+" * 99,
        "",
    ],
)
def test_what_is_no_sum(text: str) -> None:
    assert computed(text, bare=False) is None
