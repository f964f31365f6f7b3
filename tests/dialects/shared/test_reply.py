"""Bytes and headers that the dialects share."""

import pytest
from pydantic_core import to_json

from mockserver.core.call import Call
from mockserver.core.http import HeaderLines, Headers, HttpRequest
from mockserver.core.rates import Standings
from mockserver.dialects._reply import make_json_reply, make_request_hex, merge_headers, prepend_lines, put_standings


def test_merged() -> None:
    own = (("a", "1"), ("b", "2"), ("a", "3"))
    assert merge_headers(own, ()) is own
    assert merge_headers(own, (("A", "4"), ("c", "5"), ("c", "6"))) == (("b", "2"), ("A", "4"), ("c", "5"), ("c", "6"))


@pytest.mark.parametrize("stated", [(), (("a", "5"), ("content-length", "7"))])
def test_header_lines_are_as_good_as_pairs(stated: Headers) -> None:
    made = prepend_lines(make_json_reply(200, {}, lines="b: 2\r\n", headers=stated), "a: x: y\r\nc: \r\n")
    own = (("a", "x: y"), ("c", ""), ("content-type", "application/json"), ("content-length", "2"), ("b", "2"))
    assert made.headers == merge_headers(own, stated) == (*made.headers,)
    assert (len(made.headers), hash(made.headers)) == (5, hash((*made.headers,)))
    put = put_standings(made.headers, Standings(), lambda _: HeaderLines("b: 8\r\na: 9\r\n"))
    assert tuple(put)[-2:] == (("b", "8"), ("a", "9"))
    assert dict(put).keys() == {"a", "b", "c", "content-type", "content-length"}
    assert isinstance(put, HeaderLines) == (not stated)


def test_a_request_is_named_by_its_meaning_or_else_by_its_bytes() -> None:
    http = HttpRequest("POST", "/x", body=b"{}")
    call = Call("openai", "chat", "m", http, {})
    assert make_request_hex(http, call) == call.fingerprint
    names = {
        make_request_hex(http, None),
        make_request_hex(HttpRequest("GET", "/x", body=b"{}"), None),
        make_request_hex(HttpRequest("POST", "/y", body=b"{}"), None),
        make_request_hex(HttpRequest("POST", "/x", body=b"{ }"), None),
    }
    assert len(names) == 4
    assert all(len(name) == 32 for name in names)
    assert make_request_hex(http, None) == make_request_hex(HttpRequest("POST", "/x", body=b"{}"), None)


def test_long_lists_have_the_same_bytes() -> None:
    body = {"data": [{"id": number} for number in range(100)], "é": {"a": [1]}}
    assert make_json_reply(200, body).body == to_json(body)
