"""Bodies, paths and queries that fit the published request of an operation, and such as barely do not.

What several dialects share is thrown at one of them; test_bodies.py and test_requests.py go through all of them.
"""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any
from urllib.parse import quote, urlencode

import pytest
import schemathesis
from hypothesis import given
from schemathesis import Case, GenerationMode
from schemathesis.specs.openapi.schemas import OpenApiSchema

from tests.fuzz.amount import thrown
from tests.fuzz.document import Place, document, every_place, select_kinds
from tests.fuzz.judge import judged
from tests.fuzz.wire import Connection, Request

pytestmark = pytest.mark.slow

PLACES = tuple(every_place())
MODES = {"fitting": GenerationMode.POSITIVE, "unfitting": GenerationMode.NEGATIVE}


def _both() -> Iterator[Any]:
    for place in select_kinds(PLACES):
        for mode in MODES if place.has_body else ["fitting"]:
            yield pytest.param(place, mode, id=f"{place.operation.method} {place.path} {mode}")


@cache  # not while tests are collected, which every worker does
def read_document() -> OpenApiSchema:
    return schemathesis.openapi.from_dict(document())


def test_every_operation_is_in_the_document() -> None:
    found = {(each.ok().path, each.ok().method.upper()) for each in read_document().get_all_operations()}
    assert found == {(place.path, place.operation.method) for place in PLACES}


@pytest.mark.parametrize(("place", "mode"), list(_both()))
def test_requests_by_the_schema(connection: Connection, place: Place, mode: str) -> None:
    operation = read_document()[place.path][place.operation.method]

    @given(case=operation.as_strategy(generation_mode=MODES[mode]))
    @thrown(3)
    def ask(case: Case[Any]) -> None:
        _ask(connection, place, case)

    ask()


def _ask(connection: Connection, place: Place, case: Case[Any]) -> None:
    headers = [(name.encode(), str(value).encode("latin-1", "replace")) for name, value in (case.headers or {}).items()]
    body = _bytes(case.body) if place.has_body else None
    target = _target(place, case.path_parameters or {}, case.query or {})
    judged(connection, place, Request(place.operation.method, target, headers, body))


def _target(place: Place, within: Mapping[str, Any], query: Mapping[str, Any]) -> bytes:
    path = place.path
    for name in place.parameters:
        path = path.replace(f"{{{name}}}", quote(str(within.get(name, "x")), safe="%") or "x")
    return f"{path}?{urlencode(query, doseq=True, errors='replace')}".encode()


def _bytes(body: Any) -> bytes:
    if isinstance(body, bytes):
        return body
    return b"" if type(body).__name__ == "NotSet" else json.dumps(body, default=_text).encode("utf-8", "surrogatepass")


def _text(value: bytes) -> str:
    return value.decode("latin-1")
