"""Foreign exchanges become episodes: plain bodies, events, moments, no headers of the way."""

import gzip
import json

import pytest

from mockserver.cassettes.convert.imports import Skipped, episode_of, split_events
from mockserver.core.episode import Episode
from tests.cassettes.importing.kit import ANSWER, KNOWN, STREAM, exchange

EVENTS = (("content-type", "text/event-stream; charset=utf-8"),)


def taken(**changed: object) -> Episode:
    made = episode_of(exchange(**changed), KNOWN)
    assert isinstance(made, Episode), made
    return made


def left(**changed: object) -> str:
    made = episode_of(exchange(**changed), KNOWN)
    assert isinstance(made, Skipped)
    return made.why


def test_headers_of_the_way_are_left_behind() -> None:
    headers = (("host", "a"), ("content-length", "3"), ("transfer-encoding", "chunked"), ("x-request-id", "r"))
    made = taken(headers=headers, reply_headers=(*headers, ("date", "Thu, 09 Oct 2025 08:53:20 GMT")))
    assert made.request.headers == (("x-request-id", "r"),)
    assert (made.reply.headers[0], made.at) == (("x-request-id", "r"), 1760000000)


@pytest.mark.parametrize("coded", [True, False])
def test_codings_come_off_where_they_are_still_on(coded: bool) -> None:
    body = json.dumps(ANSWER).encode()
    headers = (("content-encoding", "gzip"), ("content-type", "application/json"))
    made = taken(reply=gzip.compress(body) if coded else body, reply_headers=headers)
    assert made.reply.body == body
    assert made.reply.headers == (("content-type", "application/json"),)


def test_a_joined_stream_is_split_at_the_ends_of_its_events() -> None:
    made = taken(reply=STREAM, reply_headers=EVENTS)
    assert made.reply.frames is not None
    assert [at for at, _ in made.reply.frames] == [0.0, 0.0]
    assert made.reply.bytes == STREAM
    assert [data for _, data in split_events(b"a\r\n\r\nb\r\rc\n\n\nd")] == [b"a\r\n\r\n", b"b\r\r", b"c\n\n\n", b"d"]


def test_the_model_of_a_deployment_stands_in_its_path() -> None:
    url = "https://a.openai.azure.com/openai/deployments/mine/chat/completions?api-version=1"
    assert (taken(url=url, body=b"{}").model, taken(url=url, body=b"{}").request.query) == ("mine", "api-version=1")


def test_what_is_unfit_is_told() -> None:
    assert left(status=0) == "its answer cannot be replayed (status 0)"
    assert left(status=302) == "its answer cannot be replayed (status 302)"
    assert left(reply=b"") == "the recording lacks the body of its answer"
    assert left(reply=b"", reply_headers=EVENTS) == "the recording lacks the body of its stream"
    coded = (("content-encoding", "gzip"),)
    assert left(reply=b"\xff\xfe", reply_headers=coded).startswith("the body of its answer cannot be decoded: The body")
    assert left(reply=b"\xff\xfe", reply_headers=(("content-encoding", "zzz"),)).startswith("the body of its answer")
    assert left(url="http://[a/v1") == "'http://[a/v1' is not a URL"


def test_what_a_tool_knows_of_the_beat_stays() -> None:
    assert taken(events=((0.5, b"data: a\n\n"),), took=0.7).reply.frames == ((0.5, b"data: a\n\n"),)
