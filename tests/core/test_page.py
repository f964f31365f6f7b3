"""Pages of a list."""

import pytest

from mockserver.core.call import Page


@pytest.mark.parametrize(
    ("page", "shown", "more"),
    [
        (Page(), "abcde", False),
        (Page(limit=2), "ab", True),
        (Page(limit=5), "abcde", False),
        (Page("b", limit=2), "cd", True),
        (Page("d", limit=2), "e", False),
        (Page("e"), "", False),
        (Page("z"), "", False),
        (Page(limit=2, backwards=True), "ed", True),
        (Page("d", backwards=True), "cba", False),
    ],
)
def test_a_page(page: Page, shown: str, more: bool) -> None:
    assert page.select("abcde", str) == (tuple(shown), more)
