"""Sums."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver.model.prose.arithmetic import computed


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("What is 2+3?", "2+3 = 5"),
        ("What is 15% of 200?", "15% of 200 = 30"),
        ("Calculate the square root of 144", "the square root of 144 = 12"),
        ("What's the square root of 2?", "the square root of 2 = 1.414214"),
        ("What is 12 squared?", "12 squared = 144"),
        ("What is 2^10?", "2^10 = 1024"),
        ("¿Cuánto es 5 + 7?", "5 + 7 = 12"),
        ("Was ist 7 mal 8?", "7 * 8 = 56"),
        ("Combien font 8 - 3 ?", "8 - 3 = 5"),
        ("2 + 3 * (4 - 1) =", "2 + 3 * (4 - 1) = 11"),
        ("What's 7 times 6", "7 * 6 = 42"),
        ("What is 007 + 1.05?", "007 + 1.05 = 8.05"),
        ("Calculate 1 / 3", "1 / 3 = 0.3333333333"),
        ("how much is 1,000 - 0.5", "1,000 - 0.5 = 999.5"),
        ("What is the sum of 2 and 3?", "2 + 3 = 5"),
        ("Multiply 4 by 2.5", "4 * 2.5 = 10"),
        ("Subtract 2 from 5.", "5 - 2 = 3"),
        ("What is 10 ÷ 4?", "10 / 4 = 2.5"),
        ("Compute 3 × -2", "3 * -2 = -6"),
        ("What is 1/0?", "That cannot be computed: it divides by zero."),
        ("What is 12.5 divided by 4?", "12.5 / 4 = 3.125"),
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


@given(st.integers(-(10**6), 10**6), st.integers(0, 10**6), st.sampled_from("+-*"))
def test_it_computes_as_python_does(left: int, right: int, sign: str) -> None:
    answer = computed(f"What is {left} {sign} {right}?", bare=True)
    assert int(answer or "") == {"+": left + right, "-": left - right, "*": left * right}[sign]
