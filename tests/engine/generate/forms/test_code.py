"""Code that compiles and does next to nothing."""

import pytest

from mockserver.core.seed import Seed
from mockserver.model.forms.code import block, coded, continued
from mockserver.model.forms.prompt import Asked
from mockserver.model.prose.topic import topic


def made(text: str, rules: str = "") -> str | None:
    return coded(Asked(text, rules, topic(text)), Seed(0).stream("x"))


def test_python_compiles() -> None:
    text = made("Write a Python function that adds two numbers. Only code.")
    assert text is not None
    assert text.startswith("```python\ndef add_numbers(")
    assert text.endswith("\n```")
    names: dict[str, object] = {}
    exec(compile(text.removeprefix("```python\n").removesuffix("```"), "made", "exec"), names)
    assert callable(names["add_numbers"])


@pytest.mark.parametrize(
    ("text", "begins"),
    [
        ("Write a SQL query to list all users", "```sql\n-- List all users."),
        ("Create a JavaScript function called doIt", "```javascript\n// "),
        ("Give me a bash script that counts files", "```bash\n#!/usr/bin/env bash\n# Counts files."),
        ("implement quicksort code in c++", "```cpp\n"),
        ("Write some code", "```python\n"),
        ("Write a regex to match emails", "```regex\n"),
        ("Write a script", "```python\n"),
        ("Generate an html page about tea", "```html\n"),
    ],
)
def test_languages(text: str, begins: str) -> None:
    found = made(text)
    assert found is not None
    assert found.startswith(f"Here is a simple version:\n\n{begins}")


@pytest.mark.parametrize(
    ("text", "table"),
    [
        ("Write a SQL query to get all users older than 30", "users"),
        ("Write a SQL query that selects names from the employees table", "employees"),
        ("Give me a SQL query to count orders", "orders"),
    ],
)
def test_tables(text: str, table: str) -> None:
    assert f"\nFROM {table};" in (made(text) or "")


def test_names() -> None:
    assert "def match_phone(" in (made("Write a Python function that matches a phone") or "")
    assert "def carry_weight(" in (made("Write a Python function that carries weight") or "")
    assert "def add(" in (made("Write unit tests for a Python function add(a, b)") or "")
    assert "function doIt(" in (made("Create a JavaScript function called doIt") or "")
    assert "fn " in (made("Write a function that waits", "You write Rust.") or "")


@pytest.mark.parametrize(
    "text", ["Write a poem", "What is Python?", "The code of conduct", "Give me the door code", ""]
)
def test_no_code(text: str) -> None:
    assert made(text) is None


def test_a_comment_stays_a_comment() -> None:
    assert '"""' not in block("python", "name", "x").split('"""', 2)[1]
    hostile = made('Write a Python function that prints """ and */ --> "x"')
    assert hostile is not None
    assert hostile.count('"""') == 2


@pytest.mark.parametrize(
    ("prompt", "text"),
    [
        ("def add(a: int, b: int = 3) -> int:", "\n    return a + b\n"),
        ("class A:\n    def go(self):\n", "        pass\n"),
        ("async def f(x):", "\n    return x\n"),
        ("function f(x, y) {", "\n    return x + y;\n}\n"),
        ("int f() {", "\n    return null;\n}\n"),
        ("Once upon a time", None),
        ("Dear Sir (or Madam):", None),
        ("", None),
    ],
)
def test_continued(prompt: str, text: str | None) -> None:
    assert continued(prompt) == text
