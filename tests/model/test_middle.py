"""Code between a prefix and a suffix."""

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


@pytest.mark.parametrize("piece", ["f(", "def f(", "a = ", "\n", "{", "return "])
def test_no_code_is_too_odd(piece: str) -> None:
    assert fill_middle(Prompt(piece * 20_000, suffix=piece * 20_000)) is not None or piece == "\n"
