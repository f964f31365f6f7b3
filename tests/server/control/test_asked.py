"""What a control request asks, and how it is refused."""

import json
from typing import Any

import pytest

from mockserver.config.errors import Mistake
from mockserver.server.control.requests import ControlRequest, RefusedError, json_response, number
from mockserver.server.live import Sources, start


def asked(body: bytes = b"", namespace: str = "default", **query: str) -> ControlRequest:
    return ControlRequest(start(Sources()), namespace, query, body=body)


def refusal(error: pytest.ExceptionInfo[RefusedError]) -> Any:
    return json.loads(bytes(error.value.response.body))


@pytest.mark.parametrize(("word", "on"), [("true", True), ("1", True), ("", True), ("False", False), ("0", False)])
def test_a_switch(word: str, on: bool) -> None:
    assert asked(replace=word).switch("replace") is on


def test_a_switch_that_is_not_named_is_off() -> None:
    assert not asked().switch("replace")


def test_a_switch_is_on_or_off() -> None:
    with pytest.raises(RefusedError, match=r'\?replace= must be true or false, not "maybe"'):
        asked(replace="maybe").switch("replace")


@pytest.mark.parametrize("word", ["", "-1", "1.5", "x", "²", "9" * 30])
def test_a_number_is_whole_and_small(word: str) -> None:
    with pytest.raises(RefusedError, match="the limit must be a whole number, not"):
        number(word, "the limit")
    assert asked().number("limit") is None
    assert asked(limit="07").number("limit") == 7


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b"", "the body is not JSON: "),
        (b"\xff", "the body is not JSON: "),
        (b"[" * 100_000, "the body is not JSON: "),
        (b"[]", 'the body must be a JSON object with "on"'),
        (b'{"of": true}', 'unknown key "of"; this takes "on"'),
    ],
)
def test_a_body_that_is_no_such_table(body: bytes, error: str) -> None:
    with pytest.raises(RefusedError) as caught:
        asked(body).table("on")
    assert refusal(caught)["error"].startswith(error)


def test_all_namespaces_or_one() -> None:
    assert asked(namespace="a").namespaces == ("a",)
    assert asked(namespace="*").namespaces == ("default",)
    with pytest.raises(RefusedError, match="this goes for one namespace"):
        _ = asked(namespace="*").one_namespace


def test_a_refusal_lists_its_mistakes() -> None:
    with pytest.raises(RefusedError) as caught:
        raise RefusedError(409, "no", mistakes=[Mistake("a"), Mistake("b")], headers={"allow": "GET"})
    assert refusal(caught) == {"error": "no", "mistakes": ["a", "b"]}
    assert (caught.value.response.status_code, caught.value.response.headers["allow"]) == (409, "GET")


def test_half_a_surrogate_pair_is_told_as_json() -> None:
    assert json.loads(bytes(json_response({"a": "\ud800ø"}).body)) == {"a": "\ud800ø"}
