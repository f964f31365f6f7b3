"""Pages and queries, as OpenAI's lists take them."""

import pytest

from mockserver.core.call import Page
from mockserver.core.http import HttpRequest
from mockserver.core.plan import Failure
from mockserver.dialects._errors import refuse
from mockserver.dialects._openai_api.stored import read_integer_parameter, read_page


def asked(**query: str) -> HttpRequest:
    return HttpRequest("GET", "/", query=query)


@pytest.mark.parametrize(
    ("query", "order", "expected"),
    [
        ({}, "asc", Page()),
        ({}, "desc", Page(backwards=True)),
        ({"order": "asc"}, "desc", Page()),
        ({"after": "x", "limit": "1", "order": "desc"}, "asc", Page("x", 1, backwards=True)),
        ({"limit": "100"}, "asc", Page(limit=100)),
    ],
)
def test_a_page(query: dict[str, str], order: str, expected: Page) -> None:
    assert read_page(asked(**query), refuse, order=order) == expected


@pytest.mark.parametrize(
    ("query", "param", "message"),
    [
        ({"limit": "-1"}, "limit", "Expected a value >= 0, but got -1 instead."),
        ({"limit": "101"}, "limit", "Expected a value <= 100, but got 101 instead."),
        ({"limit": "many"}, "limit", "expected an integer, but got a string instead."),
        ({"order": "up"}, "order", "Invalid value: 'up'. Supported values are: 'asc' and 'desc'."),
    ],
)
def test_a_page_that_cannot_be(query: dict[str, str], param: str, message: str) -> None:
    with pytest.raises(Failure) as raised:
        read_page(asked(**query), refuse, order="asc")
    assert (raised.value.reason, raised.value.param) == ("bad_parameter", param)
    assert str(raised.value).endswith(message)


def test_numbers_of_a_query() -> None:
    assert read_integer_parameter(asked(n="7"), "n", refuse) == 7
    assert read_integer_parameter(asked(), "n", refuse) is None
    with pytest.raises(Failure):
        read_integer_parameter(asked(n="-1"), "n", refuse)
