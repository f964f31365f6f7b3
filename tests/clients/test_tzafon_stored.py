"""Tzafon's own client: what responses leave behind, over a real socket."""

from collections.abc import Iterator
from typing import Any

import pytest
import tzafon
from tzafon import Lightcone

from tests.kit.served import Served, served

RULES = """
settings: {unmatched: error, ids: unique}
rules:
  - name: a script
    then: {steps: [{text: one}, {text: two}]}
"""


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with served(RULES) as running:
        yield running


@pytest.fixture
def client(server: Served) -> Iterator[Lightcone]:
    base = server.base("tzafon").removesuffix("/v1")
    with Lightcone(base_url=base, api_key="sk_test") as client:
        yield client


def look(client: Lightcone, name: str) -> Any:
    return client.responses.retrieve(name)


def test_a_response_is_retrieved(client: Lightcone) -> None:
    made = client.responses.create(input="hello")
    assert made.id

    assert look(client, made.id) == made.to_dict()


def test_a_conversation_goes_on(client: Lightcone) -> None:
    first = client.responses.create(input="hello")
    second = client.responses.create(input="more", previous_response_id=first.id)

    assert "two" in second.to_json()


def test_work_in_the_background(client: Lightcone) -> None:
    made = client.responses.create(input="hello", background=True)
    assert (made.status, made.output) == ("in_progress", [])
    assert made.id

    assert [look(client, made.id)["status"] for _ in range(2)] == ["in_progress", "completed"]


def test_a_response_is_cancelled_while_it_is_made(client: Lightcone) -> None:
    made = client.responses.create(input="hello", background=True)
    assert made.id

    cancelled: Any = client.responses.cancel(made.id)
    assert (cancelled["status"], look(client, made.id)["status"]) == ("cancelled", "cancelled")


@pytest.mark.parametrize("background", [True, False])
def test_a_response_that_is_there_cannot_be_cancelled(client: Lightcone, background: bool) -> None:
    made = client.responses.create(input="hello", background=background)
    assert made.id
    for _ in range(2):
        look(client, made.id)

    with pytest.raises(tzafon.BadRequestError) as raised:
        client.responses.cancel(made.id)
    error: Any = raised.value.body
    assert (error["error"]["type"], error["error"]["param"]) == ("invalid_request_error", "response_id")


def test_an_unknown_response(client: Lightcone) -> None:
    for ask in (look, lambda client, name: client.responses.create(input="hello", previous_response_id=name)):
        with pytest.raises(tzafon.NotFoundError, match="resp_x") as raised:
            ask(client, "resp_x")
        error: Any = raised.value.body
        assert error["error"]["code"] == 404
        assert (error["error"]["type"], error["error"]["param"]) == ("invalid_request_error", "response_id")
