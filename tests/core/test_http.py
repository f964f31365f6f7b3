"""Requests as values."""

import pytest

from mockserver.core.frames import Frame
from mockserver.core.http import HttpRequest, Reply

REQUEST = HttpRequest("GET", "/", headers=((b"accept", b"a/b"), (b"x-name", b"J\xfcrgen"), (b"accept", b"c/d")))


@pytest.mark.parametrize(
    ("name", "value"),
    [("accept", "a/b"), ("Accept", "a/b"), ("X-NAME", "Jürgen"), ("authorization", None)],
)
def test_headers_by_name(name: str, value: str | None) -> None:
    assert REQUEST.find_header(name) == value


@pytest.mark.parametrize(
    ("forwarded", "scheme"),
    [("https", "https"), ("HTTPS", "https"), ("https, http", "https"), ("http,https", "http"), ('x","a":"', "http")],
)
def test_the_scheme_is_what_the_first_proxy_was_asked_by(forwarded: str, scheme: str) -> None:
    headers = ((b"host", b"a:1"), (b"x-forwarded-proto", forwarded.encode()))
    assert HttpRequest("GET", "/", headers=headers, namespace="n").server_url == f"{scheme}://a:1/ns/n"


def test_what_shows_a_request_shows_no_keys() -> None:
    assert ("accept" in repr(REQUEST), "headers" in dict(REQUEST.__rich_repr__())) == (False, False)
    assert dict(REQUEST.__rich_repr__())["method"] == "GET"


def test_a_request_is_bare_by_default() -> None:
    bare = HttpRequest("GET", "/v1/models")
    assert (bare.query, bare.headers, bare.body, bare.namespace, bare.path_params) == ({}, (), b"", "default", {})


def test_frames_and_replies_weigh_nothing_by_default() -> None:
    assert Frame(b"{}") == Frame(b"{}", event=None, tokens=0, part="text")
    assert Reply(200, ()) == Reply(200, (), body=b"", frames=None, tokens=0)
