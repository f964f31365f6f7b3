"""Recorded requests and answers, as values."""

import pytest

from mockserver.core.episode import Episode, Recorded, Sent
from mockserver.core.http import HeaderLines


def test_the_bytes_of_an_answer_whole_or_in_events() -> None:
    assert Recorded(200, body=b"{}").bytes == b"{}"
    assert Recorded(200, frames=((0.1, b"data: 1\n\n"), (0.2, b"data: 2\n\n"))).bytes == b"data: 1\n\ndata: 2\n\n"
    assert Recorded(200, frames=()).bytes == b""


def test_where_an_answer_comes_from_makes_it_no_other() -> None:
    assert Recorded(200, body=b"a", source="cassette a.yaml#1") == Recorded(200, body=b"a")
    assert (Recorded(200, source="cassette a.yaml#1") != Recorded(200)) is False
    request = Sent("POST", "/v1/chat/completions")
    one, other = (Episode("openai", "chat", "m", request, Recorded(200, body=body)) for body in (b"a", b"b"))
    assert one != other


PLAIN = (("Content-Type", "application/json; charset=utf-8"), ("x-request-id", "req_1"), ("x-empty", ""))
EVENTS = ((0.1, b"data: 1\n\n"), (0.2, b"data: 2\n\n"))


def test_headers_that_a_dialect_could_have_made_are_lines():
    body, stream = Recorded(200, PLAIN, b"{}").joined_reply, Recorded(200, PLAIN[1:], frames=EVENTS).joined_reply
    assert body.headers == HeaderLines(
        "content-type: application/json; charset=utf-8\r\nx-request-id: req_1\r\nx-empty: \r\ncontent-length: 2\r\n"
    )
    assert type(body.headers) is HeaderLines
    assert body.headers.sized
    assert (stream.headers, stream.body, stream.frames) == (PLAIN[1:], b"data: 1\n\ndata: 2\n\n", None)
    events = Recorded(200, (("content-type", "text/event-stream"),), frames=EVENTS).joined_reply.headers
    assert type(events) is HeaderLines
    assert not events.sized


@pytest.mark.parametrize(
    "headers",
    [
        (),
        (("content-type", "text/html"),),
        (("content-type", "application/json, text/html"),),
        (("content-type", "application/json"), ("Content-Type", "text/html")),
        (*PLAIN, ("x-twice", "a"), ("X-Twice", "b")),
        (*PLAIN, ("x-line", "a\r\nb: c")),
        (*PLAIN, ("x-name: y", "a")),
        (*PLAIN, ("x-wide", "\u4f60")),
    ],
)
def test_other_headers_stay_pairs(headers):
    recorded = Recorded(200, headers, b"{}")
    assert type(recorded.joined_reply.headers) is tuple
    assert recorded.joined_reply == recorded.reply
