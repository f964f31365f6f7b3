"""Bytes and headers that the dialects share."""

from pydantic_core import to_json

from mockserver.core.call import Call
from mockserver.core.http import HttpRequest
from mockserver.dialects._reply import json_reply, merge_headers, request_hex


def test_merged() -> None:
    own = (("a", "1"), ("b", "2"), ("a", "3"))
    assert merge_headers(own, ()) is own
    assert merge_headers(own, (("A", "4"), ("c", "5"), ("c", "6"))) == (("b", "2"), ("A", "4"), ("c", "5"), ("c", "6"))


def test_a_request_is_named_by_its_meaning_or_else_by_its_bytes() -> None:
    http = HttpRequest("POST", "/x", body=b"{}")
    call = Call("openai", "chat", "m", http, {})
    assert request_hex(http, call) == call.fingerprint
    names = {
        request_hex(http, None),
        request_hex(HttpRequest("GET", "/x", body=b"{}"), None),
        request_hex(HttpRequest("POST", "/y", body=b"{}"), None),
        request_hex(HttpRequest("POST", "/x", body=b"{ }"), None),
    }
    assert len(names) == 4
    assert all(len(name) == 32 for name in names)
    assert request_hex(http, None) == request_hex(HttpRequest("POST", "/x", body=b"{}"), None)


def test_long_lists_have_the_same_bytes() -> None:
    body = {"data": [{"id": number} for number in range(100)], "é": {"a": [1]}}
    assert json_reply(200, body, ()).body == to_json(body)
