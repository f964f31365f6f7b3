"""The input of tools that take free text."""

import pytest

from mockserver.core.call import Tool
from mockserver.core.seed import Seed
from mockserver.model.arguments import NOTHING, mentions
from mockserver.model.tools.hosted import free_text

TOOL = Tool("run_code", kind="custom")


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("Run this:\n```python\nprint(1)\n```", "print(1)"),
        ("run `ls -l` please", "ls -l"),
        ('Use run_code with "1 + 1".', "1 + 1"),
        ("Use run_code to add one and two", "add one and two"),
        ("Please run: 1 + 1", "1 + 1"),
    ],
)
def test_it_is_what_was_said_for_it(said: str, text: str) -> None:
    assert free_text(TOOL, mentions(said), Seed()) == text


def test_where_nothing_was_said_it_is_made_up() -> None:
    assert free_text(TOOL, NOTHING, Seed()) == free_text(TOOL, NOTHING, Seed())
    assert len(free_text(TOOL, NOTHING, Seed()).split()) > 3


def test_a_grammar_is_kept() -> None:
    ruled = Tool("pick", kind="custom", grammar=("regex", "red|green"))
    assert free_text(ruled, mentions("make it green"), Seed()) == "green"
