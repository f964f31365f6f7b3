"""Sound bodies that were spoilt, and bodies that never were sound: an answer or the dialect's own refusal."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.amount import thrown
from tests.fuzz.bodies import odd, spoilt
from tests.fuzz.document import Place, every_place, select_tried
from tests.fuzz.judge import checked, judged, refused
from tests.fuzz.wire import Connection, Request
from tests.kit.raw import RawResponse

JSON = [(b"content-type", b"application/json")]
EXTRAS: tuple[list[tuple[bytes, bytes]], ...] = (
    [],
    [(b"extra-parameters", b"pass-through")],
    [(b"extra-parameters", b"drop")],
)


def with_body() -> Iterator[Any]:
    for place in select_tried(every_place()):
        if place.has_body:
            yield pytest.param(place, id=place.path)


named = pytest.mark.parametrize("place", list(with_body()))


@named
def test_spoilt_bodies(connection: Connection, place: Place) -> None:
    @given(
        body=spoilt(place.operation.name, place.dialect),
        extra=st.sampled_from(EXTRAS if place.dialect == "azure" else EXTRAS[:1]),
    )
    @thrown(10)
    def ask(body: bytes, extra: Any) -> None:
        judged(connection, place, Request("POST", target(place), [*JSON, *extra], body))

    ask()


@named
def test_spoilt_bodies_where_nothing_is_checked(unchecked: Connection, place: Place) -> None:
    @given(body=spoilt(place.operation.name, place.dialect))
    @thrown(10)
    def ask(body: bytes) -> None:
        request = Request("POST", target(place), JSON, body)
        if place.dialect == "openai":
            judged(unchecked, place, request)
        else:  # asked for what only OpenAI has, it may be answered as OpenAI does
            checked(unchecked, request, lambda answer: _is_no_fault(answer, place.dialect))

    ask()


def conversing() -> Iterator[Any]:
    """Those operations that are asked something, each of whose bodies is one for all its paths."""
    for case in with_body():
        (place,) = case.values
        if place.operation.name not in ("update_chat", "create_batch", "speech") and (
            place.dialect,
            place.operation.name,
        ) != ("gemini", "embeddings"):
            yield case


@pytest.mark.parametrize("place", list(conversing()))
def test_whatever_stands_beside_a_conversation(unchecked: Connection, place: Place) -> None:
    """Where nothing is checked, it is answered; what it refers to may be unknown."""

    @given(body=odd(place.operation.name, place.dialect))
    @thrown(20)
    def ask(body: bytes) -> None:
        checked(unchecked, Request("POST", target(place), JSON, body), _is_answered)

    ask()


def _is_answered(answer: RawResponse) -> None:
    assert answer.status == 200, answer


def _is_no_fault(answer: RawResponse, dialect: str) -> None:
    assert answer.status < 500, answer
    if answer.status != 200:
        refused(answer, dialect)


@named
def test_any_bytes(connection: Connection, place: Place) -> None:
    @given(body=st.binary(max_size=80) | st.text(max_size=40).map(lambda text: text.encode("utf-8", "surrogatepass")))
    @thrown(5)
    def ask(body: bytes) -> None:
        answer = judged(connection, place, Request("POST", target(place), JSON, body))
        if answer.status != 200:
            refused(answer, place.dialect)

    ask()


def target(place: Place) -> bytes:
    path = place.path
    for name in place.parameters:
        path = path.replace(f"{{{name}}}", "resp_1" if name == "response_id" else "x")
    query = urlencode(place.operation.query)
    return f"{path}?{query}".encode() if query else path.encode()
