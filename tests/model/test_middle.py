"""Code between a prefix and a suffix."""

from time import process_time

import pytest

from mockserver.core.call import Prompt
from mockserver.model.middle import fill_middle


@pytest.mark.parametrize(
    ("prefix", "suffix", "middle"),
    [
        ("def add(a, b):\n    ", "\n    return result", "result = a + b"),
        ("def add(a, b):", "\n\nprint(add(1, 2))", "\n    return a + b"),
        ("def fib(n):\n    if n <= 1:\n        return ", "", "n"),
        ("function multiply(x, y) {", "\n", "\n  return x * y;\n}"),
        ("func sub(a int, b int) int {\n\t", "\n}", "return a - b;"),
        ("const total = ", ";\n", "null"),
        ("def f(", "):\n    pass", ""),
        ("def f(a):\n    print(", "\n", "a)"),
        ("for x in range(10):", "", "\n    pass"),
        ("x = [1, 2,", "]", " None"),
        ("Once upon a time", " they lived happily.", None),
    ],
)
def test_the_middle(prefix: str, suffix: str, middle: str | None) -> None:
    assert fill_middle(Prompt(prefix, suffix=suffix)) == middle


def test_a_prompt_without_a_suffix_is_continued() -> None:
    assert fill_middle(Prompt("def add(a, b):")) is None


def measure_work(piece: str, size: int) -> float:
    """Return the processor time that so many characters take."""
    prompt = Prompt(piece * (size // len(piece)), suffix=piece * (size // len(piece)))
    begun = process_time()
    fill_middle(prompt)
    return process_time() - begun


@pytest.mark.parametrize("piece", ["f(", "def ", "def f(", "a = ", "\n", "\t\n", "{", "return "])
def test_the_work_is_linear(piece: str) -> None:
    short, long = (min(measure_work(piece, size) for _ in range(2)) for size in (2_000, 16_000))
    assert long < 24 * max(short, 0.0005)  # eight times the text; sixty-four if it were quadratic
