"""Requests as values."""

import pytest

from mockserver.core.http import Frame, HttpRequest, Reply

REQUEST = HttpRequest("GET", "/", headers=((b"accept", b"a/b"), (b"x-name", b"J\xfcrgen"), (b"accept", b"c/d")))


@pytest.mark.parametrize(
    ("name", "value"),
    [("accept", "a/b"), ("Accept", "a/b"), ("X-NAME", "Jürgen"), ("authorization", None)],
)
def test_headers_by_name(name: str, value: str | None) -> None:
    assert REQUEST.header(name) == value


def test_a_request_is_bare_by_default() -> None:
    bare = HttpRequest("GET", "/v1/models")
    assert (bare.query, bare.headers, bare.body, bare.namespace, bare.path_params) == ({}, (), b"", "default", {})


def test_frames_and_replies_weigh_nothing_by_default() -> None:
    assert Frame(b"{}") == Frame(b"{}", event=None, tokens=0, part="text")
    assert Reply(200, ()) == Reply(200, (), body=b"", frames=None, tokens=0)
