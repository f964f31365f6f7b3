"""Misspelt attributes of the objects that tests use."""

from copy import copy

import pytest

from mockserver.config.nearest_names import NamesNearest


class Book(NamesNearest):
    on = 1
    on_page = 2

    @property
    def broken(self) -> int:
        raise AttributeError("no such page")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("brokn", 'Book has no "brokn"; did you mean "broken"?'),
        ("on_text", 'Book has no "on_text"; did you mean "on"?'),
        ("on_page_seven_of_many", 'Book has no "on_page_seven_of_many"; did you mean "on_page"?'),
        ("xyzzy", 'Book has no "xyzzy"; it has broken, on, on_page'),
        ("_on", 'Book has no "_on"'),
        ("broken", "no such page"),
    ],
)
def test_the_nearest_is_named(name: str, message: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(Book(), name)
    assert str(caught.value) == message


def test_it_is_an_object_like_any() -> None:
    assert not hasattr(Book(), "missing")
    assert copy(Book()).on == 1
